"""What each rule loses on average over the paper's tasks, exactly, and the settings with which it
loses least.

A row w of W is N(0, I) and drifts: after every pair it keeps the share c = √(1 − ρ²) of itself and
is given ρ times fresh numbers, so that its variance stays 1. The state's row ŵ changes with x as

    ŵ ← a (I − e δ x xᵀ) ŵ + δ x xᵀ w,

where e is 1 if the rule corrects what it has and 0 if it only adds, and δ may depend on |x|. The
entries of x are independent and symmetric, so that E δ x xᵀ = u₁ I and E δ² |x|² x xᵀ = u₂ I. Hence
m = E |ŵ|² / f and ξ = E ŵᵀw / f follow a recursion of two numbers. A prediction s ŵ x loses
1 − 2 s ξ + s² m of what predicting zero loses, which is 1 − ξ² / m at the best gain s = ξ / m.

Least squares and the Kalman filter have a second matrix, which depends on all x: their losses are
means over prompts, exact over W and the query (`moments`).
"""

from collections.abc import Callable, Sequence
from functools import cache

import numpy as np
import torch
from torch import Tensor

from icl_core.in_context_regression import rules
from icl_core.in_context_regression.rules import Rule
from icl_core.papers.gdssm.shared import closed_forms
from icl_core.papers.gdssm.shared.closed_forms import KAPPA

VARIANCE = closed_forms.variance(1.0)  # of an entry of x ~ U(-1, 1)
DRAWS = 2**18  # of |x|², for the means of Longhorn's steps
BINS = 2**9  # equal shares of them
PROMPTS = 2**9, 2**17  # of the means of least squares: at most, and numbers of x at most
TRIED = 2**15, 2**21  # of a closed form that is tried, at most, and numbers of x at most
GRID = 401  # points of a search along one axis
COARSE = 61  # along each of two
ROUNDS = 6  # how many grids
DECAYS = np.linspace(0.4, 1.0, 13)  # γ of least squares, among which the best is chosen,
RIDGES = np.geomspace(1e-3, 1, 10)  # and λ. Without drift the least λ is best, in exact numbers 0
LARGEST = 1e3  # the largest β |x|² of the implicit step that is tried: it corrects 99.9 %
SMALLEST = 1e-3  # the smallest rate that is tried, as a share of the largest one

Array = np.ndarray
Tuned = dict[str, float]


def one_step(f: int, N: int) -> float:
    """Return the loss of the best single step of gradient descent without drift, as a share of that
    of predicting zero."""
    return closed_forms.best_loss(f, N) / closed_forms.zero_loss(f)


def kept(drift: float) -> float:
    """Return c = √(1 − ρ²), the share of W that is left after a pair."""
    return float(np.sqrt(1 - drift**2))


def mean_steps(rule: Rule, rate: Array, f: int) -> tuple[Array, Array]:
    """Return (u₁, u₂) of a rule at some rates, of the shape of `rate`."""
    if rule.id in ("unit", "gated"):  # δ = b / |x|²
        return rate / f, rate**2 / f
    if rule.id == "longhorn":
        share = rate[..., None] * _lengths(f)  # β |x|²
        share = share / (1 + share)
        return share.mean(-1) / f, (share**2).mean(-1) / f
    return rate * VARIANCE, rate**2 * VARIANCE**2 * (f - 1 + KAPPA)


@cache
def _lengths(f: int) -> Array:
    """Return |x|² of many draws of x, sorted and averaged in equal shares, [BINS]; the same at
    every call. The mean of a smooth function of |x|² over them is exact to four digits."""
    generator = np.random.default_rng(0)
    squares = np.zeros(DRAWS)
    for _ in range(f):
        squares += generator.uniform(-1, 1, DRAWS) ** 2
    return np.sort(squares).reshape(BINS, -1).mean(1)


def recursion(
    u: tuple[Array, Array], N: int, drift: float, decay: Array | float = 1.0, corrects: bool = True
) -> tuple[Array, Array]:
    """Return (m, ξ) after 0 to N steps with means u = (u₁, u₂), [N + 1, …] each, where ξ is taken
    with the w of the next pair. `decay` is a, `corrects` is e."""
    u_1, u_2 = u
    e = float(corrects)
    c = kept(drift)
    m = [np.zeros(np.broadcast(u_1, decay).shape)]
    xi = [np.zeros(np.broadcast(u_1, decay).shape)]
    for _ in range(N):
        m_before = m[-1]
        xi_before = xi[-1]
        m.append(
            decay**2 * (1 - 2 * e * u_1 + e * u_2) * m_before
            + 2 * decay * (u_1 - e * u_2) * xi_before
            + u_2
        )
        xi.append(c * (decay * (1 - e * u_1) * xi_before + u_1))
    return np.array(m), np.array(xi)


