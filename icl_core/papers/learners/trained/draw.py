"""The drawings of trained learners.

While they train: the error, the implied weights, what each acts like, and how far it is from linear
in the query. Afterwards: beside all that can be written down and beside a known construction in
their architecture, their certificates, and their curves.
"""

from typing import Any

import numpy as np
import pandas as pd

from icl_core import figures, registry
from icl_core.contract.experiment import Panel, Run
from icl_core.contract.figure import Figure
from icl_core.contract.trained_learner import TrainedLearner
from icl_core.figures import Curve, number_text
from icl_core.figures.style import FAINT, INK, NONE_TO_ALL, axis, colourscale, layout, legend
from icl_core.in_context_regression.learner_table import BY_ID
from icl_core.papers.learners.shared.plane import STAR, add_mark, frame, plane, two
from icl_core.papers.learners.trained.constructions import beside, of_run
from icl_core.papers.learners.trained.load_run import (
    fall,
    implied_weights,
    is_learning,
    learners_of,
    nearest,
    place,
    prompt_shown,
    share_of,
)
from icl_core.papers.learners.trained.settings import View
from icl_core.papers.learners.trained.words import WORDS

DECADES = 3
LEAST = 10.0**-DECADES  # the ends of the axes of errors
LARGEST = 2.0
ROOM = 1.3  # of a plane around its points
MARK = 11  # pixels


def mark_of(learner: TrainedLearner) -> dict[str, Any]:
    """Return a learner's mark."""
    colour = figures.colour(learner.kind)
    return {
        "symbol": learner.symbol,
        "size": MARK,
        "color": colour,
        "line": {"color": colour, "width": 2},
    }


def curve_of(learner: TrainedLearner, steps: np.ndarray, run: Run) -> Curve:
    """Return what a learner leaves at every step at which it was evaluated, [evaluations]."""
    y = np.clip(run.tensors[f"curve/{learner.id}"], LEAST, None)
    return Curve(learner.short, steps, y, learner.kind, learner.dash)


LINES = {"one step": ("GD 1", "gradient descent"), "Bayes": ("Bayes", "floor")}
CROSSES = {"one step": ("GD 1", "cross"), "Bayes": ("Bayes", "x")}


def errors(run: Run, view: View) -> Panel:
    """Draw the error of every learner against the training step, with those of one step and of
    Bayes."""
    steps = run["curve/step"]
    series = [curve_of(learner, steps, run) for learner in learners_of(run)]
    lines = [(name, share_of(run, of), kind) for name, (of, kind) in LINES.items()]
    figure = figures.curves(
        series,
        "training step",
        "share left",
        log_y=True,
        y_range=(LEAST, LARGEST),
        lines=[(name, value, kind) for name, value, kind in lines if value > LEAST],
        at=run.step(view),
        height=figures.SEAT,
    )
    data = pd.DataFrame({"step": steps} | {curve.name: curve.y for curve in series}).round(5)
    return WORDS.panel("errors", run, view, figures.seated(figure, figures.WIDE), data=data)


def weights(run: Run, view: View) -> Panel:
    """Draw the implied weights of every learner in the plane of the first two features."""
    prompt = prompt_shown(run, view)
    implied = implied_weights(run, view)
    target = two(run["prompt/w"][:, prompt])
    figure = plane("w₁", "w₂")
    for learner, vector in zip(learners_of(run), implied, strict=True):
        add_mark(figure, two(vector), learner.short, mark_of(learner))
        figure.data[-1].update(showlegend=False)
    for name, (reference, symbol) in CROSSES.items():
        vector = run["prompt/reference"][run.names("references").index(reference)][:, prompt]
        add_mark(figure, two(vector), name, {"symbol": symbol, "size": MARK, "color": INK})
    add_mark(figure, target, "w*", STAR)
    last = two(run["snapshot/implied"][-1, :, prompt])
    frame(figure, np.concatenate([last, [target, np.zeros(2)]]), ROOM)
    data = pd.DataFrame(
        {"learner": run.names("learners")}
        | {f"w{i + 1}": implied[:, i] for i in range(run.config.d)}
    )
    return WORDS.panel("plane", run, view, figures.seated(figure), data=data.round(5))


def bend(run: Run, view: View) -> Panel:
    """Draw how far every learner's answer is from linear in the query."""
    values = run["snapshot/bend"][run.snapshot_at(view)]
    learners = learners_of(run)
    labels = [_initials(learner.short) for learner in learners]
    figure = figures.bars(
        labels,
        values.tolist(),
        "bend",
        kinds=[learner.kind for learner in learners],
        y_range=(0.0, 1.1 * max(1.0, float(run["snapshot/bend"].max()))),
        text="none",
        height=figures.SEAT,
    )
    data = pd.DataFrame({"learner": run.names("learners"), "bend": values}).round(5)
    return WORDS.panel("bend", run, view, figures.seated(figure), data=data)


def _initials(label: str) -> str:
    """Return a label short enough to stand under one of twelve bars."""
    first, _, number = label.partition(" ")
    short = first if len(first) <= 6 else f"{first[:4]}."
    return f"{short}{number}" if number.isdigit() else short


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
    best_place = place(run, best.id)
    table = pd.DataFrame(rows)
    return WORDS.panel(
        "certificate",
        run,
        view,
        table=table,
        data=table,
        done=len(done),
        best_of_these=best.short,
        least=float(run["evaluated/share"][best_place]),
        least_error=float(run["evaluated/error"][best_place]),
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
