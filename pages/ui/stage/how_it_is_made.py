"""How a number is made, as tables side by side."""

from collections.abc import Sequence
from html import escape

import streamlit as st

from icl_core.contract.explanation import MEAN, PRODUCT, SUM, Explanation
from pages.ui.look import formats
from pages.ui.look.escape import escape_markdown

_SIGNS = {SUM: "+", PRODUCT: "×", MEAN: "+"}
_MADE = {SUM: "their sum", PRODUCT: "their product", MEAN: "their mean"}


def show(found: Explanation) -> None:
    """Its value, its terms, what it is compared with."""
    st.subheader(escape_markdown(f"{found.title}: {_value(found.value)}"), anchor=False)
    st.markdown(escape_markdown(found.says))
    signs = ["", *[_SIGNS[found.joined]] * (len(found.terms) - 1)]
    terms = [
        (sign, each.name, _value(each.value), each.says)
        for sign, each in zip(signs, found.terms, strict=True)
    ]
    terms.append(("=", _MADE[found.joined], _value(found.total), ""))
    tables = [_table("How it is made", terms)]
    if found.beside:
        tables.append(
            _table(
                "Beside it",
                [("", each.name, _value(each.value), each.says) for each in found.beside],
            )
        )
    if found.share is not None:
        rivals = [
            ("", each.name, _value(each.score), formats.share(each.share)) for each in found.rivals
        ]
        tables.append(
            _table(
                f"Its share of the softmax is {formats.share(found.share)}; the largest, as the "
                "softmax sees them",
                rivals,
            )
        )
    st.html(f'<div class="making">{"".join(tables)}</div>')


def _table(caption: str, rows: Sequence[Sequence[str]]) -> str:
    """HTML of a table: sign, name, number, what is said of it."""
    cells = "".join(
        f"<tr>{''.join(f'<td>{escape(each)}</td>' for each in row)}</tr>" for row in rows
    )
    return f"<table><caption>{escape(caption)}</caption>{cells}</table>"


def _value(value: float) -> str:
    return formats.number(value, digits=4, grouped=False)
