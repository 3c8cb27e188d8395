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
    const rows = strongest(explanation, column).map(strongestRow);
    if (!rows.length) rows.push(row(["none"], { class: "quiet" }));
    placeOf(view).querySelector("[data-strongest] tbody").replaceChildren(...rows);
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

  const strongestRow = ([ngram, value, times, added]) =>
    row([shown(ngram), number(value), String(times), number(added)]);

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

  function table(names, rows) {
    const head = names.map((name, at) => element("th", { scope: "col", class: at ? "number" : "" }, name));
    const top = element("thead", {}, element("tr", {}, ...head));
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
    if (label === null) return "–";
    return element("span", { class: `badge ${colourClass(Math.max(0, labels.indexOf(label)))}` }, shown(label));
  }

  return {
    prepare, show, showAgain, hideDetails, note, cutMessage, chip,
    row, table, withSwatch, verdict, tick, badge, count, plural, percent,
  };
})();
