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
from icl_core.papers.gdssm.shared.sequence_models.authors.parts import Shape
from icl_core.papers.gdssm.shared.sequence_models.initial_weights import Generators, Parameters
from icl_core.papers.gdssm.shared.sequence_models.match_sizes import Size, count, matched
from icl_core.papers.gdssm.shared.sequence_models.settings import Setting
from icl_core.papers.gdssm.shared.settings import Config as Layer
from icl_core.papers.gdssm.shared.task import Tasks, constructed_tokens, interleaved


@dataclass(frozen=True)
class Learner:
    """A model at the size of a setting. `initial(seeds)` draws its weights, (seeds, ...) each, on
    the device; `predict(weights, tasks)` is (seeds, n_o, tasks). The parameters in `slow` train at
    a smaller rate."""

    model: Model
    size: Size
    initial: Callable[[list[int]], Parameters]
    predict: Callable[[Parameters, Tasks], Float[Tensor, "seeds n_o tasks"]]
    slow: tuple[str, ...] = ()


@cache
def learners(config: Setting) -> tuple[Learner, ...]:
    """Every model of the comparison. The tokens of the 1-D layer do not hold the whole of ∑ x xᵀ,
    which a second step needs: no second layer there."""
    every = [
        model
        for model in MODELS.values()
        if model.baseline or model.layers == 1 or config.model == "N-D"
    ]
    return tuple((_baseline if model.baseline else _gd_ssm)(config, model) for model in every)


def _gd_ssm(config: Setting, model: Model) -> Learner:
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

    return Learner(model, Size(0, 0, count(like.tensors())), initial, predict)


def _baseline(config: Setting, model: Model) -> Learner:
    size, draw = (_plain if config.plain else _authors)(config, model)
    module, slow = (model.plain, ()) if config.plain else (model.authors, model.authors.SLOW)
    forward = module.forward if config.plain else partial(module.forward, last=True)
    of_all_seeds = torch.vmap(forward, (0, None))

    def initial(seeds: list[int]) -> Parameters:
        drawn = draw([torch.Generator().manual_seed(seed) for seed in seeds])
        return {name: tensor.to(device.current_device()) for name, tensor in drawn.items()}

    def predict(weights: Parameters, tasks: Tasks) -> Tensor:
        answers = of_all_seeds(weights, sequence(config, tasks))  # (seeds, tasks, T or 1, features)
        return answers[:, :, -1, : tasks.y.shape[1]].mT  # the query's, as far as the label goes

    return Learner(model, size, initial, predict, slow)


Drawn = Callable[[Generators], Parameters]


def _plain(config: Setting, model: Model) -> tuple[Size, Drawn]:
    """The plain form, at the number of parameters asked for."""
    size = matched(model, config.features, config.parameters, config.positions, config.hidden)
    return size, lambda generators: model.draw(
        config.features, size.width, size.state, generators, config.positions
    )


def _authors(config: Setting, model: Model) -> tuple[Size, Drawn]:
    """The authors' form, at the width asked for."""
    shape = Shape(
        config.features, config.hidden, model.layers, config.positions, config.norm == "authors"
    )
    drawn = partial(model.authors.parameters, shape)
    return Size(
        shape.width, model.authors.state(shape), count(drawn([torch.Generator().manual_seed(0)]))
    ), drawn


def sequence(config: Setting, tasks: Tasks) -> Float[Tensor, "tasks T features"]:
    """What every model reads: the constructed tokens, or x and y in turn."""
    return (constructed_tokens if config.model == "1-D" else interleaved)(tasks).movedim(-1, 0)
