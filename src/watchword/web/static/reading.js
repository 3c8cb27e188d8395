// Shared by all views with a text: the painted text, bars, the strongest n-grams, and what would
// change the label. Also small elements for lists.

"use strict";

const reading = (() => {
  const { element, number, shown, visible, colourClass, paint, mark, inspect, paintScores } = watchword;
  const { state, byId, ask, attempt, paintFor } = page;
  const STRONGEST = 12;
  const VIEWS = ["write", "document", "subject"];
  const panels = {};
  const latest = {}; // view → its explanation, and the default label to paint
  const changes = {}; // view → what would change the label, once requested

  const count = (value) => value.toLocaleString("en");
  const plural = (value, one) => `${count(value)} ${one}${value === 1 ? "" : "s"}`;
  const percent = (part, whole) => (whole ? `${((100 * part) / whole).toFixed(1)}\u00a0%` : "–");

  function prepare() {
    for (const view of VIEWS) {
      const place = placeOf(view);
      if (view !== "subject") prepareChange(view, place);
      place.append(byId("reading-template").content.cloneNode(true));
      if (view === "subject") place.querySelector("[data-scores-title]").append(" in this post");
      panels[view] = inspect(byId(`${view}-painted`), byId("details"));
    }
  }

  const placeOf = (view) => document.querySelector(`[data-reading="${view}"]`);

  /** Paint an explanation into a view, with bars and the strongest n-grams below it. */
  function show(view, explanation, usual = explanation.label) {
    if (latest[view]?.explanation !== explanation) forgetChange(view);
    latest[view] = { explanation, usual };
    const column = state.column ?? explanation.labels.indexOf(usual);
    const label = explanation.labels[column];
    panels[view].hide();
    paint(byId(`${view}-painted`), explanation, { label, level: state.level });
    if (changes[view]) mark(byId(`${view}-painted`), changes[view].occurrences);
    const swatch = element("span", { class: colourClass(column) }, element("i", { class: "swatch" }));
    const heading = byId(`view-${view}`).querySelector("[data-painted-for]");
    heading.replaceChildren("for ", swatch, shown(label));
    const choose = (name) => paintFor(explanation.labels.indexOf(name));
    paintScores(placeOf(view).querySelector("[data-scores]"), explanation, { label, choose });
    showStrongest(placeOf(view).querySelector("[data-strongest]"), explanation, column);
  }

  function showStrongest(place, explanation, column) {
    // The n-grams of a refined score overlap, so the server adds them up.
    const refined = "largest" in explanation;
    const names = refined ? ["times", "counted", "corrected", "total"] : ["value", "times", "total"];
    const found = refined ? explanation.largest[column] : strongest(explanation, column);
    const cells = ([ngram, ...numbers]) =>
      [shown(ngram), ...numbers.map((each, at) => (names[at] === "times" ? count(each) : number(each)))];
    const rows = found.map((one) => row(cells(one)));
    if (!rows.length) rows.push(row(["none"], { class: "quiet" }));
    if (refined) {
      rows.push(row(["bias", "", "", "", number(explanation.bias[column])], { class: "quiet" }));
    }
    place.tHead.replaceChildren(headRow(["n-gram", ...names]));
    place.tBodies[0].replaceChildren(...rows);
  }

  /** Repaint after another label or level was chosen. */
  function showAgain() {
    for (const [view, { explanation, usual }] of Object.entries(latest)) show(view, explanation, usual);
  }

  const hideDetails = () => VIEWS.forEach((view) => panels[view].hide());

  /** Return [n-gram, value, occurrences, total contribution], largest contributions first. */
  function strongest(explanation, column) {
    const found = new Map();
    for (const block of watchword.blocksOf(explanation, "ngram")) {
      const added = (block.contribution ?? block.value)[column];
      if (added <= 0) continue;
      const known = found.get(block.ngram) ?? [block.ngram, block.value[column], 0, 0];
      known[2] += 1;
      known[3] += added;
      found.set(block.ngram, known);
    }
    const ranked = [...found.values()];
    ranked.sort(([a, , , x], [b, , , y]) => y - x || (a < b ? -1 : 1));
    return ranked.slice(0, STRONGEST);
  }

  const note = (view, message) => {
    byId(`${view}-note`).textContent = message;
  };

  const cutMessage = ({ shown: some, of }) => `Only the first ${count(some)} of ${count(of)} characters are shown.`;

  // What would change the label

  function prepareChange(view, place) {
    place.append(byId("change-template").content.cloneNode(true));
    const find = async () => {
      const { explanation } = latest[view];
      const body = { ...state.settings, text: explanation.text };
      const found = await ask("change", "/api/change", { body });
      if (latest[view].explanation !== explanation) return; // the text has changed meanwhile
      changes[view] = found;
      place.querySelector(".change p").textContent = visible(found.text);
      place.querySelector(".change ul").replaceChildren(...found.occurrences.map(chip));
      mark(byId(`${view}-painted`), found.occurrences);
    };
    place.querySelector(".change button").addEventListener("click", () => attempt(find));
  }

  function forgetChange(view) {
    delete changes[view];
    for (const each of placeOf(view).querySelectorAll(".change :is(p, ul)")) each.replaceChildren();
  }

  function chip({ ngram, post }) {
    const where = post === null ? "" : element("span", { class: "quiet" }, ` post ${post}`);
    return element("li", {}, shown(ngram), where);
  }

  // Small elements

  /** Return a table row: a name, then numbers. */
  function row([name, ...numbers], attributes = {}) {
    const cells = numbers.map((each) => element("td", { class: "number" }, each));
    return element("tr", attributes, element("th", { scope: "row" }, name), ...cells);
  }

  function headRow(names) {
    const cells = names.map((name, at) => element("th", { scope: "col", class: at ? "number" : "" }, name));
    return element("tr", {}, ...cells);
  }

  function table(names, rows) {
    const top = element("thead", {}, headRow(names));
    return element("table", { class: "list" }, top, element("tbody", {}, ...rows));
  }

  const withSwatch = (label) => element("span", {}, element("i", { class: "swatch" }), shown(label));

  const verdict = (right) => (right === null ? "" : right ? "right" : "wrong");

  /** Return a mark for right or wrong that does not rely on colour, with text for screen readers. */
  function tick(right) {
    if (right === null) return "";
    const heard = element("span", { class: "heard" }, verdict(right));
    return element("span", { class: `mark ${verdict(right)}` }, ` ${right ? "✓" : "✗"}`, heard);
  }

  function badge(label, labels) {
    if (label === null || label.length === 0) return "–";
    if (Array.isArray(label)) return element("span", {}, ...label.flatMap((one) => [badge(one, labels), " "]));
    return element("span", { class: `badge ${colourClass(Math.max(0, labels.indexOf(label)))}` }, shown(label));
  }

  return {
    prepare, show, showAgain, hideDetails, note, cutMessage, chip,
    row, table, withSwatch, verdict, tick, badge, count, plural, percent,
  };
})();
