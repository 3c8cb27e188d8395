// Painted explanations, in the shape of `Explanation.to_dict()` in Python plus, for every block,
// `share`: how strongly it is painted for each label, from 0 to 1, and `speaks`: the column of the
// label it supports, or null. The server computes both (Rules in explain/blocks.py).
//
//   {text, labels, label, value: [per label], summary, highest: {level: number}, blocks: [paragraphs]}
//   paragraph, sentence: {kind, start, end, value, contribution, share, blocks}
//   ngram: {kind: "ngram", start, end, value, contribution, share, ngram, count, lv, sg, sn}
// `highest` is what the strongest colour stands for, the same in all texts that share a scale.
// In a refined model, there is a `probability` of each label; n-grams also have the two parts of their value, `counted` and `corrected`.
// There, values may be negative; a block with a negative contribution has the share 0.
//
// `start` and `end` count characters as Python does (code points, not UTF-16 units). Texts and
// labels are untrusted: they become text nodes only, never markup.
// Not a module, so that a page can include this file inline.

"use strict";

const watchword = (() => {
  // Control characters, except line feeds, tabs and carriage returns.
  const CONTROLS =
    /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]+/g;
  const NAMES = {
    0x202a: "LRE", 0x202b: "RLE", 0x202c: "PDF", 0x202d: "LRO", 0x202e: "RLO",
    0x2066: "LRI", 0x2067: "RLI", 0x2068: "FSI", 0x2069: "PDI",
  };
  const STEPS = [0.25, 0.5, 0.75, 1]; // of the legend
  const SURE = 0.001; // probabilities this near to 0 or 1 are not told apart
  const LONG = 3000; // blocks: with more, paragraphs out of sight are not laid out
  const painted = new WeakMap(); // element → its painted explanation
  const ALL = "all"; // instead of a label's column: each block in the colour of the label it supports
  let colours = 0; // once known, their number: further labels reuse them
  let dashes = null; // once known
  let alertColumn = null; // of the label that alerts are raised for

  /** Make an element with attributes (class, role, …) and children; strings become text. */
  function element(name, attributes = {}, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) {
      if (value !== null && value !== undefined) made.setAttribute(key, value);
    }
    made.append(...children);
    return made;
  }

  /** Round half up, with the same arithmetic as `rounded` in explain/blocks.py. */
  const rounded = (value, digits) => Math.floor(value * 10 ** digits + 0.5) / 10 ** digits;

  /** Format a value for display, as `as_value` in explain/blocks.py does. */
  function number(value) {
    if (!Number.isFinite(value)) return "–";
    if (value === 0) return "0";
    if (Math.abs(value) >= 0.001) return rounded(value, 3).toFixed(3);
    const [digit, power] = value.toExponential(0).split("e-");
    return power > 4 ? `${digit}e-${power.padStart(2, "0")}` : value.toFixed(power);
  }

  /** Return an element with a label or id, isolated, its control characters named. */
  function shown(text) {
    const made = element("bdi");
    appendText(made, String(text));
    return made;
  }

  /** Return a label or id as a plain string, for attributes, options and the page's title. */
  const visible = (text) => String(text).replace(CONTROLS, "\ufffd");

  /** Append a text with its control characters visible and without effect on the surroundings. */
  function appendText(parent, text) {
    let from = 0;
    for (const found of text.matchAll(CONTROLS)) {
      if (found.index > from) parent.append(text.slice(from, found.index));
      const code = found[0].charCodeAt(0);
      const name = NAMES[code] ?? "U+" + code.toString(16).toUpperCase().padStart(4, "0");
      const times = found[0].length > 1 ? `×${found[0].length}` : "";
      // The characters stay in the text content; the element isolates them.
      parent.append(element("span", { class: "control", "data-name": name + times }, found[0]));
      from = found.index + found[0].length;
    }
    if (from < text.length) parent.append(text.slice(from));
  }

  /** Return the class that gives a label its colour, as `label_class` in explain/palette.py does. */
  const colourClass = (column) => (column === alertColumn ? "c-alert" : `c${column % colourCount()}`);

  /** Return the dashes of a label's line, as `label_dash` in explain/palette.py does. */
  function dash(column) {
    dashes ??= palette("--dashes").replaceAll('"', "").split("|");
    const round = Math.floor(column / colourCount());
    return dashes[((column % colourCount()) + round) % dashes.length];
  }

  function colourCount() {
    colours ||= Number(palette("--colours"));
    return colours;
  }

  const palette = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  /** Give the warm colour to the label in this column, or to none. */
  function setAlert(column) {
    alertColumn = column;
  }

  /** Restore the shape of Explanation.to_dict(), with shares, from the wire format (see wire.py). */
  function expand(sent) {
    const dense = (columns, own) => {
      if (!own) return own; // a sentence has no counts
      const all = new Array(sent.labels.length).fill(0);
      columns.forEach((column, at) => { all[column] = own[at]; });
      return all;
    };
    const rules = sent.rules.map(([kind, ngram, speaks, columns, ...numbers]) => {
      const [share, value, contribution, count, lv, sg, sn, counted, corrected] =
        numbers.map((own) => dense(columns, own));
      const added = contribution === 0 ? value : contribution; // null with a summary function
      return { kind, ngram, speaks, share, value, contribution: added, count, lv, sg, sn, counted, corrected };
    });
    const latest = { document: { blocks: [] } };
    const outer = { paragraph: "document", sentence: "paragraph", ngram: "sentence" };
    for (const [start, end, rule] of sent.blocks) {
      const block = { ...rules[rule], start, end, blocks: [] };
      latest[block.kind] = block;
      latest[outer[block.kind]].blocks.push(block);
    }
    return { ...sent, blocks: latest.document.blocks };
  }

  /** Return a function from code-point to UTF-16 offsets; call it with ascending offsets. */
  function placeFinder(text) {
    if (!/[\ud800-\udfff]/.test(text)) return (place) => place;
    let points = 0;
    let units = 0;
    return (place) => {
      for (; points < place && units < text.length; points += 1) {
        units += text.codePointAt(units) > 0xffff ? 2 : 1;
      }
      return units;
    };
  }

  /** Return all blocks of one level ("paragraph", "sentence" or "ngram"), in order. */
  function blocksOf(explanation, level) {
    const found = [];
    const visit = (blocks) => {
      for (const block of blocks) {
        if (block.kind === level) found.push(block);
        else visit(block.blocks ?? []);
      }
    };
    visit(explanation.blocks);
    return found;
  }

  /**
   * Show a painted explanation in an element, whose text content becomes exactly the text. `column`
   * is that of the label to paint for, or ALL [default: the predicted label].
   */
  function paint(container, explanation, { column = predicted(explanation), level = "ngram" } = {}) {
    const blocks = blocksOf(explanation, level);
    const text = explanation.text;
    const unit = placeFinder(text);
    const spans = [];
    const places = new WeakMap();
    const parts = document.createDocumentFragment();
    let at = 0; // units painted so far
    let next = 0; // block to paint next
    // One element per paragraph, so that browsers can skip the layout of distant ones.
    explanation.blocks.forEach((paragraph, index) => {
      const part = element("div", { class: "part" });
      for (; next < blocks.length && blocks[next].end <= paragraph.end; next += 1) {
        const block = blocks[next];
        const start = unit(block.start);
        const end = unit(block.end);
        if (start > at) appendText(part, text.slice(at, start));
        const span = column === ALL ? spokenSpan(block) : blockSpan(block.share[column]);
        appendText(span, text.slice(start, end));
        part.append(span);
        places.set(span, spans.push(span) - 1);
        at = end;
      }
      const following = explanation.blocks[index + 1];
      const end = following ? unit(following.start) : text.length;
      if (end > at) appendText(part, text.slice(at, end));
      at = Math.max(at, end);
      parts.append(part);
    });
    if (at < text.length) {
      const rest = element("div", { class: "part" });
      appendText(rest, text.slice(at));
      parts.append(rest);
    }
    if (spans.length) spans[0].tabIndex = 0;
    const colour = column === ALL ? "c-all" : colourClass(column);
    const before = painted.get(container);
    if (before) container.classList.remove(before.colour);
    container.classList.add("painted", colour);
    container.classList.toggle("long", blocks.length > LONG);
    container.replaceChildren(parts);
    painted.set(container, { explanation, blocks, spans, places, colour });
  }

  const predicted = (explanation) => Math.max(0, explanation.labels.indexOf(explanation.label));

  const plainSpan = element("span", { class: "block", role: "button", tabindex: "-1" });

  function blockSpan(share) {
    const span = plainSpan.cloneNode(false);
    if (share > 0) {
      span.className = "block worth";
      span.style.setProperty("--part", share);
    }
    return span;
  }

  function spokenSpan({ share, speaks }) {
    const span = blockSpan(speaks === null ? 0 : share[speaks]);
    if (speaks !== null) span.classList.add(colourClass(speaks));
    return span;
  }

  /** Mark the n-grams that begin at these offsets, [{start}, …], and no others. */
  function mark(container, occurrences) {
    const state = painted.get(container);
    if (!state) return;
    const starts = new Set(occurrences.map(({ start }) => start));
    state.spans.forEach((span, at) => {
      const block = state.blocks[at];
      span.classList.toggle("marked", block.kind === "ngram" && starts.has(block.start));
    });
  }

  /** Return a table of a block's numbers for every label, highest value first. */
  function details(block, explanation) {
    const isNgram = block.kind === "ngram";
    const contributes =
      block.contribution && block.contribution.some((added, at) => added !== block.value[at]);
    const columns = ["value"];
    if (contributes) columns.push("adds");
    if (block.counted) columns.push("counted", "corrected");
    if (isNgram) columns.push("count", "lv", "sg", "sn");
    const order = explanation.labels.map((_, at) => at);
    order.sort((a, b) => block.value[b] - block.value[a] || a - b);
    const rows = order.map((at) => {
      const cells = [number(block.value[at])];
      if (contributes) cells.push(number(block.contribution[at]));
      if (block.counted) cells.push(number(block.counted[at]), number(block.corrected[at]));
      if (isNgram) cells.push(block.count[at].toLocaleString("en"));
      if (isNgram) cells.push(...["lv", "sg", "sn"].map((name) => number(block[name][at])));
      return element(
        "tr",
        { class: colourClass(at) },
        element("th", { scope: "row" }, element("i", { class: "swatch" }), shown(explanation.labels[at])),
        ...cells.map((cell) => element("td", {}, cell)),
      );
    });
    const head = element("tr", {}, element("th", { scope: "col" }, "label"));
    for (const name of columns) head.append(element("th", { scope: "col" }, name));
    const made = document.createDocumentFragment();
    made.append(
      element("p", { class: "what" }, ...title(block)),
      element("table", {}, element("thead", {}, head), element("tbody", {}, ...rows)),
    );
    return made;
  }

  function title(block) {
    if (block.kind !== "ngram") {
      const inside = block.blocks.length;
      const parts = block.kind === "sentence" ? "n-gram" : "sentence";
      return [`${block.kind} of ${inside} ${parts}${inside === 1 ? "" : "s"}`];
    }
    const never = block.count.every((count) => count === 0);
    return [element("strong", {}, shown(block.ngram)), never ? " was never learnt" : ""];
  }

  /** Return a block's values in one sentence, for screen readers. */
  function summary(block, explanation) {
    const worth = explanation.labels
      .map((label, at) => [label, block.value[at]])
      .filter(([, value]) => value !== 0)
      .sort((a, b) => b[1] - a[1])
      .slice(0, 5)
      .map(([label, value]) => `${visible(label)} ${number(value)}`);
    const what = block.kind === "ngram" ? visible(block.ngram) : block.kind;
    return `${what}: ${worth.join(", ") || "no value"}`;
  }

  /**
   * Show details of a painted element's blocks in a panel: while the pointer is over a block, on
   * focus (arrow keys move from block to block), and pinned by a click, Enter or a touch. Call it
   * once per element, which may be painted again at any time.
   */
  function inspect(container, panel) {
    let current = null; // the span whose details are shown
    let pinned = false;
    let hiding = 0;

    const spanAt = (target) => (target instanceof Element ? target.closest(".block") : null);

    function show(span) {
      const state = painted.get(container);
      const at = state?.places.get(span);
      clearTimeout(hiding);
      if (at === undefined) return;
      const block = state.blocks[at];
      const heard = element("p", { class: "heard", id: `${panel.id}-heard` });
      heard.append(summary(block, state.explanation));
      current?.removeAttribute("aria-describedby");
      current?.classList.remove("current");
      current = span;
      span.classList.add("current");
      span.setAttribute("aria-describedby", heard.id);
      panel.replaceChildren(heard, details(block, state.explanation));
      panel.hidden = false;
      place(panel, span);
    }

    function hide() {
      clearTimeout(hiding);
      current?.removeAttribute("aria-describedby");
      current?.classList.remove("current");
      current = null;
      pinned = false;
      panel.hidden = true;
    }

    const hideSoon = () => {
      clearTimeout(hiding);
      if (!pinned) hiding = setTimeout(hide, 200); // time for the pointer to enter the panel
    };

    function move(from, by) {
      const { spans, places } = painted.get(container);
      const wanted = Math.min(Math.max(places.get(from) + by, 0), spans.length - 1);
      spans[wanted].focus();
    }

    container.addEventListener("pointerover", (event) => {
      const span = spanAt(event.target);
      if (span && !pinned && event.pointerType !== "touch") show(span);
    });
    container.addEventListener("pointerout", hideSoon);
    panel.addEventListener("pointerenter", () => clearTimeout(hiding));
    panel.addEventListener("pointerleave", hideSoon);
    container.addEventListener("focusin", (event) => {
      const span = spanAt(event.target);
      const state = painted.get(container);
      if (!span || !state) return;
      for (const each of container.querySelectorAll('.block[tabindex="0"]')) each.tabIndex = -1;
      span.tabIndex = 0;
      pinned = false;
      show(span);
    });
    container.addEventListener("focusout", hideSoon);
    container.addEventListener("click", (event) => {
      const span = spanAt(event.target);
      if (!span) return;
      const again = pinned && span === current;
      hide();
      if (again) return;
      show(span);
      pinned = true;
    });
    container.addEventListener("keydown", (event) => {
      const span = spanAt(event.target);
      if (!span || event.ctrlKey || event.metaKey || event.altKey) return;
      const steps = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };
      const far = { Home: -Infinity, End: Infinity };
      if (event.key in steps) move(span, steps[event.key]);
      else if (event.key in far) move(span, far[event.key]);
      else if (event.key === "Enter" || event.key === " ") span.click();
      else return;
      event.preventDefault();
    });
    document.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && !panel.hidden) hide();
    });
    document.addEventListener("pointerdown", (event) => {
      if (pinned && !panel.contains(event.target) && !container.contains(event.target)) hide();
    });
    return { hide };
  }

  /** Put the panel below a span, or above it; on small screens paint.css keeps it at the bottom. */
  function place(panel, span) {
    const [first] = span.getClientRects();
    if (!first) return;
    const { offsetWidth: width, offsetHeight: height } = panel;
    const left = Math.min(first.left, window.innerWidth - width - 8);
    const below = first.bottom + 6;
    const fits = below + height <= window.innerHeight || first.top - 6 - height < 0;
    panel.style.left = `${Math.max(8, left)}px`;
    panel.style.top = `${fits ? below : first.top - 6 - height}px`;
  }

  /**
   * Draw a document's values as bars, highest first: from 0 to the right or, if negative, to the
   * left. `column` is that of the chosen label; `choose` is called with the column of a clicked one.
   */
  function paintScores(container, explanation, { column, choose = null }) {
    const known = hasEvidence(explanation);
    const order = explanation.labels.map((_, at) => at);
    order.sort((a, b) => explanation.value[b] - explanation.value[a] || a - b);
    const lowest = Math.min(0, ...explanation.value);
    const span = Math.max(0, ...explanation.value) - lowest || 1;
    const rows = order.map((at) => {
      const name = explanation.labels[at];
      const value = explanation.value[at];
      const bar = element("span", { class: value < 0 ? "bar below" : "bar" });
      bar.style.setProperty("--share", (Math.abs(value) / span).toFixed(4));
      bar.style.setProperty("--from", ((Math.min(0, value) - lowest) / span).toFixed(4));
      const row = element(
        "button",
        { type: "button", class: `score ${colourClass(at)}`, "aria-pressed": String(at === column) },
        element("span", { class: "name" }, shown(name)),
        element("span", { class: "track" }, bar),
        element("span", { class: "number" }, number(value)),
      );
      if (known && explanation.probability) {
        row.classList.add("likely");
        row.append(element("span", { class: "chance" }, chance(explanation.probability[at])));
      }
      if (known && name === explanation.label) row.classList.add("predicted");
      if (choose) row.addEventListener("click", () => choose(at));
      return element("li", {}, row);
    });
    container.replaceChildren(...(known ? [] : [element("li", { class: "silent" }, silence(explanation))]), ...rows);
  }

  const hasEvidence = (explanation) => explanation.value.some((value) => value !== 0);

  /** Say that a text has no evidence for any label, and which label is the default. */
  function silence(explanation) {
    const made = document.createDocumentFragment();
    made.append("No evidence for any label; the default is ", shown(explanation.label), ".");
    return made;
  }

  /** Format a probability in percent, as `as_chance` in explain/blocks.py does. */
  function chance(probability) {
    if (probability > SURE && probability < 1 - SURE) return `${rounded(100 * probability, 1).toFixed(1)} %`;
    return probability <= SURE ? "< 0.1 %" : "> 99.9 %";
  }

  /** Return the legend of the colours: samples from weak to strong, with what they add to a score. */
  function legend(explanation, { column = predicted(explanation), level = "ngram" } = {}) {
    const highest = explanation.highest[level];
    if (!(highest > 0)) return [];
    const samples = STEPS.map((part) => {
      const sample = element("span", { class: "worth" }, number(part * highest));
      sample.style.setProperty("--part", part);
      return sample;
    });
    const colour = colourClass(column === ALL ? predicted(explanation) : column);
    const ramp = element("span", { class: `painted ramp ${colour}` }, ...samples);
    return ["Colours show what a block adds to the score: ", ramp];
  }

  return {
    ALL, element, rounded, number, shown, visible, appendText, colourClass, dash, setAlert, expand, blocksOf,
    paint, mark, inspect, paintScores, legend, hasEvidence, silence, chance,
  };
})();
