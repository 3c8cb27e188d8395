// Shared by all views: requests to the server, settings, addresses (#view/number), messages.

"use strict";

const page = (() => {
  const { element, visible } = watchword;
  const byId = (id) => document.getElementById(id);
  const state = {
    about: null, // response of /api/about
    column: null, // of the label to paint for; null: the predicted label
    level: "ngram",
    settings: {}, // differences from the model's own
    policy: null, // null: the policy that the server was started with
  };
  const pending = new Map(); // channel → pending request
  let redraw = () => {}; // called when a setting has changed

  // Requests

  class Refused extends Error {} // an error response, or none at all

  /** Ask the server; a new request in a channel cancels the previous one. */
  async function ask(channel, path, { given = {}, body = null } = {}) {
    pending.get(channel)?.abort();
    const control = new AbortController();
    pending.set(channel, control);
    byId("main").setAttribute("aria-busy", "true");
    try {
      const query = new URLSearchParams(Object.entries(given).filter(([, value]) => value !== null && value !== ""));
      const [status, text] = await send(query.size ? `${path}?${query}` : path, body, control.signal);
      const found = parsed(text);
      if (status !== 200) throw new Refused(found?.error ?? `The server refused the request (${status}).`);
      say(null);
      return found;
    } finally {
      if (pending.get(channel) === control) pending.delete(channel);
      if (!pending.size) byId("main").removeAttribute("aria-busy");
    }
  }

  async function send(path, body, signal) {
    const posted = { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) };
    try {
      const answer = await fetch(path, { signal, ...(body && posted) });
      return [answer.status, await answer.text()];
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw new Refused("The server does not answer. Is it still running?");
    }
  }

  function parsed(text) {
    try {
      return JSON.parse(text);
    } catch {
      return null;
    }
  }

  /** Run work that asks the server; show errors, and ignore cancelled requests. */
  async function attempt(work) {
    try {
      await work();
    } catch (error) {
      if (error.name === "AbortError") return;
      if (!(error instanceof Refused)) {
        say("Internal error of this page: see the browser's console.");
        throw error;
      }
      say(error.message);
    }
  }

  /** Debounce work: run it after this many milliseconds without a new call. */
  function soon(work, milliseconds) {
    let waiting = 0;
    return (...given) => {
      clearTimeout(waiting);
      waiting = setTimeout(() => work(...given), milliseconds);
    };
  }

  function say(message) {
    const place = byId("message");
    place.hidden = !message;
    place.textContent = message ?? "";
  }

  /** Restore the shape of Explanation.to_dict(), with shares, from the wire format (see wire.py). */
  function expand(sent) {
    const dense = (columns, own) => {
      if (!own) return own; // a sentence has no counts
      const all = new Array(sent.labels.length).fill(0);
      columns.forEach((column, at) => { all[column] = own[at]; });
      return all;
    };
    const rules = sent.rules.map(([kind, ngram, columns, ...numbers]) => {
      const [share, value, contribution, count, lv, sg, sn, counted, corrected] =
        numbers.map((own) => dense(columns, own));
      const added = contribution === 0 ? value : contribution; // null with a summary function
      return { kind, ngram, share, value, contribution: added, count, lv, sg, sn, counted, corrected };
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

  // Addresses

  /** #subjects/3/7 → ["subjects", 3, 7] */
  function address() {
    const [view, ...numbers] = location.hash.slice(1).split("/");
    return [view || "write", ...numbers.map(Number).filter(Number.isInteger)];
  }

  // Settings

  function control(name) {
    return document.querySelector(`#${name}[data-setting]`);
  }

  function prepareSettings() {
    const { about } = state;
    const labels = byId("paint-label");
    labels.append(new Option("automatic", ""));
    about.labels.forEach((label, column) => labels.append(new Option(visible(label), column)));
    labels.addEventListener("change", () => paintFor(labels.value === "" ? null : Number(labels.value)));
    for (const level of document.querySelectorAll("[name=level]")) {
      level.addEventListener("change", () => {
        state.level = level.value;
        redraw("paint");
      });
    }
    for (const input of document.querySelectorAll("[data-setting]")) {
      const own = about.settings[input.id];
      if (own === undefined) {
        input.closest(".setting").hidden = true; // a Python function: nothing to choose
        continue;
      }
      if (input.id === "max_ngram") input.max = own;
      input.addEventListener("input", () => setSetting(input.id, input.value, input));
    }
    for (const slider of document.querySelectorAll("[data-for]")) {
      slider.addEventListener("input", () => setSetting(slider.dataset.for, slider.value, slider));
    }
    byId("reset").addEventListener("click", () => {
      state.settings = {};
      showSettings();
      redraw("settings");
    });
    showSettings();
    if (matchMedia("(max-width: 900px)").matches) byId("settings").open = false;
  }

  function setSetting(name, text, origin) {
    const input = control(name);
    if (origin === input && !input.checkValidity()) {
      say(`${input.labels[0].textContent}: ${input.validationMessage}`);
      return;
    }
    const own = state.about.settings[name];
    const value = typeof own === "number" ? Number(text) : text;
    if (text === "" || value === own) delete state.settings[name];
    else state.settings[name] = value;
    showSettings(origin);
    redraw("settings");
  }

  /** Update all controls except the one in use. */
  function showSettings(origin = null) {
    for (const input of document.querySelectorAll("[data-setting]")) {
      const own = state.about.settings[input.id];
      const value = state.settings[input.id] ?? own;
      if (own === undefined) continue;
      if (input !== origin) input.value = value;
      const slider = document.querySelector(`[data-for="${input.id}"]`);
      if (slider && slider !== origin) slider.value = value;
      input.closest(".setting").classList.toggle("changed", input.id in state.settings);
    }
    const isChanged = Object.keys(state.settings).length > 0;
    byId("reset").disabled = !isChanged;
    byId("dropped").hidden = !(isChanged && state.about.refinement);
  }

  function paintFor(column) {
    state.column = column;
    byId("paint-label").value = column === null ? "" : String(column);
    redraw("paint");
  }

  // Policies

  function preparePolicy() {
    const { subjects, labels } = state.about;
    if (!subjects) return;
    const kinds = byId("policy-kind");
    const own = subjects.policy;
    const plain = subjects.policies.some((kind) => kind.name === own.policy);
    if (!plain) kinds.append(new Option("initial policy", ""));
    for (const kind of subjects.policies) kinds.append(new Option(spelled(kind.name), kind.name));
    const positive = byId("policy-positive");
    labels.forEach((label, column) => positive.append(new Option(visible(label), column)));
    positive.value = String(labels.indexOf(positiveOf(own)));
    kinds.value = plain ? own.policy : "";
    showPolicyFields(plain ? own : {});
    kinds.addEventListener("change", () => {
      showPolicyFields({});
      changePolicy();
    });
    positive.addEventListener("change", changePolicy);
    byId("policy-after").addEventListener("input", changePolicy);
  }

  const spelled = (name) => name.replace(/(?<=[a-z])(?=[A-Z])/g, " ").toLowerCase();

  function positiveOf(policy) {
    if ("positive" in policy) return policy.positive;
    return positiveOf(policy.of ?? policy.policies[0]);
  }

  function showPolicyFields(own) {
    const kind = state.about.subjects.policies.find((each) => each.name === byId("policy-kind").value);
    byId("policy-meaning").textContent = kind?.meaning ?? "";
    byId("policy-after").closest(".setting").hidden = !kind;
    byId("policy-positive").disabled = !kind;
    const rows = (kind?.fields ?? []).map(({ name, value, whole, choices }) => {
      const id = `policy-field-${name}`;
      const attributes = { id, "data-field": name };
      const input = choices
        ? element("select", attributes, ...choices.map((choice) => new Option(choice, choice)))
        : element("input", { ...attributes, type: "number", step: whole ? "1" : "any" });
      input.value = own[name] ?? value;
      input.addEventListener("input", changePolicy);
      return element("div", { class: "setting" }, element("label", { for: id }, name), input);
    });
    byId("policy-told").replaceChildren(...rows);
  }

  function changePolicy() {
    const name = byId("policy-kind").value;
    if (!name) {
      state.policy = null;
      redraw("policy");
      return;
    }
    const chosen = { policy: name, positive: state.about.labels[Number(byId("policy-positive").value)] };
    for (const input of document.querySelectorAll("[data-field]")) {
      if (input.value === "") return; // the user is typing
      chosen[input.dataset.field] = input.type === "number" ? Number(input.value) : input.value;
    }
    const after = Number(byId("policy-after").value || 1);
    state.policy = after > 1 ? { policy: "After", of: chosen, posts: after } : chosen;
    redraw("policy");
  }

  const asked = () => ({ ...state.settings, ...(state.policy && { policy: JSON.stringify(state.policy) }) });

  const onChange = (work) => {
    redraw = work;
  };

  return {
    state, byId, ask, asked, attempt, soon, say, expand, address, onChange,
    prepareSettings, preparePolicy, paintFor,
  };
})();
