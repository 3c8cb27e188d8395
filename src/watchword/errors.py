"""What can go wrong, by name.

Bad parameters are plain `ValueError` and `TypeError`; everything here is about models, labels and
files.
"""

from __future__ import annotations


class WatchwordError(Exception):
    """The base of all errors of this package."""


class EmptyModelError(WatchwordError):
    """The model has not learnt anything yet."""


class UnknownLabelError(WatchwordError, KeyError):
    """The model does not know this label."""

    def __str__(self) -> str:
        return str(self.args[0])


class UnlearnError(WatchwordError):
    """A document that cannot have been learnt was to be unlearnt; nothing was changed."""


class PrunedModelError(WatchwordError):
    """The model was pruned, so what was asked for would no longer be exact."""


class MappedModelError(WatchwordError):
    """The model is read from its file as it lies there, so it cannot change."""


class IncompatibleModelsError(WatchwordError):
    """Two models that count or read differently were to be merged."""


class ModelLimitError(WatchwordError, OverflowError):
    """A model would hold more than it can; nothing was changed."""


class HookError(WatchwordError):
    """A user's function is missing, or gave back something that cannot be used."""


class ModelFormatError(WatchwordError):
    """A file is not a model, is damaged, or comes from a later version."""


class MissingExtraError(WatchwordError, ImportError):
    """An optional dependency is not installed; the message has the line that installs it."""


class DataFormatError(WatchwordError):
    """Data that cannot be read; the message says which, where and what is wrong.

    `arguments` names the arguments that may help, such as the one that names another field.
    """

    def __init__(self, message: str, *, arguments: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.message = message
        self.arguments = arguments

    def __str__(self) -> str:
        if not self.arguments:
            return self.message
        return f"{self.message} (pass {' or '.join(f'{name}=…' for name in self.arguments)})"


class StateError(WatchwordError):
    """A kept state is damaged, or does not fit the model or the policy."""


class UnknownSubjectError(WatchwordError, KeyError):
    """Nothing of this subject was read."""

    def __str__(self) -> str:
        return str(self.args[0])
