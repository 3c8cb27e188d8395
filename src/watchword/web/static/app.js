// The writing view, and navigation between views.

"use strict";

(() => {
  const { shown, visible } = watchword;
  const { state, byId, ask, attempt, soon, expand, address } = page;
  const { note } = reading;
  const { count, plural } = parts;

  // Write

  async function paintText() {
    const started = performance.now();
    const text = byId("text").value;
    const found = await ask("write", "/api/explain", { body: { ...state.settings, text } });
    reading.show("write", expand(found.explanation));
    const taken = (performance.now() - started).toFixed(0);
    byId("write-status").textContent = `${plural(text.length, "character")}, painted in ${taken} ms`;
  }

  const paintSoon = soon(() => attempt(paintText), 20);

  function prepareWriting() {
    const text = byId("text");
    const limit = state.about.text_limit;
    text.maxLength = limit;
    text.addEventListener("input", () => {
      note("write", "");
      paintSoon();
    });
    text.addEventListener("paste", (event) => {
      const pasted = event.clipboardData?.getData("text/plain") ?? "";
      const room = limit - text.value.length + (text.selectionEnd - text.selectionStart);
      if (pasted.length <= room) return;
      event.preventDefault(); // the browser would cut the text silently
      text.setRangeText(pasted.slice(0, room), text.selectionStart, text.selectionEnd, "end");
      const taken = `Only the first ${count(room)} of ${count(pasted.length)} pasted characters were inserted`;
      note("write", `${taken}: the limit is ${count(limit)}.`);
      paintSoon();
    });
  }

  // Navigation

  const works = {
    write: paintText,
    documents: lists.showDocuments,
    document: lists.showDocument,
    subjects: lists.showSubjects,
    subject: replay.show,
    model: overview.show,
  };

  /** Return the view and numbers in the URL; the writing view if there is no such view. */
  function wanted() {
    const [named, ...numbers] = address();
    if (named === "model") return ["model"];
    if ((named === "documents" || named === "subjects") && state.about[named]) {
      return numbers.length ? [named.slice(0, -1), ...numbers] : [named];
    }
    return ["write"];
  }

  function show() {
    const [view, ...numbers] = wanted();
    replay.stop();
    reading.hideDetails();
    byId("policy-fields").hidden = !view.startsWith("subject");
    parts.openView(view);
    attempt(() => works[view](...numbers));
  }

  /** Ask the server again for what is in sight by then: another view may have been opened. */
  const again = soon(() => {
    const [view, ...numbers] = wanted();
    attempt(() => works[view](...numbers.slice(0, 1)));
  }, 40);

  /** Handle a changed setting: repaint, or ask the server again. */
  function changed(what) {
    if (what === "paint") reading.showAgain();
    else again();
  }

  attempt(async () => {
    const about = await ask("about", "/api/about");
    state.about = about;
    byId("model-name").replaceChildren(shown(about.name));
    byId("version").textContent = `watchword ${about.version}`;
    document.title = `${visible(about.name)} – watchword`;
    for (const kind of ["documents", "subjects"]) {
      document.querySelector(`header nav [href="#${kind}"]`).hidden = !about[kind];
    }
    reading.prepare();
    page.prepareSettings();
    page.preparePolicy();
    page.onChange(changed);
    prepareWriting();
    replay.prepare();
    overview.prepare();
    addEventListener("hashchange", show);
    show();
    document.body.dataset.ready = "true";
  });
})();
