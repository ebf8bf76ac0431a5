"""The table of runs, and what can be done with those that are chosen in it: open, download,
delete."""

from collections.abc import Sequence
from functools import partial
from hashlib import sha256
from statistics import median
from typing import Any

import streamlit as st

from icl_core import registry
from icl_core.comparison import chosen_runs
from icl_core.contract import number_text
from icl_core.contract.knobs import BadSetting, knobs_of
from icl_core.evidence import run_table
from icl_core.evidence.run_table import RunGroup, RunRow
from icl_core.runs import code, owners, store
from icl_core.runs.request import run_fields
from pages.ui.controls import compare_links, filters
from pages.ui.link import visitors
from pages.ui.look import formats, menu
from pages.ui.look.escape import escape_markdown
from pages.ui.runs import run_filters
from pages.ui.runs.run_filters import Choice

MOST_LINES = 1000  # of the table at once
MOST_CHOSEN = 8  # runs whose buttons are drawn at once
_TEXT = st.column_config.TextColumn
_NUMBER = st.column_config.NumberColumn
_COLUMNS = {
    "Experiment": _TEXT(width=200),
    "Nearest preset": _TEXT(width=235, help="The preset whose settings are most like the run's"),
    "Differs from it by": _TEXT(width=265),
    "Measured": _TEXT(width=285),
    "Value": _NUMBER(width=85, format="%.4g"),
    "Made (UTC)": _TEXT(width=135),
    "Seeds": _NUMBER(width=55),
    "±": _NUMBER(width=75, format="%.2g", help="The standard error, over seeds or tasks"),
    "Origin": _TEXT(width=85),
    "Seconds": _NUMBER(width=75, format="%.0f", help="The time that the training took"),
    "KiB": _NUMBER(width=75, format="%.0f", help="The size of the run's file"),
    "Device": _TEXT(width=110),
}
# The columns that are seen. The others stand below the table for a run that is chosen, and the
# table's tools show them.
_SEEN = ("Nearest preset", "Differs from it by", "Measured", "Value", "Made (UTC)")
_HEAD_HEIGHT = 35  # pixels, Streamlit's own
_ROW_HEIGHT = 66  # pixels: above 64 Streamlit wraps what a column is too narrow for
_MOST_HEIGHT = 8  # rows that are seen without scrolling in the table


def show(choice: Choice, rows: Sequence[RunRow]) -> None:
    """Draw the runs that the address asks for, of all `rows`."""
    if choice.run:
        matches = [row for row in rows if row.header.key == choice.run]
    else:
        matches = run_table.filtered(rows, choice.filter)
    if not matches:
        return _nothing(choice, bool(rows))
    of_all = f"{len(matches)} of " if len(matches) < len(rows) else ""
    count = f"{of_all}{len(rows)} run{'s' * (len(rows) != 1)}"
    with st.container(horizontal=True, vertical_alignment="center", key="run-count"):
        st.markdown(f"**{count}**")
        if not choice.is_open:
            st.button("Show all runs", on_click=run_filters.clear, type="tertiary")
    if choice.group and (choice.group in run_table.GROUPS or choice.group in matches[0].values):
        return _groups(choice, matches)
    sort = choice.sort.removeprefix("-")
    falling = choice.sort.startswith("-")
    _table(_lines(run_table.ordered(matches, sort, falling, choice.number)), choice.number)


def _lines(rows: Sequence[RunRow]) -> Sequence[RunRow]:
    """Return the rows that the table shows, of many as many as the address chooses, and draw the
    choice."""
    starts = range(0, len(rows), MOST_LINES)
    if len(starts) == 1:
        return rows
    titles = {
        str(number): f"{start + 1:,} to {min(start + MOST_LINES, len(rows)):,}"
        for number, start in enumerate(starts, 1)
    }
    chosen = st.query_params.get(run_filters.LINES, "1")
    number = chosen if chosen in titles else "1"
    filters.one("runs", "Lines", run_filters.LINES, titles, number, "1")
    start = starts[int(number) - 1]
    return rows[start : start + MOST_LINES]


def _nothing(choice: Choice, are_runs: bool) -> None:
    """Draw why there is no run to show, and the button that helps."""
    if choice.run:
        st.markdown(
            "This run is not here: it was deleted, dropped to make room, or never made on this "
            "computer."
        )
    elif are_runs:
        st.markdown("No run has these settings.")
    else:
        st.markdown("There is no run yet. Open an experiment and train one.")
        return menu.link("gallery", "Choose an experiment")
    st.button("Show all runs", on_click=run_filters.clear, type="primary")


