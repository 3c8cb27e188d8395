"""A classifier of its own for the examples of docs/command-line.md."""


def score(texts):
    """Return a score for each text: high if it is about sleep."""
    return [0.8 if "sleep" in text.lower() else 0.2 for text in texts]
