"""Text from an address, a file or an exception, shown on the page as it is."""

import re

from icl_core.contract.message import printable_sentence

# Characters with a meaning in Markdown; an underscore within a word has none.
_MARKUP = re.compile(r"[\\`*\[\]<>$~:#|&]|(?<![^\W_])_|_(?![^\W_])")
_LIST_OR_RULE = re.compile(r"^(\d*)([-+.)])(?=[- ]|$)")  # at the start of the line
# Streamlit also makes links, icons and emoji of text without markup: "www.", "http://", ":name:",
# "name@". An invisible word joiner at these places prevents it.
_LINK_LIKE = re.compile(r"(?<=www)(?=\.)|(?<=:)(?=//|[\w+-]+[:/])|(?<=@)(?=\S)", re.IGNORECASE)
_WORD_JOINER = "\u2060"


def escape_markdown(text: object) -> str:
    """Return Markdown that shows `text` as it is, in one line: nothing in it becomes an image, a
    link, a formula, a heading or a list, or moves what stands around it."""
    line = printable_sentence(" ".join(str(text).split()))
    escaped = _MARKUP.sub(r"\\\g<0>", _LINK_LIKE.sub(_WORD_JOINER, line))
    return _LIST_OR_RULE.sub(r"\1\\\2", escaped)
