"""Where the model looks and where it errs, over held-out sequences, at the step shown."""

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.papers.birth.induction import attention_scores
from icl_core.papers.birth.induction.load_run import at_step, weights_at
from icl_core.papers.birth.induction.settings import View
from icl_core.papers.birth.shared.model import forward
from icl_core.papers.birth.shared.train import held_out, task_of

GROUPS = {"triggers": "at triggers", "others": "at others"}
FEW = 8  # sequences on which the attention before training is measured


def attention_on_followers(run: Run, view: View) -> Panel:
    """Draw the last layer's attention on what followed the query before, at triggers and
    elsewhere."""
    snapshot = run.snapshot_at(view)
    masses = attention_scores.on_followers(attention_scores.at_snapshot(run, snapshot))
    rows = [(GROUPS[name], mass, "layer 2") for name, (mass, _) in masses.items()]
    rows += [
        (f"{GROUPS[name]}, even", even, figures.colour("seed"))
        for name, (_, even) in masses.items()
    ]
    labels, values, kinds = zip(*rows, strict=True)
    layer = "layer 2" if run.config.layers == 2 else "the layer"
    return Panel(
        f"{at_step(run, view)}: {layer} puts {masses['triggers'][0]:.0%} on what followed a "
        f"trigger, {masses['others'][0]:.0%} on what followed other characters",
        "The share of attention on what followed earlier occurrences of the character just read, "
        "the mean over held-out sequences. “Others” are characters that come again and are no "
        "triggers. A plain induction head looks there for both; one that knows its triggers, for "
        "those alone. Pale bars: attention spread evenly.",
        figures.bars(labels, values, "attention on what followed", kinds=kinds, y_range=(0, 1.05)),
        note=_before(run),
        data=pd.DataFrame({"query": labels, "attention": values}),
    )


def _before(run: Run) -> str:
    """Return how even the attention was before training, of given matrices how even it is."""
    weights = weights_at(run, 0)
    batch = held_out(task_of(run.config), FEW, "cpu")
    last = forward(weights, batch.inputs, run.config.layers)[2]
    entropy, largest = np.mean([attention_scores.spread(each.numpy()) for each in last], axis=0)
    was = (
        "Before training the entropy of attention was"
        if run.config.trains
        else "The entropy of attention is"
    )
    return (
        f"{was} {entropy:.0%} of its maximum, and the largest weight {largest:.2g} times an even "
        "one."
    )


def errors(run: Run, view: View) -> Panel:
    """Draw how often the prediction in context is wrong, by where the trigger first stood."""
    snapshot = run.snapshot_at(view)
    readout = attention_scores.at_snapshot(run, snapshot)
    shares = attention_scores.errors_by_first(readout)
    known = {name: pair for name, pair in shares.items() if np.isfinite(pair[0])}
    values, spreads = ([pair[i] for pair in shares.values()] for i in (0, 1))
    figure = figures.bars(
        list(shares), values, "wrong in context", errors=spreads, y_range=(0, 1.1)
    )
    first = next(iter(known))
    last = list(known)[-1]
    return Panel(
        f"{at_step(run, view)}: {known[first][0]:.1%} wrong where the trigger first stood at "
        f"{first}, {known[last][0]:.0%} at {last}",
        "How often the prediction is wrong, by the position at which its trigger first stood. To "
        "find it there, W_K¹ must have stored that position. If all positions were stored alike, "
        "the bars would be equal. They carry one standard error.",
        figure.update_xaxes(title={"text": "position of the trigger's first occurrence"}),
        note=attention_scores.in_words(readout, run.config),
        data=pd.DataFrame(
            {"first occurrence": list(shares), "wrong": values, "standard error": spreads}
        ),
    )
