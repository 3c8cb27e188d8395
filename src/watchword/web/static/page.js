// Shared by all views: settings, addresses (#view/number), and the progress of requests.

"use strict";

const page = (() => {
  const { element, visible, expand, setAlert, ALL } = watchword;
  const { byId, ask, attempt, soon, say, isPending, onWaiting } = asking;
  const state = {
    about: null, // response of /api/about
    column: null, // of the label to paint for, or ALL; null: the predicted label
    alert: null, // column of the label that alerts are raised for, if there are subjects
    level: "ngram",
    settings: {}, // differences from the model's own
    policy: null, // null: the policy that the server was started with
  };
  const PATIENCE = 300; // milliseconds between two looks at the progress of a request
  let watching = 0; // timer, while requests are pending
  let redraw = () => {}; // called when a setting has changed

  // Progress

  /** While requests are pending for longer than a moment, show how far the server has got. */
  function watchProgress() {
    if (watching) return;
    const look = async () => {
      const done = isPending() ? await progressMade() : null;
      watching = isPending() ? setTimeout(look, PATIENCE) : 0;
      if (!watching) byId("working").hidden = true;
      else showProgress(done);
    };
    watching = setTimeout(look, PATIENCE);
  }

  onWaiting(watchProgress);

  async function progressMade() {
    try {
      const answer = await fetch("/api/progress");
      return answer.ok ? await answer.json() : null;
    } catch {
      return null; // the pending request reports that the server does not answer
    }
  }

  function showProgress(made) {
    const place = byId("working");
    const bar = place.querySelector("progress");
    place.hidden = false;
    if (made) bar.value = made.done / made.total;
    else bar.removeAttribute("value");
    const share = made ? `: ${Math.floor((100 * made.done) / made.total)}\u00a0%` : "";
    byId("working-told").textContent = `The server is computing${share}`;
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
    labels.append(new Option("automatic", ""), new Option("all labels", ALL));
    about.labels.forEach((label, column) => labels.append(new Option(visible(label), column)));
    labels.addEventListener("change", () => paintFor(chosenColumn(labels.value)));
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

  const chosenColumn = (value) => (value === "" ? null : value === ALL ? ALL : Number(value));

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
    state.alert = Number(positive.value);
    setAlert(state.alert);
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
    if (!name) byId("policy-positive").value = String(state.about.labels.indexOf(positiveOf(state.about.subjects.policy)));
    state.alert = Number(byId("policy-positive").value);
    setAlert(state.alert);
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
