"""What the constructed memories answer, and where the constructed model looks."""

import pandas as pd

from icl_core import figures
from icl_core.experiment import Panel, Run
from icl_core.papers.birth.constructed.run import constructed, task_of
from icl_core.papers.birth.constructed.settings import TALK, View
from icl_core.papers.birth.shared.cross_talk import interference
from icl_core.papers.birth.shared.draw import NAMES, READ, maps, right, table
from icl_core.papers.birth.shared.probes import memory_scores
from icl_core.papers.birth.shared.sequence import choose, read

TITLES = ("as in eq. 7", "without cross-talk", "difference")


def readings(run: Run, view: View) -> Panel:
    """One memory's readings as constructed and without cross-talk."""
    task = task_of(run.config)
    built = [constructed(run.config, run.config.d, talk) for talk in ("kept", "stream")]
    found, without = (memory_scores(view.memory, weights, task) for weights in built)
    (first, second), (value, formed) = (each.matrix.numpy() for each in (found, without)), READ[view.memory]
    titles = {"row_title": found.row_kind, "column_title": found.column_kind, "titles": TITLES}
    figure = figures.triple(first, second, None, found.rows, found.columns, value, **titles)
    kept, clean = (interference(view.memory, weights, task) for weights in built)
    return Panel(
        f"{NAMES[view.memory]}: cross-talk falls from {kept:.3f} to {clean:.3f} of a match",
        f"{formed} What is off the diagonal is cross-talk among stored pairs; what the rest of the stream adds is not "
        "in this picture, but in the number above.",
        figure,
        data=pd.DataFrame(first.round(4), index=found.rows, columns=found.columns).reset_index(names="row"),
    )


def attention(run: Run, view: View) -> Panel:
    """Where the constructed model looks, on a sampled or typed sequence."""
    sequence = choose(task_of(run.config), view)
    reading = read(constructed(run.config, run.config.d, view.cross_talk), sequence, 2)
    inside = sequence.in_context.numpy()
    hits = int(right(reading, sequence)[inside].sum())
    return Panel(
        f"Constructed, {TALK[view.cross_talk]}: {hits} of {int(inside.sum())} in-context predictions right",
        "A construction that works shows one stripe beside the diagonal in layer 1 and dark boxed cells in layer 2. "
        "Cross-talk shows as stray cells.",
        maps(reading, sequence),
        data=table(reading, sequence),
    )
