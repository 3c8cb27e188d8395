// Lists of documents and subjects, with filters, matrix and pages; and the view of one document.

"use strict";

const lists = (() => {
  const { element, number, shown } = watchword;
  const { state, byId, ask, asked, attempt, expand } = page;
  const { verdict, tick, badge, count, fill, plural, percent } = parts;
  const filters = {
    documents: { right: "", row: null, column: null, page: 0 },
    subjects: { right: "", row: null, column: null, page: 0 },
  };
  const order = { documents: [], subjects: [] }; // indices in the order of the latest list

  const list = (kind) => (kind === "documents" ? showDocuments() : showSubjects());

  function choose(kind, changes) {
    Object.assign(filters[kind], { page: 0 }, changes);
    attempt(() => list(kind));
  }

  // Documents

  async function showDocuments() {
    const { labels } = state.about.documents;
    const given = { ...state.settings, ...filters.documents };
    const found = await ask("view", "/api/documents", { given });
    showList("documents", found, {
      rows: labels, columns: labels, names: ["truth", "predicted"], done: "right",
      isRight: (row, column) => row === column, entry: documentRow,
    });
  }

  function documentRow(row) {
    const { labels } = state.about.documents;
    const name = element("span", { class: "quiet" }, shown(row.id ?? row.at + 1), " ");
    const begin = shown(row.begin + (row.characters > row.begin.length ? " …" : ""));
    return element(
      "tr", { class: verdict(row.right) },
      element("td", { class: "text" }, element("a", { href: `#documents/${row.at}` }, name, begin)),
      element("td", {}, badge(row.truth, labels)),
      element("td", {}, badge(row.label, labels), tick(row.right)),
      element("td", { class: "number" }, number(row.value)),
    );
  }

  async function showDocument(at) {
    const found = await ask("view", `/api/documents/${at}`, { given: state.settings });
    const { labels, total } = state.about.documents;
    byId("document-title").replaceChildren("Document ", shown(found.id ?? at + 1));
    showTrail("document", "documents", at, total);
    const truth = found.truth === null ? [] : [" truth ", badge(found.truth, labels)];
    const long = ` ${plural(found.characters, "character")}`;
    byId("document-facts").replaceChildren(
      "predicted ", badge(found.label, labels), tick(found.right), ...truth, long,
    );
    const cut = found.cut && `${reading.cutMessage(found.cut)} The predicted label is that of the whole text.`;
    reading.note("document", cut ?? "");
    reading.show("document", expand(found.explanation));
  }

  // Subjects

  async function showSubjects() {
    const { labels } = state.about.subjects;
    const found = await ask("view", "/api/subjects", { given: { ...asked(), ...filters.subjects } });
    showMeasures(found.measures);
    showList("subjects", found, {
      rows: labels, columns: ["alert", "no alert"], names: ["truth", "decision"], done: "decided correctly",
      isRight: (row, column) => (labels[row] === found.positive) === (column === 0), entry: subjectRow,
    });
  }

  function subjectRow(row) {
    return element(
      "tr", { class: verdict(row.right) },
      element("td", { class: "text" }, element("a", { href: `#subjects/${row.at}` }, shown(row.id))),
      element("td", {}, badge(row.truth, state.about.labels)),
      element("td", {}, row.alert ? `alert at post ${row.delay}` : "no alert", tick(row.right)),
      element("td", { class: "number" }, count(row.posts)),
      element("td", { class: "number" }, number(row.score)),
    );
  }

  function showMeasures(measures) {
    const share = (value) => value.toFixed(3);
    const names = {
      erde5: ["ERDE5", (value) => percent(value, 1)],
      erde50: ["ERDE50", (value) => percent(value, 1)],
      precision: ["precision", share],
      recall: ["recall", share],
      f1: ["F1", share],
      f_latency: ["F latency", share],
      median_delay: ["median delay", String],
    };
    const parts = Object.entries(measures ?? {}).map(([name, value]) => {
      const [spelled, format] = names[name];
      return element("div", {}, element("dt", {}, spelled), element("dd", {}, value === null ? "–" : format(value)));
    });
    byId("subjects-measures").replaceChildren(...parts);
  }

  // Both

  function showList(kind, found, { rows, columns, names, done, isRight, entry }) {
    const { total, labelled } = state.about[kind];
    const mine = filters[kind];
    order[kind] = found.rows.map((row) => row.at);
    const right = `, ${count(found.right)} of ${count(labelled)} ${done} (${percent(found.right, labelled)})`;
    byId(`${kind}-facts`).textContent = plural(total, kind.slice(0, -1)) + (labelled ? right : "");
    byId(`${kind}-matrix`).closest("details").hidden = !labelled;
    charts.matrix(byId(`${kind}-matrix`), {
      rows, columns, cells: found.cells, chosen: mine, corner: names.join(", "), isRight,
      choose: (cell) => choose(kind, cell),
    });
    showFilters(kind, found.total, { rows, columns, names });
    fill(byId(`${kind}-list`), found.rows.map(entry));
    showPages(kind, found);
  }

  function showFilters(kind, total, { rows, columns, names }) {
    const mine = filters[kind];
    const parts = [];
    if (state.about[kind].labelled) {
      const buttons = [["", "all"], ["true", "right"], ["false", "wrong"]].map(([value, name]) => {
        const pressed = String(mine.right === value);
        const button = element("button", { type: "button", "aria-pressed": pressed }, name);
        button.addEventListener("click", () => choose(kind, { right: value }));
        return button;
      });
      parts.push(element("div", { class: "segments", role: "group", "aria-label": "Show" }, ...buttons));
    }
    const cell = [];
    if (mine.row !== null) cell.push(`${names[0]} `, shown(rows[mine.row]), " ");
    if (mine.column !== null) cell.push(`${names[1]} `, shown(columns[mine.column]));
    if (cell.length) {
      const cross = element("span", { "aria-hidden": "true" }, " ×");
      const heard = element("span", { class: "heard" }, ", show all");
      const clear = element("button", { type: "button", class: "clear" }, ...cell, cross, heard);
      clear.addEventListener("click", () => choose(kind, { row: null, column: null }));
      parts.push(clear);
    }
    parts.push(element("span", { class: "quiet", role: "status" }, `${count(total)} shown`));
    replaceKeepingFocus(byId(`${kind}-filters`), parts);
  }

  function showPages(kind, { page: at, pages }) {
    const place = byId(`${kind}-pages`);
    place.hidden = pages < 2;
    const turn = (by, name) => {
      const button = element("button", { type: "button" }, name);
      button.disabled = at + by < 0 || at + by >= pages;
      button.addEventListener("click", () => choose(kind, { page: at + by }));
      return button;
    };
    const where = element("span", { role: "status" }, `page ${count(at + 1)} of ${count(pages)}`);
    replaceKeepingFocus(place, [turn(-1, "Previous"), where, turn(1, "Next")]);
  }

  /** Show links to the list and to the neighbours in its order. */
  function showTrail(view, kind, at, total) {
    const mine = order[kind];
    const place = mine.indexOf(at);
    const before = place < 0 ? at - 1 : mine[place - 1] ?? -1;
    const after = place < 0 ? at + 1 : mine[place + 1] ?? total;
    const link = (to, name) => {
      const leads = to >= 0 && to < total;
      return leads ? element("a", { href: `#${kind}/${to}` }, name) : element("span", { class: "quiet" }, name);
    };
    const all = element("a", { href: `#${kind}` }, `All ${kind}`);
    replaceKeepingFocus(byId(`${view}-trail`), [all, link(before, "Previous"), link(after, "Next")]);
  }

  /** Replace children, keeping the keyboard focus on the same link or button. */
  function replaceKeepingFocus(place, parts) {
    const all = () => [...place.querySelectorAll("a, button, span")];
    const focused = all().indexOf(document.activeElement);
    place.replaceChildren(...parts);
    all()[focused]?.focus();
  }

  return { list, showDocuments, showDocument, showSubjects, showTrail };
})();