def traced(rule: Rule, settings: Tuned, f: int, N: int, drift: float = 0.0) -> Array:
    """Return the loss of a rule of one matrix after 0 to N pairs, [N + 1], as a share of that of
    predicting zero."""
    u = mean_steps(rule, np.array(settings["rate"]), f)
    m, xi = recursion(u, N, drift, settings.get("decay", 1.0), _corrects(rule))
    gain = settings["gain"]
    return 1 - 2 * gain * xi + gain**2 * m


def tuned(rule: Rule, f: int, N: int, drift: float = 0.0) -> Tuned:
    """Return the settings with which a rule of one matrix loses least after N pairs: its rate, its
    decay if it has one, and the gain of its prediction."""
    if not _corrects(rule):
        return _adding(rule, f, N, drift)
    most = _largest_rate(rule, f)
    low = SMALLEST * most

    def loss(log_rate: Array, decay: Array | float = 1.0) -> Array:
        m, xi = recursion(mean_steps(rule, np.exp(log_rate), f), N, drift, decay)
        return 1 - xi[-1] ** 2 / m[-1]

    ends = (float(np.log(low)), float(np.log(most)))
    if "decay" in rule.settings:
        log_rate, decay = _least(loss, (ends, (0.0, 1.0)), COARSE)
        settings = {"rate": float(np.exp(log_rate)), "decay": decay}
    else:
        (log_rate,) = _least(loss, (ends,), GRID)
        settings = {"rate": float(np.exp(log_rate))}
    u = mean_steps(rule, np.array(settings["rate"]), f)
    m, xi = recursion(u, N, drift, settings.get("decay", 1.0))
    return {**settings, "gain": float(xi[-1] / m[-1])}


def _largest_rate(rule: Rule, f: int) -> float:
    """Return the largest rate that is tried of a rule that corrects: one at which it corrects, on
    average, twice what it should, or of the implicit step nearly all."""
    if rule.id == "longhorn":
        return LARGEST / (f * VARIANCE)
    return 2.0 if rule.id in ("unit", "gated") else 2 / (VARIANCE * (f - 1 + KAPPA))


def in_batches(f: int, N: int, batch: int) -> tuple[float, float]:
    """Return the best rate of gradient descent over the pairs in batches, each used once, and its
    loss as a share of that of predicting zero; W does not drift.

    With S = ∑ x xᵀ of n pairs, E S = n σ² I and E S² = n σ⁴ (n + f − 2 + κ) I.
    """
    sizes = [min(batch, N - first) for first in range(0, N, batch)]

    def loss(rate: Array) -> Array:
        m = np.zeros_like(rate)
        xi = np.zeros_like(rate)
        for n in sizes:
            u_1 = rate * n * VARIANCE
            u_2 = rate**2 * VARIANCE**2 * n * (n + f - 2 + KAPPA)
            m = (1 - 2 * u_1 + u_2) * m + 2 * (u_1 - u_2) * xi + u_2  # of ξ before the batch
            xi = (1 - u_1) * xi + u_1
        return 1 - 2 * xi + m

    (rate,) = _least(loss, ((0.0, 2 / (VARIANCE * (batch + f - 2 + KAPPA))),), GRID)
    return rate, float(loss(np.array(rate)))


def _corrects(rule: Rule) -> bool:
    """Return whether a rule subtracts what the state predicts already."""
    return rule.id not in ("sum", "decayed")


def _adding(rule: Rule, f: int, N: int, drift: float) -> Tuned:
    """Return the best settings of a rule that adds: the loss is a parabola in the rate, at each
    decay."""
    u = mean_steps(rule, np.array(1.0), f)
    if "decay" not in rule.settings:
        m, xi = recursion(u, N, drift, 1.0, False)
        return {"rate": float(xi[-1] / m[-1]), "gain": 1.0}

    def loss(decay: Array) -> Array:
        m, xi = recursion(u, N, drift, decay, False)
        return 1 - xi[-1] ** 2 / m[-1]

    (decay,) = _least(loss, ((0.0, 1.0),), GRID)
    m, xi = recursion(u, N, drift, decay, False)
    return {"decay": decay, "rate": float(xi[-1] / m[-1]), "gain": 1.0}


def _least(
    loss: Callable[..., Array], box: tuple[tuple[float, float], ...], points: int
) -> tuple[float, ...]:
    """Return the point of a box with the least loss, by grids that become finer around it."""
    ends = box
    best = tuple(low for low, _ in box)
    for _ in range(ROUNDS):
        axes = [np.linspace(low, high, points) for low, high in ends]
        grid = np.meshgrid(*axes, indexing="ij")
        place = np.unravel_index(np.nanargmin(loss(*grid)), grid[0].shape)
        best = tuple(float(axis[index]) for axis, index in zip(axes, place, strict=True))
        around = [3 * (high - low) / (points - 1) for low, high in ends]
        ends = tuple(
            (max(low, centre - width), min(high, centre + width))
            for (low, high), centre, width in zip(box, best, around, strict=True)
        )
    return best