def _table(rows: Sequence[RunRow], claim: str) -> None:
    """Draw a line for each run, and the buttons of those that are chosen."""
    numbers = [row.number(claim) for row in rows]
    first_columns = _first_columns(rows)
    columns: dict[str, list[Any]] = {
        **first_columns,
        "Nearest preset": [row.preset for row in rows],
        "Differs from it by": [row.differs or "nothing" for row in rows],
        "Seeds": [row.seeds for row in rows],
        "Measured": [number.label if number else "" for number in numbers],
        "Value": [number and number.value for number in numbers],
        "±": [number and number.error for number in numbers],
        "Origin": [run_table.ORIGINS[row.origin] for row in rows],
        "Made (UTC)": [row.date for row in rows],
        "Seconds": [row.seconds for row in rows],
        "KiB": [row.size / formats.KIB for row in rows],
        "Device": [row.device for row in rows],
    }
    if any(codes := [code.note(row.header) for row in rows]):
        columns["Code"] = codes
    with st.container(key="run-table"):
        event: Any = st.dataframe(
            columns,
            hide_index=True,
            height=_height(len(rows)),
            row_height=_ROW_HEIGHT,
            column_order=(*first_columns, *_SEEN),
            key=_key("runs", [row.header.origin + row.header.key for row in rows]),
            on_select="rerun",
            selection_mode="multi-row",
            column_config=_COLUMNS,
            placeholder="–",
            alt="The runs, a line each. Choose lines to open, download or delete their runs.",
        )
    selection = [rows[index] for index in event["selection"]["rows"] if index < len(rows)]
    if len(rows) == 1:
        selection = list(rows)
    if not selection:
        st.caption(
            "Choose runs at the left end of their lines to open, compare, download or delete them."
        )
    _compare(selection)
    for row in selection[:MOST_CHOSEN]:
        _actions(row, claim)
    if len(selection) > MOST_CHOSEN:
        st.caption(f"{len(selection) - MOST_CHOSEN} more are chosen.")


def _compare(rows: Sequence[RunRow]) -> None:
    """Draw the link that compares the chosen runs, or why they cannot be compared."""
    if len(rows) < 2:
        return
    if len({row.header.experiment for row in rows}) > 1:
        st.caption("Runs of one experiment can be compared; these are of several.")
    elif len(rows) > chosen_runs.MOST:
        st.caption(f"At most {chosen_runs.MOST} runs can be compared.")
    else:
        query = compare_links.fields([row.header for row in rows])
        menu.link(compare_links.PAGE, f"Compare these {len(rows)} runs", query)


def _first_columns(rows: Sequence[RunRow]) -> dict[str, list[Any]]:
    """Return the column of experiments; where the rows are of one, a column for each of its main
    settings in which they differ."""
    ids = {row.header.experiment for row in rows}
    if len(ids) > 1:
        return {"Experiment": [row.title for row in rows]}
    knobs = knobs_of(registry.experiment(ids.pop()).config)
    columns: dict[str, list[Any]] = {}
    for name in run_table.main_settings(rows):
        texts = [row.values.get(name, "") for row in rows]
        is_number = knobs[name].kind == "slider"
        columns[knobs[name].symbol] = [float(text) for text in texts] if is_number else texts
    return columns


def _height(count: int) -> int:
    """Return the height of a table with so many lines, in pixels."""
    return min(count, _MOST_HEIGHT) * _ROW_HEIGHT + _HEAD_HEIGHT + 3


def _key(name: str, keys: Sequence[str]) -> str:
    """Return a key that changes with the lines, as a choice is kept by their numbers."""
    return f"{name} {sha256(' '.join(keys).encode()).hexdigest()[:16]}"


