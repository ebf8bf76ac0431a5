"""What is on stage: accuracy against width with and without cross-talk, both heads, the
memories."""

from functools import partial

import numpy as np

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.contract.figure import Trace
from icl_core.papers.birth.constructed.draw.sweep import against_width, over_widths, trained
from icl_core.papers.birth.constructed.metrics import at_d
from icl_core.papers.birth.constructed.run import constructed
from icl_core.papers.birth.constructed.settings import View
from icl_core.papers.birth.shared import stage
from icl_core.papers.birth.shared.model import Weights
from icl_core.papers.birth.shared.probes import memory_scores
from icl_core.papers.birth.shared.sequence import Reading, Shown, read
from icl_core.papers.birth.shared.train import task_of

KINDS = {"kept": ("constructed", "construction"), "stream": ("cleaned", "layer 2")}


def widths(run: Run, view: View) -> Panel:
    """In-context accuracy against width, as constructed and without cross-talk, and the model
    trained at width d."""
    d = run.config.d
    series = [against_width(run, "accuracy", talk, *look) for talk, look in KINDS.items()]
    figure = over_widths(run, series, "in-context accuracy")
    figure.add_traces([_trained(d, value) for value in trained(run)])
    kept, clean = (float(at_d(run, f"accuracy_{talk}").mean()) for talk in KINDS)
    return Panel(
        f"d = {d}: {kept:.0%} are right, {clean:.0%} if cleaned",
        "Random vectors are nearly orthogonal only at large d. At smaller d every answer picks up "
        "other vectors of the stream. Store the same pairs with as little of this cross-talk as "
        "possible (cleaned), and they work. If cross-talk did no harm, the lines would be one.",
        figures.seated(figure.update_layout(yaxis={"range": [0, 1.12]})),
    )


def _trained(d: int, accuracy: float) -> Trace:
    """Return the trained model as a single point."""
    marker = {"color": figures.colour("trained"), "size": 13, "symbol": "diamond"}
    where = {
        "textposition": "top left" if d > 128 else "top center",
        "cliponaxis": False,
        "showlegend": False,
    }
    trace = Trace(
        x=np.array([d]),
        y=np.array([accuracy]),
        mode="markers+text",
        text=["trained"],
        marker=marker,
        **where,
    )
    return trace.update(name="trained", hovertemplate="trained: %{y:.3g}<extra></extra>")


def first(run: Run, view: View) -> Panel:
    """Layer 1's attention on the sequence."""
    outcome, _, sequence = reading(run, view)
    return stage.first(outcome, sequence)


def second(run: Run, view: View) -> Panel:
    """Layer 2's attention on the sequence, and what the construction predicts."""
    outcome, _, sequence = reading(run, view)
    return stage.second(outcome, sequence)


def reading(run: Run, view: View) -> tuple[Reading, Weights, Shown]:
    """Return what the model makes of the sequence on stage, the model, and the sequence."""
    sequence = stage.on_stage(task_of(run.config), view)
    weights = constructed(run.config, run.config.d, view.cross_talk)
    return read(weights, sequence, 2), weights, sequence


def _memory(name: str, run: Run, view: View) -> Panel:
    """Draw a memory as readings of all pairs; beside its recall, what it picks up from the streams
    it meets."""
    scores = memory_scores(
        name, constructed(run.config, run.config.d, view.cross_talk), task_of(run.config)
    )
    right, talk = (
        float(at_d(run, f"{measure}_{name}_{view.cross_talk}").mean())
        for measure in ("recall", "talk")
    )
    more = (
        "Off the diagonal you see cross-talk among stored pairs. The title counts what the whole "
        "stream adds."
    )
    title = f"is {right:.0%} right, cross-talk {talk:.0%}"
    return stage.memory(name, scores, scores, title, more)


w_k1, w_k2, w_o2 = (partial(_memory, name) for name in ("W_K1", "W_K2", "W_O2"))
