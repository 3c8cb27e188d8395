// The board: navigation, live events, the state of the service, keys.

"use strict";

(() => {
  const { element, shown } = watchword;
  const { byId, ask, attempt } = asking;
  const { count, percent } = parts;
  const { state, fact } = board;
  const AGAIN = 2000; // milliseconds until a closed connection is opened again
  const SETTLE = 400; // milliseconds between two refreshes after events
  const QUIET = { quiet: true }; // of requests that the reader did not make
  let unseen = 0; // alerts that arrived while the list was not in sight
  let refreshing = 0;
  let last = 0; // id of the latest alert that arrived

  // Navigation

  const views = {
    alerts: () => alerts.showList(),
    alert: (id) => alerts.showOne(Number(id)),
    subjects: () => subjects.showList(),
    subject: (name) => subjects.showOne(name),
  };

  /** Return the view in the address, and the alert or subject: #alerts/3, #subjects/ann */
  function wanted() {
    const [, kind, rest] = location.hash.match(/^#(alerts|subjects)(?:\/(.+))?$/) ?? [null, "alerts"];
    if (rest === undefined) return [kind];
    try {
      return [kind.slice(0, -1), decodeURIComponent(rest)];
    } catch {
      return [kind];
    }
  }

  function show() {
    const [view, ...given] = wanted();
    byId("details").hidden = true;
    if (view === "alerts") showUnseen(0);
    parts.openView(view);
    return attempt(() => views[view](...given));
  }

  function showUnseen(many) {
    unseen = many;
    byId("unseen").hidden = !many;
    byId("unseen").textContent = many ? count(many) : "";
    document.title = words.title(many);
  }

  // Live events

  function listen() {
    const events = new EventSource(last ? `/alerts/events?since=${last}` : "/alerts/events");
    events.addEventListener("open", () => {
      setLive(true);
      refreshSoon();
    });
    events.addEventListener("error", () => {
      setLive(false);
      if (events.readyState !== EventSource.CLOSED) return; // the browser tries again by itself
      setTimeout(listen, AGAIN);
    });
    events.addEventListener("alert", (event) => {
      last = Math.max(last, Number(event.lastEventId));
      if (byId("view-alerts").hidden) showUnseen(unseen + 1);
      refreshSoon();
    });
    events.addEventListener("statistics", (event) => showState(JSON.parse(event.data)));
  }

  function setLive(isLive) {
    byId("live").textContent = isLive ? words.live : words.lost;
    byId("live").classList.toggle("lost", !isLive);
  }

  /** Ask again for what is in sight, at most once in a while. */
  function refreshSoon() {
    refreshing ||= setTimeout(async () => {
      refreshing = 0;
      // One by one: what the reader asks for may cancel the first request, not the others.
      await attempt(() => (byId("view-alerts").hidden ? alerts.load(QUIET) : alerts.showList(QUIET)), QUIET);
      await attempt(() => subjects.showClosest(), QUIET);
      await attempt(async () => showState(await ask("statistics", "/statistics", QUIET)), QUIET);
    }, SETTLE);
  }

  // The state of the service

  function showState(found) {
    board.showStatistics(found);
    byId("rate").textContent = board.rate(found.per_second);
    showArrivals(found.per_second);
    byId("totals").replaceChildren(
      ...["posts", "subjects", "alerts", "queued"].map((name) => fact(words.totals[name], count(found[name]))),
    );
    const { right, wrong } = found.marks;
    byId("marks").replaceChildren(
      fact(words.marks.precision, percent(right, right + wrong)),
      ...["right", "wrong", "unsure"].map((name) => fact(words.marks[name], count(found.marks[name]))),
    );
    const options = words.policy(found.policy, found.positive).map((text) => element("span", {}, shown(text)));
    byId("policy").replaceChildren(options[0], " ", options[1]);
  }

  function showArrivals(seconds) {
    const most = Math.max(1, ...seconds);
    const bars = seconds.map((posts, at) => {
      const height = (30 * posts) / most;
      return charts.draw("rect", { x: at * 4, y: 30 - height, width: 3, height });
    });
    const size = { viewBox: `0 0 ${Math.max(1, seconds.length) * 4} 30`, class: "arrivals", role: "img" };
    const picture = charts.draw("svg", { ...size, "aria-label": words.perSecond(most), preserveAspectRatio: "none" }, ...bars);
    byId("arrivals").replaceChildren(picture);
  }

  // Teaching, where the token allows it

  function showVersions(models) {
    byId("versions").replaceChildren(...models.map((version) => {
      if (version.is_active) return element("li", {}, words.version(version), element("strong", {}, words.inUse));
      const button = element("button", { type: "button" }, words.activate);
      button.addEventListener("click", () => attempt(async () => {
        await ask("models", `/admin/models/${version.number}/activate`, { body: {} });
        await askVersions();
      }));
      return element("li", {}, words.version(version), " ", button);
    }));
  }

  const askVersions = async (options = {}) => showVersions((await ask("models", "/admin/models", options)).models);

  async function prepareTeaching() {
    if (!board.mayUse("admin")) return;
    await askVersions(QUIET);
    byId("teach").addEventListener("click", () => attempt(async () => {
      byId("taught").textContent = words.taught(await ask("teach", "/admin/teach", { body: {} }));
      await askVersions();
    }));
  }

  // Keys

  const keys = {
    n: () => alerts.move(1), j: () => alerts.move(1), p: () => alerts.move(-1), k: () => alerts.move(-1),
    r: () => judge("right"), w: () => judge("wrong"), u: () => judge("unsure"),
    "/": () => document.querySelector("main > section:not([hidden]) input[type=search]")?.focus(),
  };

  function judge(verdict) {
    if (byId("view-alert").hidden || !board.mayUse("mark")) return;
    attempt(async () => {
      await alerts.judge(verdict);
      refreshSoon();
    });
  }

  function press(event) {
    const { target, key } = event;
    if (event.ctrlKey || event.metaKey || event.altKey || !(key in keys)) {
      if (key === "Escape" && target.matches("input, select")) target.blur();
      return;
    }
    if (target.matches("input:not([type=checkbox]), select, textarea")) return;
    event.preventDefault();
    keys[key]();
  }

  function prepareSorting() {
    for (const head of document.querySelectorAll("[data-sort]")) {
      const list = head.closest("table");
      const choice = byId(list.id.replace("list", "sort"));
      const button = element("button", { type: "button", class: "link" }, ...head.childNodes);
      head.append(button);
      const tell = () => {
        if (choice.value === head.dataset.sort) head.setAttribute("aria-sort", "descending");
        else head.removeAttribute("aria-sort");
      };
      choice.addEventListener("change", tell);
      tell();
      button.addEventListener("click", () => {
        choice.value = head.dataset.sort;
        choice.dispatchEvent(new Event("change"));
      });
    }
    for (const form of document.querySelectorAll("form")) {
      form.addEventListener("submit", (event) => event.preventDefault());
    }
  }

  setLive(false);
  byId("live").textContent = words.waiting;
  attempt(async () => {
    await board.prepare();
    showState(state.statistics);
    prepareSorting();
    alerts.prepare();
    subjects.prepare();
    document.addEventListener("keydown", press);
    for (const button of document.querySelectorAll("[data-verdict]")) {
      button.addEventListener("click", () => judge(button.dataset.verdict));
    }
    addEventListener("hashchange", show);
    await show();
    await attempt(async () => {
      last = (await alerts.load(QUIET)).last;
      await subjects.showClosest();
    });
    listen();
    await attempt(prepareTeaching);
    document.body.dataset.ready = "true";
  });
})();
