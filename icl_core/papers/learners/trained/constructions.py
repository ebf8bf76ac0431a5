"""What the architectures of trained learners can be constructed to be, tuned for the same
prompts."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch

from icl_core.contract.experiment import Run
from icl_core.contract.trained_learner import TrainedLearner
from icl_core.in_context_regression import learner_table
from icl_core.in_context_regression.home import Prompts, sample
from icl_core.in_context_regression.learner_table import BY_ID
from icl_core.in_context_regression.untrained import METHODS, weights
from icl_core.papers.learners.shared import references
from icl_core.papers.learners.trained.load_run import learners_of, trained_weights
from icl_core.papers.learners.trained.settings import TESTED_ON, TUNED_ON, Config


@dataclass(frozen=True, eq=False)
class Rule:
    """A learner that needs no training, with its settings.

    id        its id in `learner_table`
    steps     those of an iterative method
    settings  those that are best for the run's prompts
    """

    id: str
    steps: int
    settings: Mapping[str, float]

    @property
    def name(self) -> str:
        """Its name in a legend."""
        learner = BY_ID[self.id]
        many = learner.family == METHODS and self.steps > 1
        return f"{learner.short}, {self.steps} steps" if many else learner.short


@dataclass(frozen=True)
class Beside:
    """A trained learner beside its construction, on the same prompts.

    trained      what the trained one leaves of the error of predicting zero
    constructed  what the construction leaves
    distance     the mean squared difference of their answers, as a share of that error
    error        its standard error
    """

    trained: float
    constructed: float
    distance: float
    error: float


@lru_cache(maxsize=8)
def of_run(run: Run) -> dict[str, Rule]:
    """Return the constructions of a run's learners by the learner's id, each tuned on 1,000 prompts
    by the rule for all."""
    config = run.config
    prompts = sample(config.home, TUNED_ON, references.stream(0, config.seed))
    tuned: dict[tuple[str, int], Rule] = {}
    rules: dict[str, Rule] = {}
    for learner in learners_of(run):
        if learner.construction is not None:
            id, steps = learner.construction
            if learner.construction not in tuned:
                settings = learner_table.tune(BY_ID[id], prompts, config.home, steps)
                tuned[learner.construction] = Rule(id, steps, settings)
            rules[learner.id] = tuned[learner.construction]
    return rules


@lru_cache(maxsize=8)
def beside(run: Run) -> dict[str, Beside]:
    """Return every trained learner that has a construction beside it, by its id, on the run's test
    prompts."""
    config = run.config
    prompts = sample(config.home, TESTED_ON, references.stream(1, config.seed))
    rules = of_run(run)
    return {
        learner.id: _beside(run, learner, rules[learner.id], config, prompts)
        for learner in learners_of(run)
        if learner.id in rules
    }


def _beside(
    run: Run, learner: TrainedLearner, rule: Rule, config: Config, prompts: Prompts
) -> Beside:
    home = config.home
    learned = weights(BY_ID[rule.id], prompts, rule.settings, home, rule.steps, every=False)[0]
    right = (prompts.w * prompts.query).sum(0)  # [prompts]
    constructed = (learned * prompts.query).sum(0)
    with torch.no_grad():
        read = (each.float() for each in (prompts.x, prompts.y, prompts.query))
        trained = learner.predict(trained_weights(run, learner), config.d, config.n, *read).double()
    variance = home.label_variance()
    squares = (trained - constructed).square() / variance
    mean, error = references.mean_and_error(squares)
    return Beside(
        trained=float((trained - right).square().mean()) / variance,
        constructed=float((constructed - right).square().mean()) / variance,
        distance=float(np.asarray(mean)),
        error=float(np.asarray(error)),
    )
