"""τ-SS3 for scikit-learn: a classifier and a vectorizer, for pipelines and cross-validation."""

from watchword.errors import MissingExtraError

try:
    import sklearn as _sklearn  # type: ignore[import-untyped]  # noqa: F401
except ImportError as error:
    raise MissingExtraError.of("sklearn", "watchword.sklearn needs scikit-learn") from error

from watchword.sklearn.classifier import TauSS3Classifier
from watchword.sklearn.vectorizer import SS3Vectorizer

__all__ = ["SS3Vectorizer", "TauSS3Classifier"]
