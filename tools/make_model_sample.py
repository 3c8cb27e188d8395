"""Write the samples of model files that every later version of watchword must read.

    python tools/make_model_sample.py

tests/data/model-2.ww is written again. model-1.ww, a model without corrections, is kept as it was
first written, without the parameters that came later: `sample` is how it was made.
"""

from __future__ import annotations

from pathlib import Path

import watchword as ww

TARGET = Path(__file__).parents[1] / "tests" / "data" / "model-2.ww"

DOCUMENTS = [
    ("Machine learning is being widely used.", "technology"),
    ("Deep machine learning, on mobile devices!", "technology"),
    ("The match was lost; learning to lose is hard.", "sports"),
    ("Café Zoë’s team is used to winning the match.\nThe team is winning.", "sports"),
    ("机器学习 は 楽しい 😀", "世界"),
    ("", "世界"),
]


def sample() -> ww.TauSS3:
    """Make a model with several labels, other parameters than the defaults, and odd words."""
    model = ww.TauSS3.paper(
        smoothness=0.5,
        significance=0.75,
        sanction=1.25,
        max_ngram=3,
        significance_function="xai",
        confidence_function="norm_gv",
        reading="words_sum",
        summary={"sentence": "sum", "paragraph": "mean", "document": "max"},
        default_label="sports",
        prune_period=1000,
        prune_floor=1,
        prune_shortest=2,
    )
    for text, label in DOCUMENTS:
        model.learn_one(text, label)
    return model


def refined_sample() -> ww.TauSS3:
    """Make a model of the same documents with corrections."""
    model = ww.TauSS3(max_ngram=2)
    model.learn_many([text for text, _ in DOCUMENTS], [label for _, label in DOCUMENTS])
    model.refine([text for text, _ in DOCUMENTS], [label for _, label in DOCUMENTS])
    return model


if __name__ == "__main__":
    refined_sample().save(TARGET)
