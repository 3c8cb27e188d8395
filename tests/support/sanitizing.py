"""Whether the tests run under the sanitizers, which some of them cannot."""

import os

SANITIZED = "libasan" in os.environ.get("LD_PRELOAD", "")
