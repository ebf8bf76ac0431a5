"""All models of the comparison behind one call: random weights, and the prediction they make of a
batch of tasks; and baselines of one size. What "matched" means here, and where it cannot be had:

The paper gives its own layer a hidden width of 20 and a state of 10 (A.5, 1-D, f = 10) and no sizes
for the others; it says only that they read the same tokens (Section 4). Their parameters cannot be
matched to the GD-SSM's: at f = 10 that has 14 with one decay (Q 9, q 3, decay, β), 23 with one a
row, 113 with f x f. A width of 1 takes 20 to let a token in and out and some more between; 113
allows a width of 1 to 4, too narrow for a token of 10.

So they are matched with each other, far above it, where a baseline that fails does not fail for
want of parameters: every model within 5% of one given number, by its state, at the width asked for
if that is possible and at the nearest other width if not. That is the paper's width where it leaves
room for x, y and the positions, 2f + N + 1; 20 = 2f does not. At width 20 and f = 10 the smallest
Mamba has 3,360 parameters, the others under 1,000.
"""

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial

import torch
from jaxtyping import Float
from torch import Tensor

from icl_core.machine import device
from icl_core.papers.gdssm.shared import any_layer
from icl_core.papers.gdssm.shared.sequence_models import MODELS, Model
from icl_core.papers.gdssm.shared.sequence_models.authors.parts import FURTHER, Shape
from icl_core.papers.gdssm.shared.sequence_models.settings import Setting
from icl_core.papers.gdssm.shared.settings import Config as Layer
from icl_core.papers.gdssm.shared.task import Tasks, constructed_tokens, interleaved
from icl_core.papers.gdssm.shared.weights import Generators, Parameters

TOLERANCE = 0.05


@dataclass(frozen=True)
class Size:
    """A model's size."""

    width: int
    state: int
    parameters: int


def count(parameters: Parameters) -> int:
    """Return how many numbers one seed has; a complex one is stored as two."""
    return sum(tensor[0].numel() for tensor in parameters.values())


def matched(model: Model, features: int, asked: int, positions: int, wished: int) -> Size:
    """Return the state, at the width `wished`, whose parameters come nearest to `asked`; where they
    are not within 5%, the nearest width at which they are. Without any, the nearest size of all."""

    def counted(width: int, state: int) -> int:
        return count(model.draw(features, width, state, [torch.Generator()], positions))

    sizes = []
    for width in sorted(range(1, 2 * wished + 1), key=lambda other: abs(other - wished)):
        size = nearest(partial(counted, width), asked, width)
        if abs(size.parameters - asked) <= TOLERANCE * asked:
            return size
        sizes.append(size)
    return min(sizes, key=lambda size: abs(size.parameters - asked))


def nearest(parameters: Callable[[int], int], asked: int, width: int) -> Size:
    """Return the state whose number of parameters, which rises with it, is nearest to `asked`, by
    bisection."""
    high = 2
    while parameters(high) < asked:
        high *= 2
    # the first that has as many
    enough = high // 2 + bisect_left(range(high // 2, high), asked, key=parameters)
    state = min(max(1, enough - 1), enough, key=lambda state: abs(parameters(state) - asked))
    return Size(width, state, parameters(state))


@dataclass(frozen=True)
class Learner:
    """A model at the size of a setting, of so many `layers`. `initial(seeds)` draws its weights,
    (seeds, ...) each, on the device; `predict(weights, tasks)` is (seeds, n_o, tasks),
    `predict_all` (seeds, N, n_o, tasks): the labels of the queries after 1, 2, …, N pairs. The
    parameters in `slow` train at a smaller rate."""

    model: Model
    size: Size
    layers: int
    initial: Callable[[list[int]], Parameters]
    predict: Callable[[Parameters, Tasks], Float[Tensor, "seeds n_o tasks"]]
    predict_all: Callable[[Parameters, Tasks], Float[Tensor, "seeds N n_o tasks"]]
    slow: tuple[str, ...] = ()


@cache
def learners(config: Setting) -> tuple[Learner, ...]:
    """Return every model of the comparison. The tokens of the 1-D layer do not hold the whole of ∑
    x xᵀ, which a second step needs: no second layer there."""
    every = [
        model
        for model in MODELS.values()
        if model.baseline or model.layers == 1 or config.model == "N-D"
    ]
    return tuple((_baseline if model.baseline else _gd_ssm)(config, model) for model in every)


