"""Text from outside, from the address, a file or an exception, shown as it is."""

import re

_ACTIVE = re.compile(
    r"[\\`*\[\]<>$~:#|&]|(?<![^\W_])_|_(?![^\W_])"
)  # an underscore within a word is none
_STARTS_A_LIST = re.compile(r"^(\d*)([-+.)])(?=[- ]|$)")  # or is a rule across the page
# Streamlit makes links, icons and emoji of what is no markup, too: an invisible word joiner keeps
# it from that.
_LIKE_A_LINK = re.compile(r"(?<=www)(?=\.)|(?<=:)(?=//|[\w+-]+[:/])|(?<=@)(?=\S)", re.IGNORECASE)


def escape_markdown(text: object) -> str:
    """Markdown that shows `text`, in one line: nothing in it becomes an image, a link, a formula, a
    heading, a list."""
    line = " ".join(str(text).split())
    shown = _ACTIVE.sub(r"\\\g<0>", _LIKE_A_LINK.sub("\u2060", line))
    return _STARTS_A_LIST.sub(r"\1\\\2", shown)
