"""Every trained learner while it trains: its error, its implied weights, what it acts like, and how
far it is from linear in the query."""

from typing import Any

import numpy as np
import pandas as pd

from icl_core import figures, registry
from icl_core.contract.experiment import Panel, Run
from icl_core.contract.figure import Figure
from icl_core.contract.trained_learner import TrainedLearner
from icl_core.figures import Curve, number_text
from icl_core.figures.style import (
    FAINT,
    INK,
    NEGATIVE_TO_POSITIVE,
    NONE_TO_ALL,
    PAPER,
    axis,
    colourscale,
    layout,
    legend,
)
from icl_core.papers.learners.trained.load_run import (
    fall,
    is_learning,
    learners_of,
    nearest,
    place,
    share_of,
)
from icl_core.papers.learners.trained.own_prompt import STEP, answered
from icl_core.papers.learners.trained.settings import View

DECADES = 3
LEAST, LARGEST = 10.0**-DECADES, 2.0  # the ends of the axes of errors
LINES = {"one step": ("GD 1", "gradient descent"), "Bayes": ("Bayes", "floor")}
REACH, MARK = 1.3, 11


def errors(run: Run, view: View) -> Panel:
    """Draw the error of every learner against the training step, with those of one step and of
    Bayes."""
    steps = run["curve/step"]
    at = run.step(view)
    series = [_curve(learner, steps, run) for learner in learners_of(run)]
    lines = [(name, share_of(run, of), kind) for name, (of, kind) in LINES.items()]
    figure = figures.curves(
        series,
        "training step",
        "share left",
        log_y=True,
        y_range=(LEAST, LARGEST),
        lines=[(name, value, kind) for name, value, kind in lines if value > LEAST],
        at=at,
        height=figures.SEAT,
    )
    below = sum(float(np.interp(at, steps, curve.y)) < share_of(run, "GD 1") for curve in series)
    return Panel(
        f"Step {at:,}: {below} of {len(series)} learners are below one step",
        "The error on fresh prompts, over that of predicting zero, while each learner trains on "
        "the same distribution. Look for plateaus at 1: a learner that has not found which token "
        "is to be multiplied with which predicts zero.",
        figures.seated(figure, figures.WIDE),
        data=pd.DataFrame({"step": steps} | {curve.name: curve.y for curve in series}).round(5),
    )


def training(run: Run, view: View) -> Panel:
    """Draw the errors of the learners that have been trained so far."""
    steps = np.asarray(run.tensors.get("curve/step", [0]))
    ids = [name.removeprefix("curve/") for name in run.tensors if name.startswith("curve/")]
    every = registry.trained_learners().values()
    trained = [learner for learner in every if learner.id in ids]
    series = [_curve(learner, steps, run) for learner in trained]
    return Panel(
        f"{len(series)} learners have begun to train",
        "The error on fresh prompts, over that of predicting zero. The learners train one after "
        "the other.",
        figures.curves(
            series or [Curve("none yet", steps, np.full(len(steps), np.nan))],
            "training step",
            "share left",
            log_y=True,
            y_range=(LEAST, LARGEST),
        ),
        data=pd.DataFrame({"step": steps} | {curve.name: curve.y for curve in series}).round(5),
    )


def plane(run: Run, view: View) -> Panel:
    """Draw the implied weights of every learner in the plane of the first two features."""
    snapshot = run.snapshot_at(view)
    prompt = min(view.prompt, run["prompt/y"].shape[1] - 1)
    implied = run["snapshot/implied"][snapshot, :, prompt]  # [learners, d]
    target = _two(run["prompt/w"][:, prompt])
    figure = _plane()
    for learner, weights in zip(learners_of(run), implied, strict=True):
        point = _two(weights)
        figure.add_scatter(
            x=[point[0]],
            y=[point[1]],
            mode="markers",
            marker={
                "symbol": learner.symbol,
                "size": MARK,
                "color": figures.colour(learner.kind),
                "line": {"color": figures.colour(learner.kind), "width": 2},
            },
            name=learner.short,
            showlegend=False,
            hovertemplate=f"{learner.short}: %{{x:.3f}}, %{{y:.3f}}<extra></extra>",
        )
    for name, (of, symbol) in {"one step": ("GD 1", "cross"), "Bayes": ("Bayes", "x")}.items():
        point = _two(run["prompt/reference"][run.names("references").index(of)][:, prompt])
        figure.add_scatter(
            x=[point[0]],
            y=[point[1]],
            mode="markers",
            marker={"symbol": symbol, "size": MARK, "color": INK},
            name=name,
        )
    star = {"symbol": "star", "size": 18, "color": INK, "line": {"color": PAPER, "width": 1}}
    figure.add_scatter(x=[target[0]], y=[target[1]], mode="markers", marker=star, name="w*")
    last = np.stack([_two(each) for each in run["snapshot/implied"][-1, :, prompt]])
    _frame(figure, np.concatenate([last, [target, np.zeros(2)]]))
    distances = np.linalg.norm(implied - run["prompt/w"][:, prompt], axis=1)
    best = learners_of(run)[int(distances.argmin())].short
    return Panel(
        f"{best} is nearest to w*, {number_text(float(distances.min()), 2)} away",
        "The derivative of each learner's answer by the query: the weights that it has found in "
        "this prompt, whatever is inside it. The star is w*, crosses are what can be written down. "
        "Before training all are at random near zero."
        + (" Of more features the first two are drawn." if run.config.d > 2 else ""),
        figures.seated(figure),
        data=pd.DataFrame(
            {"learner": run.names("learners")}
            | {f"w{i + 1}": implied[:, i] for i in range(run.config.d)}
        ).round(5),
    )


