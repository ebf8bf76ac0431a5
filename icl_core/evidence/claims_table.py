"""Findings as a table in plain text: `python -m icl_core claims`."""

from collections.abc import Mapping, Sequence
from typing import Any

_COLUMNS = ("experiment", "preset", "claim", "value", "bound", "verdict", "kind")
_REMARKS = "source; setting; quote; why"


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the rows (`Finding.row`) in aligned columns, remarks at the end of each line."""
    lines: list[tuple[tuple[str, ...], str]] = [(_COLUMNS, _REMARKS)]
    for row in rows:
        value = "not run" if row["value"] is None else f"{row['value']:.4g}"
        cells = (
            row["experiment"],
            row["preset"] or row["run"][:6],
            row["label"],
            value,
            bound_text(row),
            row["verdict"],
            row["kind"],
        )
        quote = f"“{row['quote']}”" if row["quote"] else ""
        remarks = filter(None, (row["source"], row["setting"], quote, row["reason"]))
        lines.append((cells, "; ".join(remarks)))
    widths = [max(map(len, column)) for column in zip(*(cells for cells, _ in lines), strict=True)]
    text = []
    for cells, remarks in lines:
        padded = [f"{cell:<{width}}" for cell, width in zip(cells, widths, strict=True)]
        text.append("  ".join([*padded, remarks]))
    return "\n".join(text)


def bound_text(row: Mapping[str, Any]) -> str:
    """Return what the value should be, and what counts too: "0 ± 0.01", "≤ 0 (0.05 counts)"."""
    bound = row["bound"]
    tolerance = row["tolerance"]
    if row["relation"] == "near":
        return f"{bound:.4g} ± {tolerance:.2g}"
    sign, direction = ("≥", -1) if row["relation"] == "at least" else ("≤", 1)
    text = f"{sign} {bound:.4g}"
    return f"{text} ({bound + direction * tolerance:.4g} counts)" if tolerance else text
