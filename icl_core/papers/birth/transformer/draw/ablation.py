"""Heads replaced: by their mean output, by zero, by their output on the sequence with other
outputs."""

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.contract.experiment import CannotDraw, Panel, Run
from icl_core.papers.birth.transformer.load_run import last_heads, measure_replaced, named
from icl_core.papers.birth.transformer.settings import REPLACED, View
from icl_core.papers.birth.transformer.words import WORDS


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
    figure = figures.bars(
        list(bars), list(bars.values()), "in-context accuracy", errors=errors, y_range=(0, 1.05)
    )
    return WORDS.panel(
        "replaced",
        run,
        view,
        figure,
        data=pd.DataFrame([before, after], index=["all heads", "replaced"]).T,
        names=", ".join(names),
        way=REPLACED[view.by],
        before=before["accuracy"],
        after=after["accuracy"],
        loss_before=before["global_loss"],
        loss_after=after["global_loss"],
        is_patch=is_patch,
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
    return WORDS.panel(
        "effects",
        run,
        view,
        table=pd.DataFrame(rows, columns=columns).round(3),
        least=mean[1:, 0].min(),
        most=mean[1:, 0].max(),
        largest_change=loss[np.abs(loss).argmax()],
    )
