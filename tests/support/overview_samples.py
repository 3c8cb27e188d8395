"""Models with hostile words and labels, for tests of pictures."""

import watchword as ww
from hooks import by_blanks

HOSTILE = [
    "<script>window.hacked=1</script>",
    '"onmouseover="window.hacked=1',
    "</style><img src=x onerror=window.hacked=1>",
    "javascript:window.hacked=1",
    "\u202egnp.exe\u2066",
    "nul\0 bell\a escape\x1b[31m",
    "]]>&lt;&#60;<!--",
    "x" * 5000,
    "مرحبا שלום 漢字 👩\u200d💻 e\u0301\u0301\u0301",
]


def learn(corpus, arguments):
    model = ww.TauSS3(**arguments)
    for text, label in corpus:
        model.learn_one(text, label)
    return model


def hostile_model():
    model = ww.TauSS3(tokenizer=by_blanks)
    for at, text in enumerate(HOSTILE):
        model.learn_one(text, HOSTILE[at - 1])
    return model
