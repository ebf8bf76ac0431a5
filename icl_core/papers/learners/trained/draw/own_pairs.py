"""A visitor's own pairs, and what every trained learner makes of them."""

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.figures import number_text
from icl_core.figures.style import INK, legend
from icl_core.papers.learners.shared.plane import (
    STAR,
    add_mark,
    add_pairs,
    frame,
    plane,
    titles_of_pairs,
    two,
)
from icl_core.papers.learners.trained.draw.marks import MARK, ROOM, capitalised, mark_of
from icl_core.papers.learners.trained.load_run import learners_of
from icl_core.papers.learners.trained.own_prompt import answered
from icl_core.papers.learners.trained.settings import View

HEIGHT = 460
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
    return Panel(
        f"{capitalised(best)} comes nearest to {target}, {number_text(distances[best], 2)} away",
        "The weights that every learner finds in your own pairs, or in the prompt of home that is "
        "chosen: the derivative of its answer at a query of zero. Orange marks are what "
        "architectures can be constructed to be; the star is w* of a prompt of home, of your own "
        "pairs what fits them best. Pairs that are unlike home's show who has learned a method and "
        "who has learned a distribution. Drag a pair, or type: 0.5 1: 2; -0.8 0: -1.4.",
        figure,
        data=pd.DataFrame(
            [
                {"learner": name, **_row(vector)}
                for name, vector in (prompt.trained | prompt.constructed).items()
            ]
        ).round(5),
    )


def pairs(run: Run, view: View) -> Panel:
    """Draw the pairs that are answered; with two features they can be dragged."""
    prompt = answered(run, view)
    d = run.config.d
    figure = plane(*titles_of_pairs(d), HEIGHT)
    add_pairs(figure, prompt.x, prompt.y, prompt.w, {"size": MARK + 2}, ROOM)
    return Panel(
        f"The prompt has {len(prompt.y)} pairs",
        "Each dot is a pair: where it lies is x, its colour is y.",
        figure,
        data=pd.DataFrame(prompt.x, columns=[f"x{i + 1}" for i in range(d)]).assign(y=prompt.y),
    )


def _row(weights: np.ndarray) -> dict[str, float]:
    return {f"w{i + 1}": float(value) for i, value in enumerate(weights)}
