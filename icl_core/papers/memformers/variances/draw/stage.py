"""What is on stage: gates for three heads against one scalar, and where gates end."""

from dataclasses import replace

import numpy as np

from icl_core.contract.claims import agree
from icl_core.contract.experiment import Panel, Run
from icl_core.figures.style import INK
from icl_core.papers.memformers.shared.captions import above
from icl_core.papers.memformers.shared.draw.categories import dots
from icl_core.papers.memformers.shared.draw.losses import printed as rings
from icl_core.papers.memformers.shared.draw.losses import written
from icl_core.papers.memformers.shared.draw.stage import fitted, named
from icl_core.papers.memformers.shared.load_run import end, log_of
from icl_core.papers.memformers.variances.claims import FIGURE_8, PRINTED
from icl_core.papers.memformers.variances.draw import gates
from icl_core.papers.memformers.variances.metrics import printed_of
from icl_core.papers.memformers.variances.settings import View, met_by, trained_on

# By id: name, colour, marker
SHOWN = {
    "gated": ("gates", "trained", "circle"),
    "met": ("prompts met", "trained", "line-ew-open"),
    "scalar": ("one number", "layer 2", "square"),
    "alone": ("not adapted", "layer 5", "triangle-down"),
}
X = "variance σ² of the prompts"
SHARED = (
    "Heads that have learned the same steps may share the work in any way, as long as the blocks "
    "add up to 1."
)
PICKED = "Gates that have found the head that knows the prompts' U have a single block."
RINGS = {
    "ours": " Rings are the paper's, on the prompts that the gates were learned on; its heads move "
    "the covariates too. At σ² = 0.5 the ring lies highest: a gate has the farthest to go there, "
    "and their 500 steps of 0.01 end on the way (see the preset with their gates).",
    "authors": " Rings are the paper's, on the prompts that the gates were learned on; its heads "
    "move the covariates too. The gates have had 500 steps of 0.01: the smaller the variance, the "
    "larger the gate must become, and the less of the way it has come.",
}
COUNTS = 0.02  # of a log-loss: less than that is between seeds too
ROOM = 0.5  # of a log-loss above all that is adapted


def comparison(run: Run, view: View) -> Panel:
    """Draw gates for all heads beside one scalar for one head, close enough to tell them apart."""
    order = _order(run)
    logs = {**gates.by_method(run), "met": log_of(run["gate/curve"][:, :, -1])}
    floor = end(run, "baseline/floor")
    unseen = len(met_by(run.config))
    points = _printed(run)
    top = max(*(float(logs[name].max()) for name in ("gated", "scalar")), *points.values()) + ROOM
    rows = [(*style, logs[name][:, order]) for name, style in SHOWN.items()]
    figure = dots(
        rows, _variances(run), min(top, float(np.log(run.config.d))), [("floor", floor, "floor")]
    )
    figure.update_xaxes(title={"text": X})
    figure.add_traces(
        rings([("gates, or the head at home", list(points.values()), INK, None)], list(points))
    )
    apart = float((logs["gated"] - logs["scalar"])[:, :unseen].mean())
    verb = "match" if abs(apart) < COUNTS else f"are {above(apart).removesuffix(' that of')}"
    return Panel(
        f"Gates {verb} one number",
        "Log-loss on fresh prompts of each variance: with a gate for each head (a dash: on the "
        "prompts that the gates were learned on), with one number for the best head, and with "
        "that head as it is. If several gates were needed, blue would lie well below green. "
        "Unadapted heads take steps of a wrong size; a triangle at the upper edge is a loss "
        "beyond it." + RINGS[run.config.learner] * bool(points),
        fitted(figure),
    )


def _printed(run: Run) -> dict[float, float]:
    """Return what the authors' code prints, by the place of its variance; nothing in settings other
    than Figure 8's."""
    if not agree(run.config, FIGURE_8):
        return {}
    variances = np.sort(run["test_time/variance"]).tolist()
    return {
        float(place): printed_of(variance)
        for place, variance in enumerate(variances)
        if variance in PRINTED
    }


def _order(run: Run) -> np.ndarray:
    return np.argsort(run["test_time/variance"])


def _variances(run: Run) -> list[str]:
    """Return the variances in ascending order, each with whether a head has seen it."""
    names = gates.categories_of(run)
    return [names[index] for index in _order(run)]


def shares(run: Run, view: View) -> Panel:
    """Draw the learned gates of each variance, counted in whole steps."""
    order = _order(run)
    values = run["gate/value"][gates.row(run, view)][order]  # [V, H]
    variance = run["test_time/variance"][order, None]
    share = values * variance / np.array(trained_on(run.config))
    total = share.sum(1)
    return Panel(
        f"The gates add up to {written(float(total.min()))} to {written(float(total.max()))} of "
        "a step",
        "Each block is a gate times σ²/σₕ²: the share of a whole step that its head takes. The "
        "gate itself is written on "
        "it. " + (SHARED if run.config.rotations == "common" else PICKED),
        named(gates.stacked(run, [(share, values, "learned")], _variances(run), X), "head of"),
    )


def starts(run: Run, view: View) -> Panel:
    """Draw where gates end that start elsewhere, on the last unseen variance."""
    panel = gates.starts(run, view)
    loss = log_of(run["start/loss"])[gates.row(run, view)]
    apart = float(np.ptp(loss))
    assert panel.figure is not None
    return replace(
        panel,
        title="All four starts reach the same loss"
        if apart < COUNTS
        else f"Four starts end {written(apart)} apart in log-loss",
        figure=named(panel.figure.update_layout(showlegend=False)),  # as in the panel beside
    )
