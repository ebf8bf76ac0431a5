"""Classification in context: a label is the class whose row of a random W gives the largest entry
of W x, as a one-hot vector; a layer trained on it, all seeds in one pass, and evaluated beside
its construction on the same tasks. Plain Adam without weight decay, a cosine to zero.

The loss of softmax regression at W is -(1/N) sum_n log softmax(W x_n)[class of n]. At W = 0 each
class has probability 1/K, so that the gradient is -(1/N) sum_n (y_n - 1/K) x_n^T, and a step of
rate eta gives the query the logits (eta / N) sum_n (y_n - 1/K) x_n . x_q. The 1/K adds the same
number to all logits, which the softmax does not see: the layer that adds up y x^T takes this step
as it is.
"""

from functools import partial

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from icl_core.contract.experiment import Progress, Tensors
from icl_core.machine import device
from icl_core.papers.gdssm.classes.settings import Config
from icl_core.papers.gdssm.shared import any_layer as models
from icl_core.papers.gdssm.shared import construction, layer_nd
from icl_core.papers.gdssm.shared.layer_nd import LayerND
from icl_core.papers.gdssm.shared.settings import Config as LayerConfig
from icl_core.papers.gdssm.shared.task import Tasks, apply
from icl_core.training import loop, phases, several_seeds

ZOOMED = 5.0  # the largest rate tried, in units of 1 / variance of x


def sample(config: Config, count: int, generator: torch.Generator) -> Tasks:
    """Sample tasks: x ~ U(-1, 1)^f, W ~ N(0, 1) of K x f; y one-hot, (N + 1, K, tasks)."""
    x = torch.empty(config.N + 1, config.f, count).uniform_(-1, 1, generator=generator)
    W = torch.randn(config.K, config.f, count, generator=generator)
    winners = apply(W, x).argmax(1, keepdim=True)  # (N + 1, 1, tasks)
    return Tasks(x, torch.zeros(config.N + 1, config.K, count).scatter_(1, winners, 1.0))


def cross_entropy(
    logits: Float[Tensor, "*seeds K tasks"], label: Float[Tensor, "K tasks"]
) -> Float[Tensor, "*seeds"]:
    """Return minus the log probability of the query's class, averaged over tasks."""
    return -(logits.log_softmax(-2) * label).sum(-2).mean(-1)


def accuracy(
    logits: Float[Tensor, "*seeds K tasks"], label: Float[Tensor, "K tasks"]
) -> Float[Tensor, "*seeds"]:
    """Return the share of tasks whose class has the largest logit."""
    return (logits.argmax(-2) == label.argmax(-2)).float().mean(-1)


def step_logits(tasks: Tasks, centred: bool = False) -> Float[Tensor, "K tasks"]:
    """Return (1/N) sum_n y_n x_n . x_q, what a step of rate 1 gives; `centred`: with y - 1/K."""
    y = tasks.y[:-1] - 1 / tasks.y.shape[1] if centred else tasks.y[:-1]
    along = (tasks.x[:-1] * tasks.x[-1]).sum(1, keepdim=True)  # (N, 1, tasks)
    return (y * along).mean(0)


def best_rate(tasks: Tasks) -> float:
    """Return the rate of one step with the least cross-entropy on these tasks, which is convex in
    it."""
    logits = step_logits(tasks).double()
    label = tasks.y[-1].double()
    low = 0.0
    high = 3 * ZOOMED * tasks.N
    for _ in range(60):
        a = low + (high - low) / 3
        b = high - (high - low) / 3
        if cross_entropy(a * logits, label) < cross_entropy(b * logits, label):
            high = b
        else:
            low = a
    return (low + high) / 2


def construct(config: Config, tasks: Tasks) -> LayerND:
    """Return the layer that takes the step, at the rate that is best on these tasks; one seed."""
    layer = construction.layer_nd(config.f, config.N, best_rate(tasks), "scalar")
    return LayerND(layer.a, layer.Q, layer.q, layer.beta, labels=config.K)


