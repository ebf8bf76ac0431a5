"""Measures the paper's claims on a finished run of learned first-order methods."""

from dataclasses import replace

import numpy as np

from icl_core.experiment import Metric, Run
from icl_core.papers.memformers.methods import claims
from icl_core.papers.memformers.methods.presets import AUTHORS
from icl_core.papers.memformers.shared.logarithms import log_from_least
from icl_core.papers.memformers.shared.settings import Config
from icl_core.papers.memformers.shared.task import eigenvalues_of

EXACT = {  # natural logarithms for one to four layers; d = 5, n = 20, eigenvalues 1, 1, 1/4, 1/16, 1
    "floor_scalar": (0.810, 0.444, 0.152, -0.145),
    "floor": (0.143, -1.018, -2.01, -2.90),
    "cg": (0.687, 0.147, -0.607, -1.603),
    "pcg": (-0.10, -1.78, -3.76, -6.39),
    "nesterov": (0.90, 0.47, 0.22, 0.01),
    "momentum": (1.48, 1.24, 0.96, 0.75),
}
SHARED_VALUES = (0.143, -0.127, -0.594, -0.895)
FEW = 100  # prompts up to which a fixed batch counts as few
READ_OFF = 0.01  # how exactly the paper's curves were read


def metrics(run: Run) -> list[Metric]:
    """The claims that this setting can bear out, measured."""
    config = run.config
    found: list[Metric] = []
    if _known_task(config) and config.batches == "fresh" and config.variant == "lfom":
        found += [Metric(claims.KNOWN_LINES, _off_exact(run)), Metric(claims.NOISE, float(run["reference/noise"][3]))]
    if config.batches == "fresh":
        found += _floors(run) + _against_cgd(run)
    elif config.batch <= FEW:
        found += _overfitting(run)
    elif _as_the_authors(config):
        found += _figures(run)
    return found + _beside(run)


def _known_task(config: Config) -> bool:
    return (config.d, config.n, config.spectrum) == (5, 20, "paper") and config.layers >= 4


def _as_the_authors(config: Config) -> bool:
    """Whether all but the model itself, and what is trained beside it, is as in the authors' code, five seeds."""
    own = {name: getattr(config, name) for name in ("variant", "preconditioner", "beside", "seed")}
    return config == replace(AUTHORS, **own, seeds=5)


def _uneven(config: Config) -> bool:
    """Whether there is something to know in Σ⁻¹."""
    values = eigenvalues_of(config)
    return float(values.max() / values.min()) > 1.5


def _off_exact(run: Run) -> float:
    return max(
        float(np.abs(log_from_least(run[f"baseline/{name}"][:4]) - values).max()) for name, values in EXACT.items()
    )


def _floors(run: Run) -> list[Metric]:
    """How far a model that is trained to the end is from its floor, at the worst depth up to four and seed."""
    config = run.config
    shared = config.variant == "shared"
    if shared and _known_task(config):
        return [Metric(claims.SHARED_VALUES, float(np.abs(_fresh(run)[:, :4] - SHARED_VALUES).max()))]
    if config.variant not in ("linear", "cgd", "lfom", "coordinate", "token") or config.n < 2 * config.d:
        return []
    scalar = config.preconditioner == "scalar"
    if scalar and config.variant in ("coordinate", "token"):
        return []  # these are no polynomials in S, and may go below
    if config.variant == "linear" and not scalar:
        return []  # the claim on its speed of training speaks of it
    floor = log_from_least(run["baseline/floor_scalar" if scalar else "baseline/floor"])
    claim = claims.SCALAR_REACHES_FLOOR if scalar else claims.REACHES_FLOOR
    return [Metric(claim, float((_fresh(run) - floor)[:, :4].max()))]


def _against_cgd(run: Run) -> list[Metric]:
    config = run.config
    knows = config.preconditioner == "full" and not config.variant.startswith("learned")
    last = min(4, config.d - 1)  # after d steps conjugate gradient is exact
    if not knows or config.variant == "shared" or config.n < 2 * config.d or not _uneven(config):
        return []
    trained, cg, given = (
        _fresh(run)[:, :last],
        log_from_least(run["baseline/cg"])[:last],
        log_from_least(run["baseline/pcg"])[:last],
    )
    if config.variant == "gd++":
        return [Metric(claims.MOVING, float((trained[:, -1] - given[-1]).max()))]
    return [
        Metric(claims.BEATS_CGD, float((trained - cg).max())),
        Metric(claims.KNOWING, float((given - trained).max())),
    ]


