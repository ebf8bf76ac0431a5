"""The drawer on the pair's memories: what W_K² recalls by offset beside what is constructed, and
what W_O W_V copies."""

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.figures import Curve
from icl_core.papers.birth.pretrained.load_run import (
    QUANTILES,
    attention_lost,
    best_pair,
    chance,
    error_of,
    group_index,
    half_losses,
    losses_without_group,
    place_of,
    roles,
    says_attended,
    scores,
)
from icl_core.papers.birth.pretrained.settings import View
from icl_core.papers.birth.pretrained.words import WORDS

HALF = 0.5  # recall from which a head copies as the paper's W_O² does
HALVES = ("first half,", "second half,")
NAMES = {"strongest": "the strongest together", "random": "random heads"}


def by_offset(run: Run, view: View) -> Panel:
    """Draw the recall of the best pair against the distance of the query from the key."""
    best_pair(run)
    offsets = run["best/offset"]
    recalls = run["best/recall"]  # (draws, offsets)
    constructed = float(run["best/constructed"].mean())
    whitened = float(run["best/whitened"].mean())
    lines = [
        ("eq. 7", constructed, "construction"),
        ("eq. 7, uncorrelated vectors", whitened, "other output"),
        ("chance", chance(run), "floor"),
    ]
    figure = figures.curves(
        [Curve("W_K²", offsets, recalls, "layer 2", band="minmax", markers=True)],
        "positions between key and query",
        "recall of W_K²",
        log_x=True,
        y_range=(0, 1.05),
        lines=lines,
    )
    return WORDS.panel(
        "by_offset",
        run,
        view,
        figure,
        data=pd.DataFrame(recalls.T, offsets).rename_axis("offset"),
        recall=recalls.mean(),
        constructed=constructed,
    )


def needed(run: Run, view: View) -> Panel:
    """Draw how much less the strongest heads look at what followed without each previous-token
    head."""
    rows = run.names("previous")
    columns = run.names("readers")
    lost = attention_lost(run)  # (previous, readers)
    row, column = np.unravel_index(np.abs(lost).argmax(), lost.shape)
    figure = figures.heatmap(
        lost, rows, columns, "attention lost", row_title="replaced", column_title="induction head"
    )
    return WORDS.panel(
        "needed",
        run,
        view,
        figure,
        data=pd.DataFrame(lost, rows, columns),
        previous=rows[row],
        reader=columns[column],
        change=abs(lost[row, column]),
        less=lost[row, column] > 0,
    )


def copying(run: Run, view: View) -> Panel:
    """Draw what the strongest heads copy, read directly."""
    group = run["copy/directly"]  # (draws, heads)
    labels = run.names("strongest")[: group.shape[1]]
    errors = group.std(0, ddof=1) / len(group) ** 0.5
    figure = figures.bars(
        labels,
        group.mean(0).tolist(),
        "recall of W_O W_V",
        errors=errors.tolist(),
        y_range=(0, 1.05),
        lines=[("chance", chance(run), "floor")],
    )
    recalls = group.mean(0)  # (heads,)
    data = pd.DataFrame({"head": labels, "recall": recalls, "error": errors})
    return WORDS.panel(
        "copying",
        run,
        view,
        figure,
        data=data,
        copier=labels[int(recalls.argmax())],
        copied_most=recalls.max(),
        copies=recalls.max() > HALF,
        is_other=recalls.argmax() > 0,
    )


def moved(run: Run, view: View) -> Panel:
    """Draw how often the model says the token at which heads are made to look."""
    says = run["copy/says"]  # (draws, sets)
    gains = run["copy/gains"].mean(0)
    labels = [NAMES.get(name, name) for name in run.names("moved")]
    errors = says.std(0, ddof=1) / len(says) ** 0.5
    figure = figures.bars(
        labels, says.mean(0).tolist(), "says that token", errors=errors.tolist(), y_range=(0, 1.05)
    )
    together = run.names("moved").index("strongest")
    single = int(says.mean(0)[:together].argmax())
    return WORDS.panel(
        "moved",
        run,
        view,
        figure,
        data=pd.DataFrame({"heads": labels, "says": says.mean(0), "gain in nats": gains}),
        single=labels[single],
        by_single=says[:, single].mean(),
        one_decides=says[:, single].mean() > says_attended(run).mean(),
        gains=", ".join(f"{gain:.2f}" for gain in gains[:together]),
        gain_together=gains[together],
    )


def table(run: Run, view: View) -> Panel:
    """Tabulate the heads that score highest."""
    previous = scores(run, "previous")
    followers = scores(run, "followers")
    role_by_head = roles(run)
    shown = dict.fromkeys([*run.names("strongest"), *run.names("previous")])
    rows = []
    for name in shown:
        layer, number = place_of(run, name)
        rows.append(
            (
                name,
                role_by_head[name],
                float(followers[layer, number]),
                error_of(run, "followers", name),
                float(previous[layer, number]),
                error_of(run, "previous", name),
            )
        )
    columns = ["head", "role", "on what followed", "± ", "on the previous token", "±"]
    frame = pd.DataFrame(rows, columns=columns)
    positions = run.config.sequences * run.config.length * len(run["heads/scores"])
    return WORDS.panel(
        "table", run, view, table=frame.round(3), rows=len(rows), positions=positions
    )


def zero(run: Run, view: View) -> Panel:
    """Tabulate the losses of both halves with the strongest heads and random ones replaced."""
    strongest, random = losses_without_group(run)
    random_zero = run["ablation/random_zero"]  # (draws, sets, halves)
    count = int(run["ablation/heads"][group_index(run)])
    group = int(run["ablation/group"])
    measured = {
        "none": np.stack(half_losses(run), 1),
        f"the {count} strongest, by their mean": strongest,
        f"the {group} strongest, by zero": run["ablation/zero"],
        f"{count} random ones, by their mean": random.reshape(-1, 2),  # (draws · sets, halves)
        f"{group} random ones, by zero": random_zero.reshape(-1, 2),
    }
    rows = []
    for name, values in measured.items():
        rows.append((name, len(values), *np.quantile(values, QUANTILES, axis=0).T.ravel()))
    columns = [
        "replaced",
        "measured",
        *(f"{half} {share:.0%}" for half in HALVES for share in QUANTILES),
    ]
    table = pd.DataFrame(rows, columns=columns).round(2)
    return WORDS.panel("zero", run, view, table=table, sets=random.shape[0] * random.shape[1])
