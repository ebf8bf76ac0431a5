"""A visitor's own pairs, and what every trained learner makes of them."""

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.contract.figure import Figure
from icl_core.contract.trained_learner import TrainedLearner
from icl_core.figures.style import FAINT, INK, LINE, axis, layout, legend
from icl_core.papers.learners.shared.plane import (
    STAR,
    add_mark,
    add_pairs,
    frame,
    plane,
    titles_of_pairs,
    two,
)
from icl_core.papers.learners.trained.draw import MARK, ROOM, mark_of
from icl_core.papers.learners.trained.load_run import learners_of
from icl_core.papers.learners.trained.own_prompt import answered
from icl_core.papers.learners.trained.settings import View
from icl_core.papers.learners.trained.words import WORDS, capitalised

HEIGHT = 460
A_ROW = 30  # pixels of a learner's answer
MARGIN = 130  # pixels of the names beside it
SYMBOLS = ("cross", "diamond", "pentagon", "hexagon", "star-diamond", "square", "circle")


def weights(run: Run, view: View) -> Panel:
    """Draw what every learner, as it is at the end, makes of the visitor's own pairs."""
    prompt = answered(run, view)
    target = "what fits best" if view.points else "w*"
    figure = plane("w₁", "w₂", HEIGHT)
    for learner in learners_of(run):
        add_mark(figure, two(prompt.trained[learner.id]), learner.short, mark_of(learner))
    for rule, symbol in zip(prompt.constructed, SYMBOLS, strict=False):
        marker = {"symbol": symbol, "size": MARK + 2, "color": figures.colour("construction")}
        add_mark(figure, two(prompt.constructed[rule]), rule, marker)
    add_mark(figure, two(prompt.bayes), "Bayes", {"symbol": "x", "size": MARK + 2, "color": INK})
    add_mark(figure, two(prompt.w), target, STAR)
    every = [*prompt.trained.values(), *prompt.constructed.values(), prompt.bayes, prompt.w]
    frame(figure, two(np.stack([*every, np.zeros_like(prompt.w)])), ROOM)
    figure.update_layout(legend=legend(1.02), margin={"t": 130})
    distances = {
        learner.short: float(np.linalg.norm(prompt.trained[learner.id] - prompt.w))
        for learner in learners_of(run)
    }
    best = min(distances, key=lambda name: distances[name])
    rows = [
        {"learner": name, **_row(vector)}
        for name, vector in (prompt.trained | prompt.constructed).items()
    ]
    return WORDS.panel(
        "own plane",
        run,
        view,
        figure,
        data=pd.DataFrame(rows).round(5),
        learner=capitalised(best),
        target=target,
        away=distances[best],
    )


def pairs(run: Run, view: View) -> Panel:
    """Draw the pairs that are answered, which can be dragged."""
    prompt = answered(run, view)
    d = run.config.d
    figure = plane(*titles_of_pairs(d), HEIGHT)
    add_pairs(figure, prompt.x, prompt.y, prompt.w, {"size": MARK + 2}, ROOM)
    data = pd.DataFrame(prompt.x, columns=[f"x{i + 1}" for i in range(d)]).assign(y=prompt.y)
    return WORDS.panel("own pairs", run, view, figure, data=data, pairs=len(prompt.y))


def answers(run: Run, view: View) -> Panel:
    """Draw what every learner answers at the visitor's query, beside what its implied weights
    would answer."""
    prompt = answered(run, view)
    learners = learners_of(run)[::-1]  # the first one on top
    names = [learner.short for learner in learners]
    values = [prompt.answers[learner.id] for learner in learners]
    linear = [float(prompt.trained[learner.id] @ prompt.query) for learner in learners]
    target = float(prompt.w @ prompt.query)
    levels = {"target": target, "Bayes": float(prompt.bayes @ prompt.query)}
    figure = _answers(learners, values, linear, levels)
    errors = np.abs(np.array(values) - target)
    best = int(errors.argmin())
    data = pd.DataFrame(
        {
            "learner": names,
            "answer": values,
            "by implied weights": linear,
            "off the target": np.array(values) - target,
        }
    )
    return WORDS.panel(
        "own answers",
        run,
        view,
        figure,
        data=data.iloc[::-1].round(5),
        features=", ".join(f"{feature:g}" for feature in prompt.query).replace("-", "−"),
        learner=names[best],
        answer=values[best],
        target=target,
    )


def _answers(
    learners: list[TrainedLearner],
    values: list[float],
    linear: list[float],
    levels: dict[str, float],
) -> Figure:
    """Return answers as the learners' marks, joined to what is linear in them, and levels as
    upright lines."""
    names = [learner.short for learner in learners]
    figure = Figure(layout=layout(140 + A_ROW * len(names), legend=legend(1.02)))
    for name, value, straight in zip(names, values, linear, strict=True):
        line = {"color": FAINT, "width": 3}
        figure.add_shape(type="line", x0=straight, x1=value, y0=name, y1=name, line=line)
    figure.add_scatter(
        x=linear,
        y=names,
        mode="markers",
        name="⟨ŵ, query⟩",
        marker={"symbol": "line-ns", "size": 13, "line": {"color": LINE, "width": 2}},
        hovertemplate="%{y}, by its implied weights: %{x:.3f}<extra></extra>",
    )
    figure.add_scatter(
        x=values,
        y=names,
        mode="markers",
        name="its answer",
        marker={
            "symbol": [learner.symbol for learner in learners],
            "size": MARK,
            "color": [figures.colour(learner.kind) for learner in learners],
        },
        hovertemplate="%{y}: %{x:.3f}<extra></extra>",
    )
    for (name, at), dash in zip(levels.items(), ("solid", "dot"), strict=True):
        figure.add_scatter(
            x=[at, at],
            y=[names[0], names[-1]],
            mode="lines",
            name=name,
            line={"color": INK, "width": 1.5, "dash": dash},
            hovertemplate=f"{name}: %{{x:.3f}}<extra></extra>",
        )
    figure.update_layout(
        xaxis=axis("answer"), yaxis=axis("", type="category"), margin={"l": MARGIN, "t": 50}
    )
    return figure


def _row(weights: np.ndarray) -> dict[str, float]:
    return {f"w{i + 1}": float(value) for i, value in enumerate(weights)}
