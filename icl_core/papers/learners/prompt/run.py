"""Tune every learner for its home, and measure what it does on average."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from icl_core.contract.experiment import Progress, names
from icl_core.in_context_regression import changes, learner_table
from icl_core.in_context_regression.home import Home, Prompts, error, sample
from icl_core.in_context_regression.learner_table import BY_ID, LEARNERS
from icl_core.in_context_regression.recent_learners import EVERY, OF_CHANNELS, RECENT, tune_recent
from icl_core.in_context_regression.untrained import (
    Learner,
    Settings,
    answers,
    errors_by_query,
    queries,
    weights,
)
from icl_core.papers.learners.prompt.settings import (
    BROKEN_ON,
    CHANGED,
    TESTED_ON,
    TUNED_ON,
    Config,
)
from icl_core.papers.learners.shared import references

SETTINGS = ("rate", "beta", "ridge", "decay")
OF_RECENT = ("gain", "reach")  # more settings, of recent rules
MOST_SOLVER_STEPS = 8
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
    solver/share        [k] where there are recent rules, what Mesa leaves after k solver steps,
                        with the λ that is best for k, and `solver/bayes` [1], on the same queries
    """
    home = config.home
    tuned = _tuned(config, progress)
    progress.enter("prompts of home")
    tested = sample(home, TESTED_ON, references.stream(1, config.seed))
    return {
        "names/learners": names(tuned),
        "snapshot/step": np.arange(config.n + 1),
        **{
            f"tuned/{name}": np.array([settings.get(name, np.nan) for settings in tuned.values()])
            for name in (*SETTINGS, *(OF_RECENT if config.recent else ()))
        },
        **_over_lengths(tested, tuned, config),
        **_distances(tested, tuned, config),
        **_departures(tested, tuned, config),
        **_broken(tuned, config, progress),
        **(_of_recent(tested, tuned, config, progress) if config.recent else {}),
    }


def _tuned(config: Config, progress: Progress) -> dict[str, Settings]:
    """Return the settings of every learner by its id."""
    home = config.home
    prompts = sample(home, TUNED_ON, references.stream(0, config.seed))
    settings: dict[str, Settings] = {}
    for learner in LEARNERS:
        progress.enter(f"tuning: {learner.short}")
        settings[learner.id] = learner_table.tune(learner, prompts, home, config.steps)
    for learner in RECENT.values() if config.recent else ():
        progress.enter(f"tuning: {learner.short}")
        settings[learner.id] = tune_recent(learner, prompts, home, config.steps, config.reach)
    return settings


def _of_recent(
    tested: Prompts, tuned: dict[str, Settings], config: Config, progress: Progress
) -> dict[str, np.ndarray]:
    """Return the settings that every channel has of its own, [learners, d], NaN where a learner has
    none, and what Mesa leaves after each number of steps."""
    home = config.home
    none = torch.full((home.d,), torch.nan)
    progress.enter("steps of conjugate gradient")
    prompts = sample(home, TUNED_ON, references.stream(0, config.seed))
    shares: list[float] = []
    for steps in range(1, min(home.d, MOST_SOLVER_STEPS) + 1):
        settings = learner_table.tune(RECENT["mesa"], prompts, home, steps)
        left = errors_by_query(RECENT["mesa"], tested, settings, home, steps)
        shares.append(float(left[-1].mean()) / home.label_variance())
    bayes = errors_by_query(BY_ID["bayes"], tested, {}, home, 1)
    return {
        "solver/share": np.array(shares),
        "solver/bayes": np.array([float(bayes[-1].mean()) / home.label_variance()]),
        **{
            f"tuned/{name}": torch.stack(
                [torch.as_tensor(settings.get(name, none)) for settings in tuned.values()]
            ).numpy()
            for name in OF_CHANNELS
        },
    }


def _final(learner: Learner, prompts: Prompts, settings: Settings, config: Config) -> Tensor:
    """Return the weights after all pairs, [d, prompts]."""
    return weights(learner, prompts, settings, config.home, config.steps, every=False)[0]