def own_plane(run: Run, view: View) -> Panel:
    """Draw what every learner, as it is at the end, makes of the visitor's own pairs."""
    prompt = answered(run, view)
    figure = _plane()
    points: list[np.ndarray] = []
    for learner in learners_of(run):
        point = _two(prompt.implied[learner.id])
        points.append(point)
        figure.add_scatter(
            x=[point[0]],
            y=[point[1]],
            mode="markers",
            marker={
                "symbol": learner.symbol,
                "size": MARK,
                "color": figures.colour(learner.kind),
                "line": {"color": figures.colour(learner.kind), "width": 2},
            },
            name=learner.short,
        )
    for name, symbol in ((STEP, "cross"), ("Bayes", "x"), ("w*", "star")):
        point = _two(prompt.w if name == "w*" else prompt.implied[name])
        points.append(point)
        marker = {"symbol": symbol, "size": MARK + 4, "color": INK}
        figure.add_scatter(x=[point[0]], y=[point[1]], mode="markers", marker=marker, name=name)
    _frame(figure, np.stack([*points, np.zeros(2)]))
    figure.update_layout(height=460, legend=legend(1.02), margin={"t": 110})
    distances = {
        learner.short: float(np.linalg.norm(prompt.implied[learner.id] - prompt.w))
        for learner in learners_of(run)
    }
    best = min(distances, key=lambda name: distances[name])
    return Panel(
        f"{best} comes nearest to w*, {number_text(distances[best], 2)} away",
        "The weights that every learner finds in your own pairs, or in the prompt of home that is "
        "chosen: the derivative of its answer at a query of zero. The star is what fits your pairs "
        "best. Pairs that are unlike home's show who has learned a method and who has learned a "
        "distribution. Drag a pair, or type: 0.5 1: 2; -0.8 0: -1.4.",
        figure,
        data=pd.DataFrame(
            [{"learner": name, **_row(weights)} for name, weights in prompt.implied.items()]
        ).round(5),
    )


def own_pairs(run: Run, view: View) -> Panel:
    """Draw the pairs that are answered; with two features they can be dragged."""
    prompt = answered(run, view)
    d = run.config.d
    points = prompt.x[:, :2] if d > 1 else np.stack([prompt.x[:, 0], prompt.y], 1)
    limit = float(np.abs(prompt.y).max(initial=0)) or 1.0
    marker = {"size": MARK + 2, "color": INK, "line": {"color": INK, "width": 1}}
    if d > 1:
        scale = {"colorscale": colourscale(NEGATIVE_TO_POSITIVE), "cmin": -limit, "cmax": limit}
        marker |= {
            "color": prompt.y,
            "showscale": True,
            "colorbar": {"title": {"text": "y"}},
        } | scale
    figure = _plane()
    figure.add_scatter(x=points[:, 0], y=points[:, 1], mode="markers", marker=marker, name="pairs")
    reach = REACH * max(0.5, float(np.abs(points).max(initial=0)))
    _frame(figure, np.array([[-reach, -reach], [reach, reach]]) / REACH)
    titles = ("x₁", "x₂") if d > 1 else ("x", "y")
    figure.update_layout(
        height=460,
        xaxis={"title": {"text": titles[0]}},
        yaxis={"title": {"text": titles[1]}},
    )
    if d <= 2:
        drag: dict[str, Any] = {"trace": 0, "field": "points"}
        if d == 2:  # a pair that is dragged keeps its noise, and w* is what made its label
            drag |= {"labels": prompt.y.round(4).tolist(), "slope": prompt.w.tolist()}
        figure.update_layout(meta={"drag": drag})
    return Panel(
        f"The prompt has {len(points)} pairs",
        "Each dot is a pair: where it lies is x, its colour is y.",
        figure,
        data=pd.DataFrame(prompt.x, columns=[f"x{i + 1}" for i in range(d)]).assign(y=prompt.y),
    )


