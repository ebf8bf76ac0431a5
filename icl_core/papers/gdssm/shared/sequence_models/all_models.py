"""All models of the comparison behind one call: random weights, and the prediction they make of a
batch of tasks."""

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
from icl_core.papers.gdssm.shared.sequence_models.initial_weights import Generators, Parameters
from icl_core.papers.gdssm.shared.sequence_models.match_sizes import Size, count, matched
from icl_core.papers.gdssm.shared.sequence_models.settings import Setting
from icl_core.papers.gdssm.shared.settings import Config as Layer
from icl_core.papers.gdssm.shared.task import Tasks, constructed_tokens, interleaved


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
