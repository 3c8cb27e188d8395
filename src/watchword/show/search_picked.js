// The selected setting

const copied = (text, what) => {
  // Break lines between words, not after the hyphens of an option.
  const words = text.split(/( )/).map((word) => 
    word === " " || word.length > 40 ? word : make("span", {}, word));
  const code = make("code", {}, ...words);
  const button = make("button", { type: "button", "aria-label": `Copy ${what}` }, "Copy");
  const say = (word) => {
    button.textContent = word;
    setTimeout(() => { button.textContent = "Copy"; }, 2500);
  };
  const select = () => {
    getSelection().selectAllChildren(code);
    say("Ctrl+C");
  };
  button.addEventListener("click", () => {
    // A frame may have no access to the clipboard: then select the text instead.
    if (!navigator.clipboard) select();
    else navigator.clipboard.writeText(text).then(() => say("Copied"), select);
  });
  return make("div", { class: "ww-copy" }, code, button);
};
const measuresOf = (all) => {
  const rows = all.filter((row) => row.support || row.predicted); // averages leave out absent labels
  const sum = (key) => rows.reduce((total, row) => total + row[key], 0);
  const [support, predicted, right] = [sum("support"), sum("predicted"), sum("right")];
  const macro = ["precision", "recall", "f1"].map((key) => share(sum(key), rows.length));
  const first = data.several
    ? ["micro F1", share(2 * right, support + predicted)]
    : ["accuracy", share(right, support)];
  return [first, ["macro precision", macro[0]], ["macro recall", macro[1]], ["macro F1", macro[2]]];
};
const showPicked = (rows) => {
  const folds = data.byFold[picked];
  const spread = data.deviation[picked] === null ? "" : ` ± ${figure(data.deviation[picked])}`;
  const tag = picked === 0 ? make("span", { class: "ww-tag ww-tag-best" }, "best") : null;
  const until = `stopped after ${folds.length} of ${data.folds} folds`;
  const given = complete[picked] ? null : make("span", { class: "ww-tag ww-tag-dropped" }, until);
  const pairs = (list) => make("dl", {}, ...list.flatMap(([term, value]) =>
    [make("dt", {}, name(term)), make("dd", {}, name(value))]));
  at("picked-head").replaceChildren(
    make("h2", {}, `Setting ${many(picked + 1)} of ${many(count)}`, tag, given),
    make("p", { class: "ww-figure" }, figure(data.value[picked]),
      make("small", {}, ` ${data.measure}${spread}`)),
  );
  at("picked-rest").replaceChildren(
    make("p", { class: "ww-folds" }, `by fold: ${folds.map((one) => figure(one)).join(" · ")}`),
    pairs(data.names.map((parameter, column) => [parameter, shown(picked, column)])),
    rows === null ? "" : pairs(measuresOf(rows).map(([term, value]) => [term, figure(value)])),
    copied(pythonLine(picked), "the Python code"),
    copied(commandLine(picked), "the command"),
  );
};
const fixed = (row, key) => make("td", { class: "number" }, row[key].toFixed(3));
const whole = (row, key) => make("td", { class: "number" }, many(row[key]));
const showLabels = (rows) => {
  const table = make("table", { id: "label-table" }, make("caption", {}, "By label"));
  const number = (key, spelt = key) => ({ name: spelt, key: (row) => row[key], number: true });
  const columns = [
    { name: "label", key: (row) => row.label }, number("precision"), number("recall"),
    number("f1", "F1"), number("support", "texts"), number("predicted"),
  ];
  const state = sortable(table, columns, rows, (row) => make("tr", {},
    make("th", { scope: "row" }, name(row.label)), fixed(row, "precision"), fixed(row, "recall"),
    fixed(row, "f1"), whole(row, "support"), whole(row, "predicted")));
  if (sortedBy.column === null) state.draw();
  else table.querySelectorAll("th button")[sortedBy.column].click();
  if (sortedBy.down) table.querySelectorAll("th button")[sortedBy.column].click();
  // The next setting's table is sorted like this one.
  table.tHead.addEventListener("click", () => {
    const heads = [...table.tHead.rows[0].cells];
    sortedBy.column = heads.findIndex((head) => head.hasAttribute("aria-sort"));
    sortedBy.down = heads[sortedBy.column]?.getAttribute("aria-sort") === "descending";
  });
  at("labels").replaceChildren(table);
};
const sortedBy = { column: null, down: false };
// With very many labels: those with the most mistakes, and all others as one.
const confusionOf = (cells) => {
  if (data.labels.length <= data.mostDrawn) return [data.labels, cells];
  const mistakes = data.labels.map(() => 0);
  for (const [row, column, texts] of cells) {
    if (row !== column) for (const label of [row, column]) mistakes[label] += texts;
  }
  const byMistakes = data.labels.map((_, label) => label);
  byMistakes.sort((a, b) => mistakes[b] - mistakes[a] || a - b);
  const worst = byMistakes.slice(0, data.mostDrawn).sort((a, b) => a - b);
  const place = new Map(worst.map((label, one) => [label, one]));
  const sums = new Map();
  for (const [row, column, texts] of cells) {
    const [a, b] = [place.get(row) ?? worst.length, place.get(column) ?? worst.length];
    const key = a * (worst.length + 1) + b;
    sums.set(key, [a, b, (sums.get(key)?.[2] || 0) + texts]);
  }
  const rest = `(${many(data.labels.length - worst.length)} other labels)`;
  return [[...worst.map((label) => data.labels[label]), rest], [...sums.values()]];
};
const showReport = (rows) => {
  at("report-heading").textContent = `Setting ${many(picked + 1)} by label`;
  at("left-out").hidden = rows !== null;
  const reported = many(data.perLabel.length);
  at("left-out").textContent =
    `To keep the page small, only the best ${reported} settings have a report.`;
  at("labels").replaceChildren();
  at("matrix").replaceChildren();
  if (rows === null) return;
  showLabels(rows);
  if (data.confusion !== null) at("matrix").append(confusionTable(...confusionOf(cellsOf(picked))));
};

function pick(one) {
  picked = one;
  const rows = one < data.perLabel.length ? labelRows(one) : null;
  for (const plot of plots) plot.mark();
  showPicked(rows);
  showReport(rows);
  markRow();
}

// Start

const option = (value, text) => make("option", { value }, text);
const options = () => data.names.map((parameter, column) => option(column, parameter));
at("across").append(...options());
at("colour").append(option("", "none"), ...options());
at("across").value = String(data.first[0]);
at("colour").value = data.names.length > 1 ? String(data.first[1]) : "";
for (const id of ["across", "colour"]) at(id).addEventListener("change", drawLarge);
for (const svg of document.querySelectorAll("svg[data-plot]")) {
  svg.querySelector("title").remove(); // would cover the tooltips of points
  new Plot(svg, data.small, Number(svg.dataset.plot));
}
for (const note of document.querySelectorAll(".ww-without")) note.remove();
at("live").hidden = false;
at("two").hidden = data.names.length === 0;
at("report").hidden = false;
at("settings").classList.add("ww-live-rows");
settings.order(0);
showMore();
if (data.names.length) drawLarge();
pick(0);
let width = innerWidth;
addEventListener("resize", () => {
  if (innerWidth !== width && data.names.length) drawLarge();
  width = innerWidth;
});
addEventListener("scroll", () => {
  hush();
  for (const plot of plots) plot.tellFocused(); // the focus may have caused the scrolling
}, { passive: true });
addEventListener("keydown", (event) => {
  if (event.key === "Escape") hush();
});
document.body.dataset.ready = "";