def prompts(f: int, N: int) -> Tensor:
    """Return x of the prompts over which the means of least squares are taken, (N, f, prompts) in
    float64, the same at every call."""
    count = max(256, min(PROMPTS[0], PROMPTS[1] // (N * f)))
    generator = torch.Generator().manual_seed(2**31 + 41)
    return 2 * torch.rand(N, f, count, generator=generator, dtype=torch.float64) - 1


def pairwise(v: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
    """Return, as means over prompts, x_sᵀx_t v_sᵀv_t of all pairs of pairs, [pairs, pairs], and
    v_tᵀx_t, [pairs]; `v` and `x` are [pairs, f, prompts]. Of W = ∑ y_t v_tᵀ the loss follows from
    these two at any drift (`moments`)."""
    among = torch.einsum("tfp,sfp->tsp", x, x) * torch.einsum("tfp,sfp->tsp", v, v)
    return among.mean(-1), (v * x).sum(1).mean(-1)


def moments(among: Tensor, own: Tensor, f: int, drift: float) -> tuple[float, float]:
    """Return (m, ξ) of what `pairwise` gives: exact over W, a mean over prompts."""
    place = torch.arange(len(own))
    c = kept(drift)
    between = c ** (place[:, None] - place).abs().to(own)  # E w_s w_t, entry by entry
    ahead = c ** (len(own) - place).to(own)
    return float((between * among).sum()) / f, float((ahead * own).sum()) / f


def of_squares(x: Tensor, drifts: Sequence[float]) -> list[tuple[Tuned, float]]:
    """Return, for every drift, the best decay γ, ridge λ and gain of least squares after the pairs
    x, and its loss as a share of that of predicting zero."""
    pairs, f, _ = x.shape
    best: list[tuple[Tuned, float]] = [({}, np.inf)] * len(drifts)
    for decay in DECAYS:
        weights = float(decay) ** torch.arange(pairs - 1, -1, -1).to(x)
        H = torch.einsum("t,tip,tjp->pij", weights, x, x)
        values, vectors = torch.linalg.eigh(H)  # (prompts, f), (prompts, f, f)
        seen = torch.einsum("pij,t,tip->tjp", vectors, weights, x)
        for ridge in RIDGES:
            solved = seen / (values.T + float(ridge))
            among, own = pairwise(torch.einsum("pij,tjp->tip", vectors, solved), x)
            for place, drift in enumerate(drifts):
                m, xi = moments(among, own, f, drift)
                if 1 - xi**2 / m < best[place][1]:
                    settings = {"decay": float(decay), "ridge": float(ridge), "gain": xi / m}
                    best[place] = settings, 1 - xi**2 / m
    return best


def traced_over_prompts(rule: Rule, settings: Tuned, x: Tensor, drift: float = 0.0) -> Array:
    """Return the loss of any rule after 0 to N pairs of the prompts x, [N + 1], as a share of that
    of predicting zero."""
    gain = settings.get("gain", 1.0)
    f = x.shape[1]
    losses = [1.0]
    for t in range(1, len(x) + 1):
        read = x[:t]
        m, xi = moments(*pairwise(rules.coefficients(rule, read, settings), read), f, drift)
        losses.append(1 - 2 * gain * xi + gain**2 * m)
    return np.array(losses)


def imitation(rule: Rule, settings: Tuned, x: Tensor, shrunk: float, scaled: bool) -> float:
    """Return how far the prediction of a rule, at `shrunk` times its rate, is from a step of
    gradient descent on all pairs at its best rate: the root of E |ŵ − ŵ_step|² / E |ŵ_step|². The
    prediction is as it is, or, where `scaled`, has the gain at which this is least."""
    v = rules.coefficients(rule, x, {**settings, "rate": shrunk * settings["rate"]})
    step = x * closed_forms.best_beta(x.shape[1], len(x))
    together = torch.einsum("tfp,sfp->tsp", x, x)

    def inner(one: Tensor, other: Tensor) -> float:
        """Return E tr W_one W_otherᵀ over W and prompts."""
        return float((together * torch.einsum("tfp,sfp->tsp", one, other)).sum((0, 1)).mean())

    own = inner(v, v)
    crossed = inner(v, step)
    wanted = inner(step, step)
    gain = crossed / own if scaled else 1.0
    return float(np.sqrt(max(0.0, gain**2 * own - 2 * gain * crossed + wanted) / wanted))


def closed_form_error(f: int, N: int) -> float:
    """Return |loss / (1 − 1 / (f − 1 + κ))ᴺ − 1| of the delta rule, run over prompts."""
    count = min(TRIED[0], TRIED[1] // (N * f))
    generator = torch.Generator().manual_seed(2**31 + 43)
    x = 2 * torch.rand(N, f, count, generator=generator, dtype=torch.float64) - 1
    settings = tuned(rules.DELTA, f, N)
    v = rules.coefficients(rules.DELTA, x, settings)
    m, xi = moments(*pairwise(v, x), f, 0.0)
    wanted = (1 - 1 / (f - 1 + KAPPA)) ** N
    return abs((1 - 2 * xi + m) / wanted - 1)
