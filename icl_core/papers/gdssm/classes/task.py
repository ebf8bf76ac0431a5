"""Classification in context: a label is the class whose row of a random W gives the largest entry
of W x, as a one-hot vector.

The loss of softmax regression at W is -(1/N) sum_n log softmax(W x_n)[class of n]. At W = 0 each
class has probability 1/K, so that the gradient is -(1/N) sum_n (y_n - 1/K) x_n^T, and a step of
rate eta gives the query the logits (eta / N) sum_n (y_n - 1/K) x_n . x_q. The 1/K adds the same
number to all logits, which the softmax does not see: the layer that adds up y x^T takes this step
as it is.
"""

import torch
from jaxtyping import Float
from torch import Tensor

from icl_core.papers.gdssm.classes.settings import Config
from icl_core.papers.gdssm.shared import construction
from icl_core.papers.gdssm.shared.layer_nd import LayerND
from icl_core.papers.gdssm.shared.task import Tasks, apply

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


def constructed(config: Config, tasks: Tasks) -> LayerND:
    """Return the layer that takes the step, at the rate that is best on these tasks; one seed."""
    made = construction.layer_nd(config.f, config.N, best_rate(tasks), "scalar")
    return LayerND(made.a, made.Q, made.q, made.beta, labels=config.K)
