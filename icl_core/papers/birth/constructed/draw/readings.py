"""What the constructed memories answer, and where the constructed model looks."""

import pandas as pd

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.papers.birth.constructed.metrics import at_d
from icl_core.papers.birth.constructed.run import constructed
from icl_core.papers.birth.constructed.settings import TALK, View
from icl_core.papers.birth.shared.draw import NAMES, READ, formed, maps, right, table
from icl_core.papers.birth.shared.probes import memory_scores
from icl_core.papers.birth.shared.sequence import choose_first, read
from icl_core.papers.birth.shared.train import task_of

TITLES = ("as in eq. 7", "cleaned", "difference")


def readings_panel(run: Run, view: View) -> Panel:
    """One memory's readings as constructed and cleaned."""
    task = task_of(run.config)
    built = [constructed(run.config, run.config.d, talk) for talk in ("kept", "stream")]
    scores, without = (memory_scores(view.memory, weights, task) for weights in built)
    (first, second) = (each.matrix.numpy() for each in (scores, without))
    titles = {"row_title": scores.row_kind, "column_title": scores.column_kind, "titles": TITLES}
    figure = figures.triple(
        first, second, None, scores.rows, scores.columns, READ[view.memory], **titles
    )
    kept, clean = (
        float(at_d(run, f"talk_{view.memory}_{talk}").mean()) for talk in ("kept", "stream")
    )
    return Panel(
        f"{NAMES[view.memory]}: cleaning lowers cross-talk from {kept:.0%} to {clean:.0%} of a "
        "right answer",
        f"{formed(view.memory)} Off the diagonal you see cross-talk among stored pairs. The map does not "
        "show what the rest of the stream adds; the title counts it.",
        figure,
        data=pd.DataFrame(first.round(4), index=scores.rows, columns=scores.columns).reset_index(
            names="row"
        ),
    )


def attention(run: Run, view: View) -> Panel:
    """Draw where the constructed model looks, on a sampled or typed sequence."""
    sequence = choose_first(task_of(run.config), view)
    reading = read(constructed(run.config, run.config.d, view.cross_talk), sequence, 2)
    inside = sequence.in_context.numpy()
    hits = int(right(reading, sequence)[inside].sum())
    return Panel(
        f"Constructed, {TALK[view.cross_talk]}: {hits} of {int(inside.sum())} predictions are "
        "right",
        "A construction that works shows a stripe beside the diagonal in layer 1 and dark "
        "outlined cells in layer 2. Cross-talk shows as stray dark cells.",
        maps(reading, sequence),
        data=table(reading, sequence),
    )
