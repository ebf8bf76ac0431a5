"""Tune every learner for its home, and measure what it does on average."""

from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from icl_core.contract.experiment import Progress, names
from icl_core.in_context_regression import changes, learner_table
from icl_core.in_context_regression.home import Home, Prompts, error, sample
from icl_core.in_context_regression.learner_table import BY_ID, LEARNERS
from icl_core.in_context_regression.untrained import Learner, Settings, weights
from icl_core.papers.learners.prompt.settings import (
    BROKEN_ON,
    CHANGED,
    TESTED_ON,
    TUNED_ON,
    Config,
)
from icl_core.papers.learners.shared import references

SETTINGS = ("rate", "beta", "ridge", "decay")
FACTORS = (0.25, 0.35, 0.5, 0.7, 1.0, 1.4, 2.0, 2.8, 4.0)
NOISES = (0.0, 0.1, 0.2, 0.4, 0.7, 1.0, 1.5, 2.0)
CONDITIONS = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0)


def compute(config: Config, progress: Progress) -> dict[str, np.ndarray]:
    """Tune and measure all learners. Return, over the learners of `names/learners`,

    snapshot/step       [n + 1], the number of pairs read
    tuned/<setting>     [learners]; NaN where a learner has no such setting
    lengths/share       [learners, n + 1], the share left after each pair, and `lengths/error`, its
                        standard error; exact over w*, noise and query for learners that are
                        linear in the labels
    who/distance        [learners, learners], mean squared differences of the predictions after all
                        pairs, as shares of the error of predicting zero
    who/reference       [learners, references] the same to the references of `names/references`,
                        and `who/error`, its standard error
    changes/departure   [learners, changes], over the changes of `names/changes`
    broken/<kind>/share [learners, values] beside `broken/<kind>/at`, the share left where home is
                        left
    """
    home = config.home
    tuned = _tuned(config, progress)
    progress.enter("prompts of home")
    tested = sample(home, TESTED_ON, references.stream(1, config.seed))
    predictions = {id: _final(BY_ID[id], tested, tuned[id], config) for id in tuned}
    return {
        "names/learners": names(tuned),
        "snapshot/step": np.arange(config.n + 1),
        **{
            f"tuned/{name}": np.array([settings.get(name, np.nan) for settings in tuned.values()])
            for name in SETTINGS
        },
        **_over_lengths(tested, tuned, config),
        **_distances(predictions, tested, config),
        **_departures(tested, tuned, config),
        **_broken(tuned, config, progress),
    }


def _tuned(config: Config, progress: Progress) -> dict[str, dict[str, float]]:
    """Return the settings of every learner by its id."""
    prompts = sample(config.home, TUNED_ON, references.stream(0, config.seed))
    settings: dict[str, dict[str, float]] = {}
    for learner in LEARNERS:
        progress.enter(f"tuning: {learner.short}")
        settings[learner.id] = learner_table.tune(learner, prompts, config.home, config.steps)
    return settings


def _final(learner: Learner, prompts: Prompts, settings: Settings, config: Config) -> Tensor:
    """Return the weights after all pairs, [d, prompts]."""
    return weights(learner, prompts, settings, config.home, config.steps, every=False)[0]


def _over_lengths(
    tested: Prompts, tuned: dict[str, dict[str, float]], config: Config
) -> dict[str, np.ndarray]:
    home = config.home
    shares: list[np.ndarray] = []
    errors: list[np.ndarray] = []
    for id, settings in tuned.items():
        learner = BY_ID[id]
        if learner.linear:
            losses = learner_table.exact_errors(learner, tested, settings, home, config.steps)
        else:
            losses = error(weights(learner, tested, settings, home, config.steps), tested)
        losses = losses / home.label_variance()  # [lengths, prompts]
        shares.append(losses.mean(1).numpy())
        errors.append((losses.std(1) / losses.shape[1] ** 0.5).numpy())
    return {"lengths/share": np.stack(shares), "lengths/error": np.stack(errors)}


