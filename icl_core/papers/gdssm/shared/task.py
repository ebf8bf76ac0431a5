"""The tasks: linear regression as von Oswald et al. draw it, and the sine regression of Finn et
al.; and the tokens that the models read of them (Sections 3.1 and 3.2).

Tasks are the last axis everywhere, so that every loop runs over memory in order.
"""

import math
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor


@dataclass(frozen=True, eq=False)
class Tasks:
    """N pairs and one query (the last) of every task."""

    x: Tensor  # (N + 1, f, tasks)
    y: Tensor  # (N + 1, n_o, tasks)

    @property
    def N(self) -> int:
        """The number of pairs."""
        return len(self.x) - 1

    @property
    def f(self) -> int:
        """The number of features."""
        return self.x.shape[1]

    def __len__(self) -> int:
        return self.x.shape[-1]

    def part(self, start: int, stop: int) -> "Tasks":
        """Return the tasks from `start` to before `stop`."""
        return Tasks(self.x[..., start:stop], self.y[..., start:stop])

    def beginning(self, pairs: int) -> "Tasks":
        """Return the prompts of the first pairs alone; the query is the x that follows them."""
        return Tasks(self.x[: pairs + 1], self.y[: pairs + 1])

    def times(self, alpha: float) -> "Tasks":
        """Return the same tasks with x, and so y, alpha times as large."""
        return Tasks(self.x * alpha, self.y * alpha)

    def to(self, *args: Any) -> "Tasks":
        """Return the same tasks on another device or of another dtype."""
        return Tasks(self.x.to(*args), self.y.to(*args))


def sample(
    f: int,
    N: int,
    tasks: int,
    generator: torch.Generator,
    n_o: int | None = None,
    r: float = 1.0,
    active: int | None = None,
) -> Tasks:
    """Sample tasks: x ~ U(-r, r)^f, W ~ N(0, 1) of n_o x f (default f x f), y = W x (Section 4.1,
    Appendices A.5 and A.6). Of x all features are zero but the first `active`.

    Drawn where the generator lives. Raises `ValueError` for a size below 1 or a scale that is not
    positive.
    """
    n_o = f if n_o is None else n_o
    _check_sizes(f=f, N=N, tasks=tasks, n_o=n_o)
    if not 0 < r < math.inf:
        raise ValueError(f"r must be positive, got {r}")
    x = torch.empty(N + 1, f, tasks, device=generator.device).uniform_(-r, r, generator=generator)
    W = torch.randn(n_o, f, tasks, generator=generator, device=generator.device)
    if active is not None:
        x[:, active:] = 0
    return Tasks(x, apply(W, x))


def _check_sizes(**sizes: int) -> None:
    """Refuse sizes below 1."""
    for name, value in sizes.items():
        if value < 1:
            raise ValueError(f"{name} must be at least 1, got {value}")


def apply(
    W: Float[Tensor, "n_o f tasks"], x: Float[Tensor, "pairs f tasks"]
) -> Float[Tensor, "pairs n_o tasks"]:
    """Return W x of every pair of every task."""
    y = W[:, 0] * x[:, None, 0]  # (pairs, n_o, tasks)
    # a loop over f is faster than many tiny matrix products
    for j in range(1, x.shape[1]):
        y.addcmul_(W[:, j], x[:, None, j])
    return y


def loss(
    prediction: Float[Tensor, "*seeds n_o tasks"], label: Float[Tensor, "*queries n_o tasks"]
) -> Float[Tensor, "*seeds"]:
    """Return half the squared error a coordinate at the query, averaged over tasks; the last of the
    seeds' axes may be that of several queries."""
    return (prediction - label).square().mean((-2, -1)) / 2


def sample_sine(N: int, tasks: int, generator: torch.Generator) -> Tasks:
    """Sample sine tasks: y = amplitude sin(x + phase), f = n_o = 1: x ~ U(-5, 5), amplitude ~
    U(0.1, 0.5), phase ~ U(0, pi).

    The authors' default x in (-0.5, 0.5) is nearly linear. Predicting zero costs about 0.0265.
    Raises `ValueError` for a size below 1.
    """
    _check_sizes(N=N, tasks=tasks)

    def uniform(rows: int, low: float, high: float) -> Tensor:
        return torch.empty(rows, 1, tasks, device=generator.device).uniform_(
            low, high, generator=generator
        )

    x = uniform(N + 1, -5.0, 5.0)
    amplitude = uniform(1, 0.1, 0.5)
    phase = uniform(1, 0.0, math.pi)
    return Tasks(x, amplitude * torch.sin(x + phase))


def constructed_tokens(tasks: Tasks) -> Float[Tensor, "N width tasks"]:
    """Return c_t = [x_t y_t, x_{t+1}] (eq. 14), width 2f, scalar labels; the query stands in the
    last.

    Raises `ValueError` for labels of more than one coordinate.
    """
    if tasks.y.shape[1] != 1:
        raise ValueError(f"y must have 1 coordinate for constructed tokens, got {tasks.y.shape[1]}")
    return torch.cat((tasks.x[:-1] * tasks.y[:-1], tasks.x[1:]), 1)


def interleaved(tasks: Tasks) -> Float[Tensor, "tokens f tasks"]:
    """Return the tokens x_1, y_1, x_2, y_2, …, x_{N+1} (eqs. 19, 20); 2 N + 1 of them. The query's
    label is not among them.

    A label of n_o < f coordinates stands behind f - n_o zeros, [0, …, y] (Section 3.1, footnote 3).
    Raises `ValueError` for labels of more than f coordinates.
    """
    n_o = tasks.y.shape[1]
    if n_o > tasks.f:
        raise ValueError(f"y must have at most f = {tasks.f} coordinates, got {n_o}")
    tokens = tasks.x.new_zeros(2 * tasks.N + 1, tasks.f, len(tasks))
    tokens[0::2] = tasks.x
    tokens[1::2, -n_o:] = tasks.y[:-1]
    return tokens


def windows(
    tokens: Float[Tensor, "tokens f tasks"], odd: bool = False, width: int = 3
) -> Float[Tensor, "windows width f tasks"]:
    """Return C_t = [x_t, y_t, x_{t+1}] (eq. 21), a view: N windows, each beginning at an x; or
    those of another `width`.

    `odd` adds those that begin at a y, [y_t, x_{t+1}, y_{t+1}], in their places: 2 N - 1 windows,
    as the paper's "sliding window running through the sequence" reads if t counts tokens. It costs
    5/16 of the gain at f = N = 10.
    """
    return tokens.unfold(0, width, 1 if odd else 2).movedim(-1, 1)