def _actions(row: RunRow, claim: str) -> None:
    """Draw a run with what the table leaves out, and what can be done with it."""
    header = row.header
    with st.container(
        border=True,
        horizontal=True,
        vertical_alignment="center",
        key=f"run-{header.origin}-{header.key}",
    ):
        lines = map(escape_markdown, (_setting(row), _circumstances(row, claim)))
        st.markdown("  \n".join([f"**{escape_markdown(row.title)}**", *lines]))
        paper, name = header.experiment.split(".")
        fields = run_fields(header.experiment, header.config)
        menu.link(paper, "Open", {"experiment": name, **fields})
        menu.link(compare_links.PAGE, "Compare with …", compare_links.fields([header]))
        if header.origin != "atlas":
            file = f"{header.experiment}-{header.digest[:8]}.safetensors"
            st.download_button(
                "Download",
                partial(store.default().content, header),
                file,
                key=f"download {header.origin} {header.key}",
                on_click="ignore",
            )
        if header.origin == "local" and visitors.can_end(header.key):
            st.button("Delete", key=f"delete {header.key}", on_click=_delete, args=(header,))


def line(row: RunRow) -> str:
    """Return a run's experiment and setting in one line."""
    return f"{row.title}: {_setting(row)}"


def _setting(row: RunRow) -> str:
    seeds = f"{row.seeds} seeds" if row.seeds > 1 else ""
    return ", ".join(filter(None, (row.preset, row.differs, seeds)))


def _circumstances(row: RunRow, claim: str) -> str:
    """Return what a run measured for a claim, where it is from, and what it took, in one line."""
    number = row.number(claim)
    measured = f"{number.label} {number_text.number(number.value)}" if number else ""
    if number and number.error is not None:
        measured += f" ± {number_text.number(number.error, 2)}"
    parts = (
        measured,
        run_table.ORIGINS[row.origin],
        formats.duration(row.seconds) if row.seconds is not None else "",
        formats.exact_size(row.size),
        row.device,
        code.note(row.header),
    )
    return " · ".join(filter(None, parts))


def _delete(header: store.Header) -> None:
    others = owners.owners_of(header.key) - {visitors.name()}
    if run_table.header_of(store.default(), "local", header.experiment, header.key) is None:
        st.toast("It was deleted already.")
        return
    try:
        store.default().delete(header, visitors.acting_name(header.key))
    except (BadSetting, OSError) as problem:
        st.error(f"It cannot be deleted: {escape_markdown(problem)}.")
    else:
        if others and store.default().exact(header.experiment, header.key):
            st.toast("It stays: another visitor asked for it.")


def _groups(choice: Choice, rows: Sequence[RunRow]) -> None:
    """Draw a line for each group; a click on one shows its runs."""
    groups = run_table.grouped(rows, choice.group)
    measured = [_group_values(group, choice.number) for group in groups]
    columns: dict[str, list[Any]] = {
        "Group": [group.label for group in groups],
        "Runs": [len(group.rows) for group in groups],
        "Least": [min(values, default=None) for values in measured],
        "Median": [median(values) if values else None for values in measured],
        "Largest": [max(values, default=None) for values in measured],
        "Measured": [_group_claim(group, choice.number) for group in groups],
        "Seconds, all": [sum(row.seconds or 0.0 for row in group.rows) for group in groups],
        "KiB, all": [sum(row.size for row in group.rows) / formats.KIB for group in groups],
        "Latest (UTC)": [max(row.date for row in group.rows) for group in groups],
    }
    key = _key("groups", [f"{choice.group}={group.value}" for group in groups])
    with st.container(key="run-table"):
        st.dataframe(
            columns,
            hide_index=True,
            height=_height(len(groups)),
            row_height=_ROW_HEIGHT,
            key=key,
            on_select=partial(_open_group, key, choice, groups),
            selection_mode="single-row",
            column_config={
                **{name: _NUMBER(format="%.4g") for name in ("Least", "Median", "Largest")},
                **{name: _NUMBER(format="%.0f") for name in ("Seconds, all", "KiB, all")},
            },
            placeholder="–",
            alt="The groups of runs, a line each. Choose a line to see its runs.",
        )
    st.caption("Choose a line to see its runs.")


def _group_values(group: RunGroup, claim: str) -> list[float]:
    return [number.value for number in group.numbers(claim)]


def _group_claim(group: RunGroup, claim: str) -> str:
    numbers = group.numbers(claim)
    return numbers[0].label if numbers else "different numbers"


def _open_group(key: str, choice: Choice, groups: Sequence[RunGroup]) -> None:
    selection = st.session_state[key]["selection"]["rows"]
    if selection and selection[0] < len(groups):
        run_filters.narrow(choice, choice.group, groups[selection[0]].value)
