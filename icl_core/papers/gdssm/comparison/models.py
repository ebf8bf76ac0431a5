"""All models of the comparison behind one call: random weights, and the prediction they make of a batch of tasks."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import torch
from jaxtyping import Float
from torch import Tensor

from icl_core.papers.gdssm.comparison.baselines import MODELS, Model
from icl_core.papers.gdssm.comparison.baselines.seeds import Parameters, all_seeds, count
from icl_core.papers.gdssm.comparison.match_sizes import Size, matched
from icl_core.papers.gdssm.comparison.settings import Config
from icl_core.papers.gdssm.shared import any_layer as models
from icl_core.papers.gdssm.shared.settings import Config as Layer
from icl_core.papers.gdssm.shared.task import Tasks, constructed_tokens, interleaved


@dataclass(frozen=True)
class Learner:
    """A model at the size of a setting. `initial(seeds)` draws its weights, (seeds, ...) each, on the CPU;
    `predict(weights, tasks)` is (seeds, n_o, tasks). `baseline`: it is not the paper's own."""

    id: str
    layers: int
    baseline: bool
    size: Size
    initial: Callable[[list[int]], Parameters]
    predict: Callable[[Parameters, Tasks], Float[Tensor, "seeds n_o tasks"]]


@cache
def learners(config: Config) -> tuple[Learner, ...]:
    """Every model of the comparison. The tokens of the 1-D layer hold no x xᵀ, which a second step needs: no second
    layer there."""
    every = [model for model in MODELS.values() if model.module or model.layers == 1 or config.model == "N-D"]
    return tuple(_baseline(config, model) if model.module else _gd_ssm(config, model) for model in every)


def learner(config: Config, id: str) -> Learner:
    """The one of that id."""
    return next(each for each in learners(config) if each.id == id)


def _gd_ssm(config: Config, model: Model) -> Learner:
    recurrence = "row" if model.layers == 1 else "scalar"
    layer = Layer(
        model=config.model, f=config.f, N=config.N, layers=model.layers, recurrence=recurrence, batch=config.batch
    )
    like = models.initial(layer, [0])

    def initial(seeds: list[int]) -> Parameters:
        return models.initial(layer, seeds).tensors()

    def predict(weights: Parameters, tasks: Tasks) -> Tensor:
        model = like.with_(**weights)
        return models.forward(model, models.read(model, tasks))

    many = count(like.tensors())
    return Learner(model.id, model.layers, False, Size(0, 0, many, many), initial, predict)


def _baseline(config: Config, model: Model) -> Learner:
    features, positions = (2 * config.f, config.N) if config.model == "1-D" else (config.f, 2 * config.N + 1)
    size = matched(model, features, config.parameters, positions=positions)

    def initial(seeds: list[int]) -> Parameters:
        generators = [torch.Generator().manual_seed(seed) for seed in seeds]
        drawn = [model.draw(features, size.width, size.state, each, positions=positions) for each in generators]
        return {name: torch.cat([each[name] for each in drawn]) for name in drawn[0]}

    def predict(weights: Parameters, tasks: Tasks) -> Tensor:
        answers = all_seeds(model.module.forward, weights, sequence(config, tasks))  # (seeds, tasks, T, features)
        return answers[:, :, -1, : tasks.y.shape[1]].mT  # the query's, as far as the label goes

    return Learner(model.id, model.layers, True, size, initial, predict)


def sequence(config: Config, tasks: Tasks) -> Float[Tensor, "tasks T features"]:
    """What every model reads: the constructed tokens, or x and y in turn."""
    if config.model == "1-D":
        return constructed_tokens(tasks).permute(2, 0, 1)
    return interleaved(tasks).movedim(-1, 0)


def chunked(each: Learner, weights: Parameters, tasks: Tasks, size: int) -> Float[Tensor, "seeds n_o tasks"]:
    """`predict` for many tasks, some at a time, without gradients."""
    with torch.no_grad():
        parts = [each.predict(weights, tasks.part(start, start + size)) for start in range(0, len(tasks), size)]
    return torch.cat(parts, -1)
