"""A stand-in for the package `transformers`: the same interface, without weights.

`pipeline("text-classification", …, top_k=None)` returns a function of a list of texts; it returns,
for each, a list of {"label", "score"} whose scores add up to 1, highest first.
"""

from types import ModuleType


def _pipeline(task, *, model, truncation, top_k):
    assert task == "text-classification"
    assert isinstance(model, str)
    assert truncation is True
    assert top_k is None

    def classify(texts, *, batch_size):
        assert isinstance(texts, list)
        assert batch_size > 0
        return [_labels(0.9 if "sleep" in text else 0.1) for text in texts]

    return classify


def _labels(risk):
    found = [{"label": "at risk", "score": risk}, {"label": "control", "score": 1 - risk}]
    return sorted(found, key=lambda one: -one["score"])


module = ModuleType("transformers")
module.__dict__["pipeline"] = _pipeline
