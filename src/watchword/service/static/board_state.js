// Shared by all views of the board: the state of the service, times, controls of lists, folded lists, curves.

"use strict";

const board = (() => {
  const { element, number, shown } = watchword;
  const { byId, ask, attempt, soon } = asking;
  const { count, headRow } = parts;
  const STEADY = 5; // seconds over which the rate of posts is averaged
  const PAGE = 50; // entries of a list that are asked for at first, and more at a time
  const FEW = 5; // entries of a list that are not folded
  const state = {
    labels: [],
    positive: "",
    statistics: null, // latest statistics of the service
    column: 0, // of the positive label
    scopes: [], // of the token
  };

  async function prepare() {
    state.scopes = (await ask("token", "/token")).scopes;
    for (const place of document.querySelectorAll("[data-scope]")) place.hidden = !mayUse(place.dataset.scope);
    showStatistics(await ask("statistics", "/statistics"));
  }

  const mayUse = (scope) => state.scopes.includes(scope);

  /** Take over statistics; labels are compared as strings, as in the names of JSON objects. */
  function showStatistics(found) {
    state.statistics = found;
    state.labels = found.labels.map(String);
    state.positive = String(found.positive);
    state.column = Math.max(0, state.labels.indexOf(state.positive));
    watchword.setAlert(state.column);
  }

  /** Return a time of the service, in the time zone of the reader. */
  function when(time) {
    if (!time) return "–";
    const at = new Date(time);
    const two = (value) => String(value).padStart(2, "0");
    const day = [at.getFullYear(), two(at.getMonth() + 1), two(at.getDate())].join("-");
    const clock = [at.getHours(), at.getMinutes(), at.getSeconds()].map(two).join(":");
    return element("time", { datetime: time, title: time }, `${day} ${clock}`);
  }

  const address = (name) =>
    name === "." || name === ".." ? `/subjects/?id=${name}` : `/subjects/${encodeURIComponent(name)}`;

  const subjectLink = (name) => element("a", { href: `#subjects/${encodeURIComponent(name)}` }, nameOf(name));

  /** Return a subject's id; one of spaces alone is quoted (see board.css), or it could not be clicked. */
  function nameOf(name) {
    const made = shown(name);
    if (!name.trim()) made.className = "blank";
    return made;
  }

  const fact = (name, value) => element("div", {}, element("dt", {}, name), element("dd", {}, value));

  /** Prepare the search, choices and button for more of a list; return a function: how many entries to ask for. */
  function prepareList(name, choices, showList) {
    let limit = PAGE;
    const show = (entries) => {
      limit = entries;
      attempt(showList);
    };
    byId(`${name}-query`).addEventListener("input", soon(() => show(PAGE), 150));
    for (const choice of choices) byId(`${name}-${choice}`).addEventListener("change", () => show(PAGE));
    byId(`${name}-more`).addEventListener("click", () => show(limit + PAGE));
    return () => limit;
  }

  /** Return a table whose rows after the first few are hidden until they are asked for. */
  function foldedTable(caption, names, rows) {
    const list = element(
      "table", { class: "strongest" },
      element("caption", {}, caption), element("thead", {}, headRow(names)), element("tbody", {}, ...rows),
    );
    return element("div", {}, list, ...fold(rows));
  }

  /** Hide elements after the first few; return a button that shows them, if any are hidden. */
  function fold(elements) {
    const hidden = elements.slice(FEW);
    if (!hidden.length) return [];
    for (const each of hidden) each.hidden = true;
    const button = element("button", { type: "button", class: "unfold" }, words.more(hidden.length));
    button.addEventListener("click", () => {
      for (const each of hidden) each.hidden = false;
      button.remove();
    });
    return [button];
  }

  /** Draw the history of a subject; `delay` is that of its alert, 0 without one. */
  function drawHistory(place, { history, delay }) {
    const read = history.filter((post) => post.number !== null);
    if (!read.length) {
      place.replaceChildren();
      return;
    }
    const { labels, positive } = state;
    const totals = (post) => labels.map((label) => post.sums[label] ?? 0);
    const before = read[0].number - 1;
    const subject = {
      labels, positive, before, delay, alert: delay > 0,
      start: labels.map((label, at) => totals(read[0])[at] - (read[0].added[label] ?? 0)),
      sums: read.map(totals),
    };
    charts.curves(place, subject, { at: read.length, choose: () => {} });
  }

  /** Return the mean of the latest complete seconds; the last second of the list is not over yet. */
  function rate(seconds) {
    const complete = seconds.slice(-1 - STEADY, -1);
    const mean = complete.reduce((sum, posts) => sum + posts, 0) / Math.max(1, complete.length);
    return mean === 0 || mean >= 10 ? count(Math.round(mean)) : mean.toFixed(1);
  }

  const score = (value) => (value === null ? "–" : number(value));

  return {
    state, prepare, mayUse, prepareList, showStatistics, when, address, subjectLink, fact, fold, foldedTable, nameOf, drawHistory,
    rate, score,
  };
})();
