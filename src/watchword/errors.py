"""Errors of the package.

Bad arguments raise plain `ValueError` and `TypeError`; the errors here are about models, labels and
files.
"""

from __future__ import annotations


class WatchwordError(Exception):
    """Base class of all errors of this package."""


class _UnknownError(WatchwordError, KeyError):
    """Base class of errors about names that are not known."""

    def __str__(self) -> str:
        return str(self.args[0])  # KeyError would put it into quotes


class _RetryError(WatchwordError):
    """Base class of errors after which trying again may help."""

    def __init__(self, message: str, *, retry_after: float = 1.0) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class EmptyModelError(WatchwordError):
    """The model has not learnt anything yet."""


class UnknownLabelError(_UnknownError):
    """The model does not know this label."""


class UnlearnError(WatchwordError):
    """The document to unlearn cannot have been learnt; nothing was changed."""


class PrunedModelError(WatchwordError):
    """The operation would not be exact, because the model was pruned."""


class MappedModelError(WatchwordError):
    """The model cannot change, because its counts are mapped from a file."""


class IncompatibleModelsError(WatchwordError):
    """The models to merge count or tokenise differently."""


class ModelLimitError(WatchwordError, OverflowError):
    """The model would exceed a size limit; nothing was changed."""


class TextTooLongError(WatchwordError, ValueError):
    """A text is too long to be explained."""


class IncompleteModelError(WatchwordError):
    """Memory ran out while the model was changed; load it again, or learn it anew."""


class HookError(WatchwordError):
    """A user-defined function is missing, or returned something invalid."""


class ModelFormatError(WatchwordError):
    """A file is not a model, is corrupt, or was written by a later version."""


class MissingExtraError(WatchwordError, ImportError):
    """An optional dependency is not installed; the message has the command to install it."""

    @classmethod
    def of(cls, extra: str, need: str) -> MissingExtraError:
        """Return the error of something that needs an extra of this package.

        >>> MissingExtraError.of("plot", "plotting needs matplotlib")
        MissingExtraError("plotting needs matplotlib: pip install 'watchword[plot]'")
        """
        return cls(f"{need}: pip install 'watchword[{extra}]'")


class DataFormatError(WatchwordError):
    """Data cannot be read; the message names the file, the line and the problem.

    `arguments` has the names of arguments that may help, such as the name of another field.
    """

    def __init__(self, message: str, *, arguments: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.message = message
        self.arguments = arguments

    def __str__(self) -> str:
        if not self.arguments:
            return self.message
        return f"{self.message} (pass {' or '.join(f'{name}=…' for name in self.arguments)})"


class DataWarning(UserWarning):
    """Data can be read, but contradicts itself or is not used as a whole."""


class StateError(WatchwordError):
    """A saved state is corrupt, or was saved with another model or policy."""


class UnknownSubjectError(_UnknownError):
    """No posts of this subject were read."""


class StoreError(WatchwordError):
    """The store is not one of watchword, is damaged, or was written by a later version."""


class StoreUnavailableError(_RetryError, StoreError):
    """The store cannot be written or reached now; nothing was changed, and trying again may help.

    `retry_after` is a number of seconds.
    """


class BusyError(_RetryError):
    """The service cannot keep up and accepts no more posts; retry after `retry_after` seconds."""


class UnknownAlertError(_UnknownError):
    """There is no alert with this number."""
