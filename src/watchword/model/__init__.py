"""The model: counts of n-grams, the values computed from them, and the model file.

`TauSS3` is also `watchword.TauSS3`. The types that its methods return are here, for annotations.
"""

from watchword.model.explanation import Block, Explanation, Highlight, NgramBlock
from watchword.model.overview import NgramWorth, Overview, ngram_worth
from watchword.model.results import (
    ConfidenceTable,
    ModelStatistics,
    NextWord,
    Pruned,
    RankedNgram,
    Value,
)
from watchword.model.tau_ss3 import TauSS3
from watchword.model.text import Term, read_terms

__all__ = [
    "Block",
    "ConfidenceTable",
    "Explanation",
    "Highlight",
    "ModelStatistics",
    "NextWord",
    "NgramBlock",
    "NgramWorth",
    "Overview",
    "Pruned",
    "RankedNgram",
    "TauSS3",
    "Term",
    "Value",
    "ngram_worth",
    "read_terms",
]
