// The overview of the model, and the values of an n-gram.

"use strict";

const overview = (() => {
  const { element, number, shown, visible, colourClass } = watchword;
  const { state, byId, ask, attempt } = page;
  const { row, table, withSwatch, count, plural } = parts;
  const STEPS = ["lv", "sg", "sn", "gv", "cv"];

  const spelled = (length) => (length === 1 ? "word" : `${length}-gram`);

  function prepare() {
    const { labels, ngrams } = state.about;
    labels.forEach((label, column) => byId("overview-label").append(new Option(visible(label), column)));
    byId("overview-length").append(new Option("n-grams of any length", ""));
    ngrams.forEach((_, at) => byId("overview-length").append(new Option(`${spelled(at + 1)}s`, at + 1)));
    for (const id of ["overview-label", "overview-length"]) {
      byId(id).addEventListener("change", () => attempt(showBest));
    }
    byId("ngram-form").addEventListener("submit", (event) => {
      event.preventDefault();
      attempt(lookUp);
    });
  }

  async function show() {
    const { about } = state;
    const lengths = about.ngrams.map((many, at) => plural(many, spelled(at + 1)));
    const pruned = about.pruned ? "; rare ones were pruned" : "";
    const refined = about.refinement ? `; ${about.refinement.text} (the values below are the counted ones)` : "";
    byId("model-facts").textContent =
      `${plural(about.labels.length, "label")}; ${lengths.join(", ")}${pruned}${refined}`;
    const rows = about.labels.map((label, at) => {
      const numbers = [about.documents_learnt[at], about.words_learnt[at]].map(count);
      return row([withSwatch(label), ...numbers], { class: colourClass(at) });
    });
    byId("model-labels").replaceChildren(table(["label", "documents", "words"], rows));
    await Promise.all([lookUp(), showBest()]);
  }

  /** Show the n-grams of highest value for a label: pictures drawn by the server, and a table. */
  async function showBest() {
    const column = byId("overview-label").value;
    const length = byId("overview-length").value;
    const found = await ask("overview", `/api/overview/${column}`, { given: state.settings });
    const ngrams = length ? found.lengths[length - 1]?.top ?? [] : found.top;
    const picture = (kind, words, title) => {
      const query = new URLSearchParams({ ...state.settings, ...(words && { length: words }), ...(state.alert !== null && { alert: state.alert }) });
      const image = element("img", { src: `/api/overview/${column}/${kind}.svg?${query}`, alt: title });
      return element("figure", { class: kind }, element("figcaption", { class: "over" }, title), image);
    };
    const name = visible(found.label);
    const lengths = length ? [Number(length)] : found.lengths.map((one) => one.length);
    const valued = lengths.map((words) => picture("distribution", String(words), `Distribution of values: ${spelled(words)}s`));
    byId("overview").replaceChildren(
      picture("cloud", length, `Word cloud for ${name}`),
      picture("bars", length, `N-grams of highest value for ${name}`),
      element("div", { class: "distributions" }, ...valued),
    );
    const rows = ngrams.map((one) => row([lookUpButton(one.ngram), number(one.value), count(one.count)]));
    byId("overview-table").replaceChildren(table(["n-gram", "value", "count"], rows));
  }

  function lookUpButton(ngram) {
    const button = element("button", { type: "button", class: "link" }, shown(ngram));
    button.addEventListener("click", () => {
      byId("ngram").value = ngram;
      byId("ngram").focus();
      attempt(lookUp);
    });
    return button;
  }

  async function lookUp() {
    const ngram = byId("ngram").value.trim();
    if (!ngram) {
      byId("ngram-answer").replaceChildren();
      return;
    }
    const found = await ask("ngram", "/api/ngram", { given: { ...state.settings, ngram } });
    if (!byId("ngram").value.trim()) return; // emptied meanwhile
    if (found.values.every((value) => value.count === 0)) {
      byId("ngram-answer").replaceChildren(element("p", { class: "quiet" }, "The model has no such n-gram."));
      return;
    }
    const rows = found.values.map((value, at) => {
      const numbers = [count(value.count), ...STEPS.map((step) => number(value[step]))];
      return row([withSwatch(state.about.labels[at]), ...numbers], { class: colourClass(at) });
    });
    const next = found.next.map(({ word, count: times }) =>
      element("li", {}, shown(word), element("span", { class: "quiet" }, ` ×${count(times)}`)),
    );
    const follows = element("p", { class: "over" }, next.length ? "Next words" : "No next words");
    const list = element("ul", { class: "next" }, ...next);
    byId("ngram-answer").replaceChildren(table(["label", "count", ...STEPS], rows), follows, list);
  }

  return { prepare, show };
})();
