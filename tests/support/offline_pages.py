"""Exported pages in a real browser, and the values they compute."""

import copy
import json

from watchword.web.export import export_page
from watchword.web.packing import pack_model


def characters_of(text):
    """Return the text as a browser sees it: two adjacent surrogates are one character."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


def pruned(model, floor):
    """Return the model whose values a page exported with this floor shows."""
    model = copy.copy(model)
    if floor > 0:
        model.prune(floor)
    return model


class OfflineReader:
    """The functions of the exported page, callable with any model in one open page."""

    def __init__(self, page):
        self._page = page

    def open(self, model):
        """Use this model from now on."""
        self._page.evaluate(
            """(packed) => {
                const characters = JSON.parse(document.getElementById("characters").textContent);
                window.tested = new offline.Model(JSON.parse(packed), characters);
            }""",
            json.dumps(pack_model(model)),
        )

    def open_own(self):
        """Use the model in the page."""
        self._page.evaluate(
            """() => {
                const contents = (id) => JSON.parse(document.getElementById(id).textContent);
                window.tested = new offline.Model(contents("model"), contents("characters"));
            }"""
        )

    def call(self, function, text):
        """Return the result of a function of the page for (the model, a text) as plain data."""
        # Characters are sent as numbers: lone surrogates would be lost.
        codes = json.dumps(list(map(ord, text)))
        answer = self._page.evaluate(
            f"""(codes) => {{
                const text = JSON.parse(codes).map((code) => String.fromCodePoint(code)).join("");
                return JSON.stringify(({function})(window.tested, text));
            }}""",
            codes,
        )
        return json.loads(answer)

    def explain(self, text):
        return self.call("(model, text) => model.explain(text)", text)

    def paint(self, text):
        return self.call("(model, text) => offline.paint(model.explain(text))", text)

    def terms(self, text):
        return self.call("(model, text) => model.reader.read(text)", text)

    def ngrams(self):
        """Return every n-gram in the page with its counts by label."""
        return self.call(
            """(model) => {
                const found = [];
                const visit = (length, ngram, words) => {
                    const { rows, children } = model.levels[length - 1];
                    const last = model.levels[length]?.words;
                    found.push([words.join(" "), model.rows.dense(rows[ngram], 0).count]);
                    if (children === null) return;
                    for (let at = children[ngram]; at < children[ngram + 1]; ++at) {
                        visit(length + 1, at, [...words, model.words[last[at]]]);
                    }
                };
                model.words.forEach((word, id) => visit(1, id, [word]));
                return found;
            }""",
            "",
        )


def exported(folder, model, **options):
    """Export a page; return its path and the report."""
    path = folder / "page.html"
    report = export_page(model, path, **options)
    return path, report
