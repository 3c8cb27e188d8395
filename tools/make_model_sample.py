"""Write tests/data/model-1.ww, the sample of format version 1 that every later version must read.

    python tools/make_model_sample.py

The file is kept as it was first written, without the parameters that came later: this is how it
was made. A later format gets a file of its own.
"""

from __future__ import annotations

from pathlib import Path

import watchword as ww
from watchword.model.file.container import VERSION

TARGET = Path(__file__).parents[1] / "tests" / "data" / f"model-{VERSION}.ww"

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


if __name__ == "__main__":
    sample().save(TARGET)