def _row(weights: np.ndarray) -> dict[str, float]:
    return {f"w{i + 1}": float(value) for i, value in enumerate(weights)}


def acts_like(run: Run, view: View) -> Panel:
    """Draw how far every learner's answers are from those of every reference."""
    snapshot = run.snapshot_at(view)
    matrix = run["snapshot/reference"][snapshot]
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
    gd_ssm = nearest(run, "gd-ssm-1", snapshot)
    return Panel(
        f"At step {run.step(view):,} the GD-SSM acts most like {gd_ssm.name}",
        "Mean squared differences between what a learner and a reference answer to the same "
        "prompts, over the error of predicting zero; pale is near. GD and CG with their number of "
        "steps, ridge with its r, and Bayes.",
        figure,
        data=pd.DataFrame(matrix, columns=references, index=names).reset_index(),
    )


def bend(run: Run, view: View) -> Panel:
    """Draw how far every learner's answer is from linear in the query."""
    snapshot = run.snapshot_at(view)
    values = run["snapshot/bend"][snapshot]
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
    straight = int((values < 0.01).sum())
    return Panel(
        f"{straight} of {len(learners)} answer by a straight ⟨ŵ, x⟩",
        "The root mean square of f(x) − ⟨J, x⟩ over that of f(x), with J the derivative of the "
        "answer f by the query x: 0 for a learner whose answer is linear in the query. Norms and "
        "gates bend it.",
        figures.seated(figure),
        data=pd.DataFrame({"learner": run.names("learners"), "bend": values}).round(5),
    )


def certificate(run: Run, view: View) -> Panel:
    """Tabulate what every learner is, what it has seen, and whether it was done."""
    seen = run.config.steps * run.config.batch
    rows: list[dict[str, str]] = []
    for learner in learners_of(run):
        like = nearest(run, learner.id, -1)
        index = place(run, learner.id)
        share, error = run["evaluated/share"][index], run["evaluated/error"][index]
        badge = " (still learning)" if is_learning(run, learner.id) else ""
        rows.append(
            {
                "learner": learner.name,
                "what it is": learner.about,
                "parameters": f"{int(run['count/parameters'][index]):,}",
                "tasks seen": f"{seen:,}",
                "left": f"{share:.3f} ± {error:.3f}{badge}",
                "fell in the last tenth": f"{100 * fall(run, learner.id):.0f}%",
                "acts most like": f"{like.name}, {like.distance:.3f} ± {like.error:.3f} away",
            }
        )
    done = [learner for learner in learners_of(run) if not is_learning(run, learner.id)]
    best = min(done, key=lambda learner: run["evaluated/share"][place(run, learner.id)])
    return Panel(
        f"Of {len(done)} that are done {best.short} leaves least",
        "All learn from the same distribution with Adam and a rate that falls to zero. A learner "
        "whose error fell by more than 5% in the last tenth of its steps is still learning, and "
        "has no place in a ranking.",
        table=pd.DataFrame(rows),
        data=pd.DataFrame(rows),
    )


def _curve(learner: TrainedLearner, steps: np.ndarray, run: Run) -> Curve:
    y = np.clip(run.tensors[f"curve/{learner.id}"], LEAST, None)
    return Curve(learner.short, steps, y, learner.kind, learner.dash)


def _initials(label: str) -> str:
    """Return a label short enough to stand under one of twelve bars."""
    first, _, number = label.partition(" ")
    short = first if len(first) <= 6 else f"{first[:4]}."
    return f"{short}{number}" if number.isdigit() else short


def _two(values: np.ndarray) -> np.ndarray:
    """Return the first two features; the second is 0 if there is one."""
    return np.array([values[0], values[1] if len(values) > 1 else 0.0], dtype=float)


def _plane() -> Figure:
    zero = {"zeroline": True, "zerolinecolor": FAINT, "constrain": "domain"}
    return Figure(layout=layout(figures.SEAT)).update_layout(
        xaxis=axis("w₁", **zero), yaxis=axis("w₂", scaleanchor="x", scaleratio=1, **zero)
    )


def _frame(figure: Figure, points: np.ndarray) -> None:
    """Set both axes so that they hold points [points, 2], with some room."""
    low, high = points.min(0), points.max(0)
    middle = (low + high) / 2
    half = REACH * max(float((high - low).max()) / 2, 0.2)
    figure.update_layout(
        xaxis={"range": [middle[0] - half, middle[0] + half]},
        yaxis={"range": [middle[1] - half, middle[1] + half]},
    )
