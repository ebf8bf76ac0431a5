"""A visitor's own pairs and query, and what every trained learner and what can be written down make
of them."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from icl_core import figures, registry
from icl_core.contract.experiment import CannotDraw, Panel, Run
from icl_core.contract.figure import Figure
from icl_core.contract.trained_learner import TrainedLearner
from icl_core.figures.style import FAINT, INK, LINE, axis, layout, legend
from icl_core.in_context_regression.home import Home
from icl_core.in_context_regression.learner_table import BY_ID
from icl_core.in_context_regression.untrained import least_squares, solve, sums
from icl_core.papers.learners.shared import typed_points
from icl_core.papers.learners.shared.plane import (
    STAR,
    add_mark,
    add_pairs,
    frame,
    plane,
    titles_of_pairs,
    two,
)
from icl_core.papers.learners.trained import constructions
from icl_core.papers.learners.trained.draw import MARK, ROOM, mark_of
from icl_core.papers.learners.trained.load_run import learners_of, trained_weights
from icl_core.papers.learners.trained.settings import View
from icl_core.papers.learners.trained.words import WORDS, capitalised


@dataclass(frozen=True, eq=False)
class Answered:
    """A prompt and what every learner makes of it.

    x, y         its pairs, [pairs, d] and [pairs]
    query        the x that is asked about, [d]
    w            what fits the pairs best; of a prompt of home w*, [d]
    trained      the implied weights of every trained learner by its id, [d]: the derivative of its
                 answer by the query, at a query of zero
    answers      what every trained learner answers at the query, by its id
    constructed  the weights of every rule that one of them can be constructed to be, by name, [d]
    bayes        those of Bayes, [d]
    """

    x: np.ndarray
    y: np.ndarray
    query: np.ndarray
    w: np.ndarray
    trained: dict[str, np.ndarray]
    answers: dict[str, float]
    constructed: dict[str, np.ndarray]
    bayes: np.ndarray


def answered(run: Run, view: View) -> Answered:
    """Return the visitor's own pairs or, if there are none, the prompt of home that is shown, with
    what every learner makes of it at the end of its training. Without a query of the visitor's
    own every feature of it is 1.

    Raises `CannotDraw` for pairs or a query of another number of features, and for more pairs than
    the learners were trained for: transformers know no position beyond.
    """
    return _answered(run, view.prompt, view.points, view.query)


@lru_cache(maxsize=16)
def _answered(run: Run, number: int, text: str, query_text: str) -> Answered:
    config = run.config
    query = _query(config.d, typed_points.query(query_text))
    typed = typed_points.pairs(text)
    if typed:
        x, y, w = _typed(config.d, config.n, typed)
    else:
        index = min(number, run["prompt/y"].shape[1] - 1)
        x, y, w = (torch.tensor(run[f"prompt/{name}"][..., index]) for name in ("x", "y", "w"))
    learners = [registry.trained_learners()[id] for id in run.names("learners")]
    both = {learner.id: _weights_and_answer(run, learner, x, y, query) for learner in learners}
    rules = {rule.name: rule for rule in constructions.of_run(run).values()}
    constructed = {name: _by_rule(config.home, rule, x, y) for name, rule in rules.items()}
    bayes = constructions.Rule("bayes", 1, {})
    return Answered(
        x=x.numpy(),
        y=y.numpy(),
        query=query.numpy(),
        w=w.numpy(),
        trained={id: weights for id, (weights, _) in both.items()},
        answers={id: answer for id, (_, answer) in both.items()},
        constructed=constructed,
        bayes=_by_rule(config.home, bayes, x, y),
    )


def _query(d: int, features: list[float]) -> Tensor:
    """Return the query, [d]: the visitor's own, or a 1 for every feature."""
    if features and len(features) != d:
        raise CannotDraw(f"Your query must have {d} features here, got {len(features)}.")
    return torch.tensor(features or [1.0] * d, dtype=torch.float64)


def _typed(d: int, n: int, typed: list[tuple[tuple[float, ...], float]]) -> tuple[Tensor, ...]:
    """Return a visitor's pairs as x [pairs, d], y [pairs], and the w that fits them best."""
    if len(typed[0][0]) != d:
        raise CannotDraw(
            f"Each of your pairs must have {d} features here, got {len(typed[0][0])}. Change d, or "
            "the pairs."
        )
    if len(typed) > n:
        raise CannotDraw(
            f"The learners were trained on {n} pairs and take no more, got {len(typed)}."
        )
    x = torch.tensor([features for features, _ in typed], dtype=torch.float64)
    y = torch.tensor([label for _, label in typed], dtype=torch.float64)
    S, b = sums(x[..., None], y[:, None, None], len(typed), every=False)
    return x, y, least_squares(S[0], b[0].transpose(0, 1))[:, 0, 0]


def _weights_and_answer(
    run: Run, learner: TrainedLearner, x: Tensor, y: Tensor, query: Tensor
) -> tuple[np.ndarray, float]:
    """Return the derivative of a trained learner's answer by the query, at a query of zero, [d],
    and its answer at the query."""
    weights = trained_weights(run, learner)
    # the same pairs in two prompts: one is asked about zero, the other about the query
    queries = torch.stack([torch.zeros_like(query), query], 1).float().requires_grad_()  # [d, 2]
    xs = x.float()[..., None].expand(-1, -1, 2)
    ys = y.float()[:, None].expand(-1, 2)
    answers = learner.predict(weights, run.config.d, run.config.n, xs, ys, queries)
    (slopes,) = torch.autograd.grad(answers.sum(), queries)
    return slopes[:, 0].double().numpy(), float(answers[1].detach())


def _by_rule(home: Home, rule: constructions.Rule, x: Tensor, y: Tensor) -> np.ndarray:
    """Return the weights of a rule after all pairs, [d]."""
    pairs_of = x[..., None], y[:, None, None]
    learner = BY_ID[rule.id]
    learned = solve(learner, *pairs_of, rule.settings, home, rule.steps, every=False)
    return learned[0, 0, :, 0].numpy()


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
