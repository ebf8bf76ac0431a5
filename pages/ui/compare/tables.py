"""Two tables of the runs that are compared: their settings, and what they measured."""

from collections.abc import Sequence
from html import escape
from urllib.parse import urlencode

import streamlit as st

from icl_core.comparison import table_rows
from icl_core.comparison.joint_figures import run_colour
from icl_core.comparison.table_rows import Number
from icl_core.runs.header import Header, typed_config
from pages.ui.link import address
from pages.ui.look import formats
from pages.ui.look.escape import escape_markdown
from pages.ui.look.style import is_dark


def settings(headers: Sequence[Header], names: Sequence[str]) -> None:
    """Draw a row for each setting that differs, in bold, and a line of the main ones that do not.
    The name of a run is a link to its stage."""
    rows = table_rows.setting_rows([typed_config(header) for header in headers])
    body = ""
    for row in rows:
        if row.differs:
            cells = "".join(f"<td><strong>{escape(text)}</strong></td>" for text in row.texts)
            body += f"<tr><th scope='row'><strong>{escape(row.label)}</strong></th>{cells}</tr>"
    links = [_link(header, name) for header, name in zip(headers, names, strict=True)]
    _table("Settings in which the runs differ", _heads(links), body)
    same = [f"{row.label} {row.texts[0]}" for row in rows if not row.differs]
    if same:
        st.caption(escape_markdown(f"The same in all: {'; '.join(same)}."))


def _link(header: Header, name: str) -> str:
    """Return a link to the stage of a run."""
    paper, experiment = header.experiment.split(".")
    fields = {"experiment": experiment, **address.run_fields(header.experiment, header.config)}
    url = f"{paper}?{escape(urlencode(fields))}"
    return f"<a href='{url}' target='_self'>{escape(name)}</a>"


def metrics(headers: Sequence[Header], names: Sequence[str]) -> None:
    """Draw a row for each metric: every run's number with its error, and its difference from the
    first run's."""
    rows = table_rows.metric_rows(headers)
    if not rows:
        return
    st.header("Metrics", anchor=False)
    heads = _heads([escape(name) for name in names])
    for name in names[1:]:
        heads += f"<th scope='col'>{escape(name)} minus {escape(names[0])}</th>"
    body = ""
    for row in rows:
        cells = "".join(_cell(number, "") for number in row.numbers)
        cells += "".join(_cell(number, "+") for number in row.differences)
        body += f"<tr><th scope='row'>{escape(row.label)}</th>{cells}</tr>"
    _table("Metrics, with their standard errors", heads, body)
    st.caption(
        "After ± stands the standard error, where it is known. With several seeds it is over "
        "seeds. With one seed it is over tasks or prompts alone: bold then says nothing about "
        "other seeds. A difference in bold is not zero with 95% confidence, by Welch's test, which "
        "takes the runs as independent."
    )


def _heads(names: Sequence[str]) -> str:
    """Return the heads of a table, the runs' `names` as HTML, each after its colour."""
    heads = "<td></td>"
    for place, name in enumerate(names):
        square = f"<span style='color:{run_colour(place, is_dark())}'>■</span>"
        heads += f"<th scope='col'>{square} {name}</th>"
    return heads


def _cell(number: Number | None, sign: str) -> str:
    if number is None:
        return "<td>–</td>"
    text = formats.number(number.value)
    if sign and number.value > 0:
        text = sign + text
    if number.error is not None:
        text += f" ± {formats.number(number.error, 2)}"
    text = f"<strong>{text}</strong>" if number.certain else text
    return f"<td class='numbers'>{text}</td>"


def _table(label: str, heads: str, body: str) -> None:
    st.html(
        f"<div class='compared' role='region' tabindex='0' aria-label='{escape(label)}'><table>"
        f"<thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table></div>"
    )
