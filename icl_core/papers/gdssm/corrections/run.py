"""What the paper prints beside what is right, both measured on the same tasks; no training.

A gain is the share of the loss of predicting zero that a prediction removes: 1 is all of it, below
0 is worse than zero.
"""

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from icl_core.contract.experiment import Progress, Run
from icl_core.papers.gdssm.corrections.settings import Config
from icl_core.papers.gdssm.shared import any_layer as models
from icl_core.papers.gdssm.shared import closed_forms, construction, gradient_descent, layer_nd
from icl_core.papers.gdssm.shared.task import Tasks, interleaved, sample, windows

PENALTY = 0.2  # of the penalised loss
FEW = 512  # tasks on which whole iterates of gradient descent are compared
PART = 1024  # tasks at a time


def compute(config: Config, progress: Progress) -> dict[str, np.ndarray]:
    """Return `along/*`, `size/*`: <y, o> and <o, o> of every one-step output o at the best rate of
    the right one, over <y, y>; `gain/*` of two steps, each formula at the one rate best for it,
    `rate/*`; `error/*` relative to gradient descent; `contexts/*` of A.3."""
    generator = torch.Generator().manual_seed(5_000 + config.seed)
    tasks = sample(config.f, config.N, config.tasks, generator, r=config.r)
    # not fitted to these tasks
    eta = config.N * closed_forms.best_beta(config.f, config.N, config.r)
    before = _before_the_sum(tasks.part(0, FEW), generator)
    values = {
        "rate/eta": eta,
        **_one_step(config, tasks, eta),
        **_two_steps(config, tasks),
        "error/before": before,
        **contexts(),
    }
    return {name: np.array(value) for name, value in values.items()}


def _one_step(config: Config, tasks: Tasks, eta: float) -> dict[str, float]:
    """Return `along/*`, `size/*` and `error/right` of the outputs of one step."""
    right = construction.layer_nd(config.f, config.N, eta)
    label = tasks.y[-1]
    outputs = {
        "right": _output(right, tasks),
        "Q": _output(right.with_(Q=construction.unit(0, 1)[None]), tasks),
        "odd": _output(right, tasks, odd=True),
    }
    few = tasks.part(0, FEW)
    square = label.square().sum()
    step = gradient_descent.predict(gradient_descent.descend(few, eta, 1)[-1], few)
    numbers = {}
    for name, output in outputs.items():
        numbers[f"along/{name}"] = float((label * output).sum() / square)
        numbers[f"size/{name}"] = float(output.square().sum() / square)
    error = float((outputs["right"][:, :FEW] - step).norm() / step.norm())
    return {**numbers, "error/right": error}


@torch.no_grad()
def _output(weights: layer_nd.LayerND, tasks: Tasks, odd: bool = False) -> Tensor:
    """Return the prediction [f, tasks], with the odd windows or without."""
    parts = [tasks.part(i, i + PART) for i in range(0, len(tasks), PART)]
    read = (windows(interleaved(part), odd) for part in parts)
    return torch.cat([layer_nd.attention(weights, windows)[0] for windows in read], -1)


def _two_steps(config: Config, tasks: Tasks) -> dict[str, float]:
    """Return the gains and errors of two steps: A.2 with W and its transpose mixed, at its own best
    rate, and A.4 without its factor."""
    few = tasks.part(0, 4 * FEW)
    N = config.N
    eta = construction.best_shared_eta(few, 2)
    mixed = best_mixed_rate(few)
    numbers = {"rate/two": eta, "rate/mixed": mixed}
    for name, rate, second in (("right", eta, right_second), ("mixed", mixed, mixed_second)):
        miss = gradient_descent.predict(second(few, rate), few) - few.y[-1]
        numbers[f"gain/{name}"] = float(1 - miss.square().sum() / few.y[-1].square().sum())
    # A.4: the penalty is |W|^2, its slope 2 |W|
    steps = gradient_descent.predict(gradient_descent.descend(few, eta, 2, 2 * PENALTY)[-1], few)
    for name, penalty in (("penalty", 2 * PENALTY), ("as_printed_penalty", PENALTY / N)):
        layers = construction.multi_layer(config.f, N, [eta] * 2, penalty)
        off = models.predict(layers, few)[0] - steps
        numbers[f"error/{name}"] = float(off.norm() / steps.norm())
    return numbers


