"""How a number is made, as tables side by side."""

from collections.abc import Sequence
from html import escape

import streamlit as st

from icl_core.contract.explanation import MEAN, PRODUCT, SUM, Explanation
from pages.ui.look.escape import escape_markdown

_SIGNS = {SUM: "+", PRODUCT: "×", MEAN: "+"}
_MADE = {SUM: "their sum", PRODUCT: "their product", MEAN: "their mean"}


def show(found: Explanation) -> None:
    """Its value, its terms, what it is compared with."""
    st.subheader(escape_markdown(f"{found.title}: {_number(found.value)}"), anchor=False)
    st.markdown(escape_markdown(found.says))
    signs = ["", *[_SIGNS[found.joined]] * (len(found.terms) - 1)]
    terms = [
        (sign, each.name, _number(each.value), each.says)
        for sign, each in zip(signs, found.terms, strict=True)
    ]
    terms.append(("=", _MADE[found.joined], _number(found.total), ""))
    tables = [_table("How it is made", terms)]
    if found.beside:
        tables.append(
            _table(
                "Beside it",
                [("", each.name, _number(each.value), each.says) for each in found.beside],
            )
        )
    if found.share is not None:
        rivals = [
            ("", each.name, _number(each.score), _percent(each.share)) for each in found.rivals
        ]
        tables.append(
            _table(
                f"Its share of the softmax is {_percent(found.share)}; the largest, as the "
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


def _number(value: float) -> str:
    """Four digits, with a true minus sign."""
    return f"{value:.4g}".replace("-", "\N{MINUS SIGN}")


def _percent(share: float) -> str:
    """A share; one that is nearly none says so."""
    return f"{share:.1%}" if share >= 0.0005 else "under 0.1%"
