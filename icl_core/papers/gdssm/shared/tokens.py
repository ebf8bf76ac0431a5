"""From tasks to the tokens that the models read (Sections 3.1 and 3.2)."""

import torch
from jaxtyping import Float
from torch import Tensor

from icl_core.papers.gdssm.shared.task import Tasks


def constructed(tasks: Tasks) -> Float[Tensor, "N width tasks"]:
    """c_t = [x_t y_t, x_{t+1}] (eq. 14), width 2f, scalar labels; the query stands in the last.

    Raises `ValueError` for labels of more than one coordinate.
    """
    if tasks.y.shape[1] != 1:
        raise ValueError(f"y must have 1 coordinate for constructed tokens, got {tasks.y.shape[1]}")
    return torch.cat((tasks.x[:-1] * tasks.y[:-1], tasks.x[1:]), 1)


def interleaved(tasks: Tasks) -> Float[Tensor, "tokens f tasks"]:
    """The tokens x_1, y_1, x_2, y_2, …, x_{N+1} (eqs. 19, 20); 2 N + 1 of them. The query's label is not among them.

    Raises `ValueError` unless x and y have equally many coordinates.
    """
    if tasks.y.shape[1] != tasks.f:
        raise ValueError(f"y must have f = {tasks.f} coordinates, got {tasks.y.shape[1]}")
    tokens = tasks.x.new_empty(2 * tasks.N + 1, tasks.f, len(tasks))
    tokens[0::2], tokens[1::2] = tasks.x, tasks.y[:-1]
    return tokens


def windows(tokens: Float[Tensor, "tokens f tasks"], odd: bool = False) -> Float[Tensor, "windows 3 f tasks"]:
    """C_t = [x_t, y_t, x_{t+1}] (eq. 21), a view: N windows, each beginning at an x.

    `odd` adds those that begin at a y, [y_t, x_{t+1}, y_{t+1}], in their places: 2 N - 1 windows, as the paper's
    "sliding window running through the sequence" reads if t counts tokens. It costs a third of the gain.
    """
    return tokens.unfold(0, 3, 1 if odd else 2).movedim(-1, 1)
