"""Measures the claims on a finished run of learned first-order methods."""

from typing import Any

import numpy as np
import torch

from icl_core.contract.experiment import Claim, Metric, Run
from icl_core.papers.memformers.methods import (
    claims,
    further_metrics,
    label_noise,
    printed_curves,
    protocol,
    protocols,
)
from icl_core.papers.memformers.shared import load_run, token_form
from icl_core.papers.memformers.shared.load_run import log_from_least
from icl_core.papers.memformers.shared.task import eigenvalues_of
from icl_core.papers.memformers.shared.variants import VARIANTS
from icl_core.statistics.trend import still_falling

SHARED_VALUES = (0.143, -0.127, -0.594, -0.895)
FEW = 100  # prompts up to which a fixed batch counts as few
HEADS_ON = 256  # prompts on which heads are held against their sum


def measure(run: Run) -> list[Metric]:
    """The claims that this setting can bear out, measured."""
    config = run.config
    found: list[Metric] = []
    if _known_task(config) and config.batches == "fresh" and config.variant == "lfom":
        found += [
            _sampled_floor(run),
            Metric(claims.NOISE, float(run["reference/noise"][3])),
        ]
    if config.batches == "fresh":
        found += _floors(run) + _against_cgd(run)
        found += label_noise.measure(run)
        if claims.FRESH_KEEPS_UP.is_at(config):
            found.append(protocol.behind_cgd(run, claims.FRESH_KEEPS_UP, slice(5, 7)))
    elif config.batch <= FEW:
        found += protocol.few_prompts(run)
    else:
        found += protocol.figures(run)
    found += printed_curves.measure(run) + further_metrics.measure(run)
    return found + _beside(run) + protocols.measure(run)


def _known_task(config: Any) -> bool:
    return (config.d, config.n, config.spectrum) == (5, 20, "paper") and config.layers >= 4


def _uneven(config: Any) -> bool:
    """Whether there is something to know in Σ⁻¹."""
    values = eigenvalues_of(config)
    return float(values.max() / values.min()) > 1.5


def _sampled_floor(run: Run) -> Metric:
    """How far the construction's mean on the test set is from its exact expectation, at the worse
    of one and two layers; with the standard error of that mean."""
    exact, sampled = (
        log_from_least(run[name][:2]) for name in ("baseline/floor", "reference/floor_sampled")
    )
    gaps = np.abs(sampled - exact)
    worst = int(gaps.argmax())
    error = float(run["reference/floor_sampled_error"][worst])
    return Metric(claims.KNOWN_LINES, float(gaps[worst]), error)


def _trained(run: Run, claim: Claim, value: float) -> Metric:
    """A claim on what a training comes to in the end: one that is not borne out is not decided
    while the loss falls."""
    kept = claim.slack(float(value)) >= 0
    falling = (
        "" if kept else still_falling(log_from_least(run["curve/loss"]), steps=run["curve/step"])
    )
    return Metric(claim, float(value), unfinished=falling)


def _floors(run: Run) -> list[Metric]:
    """How far a model that is trained to the end is from its floor, at the worst depth up to four
    and seed."""
    config, variant = run.config, VARIANTS[run.config.variant]
    scalar = config.preconditioner != "full"
    if variant.id == "shared" and _known_task(config):
        return [
            _trained(run, claims.SHARED_VALUES, np.abs(_fresh(run)[:, :4] - SHARED_VALUES).max())
        ]
    if (
        variant.shared
        or not variant.preconditioned
        or variant.moves_covariates
        or config.n < 2 * config.d
    ):
        return []
    if scalar and variant.per != "layer":
        return []  # these are no polynomials in S, and may go below
    if variant.memory == "none" and not scalar:
        return []  # the claim on its speed of training speaks of it
    floor = log_from_least(run["baseline/floor_scalar" if scalar else "baseline/floor"])
    claim = claims.SCALAR_REACHES_FLOOR if scalar else claims.REACHES_FLOOR
    return [_trained(run, claim, (_fresh(run) - floor)[:, :4].max())]


def _against_cgd(run: Run) -> list[Metric]:
    config, variant = run.config, VARIANTS[run.config.variant]
    last = min(4, config.d - 1)  # after d steps conjugate gradient is exact
    if (
        not load_run.knows_covariance(config)
        or variant.shared
        or config.n < 2 * config.d
        or not _uneven(config)
    ):
        return []
    trained = _fresh(run)[:, :last]
    cg, given = (log_from_least(run[f"baseline/{name}"])[:last] for name in ("cg", "pcg"))
    if variant.moves_covariates:
        return [_trained(run, claims.MOVING, (trained[:, -1] - given[-1]).max())]
    return [
        Metric(claims.BEATS_CGD, float((trained - cg).max())),
        _trained(run, claims.KNOWING, (given - trained).max()),
    ]


def _beside(run: Run) -> list[Metric]:
    """What the models trained beside it say."""
    config, trained = run.config, _fresh(run)[:, :4]
    others = {
        name: log_from_least(run[f"beside/{name}/loss"])[:, :4] for name in run.names("beside")
    }
    found = []
    kept = config.batches != "fresh" and config.batch > FEW
    if config.beside == "linear" and kept and "linear" in others:
        found.append(protocol.against_linear(run))
    if config.beside == "all" and VARIANTS[config.variant].equal_power:
        equal = [
            loss for name, loss in others.items() if name in VARIANTS and VARIANTS[name].equal_power
        ]
        found.append(_trained(run, claims.EQUAL_POWER, np.ptp([trained, *equal], axis=0).max()))
    if config.variant == "shared" and "free" in others and config.layers >= 4:
        found.append(_trained(run, claims.SHARED, (trained - others["free"])[:, 3].min()))
    if config.heads > 1 and "one-head" in others:
        found.append(Metric(claims.HEADS, _off_their_sum(run)))
        found += protocol.heads(run)
    return found


def _off_their_sum(run: Run) -> float:
    """The largest difference between the predictions of H heads and of one head with the sum of
    their matrices on fresh prompts, token by token as the paper writes them, relative to the
    largest prediction."""
    config, generator = run.config, torch.Generator().manual_seed(2**31 + 37)
    parameters, root = load_run.parameters_at(run, 1, config.layers), load_run.root_of(run, 1)
    merged = {**parameters, "A": parameters["A"].sum(1, keepdim=True)}
    X = root @ torch.randn(HEADS_ON, config.d, config.n + 1, generator=generator)
    y = (X * torch.randn(HEADS_ON, config.d, 1, generator=generator)).sum(1)[:, : config.n]
    many, one = (
        token_form.forward(each, config, root, X, y).predictions for each in (parameters, merged)
    )
    return float((many - one).abs().max() / one.abs().max())


def _fresh(run: Run) -> np.ndarray:
    """Log-loss on fresh prompts, [seeds, K]."""
    return log_from_least(run["evaluated/loss"])