EVALUATIONS = 5, 30  # every so many steps at first, and so many of these
WATCHED = 2**11  # held-out tasks of the curves
TEST_SET = 2**15  # of the end
CEILING = 1e4  # a loss above it counts as diverged


def compute(config: Config, progress: Progress) -> dict[str, np.ndarray]:
    """Train every seed. Return `curve/loss` [seeds, evaluations] beside `curve/step`; `final/*`
    [seeds, ...]; `constructed/*` [1, ...]; `evaluated/loss` and `evaluated/accuracy` [seeds];
    `baseline/constructed`, `baseline/accuracy` [1], of the construction; `watched/constructed`
    [1]."""
    plan = [phases.Phase("train", config.steps, partial(_train, config), loop.State.curves)]
    return phases.run(plan, progress, lambda results: results.get("train", {}))["train"]


def held_out(config: Config, count: int) -> Tasks:
    """Return tasks that no training saw, the same for every seed."""
    return _draw(config, count, torch.Generator().manual_seed(2**31 + 17))


def _draw(config: Config, count: int, generator: torch.Generator) -> Tasks:
    return sample(config, count, generator).to(device.current_device())


def initial(config: Config) -> LayerND:
    """Return the weights of all seeds before training, as the layer on vector labels begins."""
    like = LayerConfig(f=config.f, N=config.N, n_o=config.K, recurrence="scalar")
    seeds = range(config.seed, config.seed + config.seeds)
    generators = [torch.Generator().manual_seed(seed) for seed in seeds]
    return layer_nd.initialise(like, generators).to(device.current_device())


def _train(config: Config, resumed: Tensors, report: phases.Report) -> dict[str, np.ndarray]:
    """Train one model from start to end, or on from `resumed`."""
    weights = initial(config)
    at = loop.evaluations(config.steps, *EVALUATIONS)
    state = loop.train(problem(config, weights), config.steps, at, resumed, report, keep=False)
    tasks = held_out(config, TEST_SET)
    watched = held_out(config, WATCHED)
    constructed = construct(config, tasks).to(device.current_device())
    ours, theirs = (models.predict(layer, tasks) for layer in (weights, constructed))
    label = tasks.y[-1]
    tensors = {
        "evaluated/loss": cross_entropy(ours, label),
        "evaluated/accuracy": accuracy(ours, label),
        "baseline/constructed": cross_entropy(theirs, label),
        "baseline/accuracy": accuracy(theirs, label),
        "watched/constructed": cross_entropy(models.predict(constructed, watched), watched.y[-1]),
        **{f"final/{name}": tensor for name, tensor in weights.tensors().items()},
        **{f"constructed/{name}": tensor for name, tensor in constructed.tensors().items()},
    }
    arrays = {name: tensor.detach().cpu().numpy().copy() for name, tensor in tensors.items()}
    return {**state.curves(), **arrays}


def problem(config: Config, weights: LayerND) -> loop.Problem:
    """Return what the loop trains; `weights` change in place."""
    watched = held_out(config, WATCHED)
    generator = torch.Generator().manual_seed(10_000 + config.seed)

    def measure(step: int) -> dict[str, np.ndarray]:
        losses = cross_entropy(models.predict(weights, watched), watched.y[-1])
        return {"loss": losses.cpu().numpy()}

    return loop.Problem(
        parameters=weights.tensors(),
        gradient=lambda step: gradient(weights, _draw(config, config.batch, generator)),
        evaluate=measure,
        optimiser=lambda parameters: torch.optim.Adam(parameters, lr=config.learning_rate),
        generators=(generator,),
        loss="loss",
        schedule=loop.cosine(config.steps),
        ceiling=CEILING,
    )


def gradient(weights: LayerND, tasks: Tasks) -> tuple[dict[str, Tensor], dict[str, np.ndarray]]:
    """Return the gradient of every seed's cross-entropy by its own weights, and the losses
    [seeds]."""
    leaves = several_seeds.leaves(weights.tensors())
    changed = weights.with_(**leaves)
    losses = cross_entropy(models.forward(changed, models.read(changed, tasks)), tasks.y[-1])
    return several_seeds.gradients(losses, leaves), {"loss": losses.detach().cpu().numpy()}
