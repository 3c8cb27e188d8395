"""Texts that try to break out of pages, terminals and files."""

HOSTILE = [
    "<script>window.hacked = 1</script>",
    '"onmouseover="window.hacked = 1',
    "' onfocus='window.hacked = 1' autofocus='",
    "</style><script>window.hacked = 1</script><style>",
    "</title></textarea></p></div></main>",
    '<img src=x onerror="window.hacked = 1">',
    "javascript:window.hacked=1",
    "--><!-- ]]> <![CDATA[ */ /* \\",
    "&lt;script&gt; &amp; &#60; &#0; &notanentity",
    'url("http://example.com/") @import "x"; }',
    "\u202ereversed\u202c \u2066isolated",
    "\x00\x1b[31m\x7f\x85\ud800 lone",
]

# All of it in one text.
HOSTILE_TEXT = (
    "</title></style></main><script>alert(1)</script>\"onmouseover='x' javascript:\u202e\x00\ud800&"
)
