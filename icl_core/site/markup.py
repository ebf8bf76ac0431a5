"""Markdown with formulas as HTML; formulas become MathML, which browsers draw by themselves."""

import re
from functools import cache

from latex2mathml.converter import convert
from markdown_it import MarkdownIt
from mdit_py_plugins.dollarmath import dollarmath_plugin


def html_of(text: str) -> str:
    """Return Markdown as HTML. HTML in it is shown as text; a formula between lines of $$ stands
    apart, also within a paragraph."""
    return _parser().render(_APART.sub(r"\n\n\1\n\n", text))


_APART = re.compile(r"\n(\$\$\n.*?\n\$\$)(?=\n|$)", re.DOTALL)


@cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    return parser.use(dollarmath_plugin, renderer=_formula, allow_blank_lines=True)


def _formula(tex: str, options: dict) -> str:
    tex = tex.strip().replace(r"\arg\max", r"\operatorname{argmax}")  # which convert does not know
    return convert(tex, display="block" if options["display_mode"] else "inline")
