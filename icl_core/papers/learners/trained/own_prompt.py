"""A visitor's own pairs, answered by every trained learner and by what can be written down."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from icl_core import registry
from icl_core.contract.experiment import CannotDraw, Run
from icl_core.contract.trained_learner import TrainedLearner
from icl_core.learners.home import Home
from icl_core.learners.learner_table import BY_ID
from icl_core.learners.untrained import least_squares, solve, sums
from icl_core.papers.learners.shared.typed_points import pairs
from icl_core.papers.learners.trained import constructions
from icl_core.papers.learners.trained.load_run import trained_weights
from icl_core.papers.learners.trained.settings import View


@dataclass(frozen=True, eq=False)
class Answered:
    """A prompt and what every learner makes of it.

    x, y         its pairs, [pairs, d] and [pairs]
    w            what fits the pairs best; of a prompt of home w*, [d]
    trained      the implied weights of every trained learner by its id, [d]
    constructed  the weights of every rule that one of them can be constructed to be, by name, [d]
    bayes        those of Bayes, [d]
    """

    x: np.ndarray
    y: np.ndarray
    w: np.ndarray
    trained: dict[str, np.ndarray]
    constructed: dict[str, np.ndarray]
    bayes: np.ndarray


def answered(run: Run, view: View) -> Answered:
    """Return the visitor's own pairs or, if there are none, the prompt of home that is shown, with
    every learner's implied weights at the end of its training.

    Raises `CannotDraw` for pairs of another number of features, and for more pairs than the
    learners were trained for: transformers know no position beyond.
    """
    return _answered(run, view.prompt, view.points)


@lru_cache(maxsize=16)
def _answered(run: Run, number: int, text: str) -> Answered:
    config = run.config
    typed = pairs(text)
    if typed:
        x, y, w = _typed(config.d, config.n, typed)
    else:
        index = min(number, run["prompt/y"].shape[1] - 1)
        x, y, w = (torch.tensor(run[f"prompt/{name}"][..., index]) for name in ("x", "y", "w"))
    trained = {
        id: _implied(run, registry.trained_learners()[id], x, y) for id in run.names("learners")
    }
    rules = {rule.name: rule for rule in constructions.of_run(run).values()}
    constructed = {name: _by_rule(config.home, rule, x, y) for name, rule in rules.items()}
    bayes = constructions.Rule("bayes", 1, {})
    return Answered(
        x.numpy(), y.numpy(), w.numpy(), trained, constructed, _by_rule(config.home, bayes, x, y)
    )


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


def _implied(run: Run, learner: TrainedLearner, x: Tensor, y: Tensor) -> np.ndarray:
    """Return the derivative of a trained learner's answer by the query, at a query of zero."""
    weights = trained_weights(run, learner)
    query = torch.zeros(run.config.d, 1, requires_grad=True)
    pairs_of = x.float()[..., None], y.float()[:, None]
    answer = learner.predict(weights, run.config.d, run.config.n, *pairs_of, query)
    return torch.autograd.grad(answer.sum(), query)[0][:, 0].double().numpy()


def _by_rule(home: Home, rule: constructions.Rule, x: Tensor, y: Tensor) -> np.ndarray:
    """Return the weights of a rule after all pairs, [d]."""
    pairs_of = x[..., None], y[:, None, None]
    learner = BY_ID[rule.id]
    learned = solve(learner, *pairs_of, rule.settings, home, rule.steps, every=False)
    return learned[0, 0, :, 0].numpy()
