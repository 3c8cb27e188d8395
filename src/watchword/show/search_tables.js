// Sortable tables: columns are { name, key, number }, items are of any type

const compare = (a, b) => {
  if (a === null || b === null) return (a === null) - (b === null);
  if (typeof a === typeof b) return typeof a === "number" ? a - b : a.localeCompare(b);
  return typeof a === "number" ? -1 : 1;
};
function sortable(table, columns, items, row) {
  let sorted = null;
  let down = false;
  const heads = columns.map((column, place) => {
    const button = make("button", { type: "button" }, name(column.name));
    const head = make("th", { scope: "col", class: column.number ? "number" : null }, button);
    button.addEventListener("click", () => {
      down = sorted === place ? !down : Boolean(column.down);
      order(place);
    });
    return head;
  });
  const state = { items: [...items], draw: () => {}, after: () => {} };
  const order = (place) => {
    sorted = place;
    const { key } = columns[place];
    const sign = down ? -1 : 1;
    state.items = [...items].sort((a, b) => {
      const [one, other] = [key(a), key(b)];
      // Unknown values come last in either order.
      return compare(one, other) * (one === null || other === null ? 1 : sign);
    });
    heads.forEach((head, each) => {
      if (each === place) head.setAttribute("aria-sort", down ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    });
    state.draw();
    state.after();
  };
  const body = make("tbody");
  state.draw = () => body.replaceChildren(...state.items.slice(0, state.most).map(row));
  const head = make("thead", {}, make("tr", {}, ...heads));
  table.replaceChildren(...table.querySelectorAll("caption"), head, body);
  state.order = order;
  return state;
}

const settingRows = new Map();
const settingRow = (one) => {
  if (!settingRows.has(one)) {
    const kind = [one === 0 ? "ww-first" : "", complete[one] ? "" : "ww-dropped"].join(" ").trim();
    const label = `Setting ${one + 1}${one === 0 ? ", the best" : ""}`;
    const reached = { type: "button", tabindex: -1, "aria-label": label };
    const button = make("button", reached, many(one + 1));
    const row = make("tr", { class: kind || null },
      make("th", { scope: "row", class: "number" }, button),
      make("td", { class: "number" }, figure(data.value[one])),
      make("td", { class: "number" }, figure(data.deviation[one])),
      make("td", { class: "number" }, many(data.byFold[one].length)),
      ...data.names.map((_, column) => make("td", {}, name(shown(one, column)))));
    row.addEventListener("click", () => pick(one));
    button.addEventListener("keydown", (event) => walk(event, one));
    settingRows.set(one, row);
  }
  return settingRows.get(one);
};
const keyOf = (column) => (one) => {
  const value = valueOf(one, column);
  return typeof value === "number" ? value : value[0];
};
const settings = sortable(at("settings"), [
  { name: "#", key: (one) => one, number: true },
  { name: data.measure, key: (one) => data.value[one], number: true, down: !data.less },
  { name: "±", key: (one) => data.deviation[one], number: true },
  { name: "folds", key: (one) => data.byFold[one].length, number: true, down: true },
  ...data.names.map((parameter, column) => ({ name: parameter, key: keyOf(column) })),
], everyone, settingRow);
settings.most = MOST_ROWS;
// One row is in the tab order: the selected one or, if that is not drawn, the first.
const reach = () => {
  const drawn = settings.items.indexOf(picked) < settings.most;
  const first = drawn ? picked : settings.items[0];
  for (const [one, row] of settingRows) {
    row.querySelector("button").tabIndex = one === first ? 0 : -1;
  }
};
settings.after = () => {
  at("settings").parentElement.scrollTop = 0;
  reach();
};
const walk = (event, one) => {
  const place = settings.items.indexOf(one);
  const last = settings.items.length - 1;
  const to = { ArrowDown: place + 1, ArrowUp: place - 1, Home: 0, End: last }[event.key];
  if (to === undefined) return;
  event.preventDefault();
  const next = settings.items[Math.min(Math.max(to, 0), last)];
  pick(next);
  settingRow(next).querySelector("button").focus({ preventScroll: true });
};
const showMore = () => {
  const rest = count - settings.most;
  at("more").hidden = rest <= 0;
  if (rest <= 0) return;
  const button = make("button", { type: "button" }, `Show ${many(rest)} more`);
  button.addEventListener("click", () => showAll());
  at("more").replaceChildren(button);
};
const showAll = () => {
  settings.most = count;
  settings.draw();
  showMore();
};
const markRow = () => {
  const place = settings.items.indexOf(picked);
  if (place >= settings.most) showAll();
  for (const [one, row] of settingRows) {
    if (one === picked) row.setAttribute("aria-current", "true");
    else row.removeAttribute("aria-current");
  }
  reach();
  // Scroll only the table, not the page.
  const [row, box] = [settingRow(picked), at("settings").parentElement];
  const head = at("settings").tHead.offsetHeight;
  if (row.offsetTop < box.scrollTop + head) box.scrollTop = row.offsetTop - head;
  const below = row.offsetTop + row.offsetHeight - box.clientHeight;
  if (below > box.scrollTop) box.scrollTop = below;
};

// Confusion matrices, as `confusion_html` in confusion.py draws them

const confusionTable = (labels, cells) => {
  const { mostLevel, steps, caption, dot, corner } = data.matrix;
  const isLarge = labels.length > mostLevel;
  const totals = labels.map(() => 0);
  const counts = new Map();
  for (const [row, column, texts] of cells) {
    totals[row] += texts;
    counts.set(row * labels.length + column, texts);
  }
  const cell = (row, column) => {
    const texts = counts.get(row * labels.length + column) || 0;
    const step = texts ? Math.max(1, Math.floor((steps * texts) / totals[row] + 0.5)) : 0;
    const kind = step ? `ww-${row === column ? "r" : "w"}${step}` : "ww-none";
    const part = `${many(texts)} of ${many(totals[row])}`;
    const title = `${part} texts of ${labels[row]} predicted as ${labels[column]}`;
    return make("td", { class: kind, title }, texts ? many(texts) : isLarge ? dot : "0");
  };
  const heads = labels.map((label) => make("th", { scope: "col" }, name(label)));
  const rows = labels.map((label, row) => make("tr", {},
    make("th", { scope: "row" }, name(label)), ...labels.map((_, column) => cell(row, column))));
  return make("table", { class: isLarge ? "ww-confusion ww-many" : "ww-confusion" },
    make("caption", {}, caption),
    make("thead", {}, make("tr", {}, make("td", {}, corner), ...heads)),
    make("tbody", {}, ...rows));
};
