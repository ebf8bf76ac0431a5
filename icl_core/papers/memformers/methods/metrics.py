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
    """Return the metrics of the claims that this setting is about."""
    config = run.config
    metrics: list[Metric] = []
    if _known_task(config) and config.batches == "fresh" and config.variant == "lfom":
        metrics += [
            _sampled_floor(run),
            Metric(claims.NOISE, float(run["reference/noise"][3])),
        ]
    if config.batches == "fresh":
        metrics += _floors(run) + _against_cgd(run)
        metrics += label_noise.measure(run)
        if claims.FRESH_KEEPS_UP.is_at(config):
            metrics.append(protocol.behind_cgd(run, claims.FRESH_KEEPS_UP, slice(5, 7)))
    elif config.batch <= FEW:
        metrics += protocol.few_prompts(run)
    else:
        metrics += protocol.figures(run)
    metrics += printed_curves.measure(run) + further_metrics.measure(run)
    return metrics + _beside(run) + protocols.measure(run)


def _known_task(config: Any) -> bool:
    return (config.d, config.n, config.spectrum) == (5, 20, "paper") and config.layers >= 4


def _uneven(config: Any) -> bool:
    """Return whether there is something to know in Σ⁻¹: its eigenvalues are not all alike."""
    values = eigenvalues_of(config)
    return float(values.max() / values.min()) > 1.5


def _sampled_floor(run: Run) -> Metric:
    """Measure how far the construction's mean on the test set is from its exact expectation, at the
    worse of one and two layers; the error is that of this mean."""
    exact, sampled = (
        log_from_least(run[name][:2]) for name in ("baseline/floor", "reference/floor_sampled")
    )
    gaps = np.abs(sampled - exact)
    worst = int(gaps.argmax())
    error = float(run["reference/floor_sampled_error"][worst])
    return Metric(claims.KNOWN_LINES, float(gaps[worst]), error)


def _trained(run: Run, claim: Claim, value: float) -> Metric:
    """Measure a claim on what a training comes to in the end: one that is not borne out is not
    decided while the loss falls."""
    falling = ""
    if not claim.slack(float(value)) >= 0:
        falling = still_falling(log_from_least(run["curve/loss"]), steps=run["curve/step"])
    return Metric(claim, float(value), unfinished=falling)


def _floors(run: Run) -> list[Metric]:
    """Measure how far a model that is trained to the end is from its floor, at the worst depth up
    to four and seed."""
    config = run.config
    variant = VARIANTS[config.variant]
    scalar = config.preconditioner != "full"
    if variant.id == "shared" and _known_task(config):
        gap = np.abs(_fresh(run)[:, :4] - SHARED_VALUES).max()
        return [_trained(run, claims.SHARED_VALUES, gap)]
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
    """Measure a model that can know Σ⁻¹ against conjugate gradient, at the worst depth up to four
    and seed."""
    config = run.config
    variant = VARIANTS[config.variant]
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
    """Measure the claims that compare a model with those trained beside it."""
    config = run.config
    trained = _fresh(run)[:, :4]
    others = {
        name: log_from_least(run[f"beside/{name}/loss"])[:, :4] for name in run.names("beside")
    }
    metrics: list[Metric] = []
    kept = config.batches != "fresh" and config.batch > FEW
    if config.beside == "linear" and kept and "linear" in others:
        metrics.append(protocol.against_linear(run))
    if config.beside == "all" and VARIANTS[config.variant].equal_power:
        equal = [
            loss for name, loss in others.items() if name in VARIANTS and VARIANTS[name].equal_power
        ]
        spread = np.ptp([trained, *equal], axis=0).max()
        metrics.append(_trained(run, claims.EQUAL_POWER, spread))
    if config.variant == "shared" and "free" in others and config.layers >= 4:
        metrics.append(_trained(run, claims.SHARED, (trained - others["free"])[:, 3].min()))
    if config.heads > 1 and "one-head" in others:
        metrics.append(Metric(claims.HEADS, _off_their_sum(run)))
        metrics += protocol.heads(run)
    return metrics


def _off_their_sum(run: Run) -> float:
    """Return the largest difference between the predictions of H heads and of one head with the sum
    of their matrices on fresh prompts, token by token as the paper writes them, relative to the
    largest prediction."""
    config = run.config
    generator = torch.Generator().manual_seed(2**31 + 37)
    parameters = load_run.parameters_at(run, 1, config.layers)
    root = load_run.root_of(run, 1)
    merged = {**parameters, "A": parameters["A"].sum(1, keepdim=True)}
    X = root @ torch.randn(HEADS_ON, config.d, config.n + 1, generator=generator)
    y = (X * torch.randn(HEADS_ON, config.d, 1, generator=generator)).sum(1)[:, : config.n]
    many, one = (
        token_form.forward(each, config, root, X, y).predictions for each in (parameters, merged)
    )
    return float((many - one).abs().max() / one.abs().max())


def _fresh(run: Run) -> np.ndarray:
    """Return the log-loss on fresh prompts, [seeds, K]."""
    return log_from_least(run["evaluated/loss"])
