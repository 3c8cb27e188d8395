"""Constants and errors of PySS3, by its names, and its printing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar, NoReturn

__all__ = [
    "ENCODING",
    "IDX_UNKNOWN_CATEGORY",
    "IDX_UNKNOWN_WORD",
    "PARA_DELTR",
    "SENT_DELTR",
    "STR_GV",
    "STR_MODEL_EXT",
    "STR_MODEL_FOLDER",
    "STR_MOST_PROBABLE",
    "STR_NORM_GV",
    "STR_NORM_GV_XAI",
    "STR_OTHERS_CATEGORY",
    "STR_UNKNOWN",
    "STR_UNKNOWN_CATEGORY",
    "STR_UNKNOWN_WORD",
    "STR_VANILLA",
    "STR_XAI",
    "VERBOSITY",
    "WORD_DELTR",
    "WORD_REGEX",
    "EmptyModelError",
    "InvalidCategoryError",
    "LeftOutError",
    "set_verbosity",
]

ENCODING = "utf-8"

PARA_DELTR = "\n"
SENT_DELTR = r"\."
WORD_DELTR = r"\s"
WORD_REGEX = r"\w+(?:'\w+)?"

STR_UNKNOWN, STR_MOST_PROBABLE = "unknown", "most-probable"
STR_OTHERS_CATEGORY = "[others]"
STR_UNKNOWN_CATEGORY = "[unknown]"
IDX_UNKNOWN_CATEGORY = -1
STR_UNKNOWN_WORD = ""
IDX_UNKNOWN_WORD = -1
STR_VANILLA, STR_XAI = "vanilla", "xai"
STR_GV, STR_NORM_GV, STR_NORM_GV_XAI = "gv", "norm_gv", "norm_gv_xai"
CV_MODES, SG_MODES = (STR_NORM_GV_XAI, STR_NORM_GV, STR_GV), (STR_XAI, STR_VANILLA)

STR_MODEL_FOLDER = "ss3_models"
STR_MODEL_EXT = "ss3m"

PAGE = "docs/moving-from-pyss3.md"


class VERBOSITY:
    """Levels for `set_verbosity`."""

    QUIET = 0
    NORMAL = 1
    VERBOSE = 2


class EmptyModelError(Exception):
    """The model has not learnt anything yet."""

    def __init__(self, msg: str = "") -> None:
        super().__init__(msg or "The model is empty (it hasn't been trained yet).")


class InvalidCategoryError(Exception):
    """The model has no such category."""

    def __init__(self, msg: str = "") -> None:
        super().__init__(msg or "The given category is not valid")


class LeftOutError(NotImplementedError, AttributeError):
    """A feature of PySS3 that watchword lacks; the message says what to use instead."""


def refusing(module: str, advice: Mapping[str, str]) -> Callable[[str], NoReturn]:
    """Return a module's `__getattr__` that says what to use instead of names that are left out."""

    def refuse(name: str) -> NoReturn:
        if name in advice:  # an AttributeError would lose its message in `from module import name`
            raise ImportError(f"{module} has no {name}: {advice[name]} ({PAGE})")
        raise AttributeError(f"module {module!r} has no attribute {name!r}")

    return refuse


class _Verbosity:
    level = VERBOSITY.NORMAL


verbosity = _Verbosity()


def set_verbosity(level: int) -> None:
    """Set whether evaluations print reports: `VERBOSITY.QUIET` (0) is silent."""
    verbosity.level = level


_END = "\033[0m"


def _painter(code: int) -> staticmethod[[object], str]:
    return staticmethod(lambda text: f"\033[{code}m{text}{_END}")


class Style:
    r"""Text in the colours of a terminal.

    >>> Style.bold("x")
    '\x1b[1mx\x1b[0m'
    """

    bold = _painter(1)
    underline = _painter(4)
    fail = _painter(91)
    green = _painter(92)
    warning = _painter(93)
    blue = _painter(94)
    header = _painter(95)

    @staticmethod
    def ubold(text: object) -> str:
        """Return bold and underlined text."""
        return Style.underline(Style.bold(text))


class Print:
    """Messages printed at the level of `set_verbosity`.

    Errors are printed always, the other messages at `VERBOSITY.VERBOSE`.

    >>> Print.show("ready", force_show=True)
    ready
    """

    style = Style
    _decorators: ClassVar[dict[str, tuple[str, str]]] = {
        "error": ("*** ", ""),
        "warn": ("* ", ""),
        "info": ("[ ", " ]"),
    }
    _outer_levels: ClassVar[list[int]] = []

    set_verbosity = staticmethod(set_verbosity)

    @staticmethod
    def error(
        msg: object = "",
        raises: BaseException | type[BaseException] | None = None,
        offset: int = 0,
        decorator: bool = True,
    ) -> None:
        """Print an error; then raise `raises`, if given."""
        print(Style.fail(_decorated("error", msg, offset, decorator)))
        if raises:
            raise raises

    @staticmethod
    def warn(
        msg: object = "",
        newln: bool = True,
        raises: BaseException | type[BaseException] | None = None,
        offset: int = 0,
        decorator: bool = True,
    ) -> None:
        """Print a warning; then raise `raises`, if given."""
        Print.show(Style.warning(_decorated("warn", msg, offset, decorator)), newln)
        if raises:
            raise raises

    @staticmethod
    def info(
        msg: object = "",
        newln: bool = True,
        offset: int = 0,
        decorator: bool = True,
        force_show: bool = False,
    ) -> None:
        """Print information."""
        text = Style.blue(_decorated("info", msg, offset, decorator))
        Print.show(text, newln, force_show=force_show)

    @staticmethod
    def show(
        msg: object = "", newln: bool = True, offset: int = 0, force_show: bool = False
    ) -> None:
        """Print a message."""
        if Print.is_verbose() or force_show:
            print(" " * offset + str(msg), end="\n" if newln else "")

    @staticmethod
    def set_decorator_info(start: str | None, end: str | None = None) -> None:
        """Set what stands before and after information."""
        _set_decorator("info", start, end)

    @staticmethod
    def set_decorator_warn(start: str | None, end: str | None = None) -> None:
        """Set what stands before and after warnings."""
        _set_decorator("warn", start, end)

    @staticmethod
    def set_decorator_error(start: str | None, end: str | None = None) -> None:
        """Set what stands before and after errors."""
        _set_decorator("error", start, end)

    @staticmethod
    def get_verbosity() -> int:
        """Return the level of verbosity."""
        return verbosity.level

    @staticmethod
    def is_quiet() -> bool:
        """Return whether only errors are printed."""
        return bool(verbosity.level == VERBOSITY.QUIET)

    @staticmethod
    def is_verbose() -> bool:
        """Return whether all messages are printed."""
        return bool(verbosity.level >= VERBOSITY.VERBOSE)

    @staticmethod
    def verbosity_region_begin(level: int, force: bool = False) -> None:
        """Set another level until `verbosity_region_end`, unless it is quiet now."""
        Print._outer_levels.append(verbosity.level)
        if force or not Print.is_quiet():
            verbosity.level = level

    @staticmethod
    def verbosity_region_end() -> None:
        """Restore the level of before `verbosity_region_begin`."""
        verbosity.level = Print._outer_levels.pop()


def _decorated(kind: str, message: object, offset: int, decorate: bool) -> str:
    start, end = Print._decorators[kind] if decorate else ("", "")
    return f"{' ' * offset}{start}{message}{end}"


def _set_decorator(kind: str, start: str | None, end: str | None) -> None:
    before = Print._decorators[kind]
    Print._decorators[kind] = start or before[0], end or before[1]
