// The exported page: the typed text is read by offline.js and painted by paint.js.
"use strict";

(() => {
  const LONGEST = 200_000; // characters: keeps browsers fast
  const AT_ONCE = 20_000; // characters: texts up to this length are painted at every key
  const PREDICTED = "";

  const find = (id) => document.getElementById(id);
  const number = (value) => value.toLocaleString("en");
  const contents = (id) => JSON.parse(find(id).textContent);
  const packed = contents("model");
  const model = new offline.Model(packed, contents("characters"));
  const text = find("text");
  const label = find("label");
  const panel = watchword.inspect(find("painted"), find("details"));
  let explanation = null;
  let waiting = 0;

  function read() {
    explanation = offline.paint(model.explain(text.value));
    const isFull = text.value.length >= LONGEST - 1; // a surrogate pair is not cut in half
    const taken = `Only the first ${number(LONGEST)} characters are read.`;
    find("status").textContent = isFull ? taken : "";
    draw();
  }

  function draw() {
    const level = find("level").querySelector("input:checked").value;
    const isPredicted = label.value === PREDICTED;
    const { ALL } = watchword;
    const predicted = model.labels.indexOf(explanation.label);
    const column = isPredicted ? predicted : label.value === ALL ? ALL : Number(label.value);
    const found = explanation.blocks.length === 0 ? "" : `: ${watchword.visible(explanation.label)}`;
    label.options[0].textContent = `the predicted label${found}`;
    panel.hide();
    watchword.paint(find("painted"), explanation, { column, level });
    watchword.paintScores(find("scores"), explanation, { column, choose });
  }

  function choose(column) {
    label.value = String(column);
    draw();
  }

  function fillLabels() {
    const option = (value, name) => watchword.element("option", { value, dir: "auto" }, name);
    label.append(option(PREDICTED, "the predicted label"), option(watchword.ALL, "all labels"));
    model.labels.forEach((name, at) => label.append(option(String(at), watchword.visible(name))));
  }

  function tellFacts() {
    const { floor, kept, dropped, version } = packed.facts;
    const rare =
      floor > 0
        ? `${number(dropped)} n-grams that were counted at most ${number(floor)} times under a label ` +
          "were dropped and are not in this file."
        : "No n-grams were dropped: this file contains every word ever learnt.";
    find("facts").append(
      `A model with ${number(model.labels.length)} labels and ${number(kept)} n-grams. ${rare} ` +
        `Made by watchword ${version}.`,
    );
  }

  function readSoon() {
    clearTimeout(waiting);
    if (text.value.length <= AT_ONCE) read();
    else waiting = setTimeout(read, 250);
  }

  // Browsers take minutes to insert megabytes of text: insert only as much as fits.
  function takeNoMoreThanFits(event) {
    const given = event.data ?? "";
    const { selectionStart: start, selectionEnd: end } = text;
    const room = LONGEST - text.value.length + (end - start);
    if (given.length <= room || event.isComposing) return;
    event.preventDefault();
    const cutsPair = /[\ud800-\udbff]/.test(given.charAt(room - 1));
    text.setRangeText(given.slice(0, cutsPair ? room - 1 : room), start, end, "end");
    readSoon();
  }

  watchword.setAlert(packed.facts.alert);
  text.addEventListener("beforeinput", takeNoMoreThanFits);
  text.addEventListener("input", readSoon);
  label.addEventListener("change", draw);
  find("level").addEventListener("change", draw);
  fillLabels();
  tellFacts();
  read();
  document.body.dataset.ready = "";
})();
