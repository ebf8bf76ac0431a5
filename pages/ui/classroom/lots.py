"""What a class trains by turns: the lecturer's page asks for the runs of what phones have drawn and
tells the class how far they are."""

from collections.abc import Collection
from contextlib import suppress

import streamlit as st

from icl_core.classroom import sessions
from icl_core.classroom.lots import Lot
from icl_core.classroom.session import Seen
from icl_core.jobs import spawn
from icl_core.machine import limits
from icl_core.sweeps import by_class
from icl_core.sweeps.setting_grid import Grid
from icl_core.sweeps.sweep import DONE, FAILED, QUEUED, RUNNING
from pages.ui.link import visitors
from pages.ui.look.escape import escape_markdown

METRIC = "metric"  # in the address: the claim whose number a sweep shows
_REFUSED = "refused runs of a class"  # in the session: each reason, with its draw


def shown(seen: Seen | None) -> Lot | None:
    """Return the lot that phones draw from now."""
    return seen.lot if seen is not None and seen.question is None else None


def is_drawn_from(grid: Grid) -> bool:
    """Return whether phones of the visitor's class draw from this grid now."""
    lot = shown(sessions.ALL.seen(visitors.name()))
    return lot is not None and lot.key == by_class.key(grid)


def drawn(grid: Grid) -> Collection[int]:
    """Return the cells that phones of the visitor's class have drawn, by index."""
    seen = sessions.ALL.seen(visitors.name())
    if seen is None or seen.lot is None or seen.lot.key != by_class.key(grid):
        return ()
    return frozenset(seen.lot.drawn.values())


def can_offer(grid: Grid) -> bool:
    """Return whether a class may draw from this grid."""
    return not limits.read_only() and bool(by_class.lot(grid).labels)


def train(lot: Lot, code: str) -> str:
    """Ask for the runs of what was drawn, tell the class of that code how far they are, and return
    that in words; draw a warning for what could not be asked for."""
    progress = by_class.train(lot, visitors.name(), st.query_params.get(METRIC, ""))
    sessions.ALL.tell(visitors.name(), lot.key, progress.told, progress.asked)
    counts = progress.counts
    if counts[QUEUED] + counts[RUNNING]:
        with suppress(OSError):  # the job's own message says so
            spawn.ensure_workers()
    # what was refused is not asked for again: its reason stays as long as the draw
    refused = st.session_state.setdefault(_REFUSED, {})
    refused |= dict.fromkeys(progress.refused, (code, lot.key))
    reasons = [reason for reason, draw in refused.items() if draw == (code, lot.key)]
    for reason in [*reasons, *progress.put_off]:
        st.warning(f"Not all of it can be trained: {escape_markdown(reason)}.")
    parts = [f"{sum(counts.values())} of {len(lot.labels)} settings are drawn"]
    parts += [f"{counts[name]} {name}" for name in (DONE, RUNNING, QUEUED, FAILED) if counts[name]]
    return " · ".join(parts)
