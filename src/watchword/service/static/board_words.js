// Texts of the board that depend on data, each in one place; all others are in board.html.

"use strict";

const words = (() => {
  const { count, plural } = parts;

  /** Return an argument as POSIX shells read it. */
  const quoted = (text) => `'${String(text).replaceAll("'", `'\\''`)}'`;

  return {
    live: "live",
    waiting: "connecting …",
    lost: "connection lost, trying again …",
    fresh: "new",
    subject: "Subject ",
    alert: (id) => `Alert ${id}`,
    at: " at ",
    atPost: (post) => `post ${count(post)}`,
    probability: (label, share) => `probability of ${label} ${share}`,
    afterPosts: (posts) => ` after ${plural(posts, "post")}, raised `,
    score: "score",
    noAlert: "no alert",
    inPosts: (posts) => ` in ${plural(posts, "post")}`,
    unmarked: "unmarked",
    marked: ({ verdict, by }) => `Marked ${verdict} by ${by}, `,
    earlier: ({ verdict, by }) => `Earlier: ${verdict} by ${by}, `,
    noted: (note) => `: ${note}`,
    origin: { policy: "policy", model: "model", post: "post id" },
    totals: { posts: "posts", subjects: "subjects", alerts: "alerts", queued: "waiting" },
    marks: { right: "right", wrong: "wrong", unsure: "unsure", precision: "precision" },
    perSecond: (most) => `Posts in each of the latest 60 seconds, at most ${count(most)}`,
    policy: (policy, label) => [`--policy ${quoted(policy)}`, `--positive ${quoted(label)}`],
    reasons: ({ ngrams_of: of, covers, rival }, label) => {
      const from = of === "all posts" ? `${plural(covers, "post")} up to the alert` : "the post that raised the alert";
      const against = rival === null ? "" : `, compared with ${rival}`;
      return `N-grams of ${from}, for and against ${label}${against}.`;
    },
    sides: {
      ngrams_for: "N-grams for the alert",
      ngrams_against: "N-grams against the alert",
      posts_for: "Posts for the alert",
      posts_against: "Posts against the alert",
    },
    ngramColumns: ["n-gram", "times", "counted", "corrected", "total"],
    postColumns: ["post", "time", "total"],
    more: (many) => `Show ${count(many)} more`,
    keyPosts: "Posts with the largest contributions",
    wouldChange: "What would have changed the decision",
    textNotKept: "–",
    taught: ({ lessons, number }) => `The model is now version ${number}, taught ${plural(lessons, "text")}.`,
    version: ({ number, kind, lessons }) =>
      kind === "taught" ? `${number}: taught ${plural(lessons, "text")}` : `${number}: given model file`,
    activate: "Activate",
    inUse: " in use",
    title: (unseen) => `${unseen ? `(${count(unseen)}) ` : ""}watchword`,
  };
})();
