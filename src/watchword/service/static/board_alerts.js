// Alerts on the board: the list, one alert with its reasons, and marks.

"use strict";

const alerts = (() => {
  const { element, number, shown, visible, expand, inspect, paint, legend, hasEvidence, silence, chance } = watchword;
  const { byId, ask, attempt } = asking;
  const { badge, count, fill, row, tick } = parts;
  const { state, when, address, subjectLink, fact, fold, foldedTable, nameOf, drawHistory, prepareList, score } = board;
  const MOST = 1000;
  let limit = null; // function: how many entries to ask for
  let listed = []; // ids in the order of the list
  let open = null; // the alert in sight
  let history = null; // that of its subject
  let seen = 0; // largest id when the page was opened
  let drawn = ""; // what the list shows
  const opened = new Set(); // ids of alerts that were opened

  // The list

  async function load(options = {}) {
    const given = {
      query: byId("alerts-query").value, label: byId("alerts-label").value, sort: byId("alerts-sort").value,
      unmarked: byId("alerts-unmarked").checked ? "true" : "", limit: limit(),
    };
    const found = await ask("alerts", "/alerts", { given, ...options });
    listed = found.alerts.map(({ id }) => id);
    return found;
  }

  async function showList(options = {}) {
    const found = await load(options);
    seen ||= found.last;
    const wanted = JSON.stringify([found.alerts, ...opened]);
    if (wanted !== drawn) {
      drawn = wanted; // rows that did not change stay, so that no click is lost
      const focused = document.activeElement?.closest?.("#alerts-list a")?.hash;
      fill(byId("alerts-list"), found.alerts.map(listRow));
      if (focused) document.querySelector(`#alerts-list a[href="${focused}"]`)?.focus();
    }
    byId("alerts-none").hidden = found.alerts.length > 0;
    byId("alerts-more").hidden = found.alerts.length < limit() || limit() >= MOST;
  }

  function listRow(alert) {
    const fresh = alert.id > seen && !opened.has(alert.id) ? [element("span", { class: "fresh" }, words.fresh), " "] : [];
    return element(
      "tr", { "data-alert": alert.id },
      element("td", { class: "text" }, element("a", { href: `#alerts/${alert.id}` }, ...fresh, nameOf(alert.subject))),
      element("td", {}, badge(String(alert.label), state.labels)),
      element("td", { class: "number" }, score(alert.score)),
      element("td", {}, when(alert.raised_at)),
      element("td", {}, `${words.atPost(alert.delay)} `, element("span", { class: "quiet" }, when(alert.post_time))),
      element("td", {}, markOf(alert.mark)),
    );
  }

  function markOf(mark) {
    if (mark === null) return element("span", { class: "quiet" }, words.unmarked);
    const sign = mark.verdict === "unsure" ? "" : tick(mark.verdict === "right");
    return element("span", mark.note ? { title: visible(mark.note) } : {}, words.marks[mark.verdict], sign);
  }

  // One alert

  async function showOne(id) {
    const [found] = await Promise.all([ask("view", `/alerts/${id}`), listed.length ? null : attempt(load)]);
    open = found;
    opened.add(found.id);
    byId("alert-title").replaceChildren(words.alert(found.id), ": ", subjectLink(found.subject));
    byId("alert-facts").replaceChildren(
      badge(String(found.label), state.labels), words.afterPosts(found.delay), when(found.raised_at),
      `, ${words.score} ${score(found.score)}`,
    );
    const origin = [["policy", found.policy], ["model", found.model], ["post", found.post_id]];
    byId("alert-origin").replaceChildren(...origin.map(([name, value]) => fact(words.origin[name], shown(value))));
    showTrail();
    showMark();
    showReasons();
    await showEarlierMarks();
    await showHistory();
    await showStory();
  }

  function showTrail() {
    const at = listed.indexOf(open.id);
    byId("alert-previous").disabled = at <= 0;
    byId("alert-next").disabled = at >= 0 && at + 1 >= listed.length;
  }

  async function showHistory() {
    byId("alert-curves").replaceChildren();
    const found = await ask("history", address(open.subject), { given: { limit: MOST } });
    history = { ...found, delay: open.delay };
    drawHistory(byId("alert-curves"), history);
  }

  function showReasons() {
    const { reasons } = open;
    byId("reasons-told").textContent = words.reasons(
      { ...reasons, rival: reasons.rival === null ? null : visible(reasons.rival) }, visible(open.label),
    );
    const ngramRow = ({ ngram, times, counted, corrected, difference }) =>
      row([shown(ngram), count(times), ...[counted, corrected, difference].map(number)]);
    const postRow = ({ number: post, post_id: name, time, difference }) =>
      row([element("span", { title: visible(name ?? "") }, words.atPost(post)), when(time), number(difference)]);
    const tables = Object.entries(words.sides)
      .filter(([side]) => reasons[side].length)
      .map(([side, caption]) => side.startsWith("ngrams")
        ? foldedTable(caption, words.ngramColumns, reasons[side].map(ngramRow))
        : foldedTable(caption, words.postColumns, reasons[side].map(postRow)));
    byId("reasons").replaceChildren(...tables);
  }

  /** Show the key posts, painted, and what would have changed the decision, if texts are kept. */
  async function showStory() {
    const place = byId("alert-story");
    place.replaceChildren();
    if (history.history.every(({ text }) => text === null)) return;
    const path = address(open.subject).replace("/subjects/", "/stories/");
    const { id } = open;
    const story = await ask("story", path, { given: { painted: "true" } });
    if (id !== open.id) return; // another alert was opened meanwhile
    const isAlert = ({ number: post }) => post === open.delay;
    const ordered = [...story.shown.filter(isAlert), ...story.shown.filter((each) => !isAlert(each))];
    let scale = []; // the same for all posts
    const posts = ordered.map(({ number: post, time, explanation }) => {
      const sheet = element("div", { class: "sheet" });
      const given = expand(explanation);
      const column = given.labels.map(String).indexOf(state.positive);
      paint(sheet, given, { column });
      inspect(sheet, byId("details"));
      scale = legend(given, { column });
      const over = element("p", { class: "over" }, `${words.atPost(post)} `, when(time));
      if (!hasEvidence(given)) over.append(" · ", silence(given));
      else if (given.probability) over.append(` · ${words.probability(visible(state.positive), chance(given.probability[column]))}`);
      return element("article", {}, over, sheet);
    });
    const changes = story.changes.map(({ text }) => element("p", {}, visible(text)));
    place.append(element("h2", {}, words.keyPosts), element("p", { class: "quiet" }, ...scale), ...posts, ...fold(posts));
    if (changes.length) place.append(element("h2", {}, words.wouldChange), ...changes);
  }

  // Marks

  function showMark() {
    const { mark, label } = open;
    for (const button of document.querySelectorAll("[data-verdict]")) {
      button.setAttribute("aria-pressed", String(button.dataset.verdict === mark?.verdict));
    }
    byId("mark-note").value = mark?.note ?? "";
    const others = state.labels.filter((each) => each !== String(label));
    byId("mark-true").hidden = others.length < 2; // of two labels, the other one is the true one
    const options = others.map((each) => new Option(visible(each), each));
    byId("mark-label").replaceChildren(byId("mark-label").options[0], ...options);
    byId("mark-label").value = mark?.verdict === "wrong" && mark.label !== null ? String(mark.label) : "";
    byId("mark-told").replaceChildren(...(mark ? [words.marked({ ...mark, by: visible(mark.by) }), when(mark.at)] : []));
  }

  async function judge(verdict) {
    const asked = verdict === "wrong" && !byId("mark-true").hidden;
    const label = (asked && byId("mark-label").value) || null;
    const body = { verdict, note: byId("mark-note").value, label };
    const path = `/alerts/${open.id}/mark`;
    const mark = await ask(path, path, { body }); // only a new mark of the same alert cancels it
    if (mark.alert !== open.id) return;
    open = { ...open, mark };
    showMark();
    await showEarlierMarks();
  }

  /** Show the marks that the latest one has replaced, newest first. */
  async function showEarlierMarks() {
    const place = byId("mark-earlier");
    place.replaceChildren();
    if (open.mark === null) return;
    const { id } = open;
    const { marks } = await ask("marks", `/alerts/${id}/marks`);
    if (id === open.id) place.replaceChildren(...marks.slice(0, -1).reverse().map(earlierMark));
  }

  function earlierMark({ verdict, by, at, note }) {
    const told = words.earlier({ verdict, by: visible(by) });
    return element("li", {}, told, when(at), note ? words.noted(visible(note)) : "");
  }

  // Moving on

  /** Go to the alert after (1) or before (-1) the one in sight; from the list, to the first. */
  function move(by) {
    const inSight = !byId("view-alert").hidden && open;
    const at = inSight ? listed.indexOf(open.id) + by : 0;
    if (at >= 0 && at < listed.length) location.hash = `#alerts/${listed[at]}`;
  }

  function prepare() {
    for (const label of state.labels) byId("alerts-label").append(new Option(visible(label), label));
    limit = prepareList("alerts", ["label", "sort", "unmarked"], showList);
    byId("alert-next").addEventListener("click", () => move(1));
    byId("alert-previous").addEventListener("click", () => move(-1));
    for (const id of ["mark-note", "mark-label"]) {
      byId(id).addEventListener("change", () => {
        if (open?.mark) attempt(() => judge(open.mark.verdict));
      });
    }
    new ResizeObserver(() => history && drawHistory(byId("alert-curves"), history)).observe(byId("alert-curves"));
  }

  return { prepare, load, showList, showOne, judge, move };
})();
