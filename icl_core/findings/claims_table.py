"""Findings as a table for a reader's eye: `python -m icl_core claims`."""

from collections.abc import Mapping, Sequence
from typing import Any


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """The rows for a reader's eye; what each claim says, where and of which setting stands at the
    end of its row."""
    lines = [
        (
            ("experiment", "preset", "claim", "value", "bound", "verdict", "kind"),
            "source; setting; quote; why",
        )
    ]
    for row in rows:
        value = "not run" if row["value"] is None else f"{row['value']:.4g}"
        told = (
            row["experiment"],
            row["preset"] or row["run"][:6],
            row["label"],
            value,
            _bound(row),
        )
        quote = f"“{row['quote']}”" if row["quote"] else ""
        said = filter(None, (row["source"], row["setting"], quote, row["reason"]))
        lines.append(((*told, row["verdict"], row["kind"]), "; ".join(said)))
    widths = [max(map(len, column)) for column in zip(*(cells for cells, _ in lines), strict=True)]
    return "\n".join(
        "  ".join([*(f"{word:<{width}}" for word, width in zip(cells, widths, strict=True)), said])
        for cells, said in lines
    )


def _bound(row: Mapping[str, Any]) -> str:
    """What the value should be, and what counts as well: "0 ± 0.01", "≤ 0 (0.05 counts)"."""
    bound, tolerance = row["bound"], row["tolerance"]
    if row["relation"] == "near":
        return f"{bound:.4g} ± {tolerance:.2g}"
    sign, way = ("≥", -1) if row["relation"] == "at least" else ("≤", 1)
    return f"{sign} {bound:.4g}" + (f" ({bound + way * tolerance:.4g} counts)" if tolerance else "")
