"""Trained learners beside all that can be written down and beside a known construction in their
architecture, their certificates, and their curves."""

import numpy as np
import pandas as pd

from icl_core import figures, registry
from icl_core.contract.experiment import Panel, Run
from icl_core.contract.figure import Figure
from icl_core.figures import Curve, number_text
from icl_core.figures.style import FAINT, NONE_TO_ALL, axis, colourscale, layout, legend
from icl_core.in_context_regression.learner_table import BY_ID
from icl_core.papers.learners.trained.constructions import beside, of_run
from icl_core.papers.learners.trained.draw import DECADES, LARGEST, LEAST, curve_of
from icl_core.papers.learners.trained.load_run import (
    fall,
    is_learning,
    learners_of,
    nearest,
    place,
)
from icl_core.papers.learners.trained.settings import View
from icl_core.papers.learners.trained.words import WORDS

A_ROW = 38  # pixels of a row
MARGIN = 130  # pixels of the names beside it


def training(run: Run, view: View) -> Panel:
    """Draw the errors of the learners that have been trained so far."""
    steps = np.asarray(run.tensors.get("curve/step", [0]))
    ids = [name.removeprefix("curve/") for name in run.tensors if name.startswith("curve/")]
    every = registry.trained_learners().values()
    trained = [learner for learner in every if learner.id in ids]
    series = [curve_of(learner, steps, run) for learner in trained]
    figure = figures.curves(
        series or [Curve("none yet", steps, np.full(len(steps), np.nan))],
        "training step",
        "share left",
        log_y=True,
        y_range=(LEAST, LARGEST),
    )
    data = pd.DataFrame({"step": steps} | {curve.name: curve.y for curve in series}).round(5)
    return WORDS.panel("training", run, view, figure, data=data, begun=len(series))


def acts_like(run: Run, view: View) -> Panel:
    """Draw how far every learner's answers are from those of every reference."""
    matrix = run["snapshot/reference"][run.snapshot_at(view)]
    names = [learner.short for learner in learners_of(run)]
    references = run.names("references")
    logarithms = np.clip(np.log10(np.clip(matrix, LEAST, None)) + DECADES, 0, DECADES)
    figure = figures.heatmap(logarithms, names, references, "difference", limit=DECADES)
    figure.update_layout(
        coloraxis={
            "cmin": 0,
            "cmax": DECADES,
            "colorscale": colourscale(NONE_TO_ALL),
            "colorbar": {
                "title": {"text": "mean squared difference"},
                "tickvals": list(range(DECADES + 1)),
                "ticktext": ["≤ 10⁻³", "10⁻²", "10⁻¹", "1"],
            },
        }
    )
    data = pd.DataFrame(matrix, columns=references, index=names).reset_index()
    return WORDS.panel("acts like", run, view, figure, data=data)


def certificate(run: Run, view: View) -> Panel:
    """Tabulate what every learner is, what it has seen, and whether it was done."""
    seen = run.config.steps * run.config.batch
    rows: list[dict[str, str]] = []
    for learner in learners_of(run):
        like = nearest(run, learner.id, -1)
        index = place(run, learner.id)
        share = run["evaluated/share"][index]
        error = run["evaluated/error"][index]
        badge = " (still learning)" if is_learning(run, learner.id) else ""
        rows.append(
            {
                "learner": learner.name,
                "what it is": learner.about,
                "parameters": f"{int(run['count/parameters'][index]):,}",
                "width": str(learner.width(run.config.d, run.config.n)),
                "tasks seen": f"{seen:,}",
                "left": f"{share:.3f} ± {error:.3f}{badge}",
                "fell in the last tenth": f"{round(100 * fall(run, learner.id))}%",
                "acts most like": f"{like.name}, {like.distance:.3f} ± {like.error:.3f} away",
            }
        )
    done = [learner for learner in learners_of(run) if not is_learning(run, learner.id)]
    best = min(done, key=lambda learner: run["evaluated/share"][place(run, learner.id)])
    table = pd.DataFrame(rows)
    return WORDS.panel(
        "certificate",
        run,
        view,
        table=table,
        data=table,
        done=len(done),
        best_of_these=best.short,
        width=2 * run.config.d + run.config.n + 1,
    )


def constructed(run: Run, view: View) -> Panel:
    """Draw what each trained learner leaves beside what its construction leaves."""
    rows = beside(run)
    learners = [learner for learner in reversed(learners_of(run)) if learner.id in rows]
    names = [learner.short for learner in learners]
    trained = [rows[learner.id].trained for learner in learners]
    constructed = [rows[learner.id].constructed for learner in learners]
    figure = Figure(layout=layout(140 + A_ROW * len(names), legend=legend(1.02)))
    for name, first, second in zip(names, trained, constructed, strict=True):
        line = {"color": FAINT, "width": 3}
        figure.add_shape(type="line", x0=first, x1=second, y0=name, y1=name, line=line)
    for values, kind, symbol in (
        (constructed, "construction", "diamond"),
        (trained, "trained", "circle"),
    ):
        figure.add_scatter(
            x=values,
            y=names,
            mode="markers",
            name="constructed" if kind == "construction" else "trained",
            marker={"symbol": symbol, "size": 13, "color": figures.colour(kind)},
            hovertemplate="%{y}: %{x:.3g}",
        )
    figure.update_layout(
        xaxis=axis("share left (log)", type="log"),
        yaxis=axis("", type="category"),
        margin={"l": MARGIN, "t": 50},
    )
    better = sum(first < second for first, second in zip(trained, constructed, strict=True))
    data = pd.DataFrame({"learner": names, "trained": trained, "constructed": constructed})
    return WORDS.panel(
        "constructed",
        run,
        view,
        figure,
        data=data.round(5),
        better=better,
        constructions=len(names),
    )


def constructions(run: Run, view: View) -> Panel:
    """Tabulate the constructions, and how far each trained learner is from its own."""
    rules = of_run(run)
    every = beside(run)
    rows: list[dict[str, str]] = []
    for learner in learners_of(run):
        if learner.id not in rules:
            continue
        rule = rules[learner.id]
        row = every[learner.id]
        settings = ", ".join(
            f"{name} {number_text(value, 3)}" for name, value in rule.settings.items()
        )
        rows.append(
            {
                "learner": learner.short,
                "construction": rule.name,
                "its rule": BY_ID[rule.id].equation,
                "tuned to": settings,
                "from": learner.constructed_by,
                "trained leaves": number_text(row.trained, 3),
                "constructed leaves": number_text(row.constructed, 3),
                "apart": f"{number_text(row.distance, 3)} ± {number_text(row.error, 3)}",
            }
        )
    nearest_id = min(every, key=lambda id: every[id].distance)
    learner = next(learner for learner in learners_of(run) if learner.id == nearest_id)
    table = pd.DataFrame(rows)
    return WORDS.panel(
        "constructions",
        run,
        view,
        table=table,
        data=table,
        learner=learner.short,
        apart=every[nearest_id].distance,
    )
