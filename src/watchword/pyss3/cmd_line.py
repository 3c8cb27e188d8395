"""PySS3's interactive shell, which watchword lacks: importing it says what to use instead."""

from __future__ import annotations

from watchword.pyss3.constants import refusing

__getattr__ = refusing(
    __name__, dict.fromkeys(("SS3Prompt", "main"), "use the command `watchword`")
)