def _overfitting(run: Run) -> list[Metric]:
    """A batch of few prompts, as means over seeds at the deepest."""
    own = (log_from_least(run["judged/train"]) - log_from_least(run["baseline/cg_train"]))[:, -1].mean()
    fresh = (_fresh(run) - log_from_least(run["baseline/cg"]))[:, -1].mean()
    claim = claims.FITS_BATCH
    if run.config.preconditioner == "scalar" and run.config.batch > 1:
        claim = replace(claim, reason=claims.TEN_PROMPTS)
    return [Metric(claim, float(own)), Metric(claims.OVERFITS, float(fresh))]


def _figures(run: Run) -> list[Metric]:
    """The authors' own training against the curves that they print."""
    config = run.config
    found = []
    printed = claims.FIGURES.get((config.variant, config.preconditioner))
    if printed:
        claim = claims.as_printed(printed[0], "Memformer")
        claim = replace(claim, reason=claims.BY_HEART) if config.variant == "token" else claim
        found.append(Metric(claim, _off(run, "judged", printed[1])))
    if printed and "beside/linear transformer/loss" in run.tensors and printed[0] in ("1", "2"):
        figure, curve = claims.LINEAR_FIGURES[config.preconditioner]
        claim = replace(claims.as_printed(figure, "linear transformer"), reason=claims.LINEAR_REASON)
        found.append(Metric(claim, _off(run, "beside/linear transformer", curve)))
    return found


def _off(run: Run, model: str, printed: tuple[float, ...]) -> float:
    """How far a mean over seeds is from a printed one, at the worst depth, in standard errors of the latter."""
    logs, noise = log_from_least(run[f"{model}/loss"])[:, :4].mean(0), run[f"{model}/noise"][:, :4].mean(0) / 5**0.5
    return float((np.abs(logs - printed) / np.hypot(noise, READ_OFF)).max())


def _beside(run: Run) -> list[Metric]:
    """What the models trained beside it say."""
    config, trained = run.config, _fresh(run)[:, :4]
    others = {
        name.split("/")[1]: log_from_least(run[name])[:, :4]
        for name in run.tensors
        if name.startswith("beside/") and name.endswith("/loss")
    }
    found = []
    if (
        config.beside == "linear"
        and config.batches != "fresh"
        and config.batch > FEW
        and "linear transformer" in others
    ):
        gap = (trained - others["linear transformer"])[:, 1:]
        reason = claims.EASY if config.preconditioner == "scalar" else claims.BY_HEART
        known = config.preconditioner == "scalar" or config.variant == "token"
        claim = replace(claims.BEATS_LINEAR, reason=reason) if known else claims.BEATS_LINEAR
        found.append(Metric(claim, float(gap.mean())))
    if config.beside == "all" and config.variant in ("linear", "cgd", "lfom"):
        equal = np.stack([trained, *(others[name] for name in others if name != "Γ shared")])
        found.append(Metric(claims.EQUAL_POWER, float(np.ptp(equal, axis=0).max())))
    if config.variant == "shared" and "Γ free" in others and config.layers >= 4:
        found.append(Metric(claims.SHARED, float((trained - others["Γ free"])[:, 3].min())))
    if config.heads > 1 and "one head" in others:
        found += _heads(run, trained - others["one head"])
    return found


def _heads(run: Run, gap: np.ndarray) -> list[Metric]:
    from icl_core.papers.memformers.methods.heads import (
        off_their_sum,  # torch and the token form, where they are needed
    )

    return [Metric(claims.HEADS, off_their_sum(run)), Metric(claims.HEADS_TRAIN, float(gap[:, -1].mean()))]


def _fresh(run: Run) -> np.ndarray:
    """Log-loss on fresh prompts, [seeds, K]."""
    return log_from_least(run["judged/loss"])
