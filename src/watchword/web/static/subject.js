// One subject: replay of the posts, curves, the decision, and what tipped the decision.

"use strict";

const replay = (() => {
  const { element, number, shown, visible } = watchword;
  const { state, byId, ask, asked, attempt, expand } = page;
  const { badge, tick, plural, chip, signed, ngramChip } = parts;
  const QUICK_STORY = 300; // posts: longer stories are collapsed at first
  const MOST_CHIPS = 100;
  const PACE = 700; // milliseconds for each post while playing
  let subject = null; // response of /api/subjects/…
  let playing = 0;
  let stops = 0; // how often it was stopped

  async function show(at, post) {
    const found = await ask("view", `/api/subjects/${at}`, { given: asked() });
    if (byId("view-subject").hidden) return; // another view was opened meanwhile
    const same = subject?.at === at;
    subject = found;
    byId("subject-title").replaceChildren("Subject ", shown(found.id));
    lists.showTrail("subject", "subjects", at, state.about.subjects.total);
    const truth = found.truth === null ? [] : ["truth ", badge(found.truth, found.labels)];
    const end = found.alert ? ` at post ${found.delay} of ${found.posts}` : ` in ${plural(found.posts, "post")}`;
    const decided = found.alert ? " alert for " : " no alert for ";
    byId("subject-facts").replaceChildren(
      ...truth, decided, badge(found.positive, found.labels), end, tick(found.right),
    );
    byId("view-subject").classList.toggle("empty", !found.posts);
    if (!found.posts) {
      byId("subject-decision").textContent = "This subject has no posts.";
      return;
    }
    const slider = byId("replay-at");
    slider.max = String(found.posts);
    const wanted = post ?? (same ? Number(slider.value) : found.alert ? found.delay : found.posts);
    if (!same) {
      byId("story").open = found.posts <= QUICK_STORY;
      byId("story-told").replaceChildren();
    }
    // In parallel: moving on to another post cancels the request for the post, not for the story.
    await Promise.all([goTo(wanted), showStory()]);
  }

  /** Show the state after a post: curves, decision, and the post itself. */
  async function goTo(wanted) {
    const post = Math.min(Math.max(wanted, 1), subject.posts);
    const slider = byId("replay-at");
    const progress = `post ${post} of ${subject.posts}`;
    slider.value = String(post);
    slider.setAttribute("aria-valuetext", progress);
    byId("replay-told").textContent = progress;
    byId("replay-back").disabled = post <= 1;
    byId("replay-forth").disabled = post >= subject.posts;
    history.replaceState(null, "", `#subjects/${subject.at}/${post}`);
    drawCurves();
    showDecision(post);
    const found = await ask("post", `/api/subjects/${subject.at}/posts/${post}`, { given: state.settings });
    byId("post-number").textContent = [found.number, found.time].filter((each) => each !== null).join(", ");
    reading.note("subject", found.cut ? reading.cutMessage(found.cut) : "");
    reading.show("subject", expand(found.explanation), subject.positive);
  }

  function showDecision(post) {
    const decision = byId("subject-decision");
    const alerted = subject.alert && post >= subject.delay;
    decision.classList.toggle("alerted", alerted);
    if (!alerted) decision.textContent = "No alert so far.";
    else decision.textContent = post === subject.delay ? "Alert at this post." : `Alert since post ${subject.delay}.`;
  }

  function drawCurves() {
    if (!subject?.posts) return;
    charts.curves(byId("subject-curves"), subject, {
      at: Number(byId("replay-at").value), choose: (post) => attempt(() => goTo(post)),
    });
  }

  // What tipped the decision

  async function showStory() {
    if (!byId("story").open || !subject?.posts) return;
    const found = await ask("story", `/api/subjects/${subject.at}/story`, { given: asked() });
    const { tipped } = found;
    const until = subject.alert ? `up to the alert (post ${subject.delay})` : "in all posts";
    const rival = tipped.rival === null ? "" : `, compared with ${visible(tipped.rival)}`;
    const refined = found.refined ? " N-grams add to the scores of posts, and posts add probabilities." : "";
    const intro = `Evidence for and against ${visible(found.positive)} ${until}${rival}.${refined}`;
    const columns = [
      ...found.weighed.map(weighedColumn),
      [`N-grams for ${visible(found.positive)}`, tipped.ngrams_for.map(ngramChip)],
      [`N-grams against ${visible(found.positive)}`, tipped.ngrams_against.map(ngramChip)],
      [`Posts for ${visible(found.positive)}`, tipped.posts_for.map(postChip)],
      [`Posts against ${visible(found.positive)}`, tipped.posts_against.map(postChip)],
    ];
    const parts = columns
      .filter(([, chips]) => chips.length)
      .map(([title, chips]) => [element("h2", {}, title), element("ul", { class: "chips" }, ...chips)])
      .map((part) => element("div", {}, ...part));
    const changes = found.changes.flatMap((change) => [
      element("p", { class: "told" }, visible(change.text)),
      element("ul", { class: "chips" }, ...change.occurrences.slice(0, MOST_CHIPS).map(chip)),
    ]);
    const about = element("p", { class: "quiet" }, intro);
    byId("story-told").replaceChildren(about, element("div", { class: "reading" }, ...parts), ...changes);
  }

  const weighedColumn = ({ post, total, threshold, features }) => {
    const compared = `sum ${plainly(total)}, threshold ${plainly(threshold)}`;
    return [`Features weighed at post ${post}: ${compared}`, features.map(featureChip)];
  };

  const plainly = (value) => `${value < 0 ? "−" : ""}${number(Math.abs(value))}`;

  const featureChip = ({ feature, value, weight, contribution }) =>
    element("li", {}, `${feature} ${plainly(value)} · ${plainly(weight)}`, signed(contribution));

  function postChip({ number: post, difference }) {
    const button = element("button", { type: "button" }, `post ${post}`, signed(difference));
    button.addEventListener("click", () => attempt(() => goTo(post)));
    return element("li", { class: "plain" }, button);
  }

  // Playing

  function prepare() {
    const slider = byId("replay-at");
    slider.addEventListener("input", () => attempt(() => goTo(Number(slider.value))));
    byId("replay-back").addEventListener("click", () => attempt(() => goTo(Number(slider.value) - 1)));
    byId("replay-forth").addEventListener("click", () => attempt(() => goTo(Number(slider.value) + 1)));
    byId("replay-play").addEventListener("click", () => (playing ? stop() : play()));
    byId("story").addEventListener("toggle", () => {
      if (!byId("story-told").firstChild) attempt(showStory);
    });
    new ResizeObserver(drawCurves).observe(byId("subject-curves"));
  }

  function play() {
    const slider = byId("replay-at");
    let post = Number(slider.value) >= subject.posts ? 0 : Number(slider.value); // at the end, start again
    byId("replay-play").textContent = "Pause";
    const before = stops;
    const next = async () => {
      post += 1;
      await attempt(() => goTo(post));
      if (before !== stops) return; // stopped, and perhaps started again
      if (post < subject.posts) playing = setTimeout(next, PACE);
      else stop();
    };
    playing = setTimeout(next, 0);
  }

  function stop() {
    stops += 1;
    clearTimeout(playing);
    playing = 0;
    byId("replay-play").textContent = "Play";
  }

  return { prepare, show, stop };
})();
