// Shared by all pages: requests to the server, and messages about them.

"use strict";

const asking = (() => {
  const pending = new Map(); // channel → pending request
  let waits = () => {}; // called when a request is sent
  let messages = 0; // shown so far
  let isQuiet = false; // whether the latest message is about a quiet request
  const byId = (id) => document.getElementById(id);

  class Refused extends Error {} // an error response, or none at all
  class Unanswered extends Refused {}

  /**
   * Ask the server; a new request in a channel cancels the previous one. An answer removes the message
   * that was shown before the request; a quiet request, which the reader did not make, leaves it.
   */
  async function ask(channel, path, { given = {}, body = null, quiet = false } = {}) {
    pending.get(channel)?.abort();
    const control = new AbortController();
    pending.set(channel, control);
    byId("main").setAttribute("aria-busy", "true");
    const before = messages;
    waits();
    try {
      const query = new URLSearchParams(Object.entries(given).filter(([, value]) => value !== null && value !== ""));
      const [status, text] = await send(query.size ? `${path}?${query}` : path, body, control.signal);
      const found = parsed(text);
      if (status !== 200) throw new Refused(found?.error ?? `The server refused the request (${status}).`);
      if (messages === before && (!quiet || isQuiet)) say(null);
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
      throw new Unanswered("The server does not answer. Is it still running?");
    }
  }

  function parsed(text) {
    try {
      return JSON.parse(text);
    } catch {
      return null;
    }
  }

  /** Run work that asks the server, quietly or not; show errors, and ignore cancelled requests. */
  async function attempt(work, { quiet = false } = {}) {
    try {
      await work();
    } catch (error) {
      if (error.name === "AbortError") return;
      if (!(error instanceof Refused)) {
        say("Internal error of this page: see the browser's console.");
        throw error;
      }
      say(error.message, quiet || error instanceof Unanswered); // any later answer proves that wrong
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

  function say(message, quiet = false) {
    const place = byId("message");
    if (message) messages += 1;
    isQuiet = quiet;
    place.hidden = !message;
    place.textContent = message ?? "";
  }

  const isPending = () => pending.size > 0;

  const onWaiting = (work) => {
    waits = work;
  };

  return { byId, ask, attempt, soon, say, isPending, onWaiting };
})();
