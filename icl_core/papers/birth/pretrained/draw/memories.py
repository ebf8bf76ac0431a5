"""The drawer on the pair's memories: what W_K² recalls by offset beside what is constructed, and
what W_O W_V copies."""

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.figures import Curve
from icl_core.papers.birth.pretrained.load_run import (
    asked_count,
    attention_lost,
    chance,
    error_of,
    roles,
    scores,
)
from icl_core.papers.birth.pretrained.settings import View

NAMES = {"strongest": "the strongest together", "random": "random heads"}


def by_offset(run: Run, view: View) -> Panel:
    """Draw the recall of the best pair against the distance of the query from the key."""
    offsets = run["best/offset"]
    recalls = run["best/recall"]  # (draws, offsets)
    constructed = float(run["best/constructed"].mean())
    whitened = float(run["best/whitened"].mean())
    first, second = run.names("best")
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
    return Panel(
        f"{first} to {second} recalls {recalls.mean():.0%}, eq. 7 {constructed:.0%}",
        f"The share of {asked_count(run)} random tokens whose query, in head {second}, picks what "
        f"head {first} has written of the same token, in five draws. A token is what the stream "
        "holds of it at that layer, after a start token. Rotary positions turn the query against "
        "the key: recall would fall with the distance if the pair used planes that turn quickly. "
        "“Eq. 7” is the paper's sum of outer products, on this model's own vectors with their "
        "means taken out, as one full matrix without rotations; the other line is the same where "
        "the vectors are made uncorrelated first, as the paper's random vectors nearly are.",
        figure,
        data=pd.DataFrame(recalls.T, offsets).rename_axis("offset"),
    )


def needed(run: Run, view: View) -> Panel:
    """Draw how much less the strongest heads look at what followed without each previous-token
    head."""
    rows = run.names("previous")
    columns = run.names("readers")
    lost = attention_lost(run)  # (previous, readers)
    row, column = np.unravel_index(np.abs(lost).argmax(), lost.shape)
    change = "less" if lost[row, column] > 0 else "more"
    return Panel(
        f"Without {rows[row]}, {columns[column]} looks {abs(lost[row, column]):.2f} {change} at "
        "what followed",
        "Which earlier head does an induction head need? A row is a previous-token head whose mean "
        "output is put in its place, a column a head that looks at what followed; the cell is how "
        "much of this attention is lost, a mean over five draws. The recall of W_K² names pairs "
        "that could work together; this map says which do. A row of zeros is a head that no "
        "induction head here relies on by itself.",
        figures.heatmap(
            lost,
            rows,
            columns,
            "attention lost",
            row_title="replaced",
            column_title="induction head",
        ),
        data=pd.DataFrame(lost, rows, columns),
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
    return Panel(
        f"Read directly, {labels[0]} recalls {group[:, 0].mean():.1%}",
        f"For each of {asked_count(run)} tokens: does what a head writes of it raise its own logit "
        "more than what it writes of any other token does? In the paper's model W_O² does. In a "
        "real one layers lie between this head and the unembedding, and the head may write in a "
        "code that they read. Bars near zero say that it does. One standard error over five draws.",
        figure,
        data=pd.DataFrame({"head": labels, "recall": group.mean(0), "error": errors}),
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
    return Panel(
        f"Made to look elsewhere, {says[:, together].mean():.0%} of queries say what stands there",
        "The other half of the answer: heads are made to look at a random place of the first half, "
        "and the layers behind do what they always do. The bar is how often the model then says "
        "the token that stands there, of all its tokens. A single head is outvoted by the others, "
        "which still look at what followed: its logit gains "
        f"{', '.join(f'{gain:.2f}' for gain in gains[:together])} nats beyond the sequence's other "
        f"tokens, and all together {gains[together]:.2f}. One standard error over five draws.",
        figure,
        data=pd.DataFrame({"heads": labels, "says": says.mean(0), "gain in nats": gains}),
    )


def table(run: Run, view: View) -> Panel:
    """Tabulate the heads that score highest."""
    previous = scores(run, "previous")
    followers = scores(run, "followers")
    found = roles(run)
    shown = dict.fromkeys([*run.names("strongest"), *run.names("previous")])
    rows = []
    for name in shown:
        layer, number = (int(part) - 1 for part in name.split("."))
        rows.append(
            (
                name,
                found[name],
                float(followers[layer, number]),
                error_of(run, "followers", name),
                float(previous[layer, number]),
                error_of(run, "previous", name),
            )
        )
    columns = ["head", "role", "on what followed", "± ", "on the previous token", "±"]
    frame = pd.DataFrame(rows, columns=columns)
    positions = run.config.sequences * run.config.length * len(run["heads/scores"])
    return Panel(
        f"The {len(rows)} heads that score highest",
        f"Attention on what followed the same token before, beyond even attention, over "
        f"{positions} queries of the second half; on the previous token, over all queries. One "
        "standard error over five draws. The role is that of the full transformer's experiment: "
        "the larger of the two, from 0.4 on.",
        table=frame.round(3),
    )


def zero(run: Run, view: View) -> Panel:
    """Tabulate the losses of both halves with the strongest heads and random ones replaced."""
    counts = run["ablation/heads"].tolist()
    group = int(run["ablation/group"])
    at = counts.index(group)
    losses = run["repeated/loss"]
    half = losses.shape[1] // 2
    whole = np.stack([losses[:, :half].mean(1), losses[:, half + 1 :].mean(1)], 1)
    sets = {
        "none": whole,
        f"the {group} strongest, by their mean": run["ablation/strongest"][:, at],
        f"the {group} strongest, by zero": run["ablation/zero"][:, 0],
        f"{group} random ones, by their mean": run["ablation/random"][:, at],
        f"{group} random ones, by zero": run["ablation/zero"][:, 1],
    }
    rows = []
    for name, values in sets.items():
        mean = values.mean(0)
        error = values.std(0, ddof=1) / len(values) ** 0.5
        rows.append((name, mean[0], error[0], mean[1], error[1]))
    columns = ["replaced", "first half", "± ", "second half", "±"]
    return Panel(
        "The loss of both halves with heads replaced, in nats",
        f"Five draws of {run.config.sequences} sequences of {run.config.length} random tokens, "
        "said twice; the second half without its first token, which nothing announces. If the "
        "heads carried something else, too, the first half would cost more without them.",
        table=pd.DataFrame(rows, columns=columns).round(2),
    )