def _distances(
    predictions: dict[str, Tensor], tested: Prompts, config: Config
) -> dict[str, np.ndarray]:
    """Return how far learners are from each other, and from the references."""
    home = config.home
    tuned_on = sample(home, TUNED_ON, references.stream(0, config.seed))
    others = references.final_weights(home, tuned_on, tested)

    def to_all(first: Tensor, every: Iterable[Tensor]) -> Tensor:
        """Return the distances to every one of some weights, [weights, prompts]."""
        return torch.stack([references.distance(first, each, tested, home) for each in every])

    own = torch.stack([to_all(first, predictions.values()) for first in predictions.values()])
    to_references = torch.stack([to_all(first, others.values()) for first in predictions.values()])
    means, errors = references.mean_and_error(to_references)
    return {
        "names/references": names(others),
        "who/distance": own.mean(-1).numpy(),
        "who/reference": means,
        "who/error": errors,
    }


def _departures(
    tested: Prompts, tuned: dict[str, dict[str, float]], config: Config
) -> dict[str, np.ndarray]:
    rows: list[list[float]] = []
    for id, settings in tuned.items():
        learner = BY_ID[id]

        def predict(
            prompts: Prompts, learner: Learner = learner, settings: Settings = settings
        ) -> Tensor:
            return (_final(learner, prompts, settings, config) * prompts.query).sum(0)

        rows.append(list(changes.departures(predict, tested).values()))
    return {
        "names/changes": names(change.id for change in changes.CHANGES),
        "changes/departure": np.array(rows),
    }


def _broken(
    tuned: dict[str, dict[str, float]], config: Config, progress: Progress
) -> dict[str, np.ndarray]:
    """Return what every learner leaves of prompts that are not home's. Bayes alone knows of the
    change, but for the features that matter."""
    tensors: dict[str, np.ndarray] = {}
    for kind, (values, leave) in _leavings(config).items():
        progress.enter(f"prompts off home: {CHANGED[kind]}")
        columns: list[list[float]] = []
        for value in values:
            prompts, changed = leave(value)
            variance = float(error(torch.zeros_like(prompts.w), prompts).mean())
            shares: list[float] = []
            for id, settings in tuned.items():
                home = changed if id == "bayes" else config.home
                learned = weights(BY_ID[id], prompts, settings, home, config.steps, every=False)[0]
                shares.append(float(error(learned, prompts).mean()) / variance)
            columns.append(shares)
        tensors[f"broken/{kind}/at"] = np.array(values, dtype=float)
        tensors[f"broken/{kind}/share"] = np.array(columns).T
    return tensors


Leave = Callable[[float], tuple[Prompts, Home]]


def _leavings(config: Config) -> dict[str, tuple[tuple[float, ...], Leave]]:
    """Return the ways to leave home by name: the values, and what takes a value and returns prompts
    with the distribution that Bayes knows."""
    home = config.home

    def drawn(other: Home) -> tuple[Prompts, Home]:
        return sample(other, BROKEN_ON, references.stream(2, config.seed)), other

    def scaled(factor: float) -> tuple[Prompts, Home]:
        prompts, _ = drawn(home)
        clean = (prompts.x * prompts.w).sum(1)  # [n, prompts]
        larger = replace(
            prompts,
            x=factor * prompts.x,
            y=prompts.y + (factor - 1) * clean,
            covariance=factor**2 * prompts.covariance,
        )
        return larger, home

    def sparse(kept: float) -> tuple[Prompts, Home]:
        prompts, _ = drawn(home)
        clean = (prompts.x * prompts.w).sum(1)
        share = kept / home.d
        w = torch.zeros_like(prompts.w)
        w[: int(kept)] = prompts.w[: int(kept)] / share**0.5
        return replace(prompts, w=w, y=prompts.y - clean + (prompts.x * w).sum(1)), home

    lengths = sorted({max(1, round(home.n * factor)) for factor in FACTORS})
    ways: dict[str, tuple[tuple[float, ...], Leave]] = {
        "scale": (FACTORS, scaled),
        "noise": (NOISES, lambda noise: drawn(replace(home, noise=noise))),
        "condition": (
            CONDITIONS,
            lambda condition: drawn(replace(home, covariance="narrow", condition=condition)),
        ),
        "length": (tuple(map(float, lengths)), lambda n: drawn(replace(home, n=int(n)))),
    }
    if home.d > 1:
        ways["sparsity"] = (tuple(map(float, range(1, home.d + 1))), sparse)
    return ways
