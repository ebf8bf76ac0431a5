"""A visitor's own pairs and query, answered by every trained learner and by what can be written
down."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from icl_core import registry
from icl_core.contract.experiment import CannotDraw, Run
from icl_core.contract.trained_learner import TrainedLearner
from icl_core.in_context_regression.home import Home
from icl_core.in_context_regression.learner_table import BY_ID
from icl_core.in_context_regression.untrained import least_squares, solve, sums
from icl_core.papers.learners.shared import typed_points
from icl_core.papers.learners.trained import constructions
from icl_core.papers.learners.trained.load_run import trained_weights
from icl_core.papers.learners.trained.settings import View


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