def _over_lengths(
    tested: Prompts, tuned: dict[str, Settings], config: Config
) -> dict[str, np.ndarray]:
    home = config.home
    shares: list[np.ndarray] = []
    errors: list[np.ndarray] = []
    for id, settings in tuned.items():
        learner = EVERY[id]
        if learner.linear:
            losses = learner_table.exact_errors(learner, tested, settings, home, config.steps)
        else:
            losses = error(weights(learner, tested, settings, home, config.steps), tested)
        losses = losses / home.label_variance()  # [lengths, prompts]
        shares.append(losses.mean(1).numpy())
        errors.append((losses.std(1) / losses.shape[1] ** 0.5).numpy())
    return {"lengths/share": np.stack(shares), "lengths/error": np.stack(errors)}


def _distances(
    tested: Prompts, tuned: dict[str, Settings], config: Config
) -> dict[str, np.ndarray]:
    """Return how far learners are from each other, and from the references."""
    home = config.home
    tuned_on = sample(home, TUNED_ON, references.stream(0, config.seed))
    learned = {id: _final(EVERY[id], tested, tuned[id], config) for id in tuned}
    asked = queries(tested)

    def answered(id: str, weights: Tensor) -> Tensor:
        if id in EVERY and EVERY[id].by_query:
            return _answered(EVERY[id], tested, tuned[id], home, config.steps)
        return (weights * asked).sum(1)

    def to_all(id: str, others: dict[str, Tensor]) -> Tensor:
        """Return the distances of a learner to every one of some weights, [weights, prompts]; to
        or from one without weights over a few queries."""
        distances: list[Tensor] = []
        for other, each in others.items():
            has_weights = not any(name in EVERY and EVERY[name].by_query for name in (id, other))
            if has_weights or id == other:
                distances.append(references.distance(learned[id], each, tested, home))
            else:
                difference = answered(id, learned[id]) - answered(other, each)
                distances.append(difference.square().mean(0) / home.label_variance())
        return torch.stack(distances)

    methods = references.final_weights(home, tuned_on, tested)
    own = torch.stack([to_all(id, learned) for id in tuned])
    to_references = torch.stack([to_all(id, methods) for id in tuned])
    means, errors = references.mean_and_error(to_references)
    return {
        "names/references": names(methods),
        "who/distance": own.mean(-1).numpy(),
        "who/reference": means,
        "who/error": errors,
    }


def _departures(
    tested: Prompts, tuned: dict[str, Settings], config: Config
) -> dict[str, np.ndarray]:
    rows: list[list[float]] = []
    for id, settings in tuned.items():
        learner = EVERY[id]

        def predict(
            prompts: Prompts, learner: Learner = learner, settings: Settings = settings
        ) -> Tensor:
            y = prompts.y[:, None]
            home = config.home
            return answers(
                learner, prompts.x, y, prompts.query, settings, home, config.steps, every=False
            )[0, 0]

        rows.append(list(changes.departures(predict, tested).values()))
    return {
        "names/changes": names(change.id for change in changes.CHANGES),
        "changes/departure": np.array(rows),
    }


def _answered(
    learner: Learner, prompts: Prompts, settings: Settings, home: Home, steps: int
) -> Tensor:
    """Return the answers to the fresh queries of every prompt, [queries, prompts]."""
    y = prompts.y[:, None]
    return torch.stack(
        [
            answers(learner, prompts.x, y, query, settings, home, steps, every=False)[0, 0]
            for query in queries(prompts)
        ]
    )


def _error(
    learner: Learner, prompts: Prompts, settings: Settings, home: Home, steps: int
) -> Tensor:
    """Return the error of the label of a fresh x after all pairs, [prompts]; of a learner without
    weights a mean over a few queries."""
    if not learner.by_query:
        learned = weights(learner, prompts, settings, home, steps, every=False)[0]
        return error(learned, prompts)
    right = (prompts.w * queries(prompts)).sum(1)
    return (_answered(learner, prompts, settings, home, steps) - right).square().mean(0)


def _broken(
    tuned: dict[str, Settings], config: Config, progress: Progress
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
                left = _error(EVERY[id], prompts, settings, home, config.steps)
                shares.append(float(left.mean()) / variance)
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