def right_second(tasks: Tasks, eta: float) -> Tensor:
    """Return M_2 = M_1 - (eta/N) (M_1 S - G), two steps of gradient descent, (n_o, f, tasks)."""
    return gradient_descent.descend(tasks, eta, 2)[-1]


def mixed_second(tasks: Tasks, eta: float) -> Tensor:
    """Return the same with M_1 transposed inside the bracket alone, as A.2 prints it."""
    S, G = (torch.einsum("nit,njt->ijt", left[:-1], tasks.x[:-1]) for left in (tasks.x, tasks.y))
    M_1 = eta / tasks.N * G
    return M_1 - eta / tasks.N * (torch.einsum("jit,jkt->ikt", M_1, S) - G)


def best_mixed_rate(tasks: Tasks) -> float:
    """Return the one rate of both steps at which `mixed_second` loses least. With h = eta/N it
    predicts 2 h p - h^2 q, so that <y - o, y - o> is a quartic in h, and the least of its extremes
    is the best."""
    y = tasks.y[-1].double()
    N = tasks.N
    # outputs at h = 1 and h = -1
    first, second = (
        gradient_descent.predict(mixed_second(tasks, sign * N), tasks).double()
        for sign in (1.0, -1.0)
    )
    p = (first - second) / 4
    q = -(first + second) / 2
    yp, yq, pp, pq, qq = (float((a * b).sum()) for a, b in ((y, p), (y, q), (p, p), (p, q), (q, q)))
    off = np.polynomial.Polynomial([0.0, -4 * yp, 4 * pp + 2 * yq, -4 * pq, qq])  # less <y, y>
    rates = [float(root.real) for root in off.deriv().roots() if abs(root.imag) < 1e-9 * abs(root)]
    return N * min(rates, key=off)


def _before_the_sum(tasks: Tasks, generator: torch.Generator) -> float:
    """Return how far the state of `state_before_the_sum` is from N times the gradient of 1 / (2 N)
    ∑ (g(wᵀx) − y)² at some w_0, by automatic differentiation; relative, float64."""
    x = tasks.x[:-1].double()  # (N, f, tasks)
    y = torch.sigmoid(tasks.y[:-1, 0].double())  # (N, tasks): such a model's
    w = torch.randn(x.shape[1:], generator=generator).double().requires_grad_()
    loss = (torch.sigmoid((w * x).sum(1)) - y).square().sum() / 2
    slope = torch.autograd.grad(loss, w)[0]
    return float((state_before_the_sum(x, y, w.detach()) - slope).norm() / slope.norm())


def state_before_the_sum(
    x: Float[Tensor, "N f tasks"], y: Float[Tensor, "N tasks"], w: Float[Tensor, "f tasks"]
) -> Float[Tensor, "f tasks"]:
    """Return what a recurrence with A = 1 and B = (g(w_0ᵀx) − y) g'(w_0ᵀx) x adds up, g the sigmoid
    (Proposition 4)."""
    z = torch.zeros_like(x[0])
    for token, label in zip(x, y, strict=True):
        g = torch.sigmoid((w * token).sum(0))
        z = z + (g - label) * g * (1 - g) * token  # (f, tasks)
    return z


def contexts() -> dict[str, list[float]]:
    """Return two contexts of one pair with equal states of A.3, and the gradients of 1/2 (sigmoid(w
    x) − y)² at w = 0."""
    states = []
    gradients = []
    for x, y in ((1.0, 1.0), (2.0, 0.5)):
        w = torch.zeros((), requires_grad=True)
        states.append(float((w.detach() * x - y) * x))
        gradients.append(float(torch.autograd.grad((torch.sigmoid(w * x) - y) ** 2 / 2, w)[0]))
    return {"contexts/state": states, "contexts/gradient": gradients}


def gain(run: Run, name: str, times: float = 1.0) -> float:
    """Return the gain of a one-step output that is `times` as long."""
    return float(2 * times * run[f"along/{name}"] - times**2 * run[f"size/{name}"])


def best_gain(run: Run, name: str) -> float:
    """Return the gain of a one-step output at the length that is best for it."""
    return float(run[f"along/{name}"] ** 2 / run[f"size/{name}"])
