"""KDA and DeltaProduct as layers that read windows, trained as the rules are (`window`).

For every pair the state shrinks, W ← W diag(a), and takes a step or two in turn, each with a key, a
value and a rate of its own, W ← W + b (v − W k) kᵀ / |k|². Keys and values are combinations of the
tokens of the window, which is the GD-SSM's, [x_t, y_t, x_(t+1)], or has the pair before that too,
[x_(t−1), y_(t−1), x_t, y_t, x_(t+1)]; before the first pair stand zeros.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from icl_core.in_context_regression.recent_learners import FIRST, follow
from icl_core.in_context_regression.recent_rules import RECENT
from icl_core.in_context_regression.rules import Settings, applied, outer, unit_key
from icl_core.papers.gdssm.shared.task import Tasks, interleaved, windows
from icl_core.papers.gdssm.states import expected, recent, window
from icl_core.papers.gdssm.states.window import Weights

HALF = 0.5  # drift a pair of half the columns


@dataclass(frozen=True)
class Layer:
    """A layer that is trained.

    pairs   how many pairs its window shows
    takes   the pair that each step of the construction takes: 0 the newest, 1 the one before
    decays  "one" number or a number for each of the "channels"; empty if nothing decays
    half    whether the columns of half the features drift by `HALF`, or W as the settings say
    """

    id: str
    name: str
    pairs: int = 1
    takes: tuple[int, ...] = (0,)
    decays: str = ""
    half: bool = False

    def channels(self, f: int) -> int:
        """Return how many numbers its decays are."""
        return {"": 0, "one": 1, "channels": f}[self.decays]

    def drift(self, f: int, drift: float) -> float | Float[Tensor, "f"]:
        """Return the drift of its tasks, where that of the settings is `drift`."""
        return HALF * recent.half_of(f).float() if self.half else drift


LAYERS = {
    layer.id: layer
    for layer in (
        Layer("kda", "KDA", decays="channels"),
        Layer("product", "DeltaProduct", takes=(0, 0)),
        Layer("product-two", "DeltaProduct, window of two pairs", pairs=2, takes=(0, 1)),
        Layer("gated-half", "gated delta rule, half drifts", decays="one", half=True),
        Layer("kda-half", "KDA, half drifts", decays="channels", half=True),
    )
}


def initial(layer: Layer, f: int, seeds: Sequence[int]) -> Weights:
    """Return the weights before training, drawn as those of the rules (`window.initial`),

    key, value  [seeds, steps, tokens] over the tokens of the window
    query       [seeds, tokens]
    rates       [seeds, steps]
    decays      [seeds, 1 or f], where a layer has any
    """
    generators = [torch.Generator().manual_seed(seed) for seed in seeds]
    steps = len(layer.takes)
    tokens = 2 * layer.pairs + 1

    def normal(std: float, *shape: int) -> Tensor:
        return torch.stack([std * torch.randn(shape, generator=each) for each in generators])

    weights = {
        "key": normal(window.FREE, steps, tokens),
        "value": normal(window.SMALL, steps, tokens),
        "query": normal(window.SMALL, tokens),
        "rates": torch.full((len(seeds), steps), 0.5),
    }
    if layer.decays:
        uniform = [torch.rand(layer.channels(f), generator=each) for each in generators]
        weights["decays"] = 0.95 + 0.05 * torch.stack(uniform)
    return weights


def constructed(layer: Layer, settings: Mapping[str, Tensor], gain: float) -> Weights:
    """Return the weights, of one seed, with which each step takes its pair, with the settings of
    `tuned`."""
    tokens = torch.eye(2 * layer.pairs + 1)
    places = [2 * (layer.pairs - 1 - age) for age in layer.takes]  # of their x
    weights = {
        "key": tokens[places],
        "value": tokens[[place + 1 for place in places]],
        "query": gain * tokens[-1],
        **{name: setting.float() for name, setting in settings.items()},
    }
    return {name: weight[None] for name, weight in weights.items()}


def predict(
    layer: Layer, weights: Mapping[str, Tensor], tasks: Tasks
) -> Float[Tensor, "seeds f tasks"]:
    """Return the prediction of every seed for the query of every task."""
    tokens = interleaved(tasks)
    before = tokens.new_zeros(2 * layer.pairs - 2, *tokens.shape[1:])
    C = windows(torch.cat((before, tokens)), width=2 * layer.pairs + 1)
    keys, values = (torch.einsum("sjk,nkft->njsft", weights[name], C) for name in ("key", "value"))
    query = torch.einsum("sk,kft->sft", weights["query"], C[-1])
    return applied(after(keys, values, weights["rates"], weights.get("decays")), query)


def after(
    keys: Float[Tensor, "pairs steps *rest f tasks"],
    values: Float[Tensor, "pairs steps *rest o tasks"],
    rates: Float[Tensor, "*rest steps"],
    decays: Float[Tensor, "*rest channels"] | None = None,
) -> Float[Tensor, "*rest o f tasks"]:
    """Return the state after all pairs."""
    W = outer(torch.zeros_like(values[0, 0]), torch.zeros_like(keys[0, 0]))
    for its_keys, its_values in zip(keys, values, strict=True):
        if decays is not None:
            W = decays[..., None, :, None] * W
        for step, (key, value) in enumerate(zip(its_keys, its_values, strict=True)):
            share = unit_key(key, {"rate": rates[..., step]})
            W = W + outer(share * (value - applied(W, key)), key)
    return W


def coefficients(
    layer: Layer, x: Float[Tensor, "pairs f prompts"], settings: Settings
) -> Float[Tensor, "pairs f prompts"]:
    """Return the vectors v_t with W = ∑ y_t v_tᵀ of the construction, as `rules.coefficients`."""
    one = torch.eye(len(x), dtype=x.dtype)[..., None].expand(-1, -1, x.shape[-1])

    def taken(of_pairs: Tensor) -> Tensor:
        """Return what the steps of every pair take, [pairs, steps, ...]."""
        shifted = [
            torch.cat((torch.zeros_like(of_pairs[:age]), of_pairs[: len(x) - age]))
            for age in layer.takes
        ]
        return torch.stack(shifted, 1)

    numbers = {name: torch.as_tensor(value) for name, value in settings.items()}
    return after(taken(x), taken(one), numbers["rates"], numbers.get("decays"))


def tuned(layer: Layer, f: int, N: int, drift: float) -> tuple[dict[str, Tensor], float, float]:
    """Return the settings with which the construction loses least on its tasks, a rate for every
    step and its decays; the gain of its prediction; and its loss as a share of that of predicting
    zero, over prompts that it is not tuned on."""
    x = expected.prompts(f, N)
    kept = recent.shares_kept(torch.as_tensor(layer.drift(f, drift)).to(x).expand(f))
    tuned_on, others = x[..., : recent.TUNED_ON], x[..., recent.TUNED_ON :]
    counts = {"rates": len(layer.takes), "decays": layer.channels(f)}
    start = {
        name: torch.full((count,), FIRST[name]).to(x) for name, count in counts.items() if count
    }

    def loss(tried: Settings) -> Tensor:
        return recent.loss_and_gain(coefficients(layer, tuned_on, tried), tuned_on, kept)[0]

    settings = {name: torch.as_tensor(value) for name, value in follow(loss, start).items()}
    share, gain = recent.loss_and_gain(coefficients(layer, others, settings), others, kept)
    return settings, float(gain), float(share)


def oldest_first(f: int, N: int) -> float:
    """Return the loss, as a share of that of predicting zero, of DeltaProduct as the rule is
    written (`recent_rules`), with two steps at one rate, where nothing drifts."""
    x = expected.prompts(f, N)
    rule = RECENT["product"]
    tuned_on, others = x[..., : recent.TUNED_ON], x[..., recent.TUNED_ON :]
    settings = recent.tuned(rule, ("rate",), {"reach": 2.0}, tuned_on, torch.zeros(f).to(x))
    return float(recent.loss(rule, others, settings, torch.ones(f).to(x)))
