"""What the model does over held-out sequences: where it looks and where it errs, position by
position and output by output; and what given matrices achieve, of which there are no curves."""

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.figures import Curve
from icl_core.papers.birth.induction import attention_scores
from icl_core.papers.birth.induction.load_run import accuracy_at, weights_at
from icl_core.papers.birth.induction.settings import View
from icl_core.papers.birth.induction.words import WORDS
from icl_core.papers.birth.shared.accuracy import share
from icl_core.papers.birth.shared.draw import KINDS, NAMES
from icl_core.papers.birth.shared.model import forward
from icl_core.papers.birth.shared.train import held_out, task_of

GROUPS = {"triggers": "at triggers", "others": "at others"}
FEW = 8  # sequences on which the attention before training is measured
RECALL = "curve/recall_"

RANGES = {
    "never": (-1.0, 0.0),
    "under 1%": (0.0, 0.01),
    "1 to 5%": (0.01, 0.05),
    "over 5%": (0.05, 1.0),
}
ENDS = {"never": "never", "over 5%": "often"}


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
    entropy, largest = _evenness_at_start(run)
    return WORDS.panel(
        "looks",
        run,
        view,
        figures.bars(labels, values, "attention on what followed", kinds=kinds, y_range=(0, 1.05)),
        data=pd.DataFrame({"query": labels, "attention": values}),
        at_triggers=masses["triggers"][0],
        at_others=masses["others"][0],
        entropy=entropy,
        largest=largest,
    )


def _evenness_at_start(run: Run) -> tuple[float, float]:
    """Return how even the attention was before training, of given matrices how even it is."""
    batch = held_out(task_of(run.config), FEW, "cpu")
    last = forward(weights_at(run, 0), batch.inputs, run.config.layers)[2]
    spreads = [attention_scores.spread(attention.numpy()) for attention in last]
    entropy, largest = np.mean(spreads, axis=0)
    return entropy, largest


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
    return WORDS.panel(
        "errors",
        run,
        view,
        figure.update_xaxes(title={"text": "position of the trigger's first occurrence"}),
        data=pd.DataFrame(
            {"first occurrence": list(shares), "wrong": values, "standard error": spreads}
        ),
        wrong_first=known[first][0],
        first=first,
        wrong_last=known[last][0],
        last=last,
        reason=attention_scores.in_words(readout, run.config),
    )


def stripe(run: Run, view: View) -> Panel:
    """Draw layer 1's attention on the position before, by position."""
    snapshot = run.snapshot_at(view)
    mass = attention_scores.at_snapshot(run, snapshot).previous[:, 1:].mean(0).numpy()
    at = np.arange(2, len(mass) + 2)
    series = [
        Curve("attention on the position before", at, mass, "layer 1"),
        Curve("spread evenly", at, 1 / at, figures.colour("seed"), "dot"),
    ]
    half = at[mass >= 0.5]
    return WORDS.panel(
        "stripe",
        run,
        view,
        figures.curves(series, "position", "attention", y_range=(0, 1.02)),
        data=pd.DataFrame({"position": at, "attention": mass}),
        reach=half[-1] if len(half) else 0,
    )


def copying(run: Run, view: View) -> Panel:
    """Draw how often an output is copied, by how likely it is as a bigram; beside the best
    predictor."""
    snapshot = run.snapshot_at(view)
    task = task_of(run.config)
    readout = attention_scores.at_snapshot(run, snapshot)
    batch = readout.batch
    likely = task.bigram[batch.inputs, batch.targets]  # [sequences, T]
    rows = []
    for name, (low, high) in RANGES.items():
        where = batch.in_context & (likely > low) & (likely <= high)
        for who, right in (
            ("model", readout.right),
            ("best predictor", attention_scores.best_right(run)),
        ):
            rows.append((name, who, *share(right, where), int(where.sum())))
    data = pd.DataFrame(rows, columns=["bigram", "who", "right", "standard error", "positions"])
    labels = [f"{name}" if who == "model" else f"{name}: best" for name, who, *_ in rows]
    kinds = ["trained" if who == "model" else figures.colour("seed") for _, who, *_ in rows]
    model = data[(data.who == "model") & (data.positions > 0)].set_index("bigram").right
    figure = figures.bars(
        labels,
        data.right.tolist(),
        "right in context",
        errors=data["standard error"].tolist(),
        kinds=kinds,
        y_range=(0, 1.1),
    )
    shares = [f"{word} {model[name]:.0%}" for name, word in ENDS.items() if name in model]
    return WORDS.panel("copying", run, view, figure, data=data, shares=", ".join(shares))


def probes_panel(run: Run, view: View) -> Panel:
    """Draw the accuracy in context and the recall of each memory, as bars."""
    accuracy = accuracy_at(run, 0)
    recalls = {
        name: float(run[RECALL + name][0, 0]) for name in KINDS if name in run.names("probes")
    }
    labels = ["right", *map(NAMES.__getitem__, recalls)]
    kinds = ["trained", *map(KINDS.__getitem__, recalls)]
    values = np.round([accuracy, *recalls.values()], 2).tolist()
    return WORDS.panel(
        "probes",
        run,
        view,
        figures.seated(figures.bars(labels, values, "share", kinds=kinds, y_range=(0, 1.05))),
        data=_probes(run),
    )


def _probes(run: Run) -> pd.DataFrame:
    """Return all probes, also those that count by frequency or compare queries."""
    values = {
        name.removeprefix(RECALL): float(run[name][0, 0])
        for name in run.tensors
        if name.startswith(RECALL)
    }
    return pd.DataFrame({"probe": list(values), "value": list(values.values())})
