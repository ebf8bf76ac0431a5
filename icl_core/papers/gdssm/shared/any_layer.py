"""The three models behind one call: what a setting starts from, what it predicts, and its
construction."""

from dataclasses import replace

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from icl_core.papers.gdssm.shared import construction, layer_1d, layer_nd, multi_layer
from icl_core.papers.gdssm.shared.layer_1d import Layer1D
from icl_core.papers.gdssm.shared.layer_nd import LayerND
from icl_core.papers.gdssm.shared.multi_layer import MultiLayer
from icl_core.papers.gdssm.shared.settings import Config
from icl_core.papers.gdssm.shared.task import Tasks, constructed_tokens, interleaved, loss, windows

Model = Layer1D | LayerND | MultiLayer
CHUNK = 2**16  # numbers of x held at a time: what is made of them stays near the cache


def initial(config: Config, seeds: list[int]) -> Model:
    """Return the weights before training, on the CPU; a seed's are the same whatever else trains
    beside it."""
    generators = [torch.Generator().manual_seed(seed) for seed in seeds]
    kind = multi_layer if config.several else layer_1d if config.model == "1-D" else layer_nd
    return kind.initialise(config, generators)


def constructed(config: Config, tasks: Tasks, shared: bool = False) -> Model:
    """Return the construction with the rates that are best on these tasks; `shared`: one rate for
    all layers.

    With a penalty the rates are shared in any case. A skip connection is zero. On the CPU.
    """
    f = config.f
    N = config.N
    L = config.layers
    if config.model == "1-D" and L == 1:
        return construction.layer_1d(f, N, construction.best_eta(tasks))
    if L == 1:
        built = construction.layer_nd(f, N, construction.best_eta(tasks), config.recurrence)
    elif config.tied and config.penalty == 0 and not shared:
        eta, share = construction.best_looped(tasks, L)
        built = construction.multi_layer(f, N, [share * eta] * L, 0.0, config.recurrence)
        built = built.with_(Q_tilde=built.Q_tilde / share)
    else:
        if shared or config.penalty > 0:
            etas = [construction.best_shared_eta(tasks, L, config.penalty)] * L
        else:
            etas = construction.best_rates(tasks, L)
        built = construction.multi_layer(f, N, etas, config.penalty, config.recurrence)
    built = replace(built, labels=config.labels)
    return built.with_(skip=torch.zeros(1, 3 if L == 1 else 2)) if config.skip else built


def joined(*models: Model) -> Model:
    """Return one model with the seeds of all, which have the same form: what depends on the tasks
    alone is then computed once for all."""
    own = [model.tensors() for model in models]
    parts = {name: _stacked([tensors[name] for tensors in own]) for name in own[0]}
    return models[0].with_(**parts)


def _stacked(tensors: list[Tensor]) -> Tensor:
    """Return the seeds of one tensor after those of another, (seeds, ...); a tensor may hold one
    number for all entries of the next."""
    shape = torch.broadcast_shapes(*(tensor.shape[1:] for tensor in tensors))
    return torch.cat([tensor.expand(len(tensor), *shape) for tensor in tensors])


def read(weights: Model, tasks: Tasks) -> Tensor:
    """Return the tokens that the model reads: c_t (N, 2f, tasks), or the windows C_t (N, 3, f,
    tasks)."""
    if isinstance(weights, Layer1D):
        return constructed_tokens(tasks)
    return windows(interleaved(tasks))


def forward(weights: Model, read: Tensor) -> Float[Tensor, "seeds n_o tasks"]:
    """Return the prediction of the query's label, in the form that trains."""
    if isinstance(weights, Layer1D):
        return layer_1d.attention(weights, read)[:, None]
    if isinstance(weights, LayerND):
        output = layer_nd.attention(weights, read)
    else:
        output = multi_layer.attention(weights, read)
    return output[:, -weights.labels :]


def is_cubic(weights: Model) -> bool:
    """Return whether predictions grow with the cube of the scale of x and y: a state is quadratic
    in them, and what is read from it linear."""
    return isinstance(weights, LayerND) and weights.skip is None


def chunk(tasks: Tasks) -> int:
    """Return how many tasks are read at a time."""
    return max(1, CHUNK // (tasks.N * tasks.f))


@torch.no_grad()
def predict(weights: Model, tasks: Tasks) -> Float[Tensor, "seeds n_o tasks"]:
    """Return the prediction of many tasks, some at a time."""
    size = chunk(tasks)
    parts = [tasks.part(start, start + size) for start in range(0, len(tasks), size)]
    return torch.cat([forward(weights, read(weights, part)) for part in parts], -1)


def losses(weights: Model, tasks: Tasks) -> np.ndarray:
    """Return the loss of every seed, [seeds]."""
    return loss(predict(weights, tasks), tasks.y[-1]).cpu().numpy()


@torch.no_grad()
def sensitivity(weights: Model, tasks: Tasks) -> Float[Tensor, "seeds n_o f tasks"]:
    """Return the derivative of the prediction by the query's x (Section 4.1): of the N-D layer in
    closed form, else in one forward pass with f copies of the tasks, each with a tangent of its
    own."""
    if isinstance(weights, LayerND):
        return layer_nd.sensitivity(weights, read(weights, tasks))[:, -weights.labels :]
    f = tasks.f
    count = len(tasks)
    copies = Tasks(tasks.x.repeat(1, 1, f), tasks.y.repeat(1, 1, f))
    tangent = Tasks(torch.zeros_like(copies.x), torch.zeros_like(copies.y))
    eye = torch.eye(f, dtype=tasks.x.dtype, device=tasks.x.device)
    tangent.x[-1] = eye.repeat_interleave(count, 1)  # (f, f count)
    primal = read(weights, copies)
    # the query enters the tokens linearly, and alone where all else is zero
    moved = read(weights, tangent)
    derivative = torch.func.jvp(lambda tokens: forward(weights, tokens), (primal,), (moved,))[1]
    return derivative.unflatten(-1, (f, count))  # (seeds, n_o, f, tasks)
