"""A rule in the GD-SSM's window: what the layer adds to its state, C_t Q C_tᵀ, is replaced by the
rule's own update with the key C_t q_k and the value C_t q_v. The query is C_N q, as in the GD-SSM.

On C_t = [x_t, y_t, x_(t+1)] the construction has q_k = (1, 0, 0), q_v = (0, 1, 0), q = (0, 0, 1).
"""

import math
from collections.abc import Mapping, Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from icl_core.in_context_regression import rules
from icl_core.in_context_regression.rules import Rule
from icl_core.papers.gdssm.shared.task import Tasks, apply, interleaved, sample, windows

Weights = dict[str, Tensor]  # by name [seeds, 3] or [seeds]
POINTS = ("key", "value", "query")
LOGARITHMS = ("ridge",)  # of numbers that are trained by their logarithm; Longhorn's rate too
SMALL = 0.1  # standard deviation of the first coefficients
FREE = 0.5  # of those of a key without length
FIRST_RIDGE = 0.01


def names(rule: Rule) -> tuple[str, ...]:
    """Return the names of the weights of a rule."""
    return (*POINTS, *rule.settings)


def initial(rule: Rule, N: int, seeds: Sequence[int]) -> Weights:
    """Return the weights before training, [seeds, ...] each.

    Coefficients are N(0, 0.01), those of a key of which only the direction counts N(0, 0.25); the
    decay is in [0.95, 1], as in the GD-SSM; a rate begins at 1 / N where the rule adds, and at 1 or
    a half where it corrects.
    """
    generators = [torch.Generator().manual_seed(seed) for seed in seeds]

    def normal(std: float) -> Tensor:
        return torch.stack([std * torch.randn(3, generator=generator) for generator in generators])

    has_free_key = rule.id in ("unit", "gated")
    weights = {
        "key": normal(FREE if has_free_key else SMALL),
        "value": normal(SMALL),
        "query": normal(SMALL),
    }
    first = {"sum": 1 / N, "decayed": 1 / N, "delta": 1.0, "longhorn": 0.0}.get(rule.id, 0.5)
    if "rate" in rule.settings:
        weights["rate"] = torch.full((len(seeds),), first)
    if "decay" in rule.settings:
        uniform = [torch.rand((), generator=generator) for generator in generators]
        weights["decay"] = 0.95 + 0.05 * torch.stack(uniform)
    if "ridge" in rule.settings:
        weights["ridge"] = torch.full((len(seeds),), math.log(FIRST_RIDGE))
    return weights


def constructed(rule: Rule, settings: Mapping[str, float]) -> Weights:
    """Return the weights, of one seed, that make the window the rule with these settings."""
    weights = {name: row[None] for name, row in zip(POINTS, torch.eye(3), strict=True)}
    weights["query"] = weights["query"] * settings["gain"]
    for name in rule.settings:
        value = settings[name]
        weights[name] = torch.tensor([math.log(value) if _by_log(rule, name) else value])
    return weights


def settings_of(rule: Rule, weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the settings [seeds] of the rule that the weights hold."""
    return {
        name: weights[name].exp() if _by_log(rule, name) else weights[name]
        for name in rule.settings
    }


def _by_log(rule: Rule, name: str) -> bool:
    return name in LOGARITHMS or (rule.id == "longhorn" and name == "rate")


def predict(
    rule: Rule, weights: Mapping[str, Tensor], tasks: Tasks
) -> Float[Tensor, "seeds f tasks"]:
    """Return the prediction of every seed for the query of every task."""
    C = windows(interleaved(tasks))  # (N, 3, f, tasks)
    keys, values = (torch.einsum("sk,nkft->nsft", weights[name], C) for name in ("key", "value"))
    query = torch.einsum("sk,kft->sft", weights["query"], C[-1])
    settings = settings_of(rule, weights)
    return rules.predict(rule, rules.after(rule, keys, values, settings), query, settings)


def as_written(rule: Rule, weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return what the weights amount to once what the rule cannot tell apart is normalised away:

    window   [seeds, 3, 3], key, value and query, each over its entry of x_t, y_t and x_(t+1); the
             identity in the construction
    rate, decay, ridge  [seeds], those that the rule has, in units of x and y
    gain     [seeds], by which the prediction is scaled; part of the rate where a rule adds
    """
    key, value, query = (weights[name] for name in POINTS)
    c = key[:, 0]
    d = value[:, 1]
    e = query[:, 2]
    window = torch.stack((key / c[:, None], value / d[:, None], query / e[:, None]), 1)
    numbers = settings_of(rule, weights)
    if rule.id in ("sum", "decayed"):
        numbers["rate"] = numbers["rate"] * c * d * e
        return {"window": window, **numbers, "gain": torch.ones_like(c)}
    if rule.id in ("delta", "longhorn"):
        numbers["rate"] = numbers["rate"] * c**2
    if "ridge" in numbers:
        numbers["ridge"] = numbers["ridge"] / c**2
    return {"window": window, **numbers, "gain": d * e / c}


def draw(
    f: int,
    N: int,
    tasks: int,
    generator: torch.Generator,
    drift: float | Float[Tensor, "f"],
) -> Tasks:
    """Return fresh tasks of the paper whose W drifts: after every pair it keeps √(1 − ρ²) of itself
    and is given ρ times fresh numbers, so that W ~ N(0, 1) at all times; ρ is a number, or has one
    for every column. The query has the last W.
    """
    fresh = sample(f, N, tasks, generator)
    if isinstance(drift, Tensor):
        drift = drift[:, None]  # (f, 1)
    elif drift == 0:
        return fresh
    W = torch.randn(f, f, tasks, generator=generator, device=generator.device)
    labels = []
    for x in fresh.x.split(1):  # (1, f, tasks)
        labels.append(apply(W, x))
        noise = torch.randn(f, f, tasks, generator=generator, device=generator.device)
        W = (1 - drift**2) ** 0.5 * W + drift * noise
    return Tasks(fresh.x, torch.cat(labels))
