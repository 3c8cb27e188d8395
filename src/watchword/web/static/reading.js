// Shared by all views with a text: the painted text, bars, the strongest n-grams, and what would
// change the label.

"use strict";

const reading = (() => {
  const { ALL, number, shown, visible, paint, mark, inspect, paintScores, legend } = watchword;
  const { state, byId, ask, attempt, paintFor } = page;
  const { chip, coloured, count, headRow, row } = parts;
  const STRONGEST = 12;
  const VIEWS = ["write", "document", "subject"];
  const panels = {};
  const latest = {}; // view → its explanation, and the default label to paint
  const changes = {}; // view → what would change the label, once requested

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
    panels[view].hide();
    paint(byId(`${view}-painted`), explanation, { column, level: state.level });
    if (changes[view]) mark(byId(`${view}-painted`), changes[view].occurrences);
    const heading = byId(`view-${view}`).querySelector("[data-painted-for]");
    heading.replaceChildren("for ", column === ALL ? "all labels" : coloured(column, explanation.labels));
    placeOf(view).querySelector("[data-legend]").replaceChildren(...legend(explanation, { column, level: state.level }));
    paintScores(placeOf(view).querySelector("[data-scores]"), explanation, { column, choose: paintFor });
    showStrongest(placeOf(view).querySelector("[data-strongest]"), explanation, column);
  }

  function showStrongest(place, explanation, column) {
    // The n-grams of a refined score overlap, so the server adds them up.
    const refined = "largest" in explanation;
    const names = refined ? ["times", "counted", "corrected", "total"] : ["value", "times", "total"];
    const largest = (at) => (refined ? explanation.largest[at] : strongest(explanation, at));
    const spelled = (numbers) => numbers.map((each, at) => (names[at] === "times" ? count(each) : number(each)));
    const found = column === ALL
      ? strongestOfAll(explanation.labels, largest)
          .map(([at, [ngram, ...numbers]]) => [ngram, coloured(at, explanation.labels), ...spelled(numbers)])
      : largest(column).map(([ngram, ...numbers]) => [ngram, ...spelled(numbers)]);
    const rows = found.map(([ngram, ...cells]) => row([shown(ngram), ...cells]));
    if (column === ALL) names.unshift("for label");
    if (!rows.length) rows.push(row(["none"], { class: "quiet" }));
    if (refined && column !== ALL) {
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

  /** Return [column, strongest n-gram for it] for any label; each n-gram once, for the label it adds most to. */
  function strongestOfAll(labels, largest) {
    const found = new Map();
    const tied = new Set(); // support neither of two labels
    const total = ([, one]) => one.at(-1);
    for (const column of labels.keys()) {
      for (const one of largest(column)) {
        const known = found.get(one[0]);
        if (known && total(known) === one.at(-1)) tied.add(one[0]);
        if (known && total(known) >= one.at(-1)) continue;
        found.set(one[0], [column, one]);
        tied.delete(one[0]);
      }
    }
    const ranked = [...found.values()].filter(([, [ngram]]) => !tied.has(ngram));
    ranked.sort((a, b) => total(b) - total(a) || (a[1][0] < b[1][0] ? -1 : 1));
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

  return { prepare, show, showAgain, hideDetails, note, cutMessage };
})();
