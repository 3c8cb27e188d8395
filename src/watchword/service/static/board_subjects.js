// Subjects on the board: the list, those closest to an alert, and one subject.

"use strict";

const subjects = (() => {
  const { element, shown } = watchword;
  const { byId, ask, attempt } = asking;
  const { count, fill, signed } = parts;
  const { state, when, address, nameOf, subjectLink, drawHistory, prepareList, score } = board;
  const CLOSEST = 8;
  let limit = null; // function: how many entries to ask for
  let open = null; // the subject in sight, with the history read so far

  // The list

  async function showList() {
    const given = { query: byId("subjects-query").value, sort: byId("subjects-sort").value, limit: limit() };
    const { subjects: found } = await ask("subjects", "/subjects", { given });
    fill(byId("subjects-list"), found.map(row));
    byId("subjects-none").hidden = found.length > 0;
    byId("subjects-more").hidden = found.length < limit() || limit() >= 1000;
  }

  function row(found) {
    return element(
      "tr", {},
      element("td", { class: "text" }, subjectLink(found.id)),
      element("td", { class: "number" }, score(found.score)),
      element("td", { class: "number" }, count(found.posts)),
      element("td", {}, when(found.last_time)),
      element("td", {}, alertLink(found.alert)),
    );
  }

  const alertLink = (id) =>
    (id === null ? words.noAlert : element("a", { href: `#alerts/${id}` }, words.alert(id)));

  async function showClosest() {
    const given = { sort: "closest", limit: CLOSEST };
    const { subjects: found } = await ask("closest", "/subjects", { given, quiet: true });
    const items = found.map((one) =>
      element("li", {}, subjectLink(one.id), element("span", { class: "number quiet" }, ` ${score(one.score)}`)));
    byId("closest").replaceChildren(...items);
    byId("closest-none").hidden = items.length > 0;
  }

  // One subject

  async function showOne(name) {
    open = await ask("view", address(name));
    byId("subject-title").replaceChildren(words.subject, nameOf(open.id));
    const where = open.alert === null ? [] : [words.at, words.atPost(open.delay)];
    byId("subject-facts").replaceChildren(
      alertLink(open.alert), ...where, words.inPosts(open.posts), `, ${words.score} ${score(open.score)}`,
    );
    showPosts();
  }

  function showPosts() {
    drawHistory(byId("subject-curves"), open);
    const newest = [...open.history].reverse();
    fill(byId("posts-list"), newest.map(postRow));
    byId("posts-more").hidden = open.before === null;
  }

  function postRow(post) {
    const name = post.number === null ? words.textNotKept : words.atPost(post.number);
    return element(
      "tr", {},
      element("td", { class: "text" }, `${name} `, element("span", { class: "quiet" }, shown(post.post_id))),
      element("td", {}, when(post.time)),
      element("td", { class: "number" }, signed(post.added[state.positive] ?? 0)),
      element("td", { class: "told" }, post.text === null ? words.textNotKept : shown(post.text)),
    );
  }

  async function showEarlier() {
    const earlier = await ask("view", address(open.id), { given: { before: open.before } });
    open = { ...open, history: [...earlier.history, ...open.history], before: earlier.before };
    showPosts();
  }

  function prepare() {
    limit = prepareList("subjects", ["sort"], showList);
    byId("posts-more").addEventListener("click", () => attempt(showEarlier));
    new ResizeObserver(() => open && drawHistory(byId("subject-curves"), open)).observe(byId("subject-curves"));
  }

  return { prepare, showList, showClosest, showOne };
})();
