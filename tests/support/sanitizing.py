"""Whether the tests run under the sanitizers, which some tests do not support."""

import os

SANITIZED = "libasan" in os.environ.get("LD_PRELOAD", "")
