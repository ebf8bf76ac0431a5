"""What the property-based tests share: how much is tried, and texts as nobody should type them.

The same examples every time, few enough for every run of the tests; `ICL_FUZZ=50` tries fifty times
as many.
"""

import os
import re
import tempfile

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.configuration import set_hypothesis_home_dir
from markdown_it import MarkdownIt

set_hypothesis_home_dir(tempfile.gettempdir())  # nothing is left in the project's folder
EVIL = (
    "<img src=x onerror=alert(1)>[a](javascript:alert(1))![b](http://e.x/i.png)$x$:smile:**bold**"
)
NASTY = (
    "",
    " ",
    "nan",
    "-inf",
    "1e400",
    "-0",
    "0x10",
    "1_0",
    "½",
    "١",
    "9" * 400,
    "9" * 5000,
    "true",
    "None",
    "[]",
    "{}",
    "\x00",
    "\u202e",
    "\ufeff",
    "e\u0301",
    "🜁",
    "..",
    "../../etc/passwd",
    "/etc/passwd",
    "a" * 300,
    "%s%n",
    "'; --",
    EVIL,
    "<script>alert(1)</script>",
    "\n# heading\n\n- list",
    "`code`",
    "http://e.x",
    "1:2",
    "1,2,3",
    "1/0",
    ":",
    "=",
    "-",
    "- a",
    "1. a",
    "+ 1) b",
    "- - -",
    "--",
)
MARKUP = MarkdownIt("gfm-like", {"linkify": False, "html": True})


def tries(count: int) -> settings:
    """So many examples, always the same, none kept on disk."""
    more = int(os.environ.get("ICL_FUZZ", "1"))
    return settings(
        max_examples=count * more,
        derandomize=True,
        deadline=None,
        database=None,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    )


def texts(most: int = 60) -> st.SearchStrategy[str]:
    """Texts as an address or a command line can hold them."""
    encodable = st.characters(exclude_categories=("Cs",))
    numbers = st.one_of(st.integers().map(str), st.floats().map(str))
    return st.one_of(st.sampled_from(NASTY), numbers, st.text(encodable, max_size=most))


def is_ours(markdown: str) -> bool:
    """Whether nothing in it becomes HTML, an image or a link that leads elsewhere; it may be bold,
    or a list."""
    tokens = [
        child for token in MARKUP.parse(markdown) for child in (token, *(token.children or ()))
    ]
    away = [token for token in tokens if re.match(r"\w+:", str(token.attrGet("href") or ""))]
    return not away and not {token.type for token in tokens} & {
        "html_inline",
        "html_block",
        "image",
    }


def shows_as_text(markdown: str) -> bool:
    """Whether nothing in it becomes a link, an image, HTML, a formula or a block of
    another kind."""
    tokens = MARKUP.parse(markdown)
    inline = [child for token in tokens for child in token.children or ()]
    blocks = {token.type for token in tokens} <= {"paragraph_open", "inline", "paragraph_close"}
    formula = re.search(r"(?<!\\)\$", markdown)
    return blocks and {child.type for child in inline} <= {"text", "text_special"} and not formula
