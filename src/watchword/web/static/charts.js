// Curves over posts, and clickable confusion matrices.

"use strict";

const charts = (() => {
  const { element, number, shown, visible, colourClass, dash } = watchword;
  const SVG = "http://www.w3.org/2000/svg";
  const MOST_CURVES = 10;
  const MOST_IN_MATRIX = 30;
  const LEVEL_NAMES = 6; // columns: with more, their names are vertical
  const MOST_LISTED = 50; // confusions instead of a matrix
  const MOST_BELOW = 5; // confusions below a matrix with many columns

  function draw(name, attributes = {}, ...children) {
    const made = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children);
    return made;
  }

  /** Return ticks up to `end`, in steps of 1, 2 or 5 times a power of ten, about `most` of them. */
  function ticks(end, most) {
    if (!(end > 0)) return [0];
    const rough = end / most;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((times) => times * power).find((each) => each >= rough);
    const found = [];
    for (let at = 0; at <= end * 1.0001; at += step) found.push(Number(at.toPrecision(6)));
    return found;
  }

  /**
   * Draw each label's sum after every post. `subject` is {labels, positive, sums, alert, delay} as in
   * the response of /api/subjects/…; its `sums` may begin after post `before`, from `start`. `at` is the index of
   * the current post: later parts of the curves are faint. `choose` is called with a clicked post.
   */
  function curves(container, subject, { at, choose }) {
    const { sums, labels, positive, before = 0 } = subject;
    const width = Math.max(280, container.clientWidth);
    const height = Math.round(Math.min(300, Math.max(190, width * 0.4)));
    const edge = { left: 44, right: 14, top: 16, bottom: 30 };
    const posts = sums.length;
    const highest = Math.max(1e-9, ...(sums.at(-1) ?? [0]));
    const x = (post) => edge.left + ((width - edge.left - edge.right) * post) / Math.max(1, posts);
    const y = (value) => height - edge.bottom - ((height - edge.top - edge.bottom) * value) / highest;
    const picture = draw("svg", {
      viewBox: `0 0 ${width} ${height}`, width, height, role: "img", class: "chart",
      "aria-label": told(subject, at),
    });
    for (const value of ticks(highest, 5)) {
      picture.append(
        draw("line", { class: "grid", x1: edge.left, x2: width - edge.right, y1: y(value), y2: y(value) }),
        draw("text", { x: edge.left - 6, y: y(value) + 4, "text-anchor": "end" }, String(value)),
      );
    }
    const posted = ticks(posts, Math.min(posts, width / 70)).filter(Number.isInteger);
    for (const post of posted) {
      picture.append(draw("text", { x: x(post), y: height - 10, "text-anchor": "middle" }, String(post + before)));
    }
    if (subject.alert && subject.delay > before) {
      const there = x(subject.delay - before);
      const late = there > width * 0.7; // no room for text on its right
      const place = { x: there + (late ? -5 : 5), y: edge.top, "text-anchor": late ? "end" : "start" };
      picture.append(
        draw("line", { class: "alert", x1: there, x2: there, y1: edge.top - 8, y2: height - edge.bottom }),
        draw("text", { class: "alert", ...place }, `alert, post ${subject.delay}`),
      );
    }
    picture.append(draw("line", { class: "cursor", x1: x(at), x2: x(at), y1: edge.top, y2: height - edge.bottom }));
    for (const column of shownColumns(subject)) {
      const values = [subject.start?.[column] ?? 0, ...sums.map((row) => row[column])];
      const points = values.map((value, post) => `${x(post).toFixed(1)},${y(value).toFixed(1)}`);
      const common = { class: colourClass(column), "stroke-dasharray": dash(column) };
      const group = draw("g", { class: labels[column] === positive ? "curve positive" : "curve" });
      group.append(
        draw("polyline", { ...common, points: points.slice(at).join(" "), opacity: 0.3 }),
        draw("polyline", { ...common, points: points.slice(0, at + 1).join(" ") }),
        draw("circle", { class: colourClass(column), cx: x(at), cy: y(values[at]), r: 3.5 }),
      );
      picture.append(group);
    }
    picture.addEventListener("click", (event) => {
      const box = picture.getBoundingClientRect();
      const place = ((event.clientX - box.left) / box.width) * width;
      const post = Math.round(((place - edge.left) / (width - edge.left - edge.right)) * posts);
      choose(Math.min(Math.max(post, 1), posts));
    });
    container.replaceChildren(picture, legend(subject, at));
  }

  /** Return the columns of the positive label and of those with the highest final sums. */
  function shownColumns({ sums, labels, positive }) {
    const last = sums.at(-1) ?? labels.map(() => 0);
    const order = labels.map((_, column) => column).sort((a, b) => last[b] - last[a] || a - b);
    const wanted = labels.indexOf(positive);
    return [wanted, ...order.filter((column) => column !== wanted)].slice(0, MOST_CURVES);
  }

  function told(subject, at) {
    const values = shownColumns(subject)
      .slice(0, 3)
      .map((column) => `${visible(subject.labels[column])} ${number(at ? subject.sums[at - 1][column] : 0)}`);
    const alert = subject.alert ? `alert at post ${subject.delay}` : "no alert";
    return `Accumulated confidence over ${subject.sums.length} posts; after post ${at}: ${values.join(", ")}; ${alert}`;
  }

  function legend(subject, at) {
    const items = shownColumns(subject).map((column) => {
      const size = { viewBox: "0 0 28 8", width: 28, height: 8, "aria-hidden": "true" };
      const stroke = draw("line", { x1: 1, x2: 27, y1: 4, y2: 4, "stroke-dasharray": dash(column) });
      const line = draw("svg", { ...size, class: colourClass(column) }, stroke);
      const value = element("span", { class: "number" }, number(at ? subject.sums[at - 1][column] : 0));
      return element("li", {}, line, shown(subject.labels[column]), " ", value);
    });
    const hidden = subject.labels.length - items.length;
    if (hidden > 0) items.push(element("li", { class: "quiet" }, `${hidden} more labels with lower sums`));
    return element("ul", { class: "legend" }, ...items);
  }

  /**
   * Draw a table of counts. `cells` are [row, column, count]; `chosen` is {row, column}, either may
   * be null; `choose` is called with a clicked cell or heading. Arrow keys move from cell to cell.
   */
  function matrix(container, { rows, columns, cells, chosen, choose, corner, isRight }) {
    if (Math.max(rows.length, columns.length) > MOST_IN_MATRIX) {
      container.replaceChildren(confusions({ rows, columns, cells, chosen, choose, isRight }));
      return;
    }
    const counts = rows.map(() => columns.map(() => 0));
    for (const [row, column, count] of cells) counts[row][column] = count;
    const heading = (at, name, isRow) => {
      const mine = isRow ? { row: at, column: null } : { row: null, column: at };
      const pressed = chosen.row === mine.row && chosen.column === mine.column;
      const button = element(
        "button", { type: "button", "aria-pressed": String(pressed), title: visible(name) }, shown(name),
      );
      button.addEventListener("click", () => choose(pressed ? { row: null, column: null } : mine));
      return element("th", { scope: isRow ? "row" : "col" }, button);
    };
    const head = element("tr", {}, element("td", { class: "corner" }, corner));
    columns.forEach((name, at) => head.append(heading(at, name, false)));
    const body = rows.map((name, row) => {
      const line = element("tr", {}, heading(row, name, true));
      const all = counts[row].reduce((sum, count) => sum + count, 0);
      columns.forEach((column, at) => {
        const count = counts[row][at];
        const pressed = chosen.row === row && chosen.column === at;
        const cell = element(
          "button",
          {
            type: "button",
            class: isRight(row, at) ? "cell right" : "cell wrong",
            "aria-pressed": String(pressed),
            "aria-label": `${corner}: ${visible(name)}, ${visible(column)}: ${count}`,
            title: `${visible(name)}, ${visible(column)}: ${count}`,
          },
          count ? count.toLocaleString("en") : "·",
        );
        cell.style.setProperty("--share", all ? (count / all).toFixed(3) : "0");
        cell.addEventListener("click", () => choose(pressed ? { row: null, column: null } : { row, column: at }));
        line.append(element("td", {}, cell));
      });
      return line;
    });
    const many = columns.length > LEVEL_NAMES;
    const table = element(
      "table",
      { class: many ? "counts many" : "counts" },
      element("caption", { class: "quiet" }, "The darker a cell, the larger its share of the row."),
      element("thead", {}, head),
      element("tbody", {}, ...body),
    );
    const focused = container.contains(document.activeElement) ? placeOf(document.activeElement) : null;
    const parts = [element("div", { class: many ? "wide scrolls" : "wide" }, table)];
    if (many) parts.push(confusions({ rows, columns, cells, chosen, choose, isRight, most: MOST_BELOW }));
    container.replaceChildren(...parts);
    rove(table, focused);
    pointOut(table);
  }

  const placeOf = (button) => {
    const cell = button.closest("td, th");
    return cell ? [cell.parentElement.rowIndex, cell.cellIndex] : null;
  };

  /** Make the table one tab stop, with arrow keys to move inside it. */
  function rove(table, focused) {
    const at = (row, column) => table.rows[row]?.cells[column]?.querySelector("button") ?? null;
    for (const button of table.querySelectorAll("button")) button.tabIndex = -1;
    const first = (focused && at(...focused)) ?? at(1, 1) ?? at(0, 1);
    if (first) first.tabIndex = 0;
    if (focused) first?.focus();
    table.addEventListener("keydown", (event) => {
      const steps = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] };
      const place = placeOf(event.target);
      if (!(event.key in steps) || !place) return;
      event.preventDefault();
      const next = at(place[0] + steps[event.key][0], place[1] + steps[event.key][1]);
      if (!next) return;
      event.target.tabIndex = -1;
      next.tabIndex = 0;
      next.focus();
    });
  }

  /** Point out the names of the row and column of the cell under the pointer, or in focus. */
  function pointOut(table) {
    const names = (cell) => [table.rows[0].cells[cell.cellIndex], cell.parentElement.cells[0]];
    const mark = (event) => {
      for (const each of table.querySelectorAll(".here")) each.classList.remove("here");
      const cell = event.target instanceof Element ? event.target.closest("tbody td") : null;
      if (cell && event.type !== "pointerleave") for (const each of names(cell)) each.classList.add("here");
    };
    for (const event of ["pointerover", "pointerleave", "focusin"]) table.addEventListener(event, mark);
  }

  /** List the most frequent confusions: below a matrix, or where a matrix would be too large. */
  function confusions({ rows, columns, cells, chosen, choose, isRight, most = MOST_LISTED }) {
    const wrong = cells.filter(([row, column]) => !isRight(row, column));
    wrong.sort((a, b) => b[2] - a[2]);
    const items = wrong.slice(0, most).map(([row, column, count]) => {
      const pressed = chosen.row === row && chosen.column === column;
      const text = [shown(rows[row]), " predicted as ", shown(columns[column]), `: ${count}`];
      const button = element("button", { type: "button", "aria-pressed": String(pressed) }, ...text);
      button.addEventListener("click", () => choose(pressed ? { row: null, column: null } : { row, column }));
      return element("li", {}, button);
    });
    return element("ul", { class: "confusions" }, ...items);
  }

  return { curves, draw, matrix };
})();
