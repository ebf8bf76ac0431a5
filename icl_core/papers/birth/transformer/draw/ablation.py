"""Heads replaced: by their mean output, by zero, by their output on the sequence with other
outputs."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.contract.experiment import CannotDraw, Panel, Run
from icl_core.figures import number_text
from icl_core.papers.birth.shared.train import held_out, task_of
from icl_core.papers.birth.transformer.ablation import POSITIONS, Bench
from icl_core.papers.birth.transformer.load_run import final_weights, last_heads
from icl_core.papers.birth.transformer.measurements import pair_of
from icl_core.papers.birth.transformer.settings import REPLACED, View

MOST = 4  # benches kept
_BENCHES: dict[str, Bench] = {}


def measure_replaced(run: Run, names: Sequence[str], by: str) -> dict[str, float]:
    """Return the trained model's `MEASURES` with heads, by their ids, replaced in the way `by`."""
    if run.digest not in _BENCHES:
        while len(_BENCHES) >= MOST:
            _BENCHES.pop(next(iter(_BENCHES)))
        task = task_of(run.config)
        batch = held_out(task, POSITIONS // run.config.T, "cpu")
        _BENCHES[run.digest] = Bench(final_weights(run), task, batch, run.config.heads)
    return _BENCHES[run.digest].measure([pair_of(name) for name in names], by)


def named(heads: str) -> list[str]:
    """Return the ids of heads in a text, with commas or spaces between them."""
    return heads.replace(",", " ").split()


def asked(run: Run, view: View) -> list[str]:
    """Return the ids of the heads that the view names. Raises `CannotDraw` for one that the model
    lacks."""
    heads = run.names("heads")
    names = named(view.replaced)
    for name in names:
        if name not in heads:
            raise CannotDraw(f"heads to replace must be some of {', '.join(heads)}, got {name!r}")
    return names


def draw(run: Run, view: View) -> Panel:
    """Draw the accuracy before and after, and with a patch, how often the other sequence's output
    is said. Raises `CannotDraw` as `asked`, and where no sequence can be corrupted."""
    names = asked(run, view)
    is_patch = view.by == "patch"
    before = measure_replaced(run, [], view.by)
    after = measure_replaced(run, names, view.by)
    if np.isnan(before["accuracy"]):
        raise CannotDraw(
            "no sequence here leaves its triggers free for other outputs: take fewer triggers"
        )
    bars = {"all heads": before["accuracy"], "replaced": after["accuracy"]}
    errors = [before["accuracy_error"], after["accuracy_error"]]
    if is_patch:
        bars |= {"says the other": after["other"]}
        errors.append(float("nan"))
    title = f"{', '.join(names) or 'no head'} → {REPLACED[view.by]}: accuracy "
    title += f"{before['accuracy']:.0%} → {after['accuracy']:.0%}"
    return Panel(
        title,
        "After the training, on held-out sequences. The mean output keeps what a head always says "
        "and takes away what it says of this sequence. The third way runs the model on a second "
        "sequence too, the same but for what follows each trigger, and gives the heads their "
        "outputs there: a head that carries which output it was then makes the model say the "
        "other one. A head that does nothing changes nothing. One standard error.",
        figures.bars(
            list(bars), list(bars.values()), "in-context accuracy", errors=errors, y_range=(0, 1.05)
        ),
        note=f"Global loss, where bigrams tell: {before['global_loss']:.3f} → "
        f"{after['global_loss']:.3f} nats."
        + " Sequences in which an output is a trigger itself are left out here."
        * is_patch,
        data=pd.DataFrame([before, after], index=["all heads", "replaced"]).T,
    )


def table(run: Run, view: View) -> Panel:
    """Tabulate all heads, each alone replaced in each way."""
    heads = last_heads(run)
    # (1 + heads, MEASURES) each: as it is, then without each head
    mean = run["effect/mean"]
    zero = run["effect/zero"]
    patch = run["effect/patch"]
    rows = [("none", "", mean[0, 0], zero[0, 0], patch[0, 0], patch[0, 3], mean[0, 2])]
    rows += [
        (head.name, head.does, mean[i, 0], zero[i, 0], patch[i, 0], patch[i, 3], mean[i, 2])
        for i, head in enumerate(heads, start=1)
    ]
    columns = [
        "replaced",
        "what it does",
        "by mean",
        "by zero",
        "patched",
        "says the other",
        "global loss, by mean",
    ]
    loss = mean[1:, 2] - mean[0, 2]
    return Panel(
        f"One head at a time: accuracy {mean[1:, 0].min():.0%} to {mean[1:, 0].max():.0%}",
        "In-context accuracy with each head alone replaced. Patched: by its output on the "
        "sequence with other outputs; beside it how often the model then says that other output. "
        "Global loss in nats; the largest change is "
        f"{number_text(float(loss[np.abs(loss).argmax()]), 3)}. If every head did an equal share, "
        "all rows would be alike.",
        table=pd.DataFrame(rows, columns=columns).round(3),
    )