def _gd_ssm(config: Setting, model: Model) -> Learner:
    """Return the GD-SSM of as many layers: with a decay for every row, or with one for all where
    there are two layers."""
    recurrence = "row" if model.layers == 1 else "scalar"
    layer = Layer(
        config.model, recurrence, model.layers, f=config.f, N=config.N, batch=config.batch
    )
    like = any_layer.initial(layer, [0])

    def initial(seeds: list[int]) -> Parameters:
        return any_layer.initial(layer, seeds).to(device.current_device()).tensors()

    def predict(weights: Parameters, tasks: Tasks) -> Tensor:
        trained = like.with_(**weights)
        return any_layer.forward(trained, any_layer.read(trained, tasks))

    def predict_all(weights: Parameters, tasks: Tasks) -> Tensor:
        prompts = [tasks.beginning(pairs) for pairs in range(1, tasks.N + 1)]
        return torch.stack([predict(weights, prompt) for prompt in prompts], 1)

    size = Size(0, 0, count(like.tensors()))
    return Learner(model, size, model.layers, initial, predict, predict_all)


def _baseline(config: Setting, model: Model) -> Learner:
    """Return a baseline in the form and at the size that the setting asks for."""
    size, draw = (_plain if config.plain else _authors)(config, model)
    module, slow = (model.plain, ()) if config.plain else (model.authors, model.authors.SLOW)
    heads = {"heads": int(config.heads)} if model.attends and not config.plain else {}
    every = partial(module.forward, **heads)
    last = every if config.plain else partial(every, last=True)
    last_of_all_seeds = torch.vmap(last, (0, None))
    every_of_all_seeds = torch.vmap(every, (0, None))

    def initial(seeds: list[int]) -> Parameters:
        weights = draw([torch.Generator().manual_seed(seed) for seed in seeds])
        return {name: tensor.to(device.current_device()) for name, tensor in weights.items()}

    def predict(weights: Parameters, tasks: Tasks) -> Tensor:
        answers = last_of_all_seeds(
            weights, sequence(config, tasks)
        )  # (seeds, tasks, T or 1, features)
        return answers[:, :, -1, : tasks.y.shape[1]].mT  # the query's, as far as the label goes

    def predict_all(weights: Parameters, tasks: Tasks) -> Tensor:
        # (seeds, tasks, T, features)
        answers = every_of_all_seeds(weights, sequence(config, tasks))
        if config.model == "N-D":
            answers = answers[:, :, 2::2]  # at every x but the first, before which there is no pair
        return answers[..., : tasks.y.shape[1]].permute(0, 2, 3, 1)  # (seeds, N, n_o, tasks)

    names = (*slow, *(f"{FURTHER}.{name}" for name in slow))
    layers = _layers(config, model)
    return Learner(model, size, layers, initial, predict, predict_all, names)


def _layers(config: Setting, model: Model) -> int:
    """Return the number of layers of a baseline: the table's for transformers and plain models, the
    setting's for the others."""
    return model.layers if model.attends or config.plain else config.layers


Drawn = Callable[[Generators], Parameters]


def _plain(config: Setting, model: Model) -> tuple[Size, Drawn]:
    """Return the size of the plain form at the number of parameters asked for, and what draws its
    weights."""
    size = matched(model, config.features, config.parameters, config.positions, config.hidden)
    return size, lambda generators: model.draw(
        config.features, size.width, size.state, generators, config.positions
    )


def _authors(config: Setting, model: Model) -> tuple[Size, Drawn]:
    """Return the size of the authors' form at the width asked for, and what draws its weights."""
    shape = Shape(
        config.features,
        config.hidden,
        _layers(config, model),
        config.positions,
        config.norm != "none",
        int(config.heads),
        config.bias,
        config.norm == "code",
    )
    draw = partial(model.authors.parameters, shape)
    parameters = count(draw([torch.Generator().manual_seed(0)]))
    return Size(shape.width, model.authors.state(shape), parameters), draw


def sequence(config: Setting, tasks: Tasks) -> Float[Tensor, "tasks T features"]:
    """Return what every model reads: the constructed tokens, or x and y in turn."""
    return (constructed_tokens if config.model == "1-D" else interleaved)(tasks).movedim(-1, 0)
