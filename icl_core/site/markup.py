"""Markdown with formulas as HTML; formulas become MathML, which browsers draw by themselves."""

from functools import cache

from latex2mathml.converter import convert
from markdown_it import MarkdownIt
from mdit_py_plugins.dollarmath import dollarmath_plugin


def html_of(text: str) -> str:
    """Return Markdown as HTML. HTML in it is shown as text."""
    return _parser().render(text)


@cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    return parser.use(dollarmath_plugin, renderer=_formula, allow_blank_lines=True)


def _formula(tex: str, options: dict) -> str:
    return convert(tex.strip(), display="block" if options["display_mode"] else "inline")
