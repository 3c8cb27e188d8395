// Shared by all pages: switching between views, and small elements and spellings for lists.

"use strict";

const parts = (() => {
  const { element, number, shown, colourClass } = watchword;

  /** Show a view and no other, and mark the link to it; #subjects also leads to the view of one subject. */
  function openView(view) {
    const section = document.getElementById(`view-${view}`);
    const arrives = section.hidden && "ready" in document.body.dataset;
    for (const each of document.querySelectorAll("main > section")) each.hidden = each !== section;
    for (const link of document.querySelectorAll("header nav a")) {
      if (link.hash === `#${view}` || link.hash === `#${view}s`) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
    if (arrives) section.querySelector("h1").focus(); // for screen readers
  }

  const count = (value) => value.toLocaleString("en");
  const plural = (value, one) => `${count(value)} ${one}${value === 1 ? "" : "s"}`;
  const percent = (part, whole) => (whole ? `${((100 * part) / whole).toFixed(1)}\u00a0%` : "–");

  function chip({ ngram, post }) {
    const where = post === null ? "" : element("span", { class: "quiet" }, ` post ${post}`);
    return element("li", {}, shown(ngram), where);
  }

  const signed = (difference) =>
    element("span", { class: "quiet number" }, ` ${difference > 0 ? "+" : "−"}${number(Math.abs(difference))}`);

  const ngramChip = ({ ngram, times, difference }) =>
    element("li", {}, shown(ngram), times > 1 ? ` ×${times}` : "", signed(difference));

  /** Return a table row: a name, then numbers. */
  function row([name, ...numbers], attributes = {}) {
    const cells = numbers.map((each) => element("td", { class: "number" }, each));
    return element("tr", attributes, element("th", { scope: "row" }, name), ...cells);
  }

  function headRow(names) {
    const cells = names.map((name, at) => element("th", { scope: "col", class: at ? "number" : "" }, name));
    return element("tr", {}, ...cells);
  }

  function table(names, rows) {
    const top = element("thead", {}, headRow(names));
    return element("table", { class: "list" }, top, element("tbody", {}, ...rows));
  }

  /** Put rows into a list; each cell knows its column's name, which phones show (see .cards in style.css). */
  function fill(list, rows) {
    const names = [...list.tHead.rows[0].cells].map((cell) => cell.textContent);
    for (const row of rows) {
      row.setAttribute("role", "row"); // browsers forget roles where style sheets change the layout
      [...row.cells].forEach((cell, at) => {
        cell.dataset.name = names[at];
        cell.setAttribute("role", "cell");
      });
    }
    list.tBodies[0].replaceChildren(...rows);
  }

  const coloured = (column, labels) => element("span", { class: `named ${colourClass(column)}` }, withSwatch(labels[column]));

  const withSwatch = (label) => element("span", {}, element("i", { class: "swatch" }), shown(label));

  const verdict = (right) => (right === null ? "" : right ? "right" : "wrong");

  /** Return a mark for right or wrong that does not rely on colour, with text for screen readers. */
  function tick(right) {
    if (right === null) return "";
    const heard = element("span", { class: "heard" }, verdict(right));
    return element("span", { class: `mark ${verdict(right)}` }, ` ${right ? "✓" : "✗"}`, heard);
  }

  function badge(label, labels) {
    if (label === null || label.length === 0) return "–";
    if (Array.isArray(label)) return element("span", {}, ...label.flatMap((one) => [badge(one, labels), " "]));
    return element("span", { class: `badge ${colourClass(Math.max(0, labels.indexOf(label)))}` }, shown(label));
  }

  return {
    badge, chip, coloured, count, fill, headRow, ngramChip, openView, percent, plural, row, signed, table, tick,
    verdict, withSwatch,
  };
})();
