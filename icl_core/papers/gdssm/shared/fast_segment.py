"""Steps of the N-D layer with one decay or one a row in compiled code: `layer_nd.attention`, its
gradient, and the update, many steps in one call.

As there tasks are the last axis. A block of them goes forward and back while it stays in the cache:

    u = C_N q      σ_t = C_t^T u      r_t = a r_{t-1} + C_t Q σ_t      o = beta r_N + C_N skip

which is Z_N C_N q as `attention` has it, the powers of a multiplied one by one.
"""

from collections.abc import Mapping

import numpy as np
import torch
from numba import njit
from torch import Tensor

from icl_core.papers.gdssm.shared.settings import Config
from icl_core.training import compiled_adam
from icl_core.training.loop import InPlace, Problem

DRAWN = 2**19  # numbers of x that are drawn for one call
BLOCK = 256  # tasks that go forward and back at once
BETAS = (0.9, 0.999)  # Adam's, as torch has them
# A sum over tasks may be made in any order, as vectors take it.
FAST = {"reassoc", "contract", "nsz"}
ZERO = np.float32(0)


class Segment:
    """Makes the steps of one training; see `Problem.segment`. `slower` is the factor on the
    learning rate of a, `decay` AdamW's."""

    def __init__(self, config: Config, problem: Problem, slower: float, decay: float) -> None:
        self.config = config
        (self.generator,) = problem.generators
        self.schedule = problem.schedule
        self.ceiling = problem.ceiling
        self.slower = slower
        self.decay = decay
        self.most = max(1, DRAWN // ((config.N + 1) * config.f * config.batch))  # steps at once

    def __call__(
        self, first: int, most: int, in_place: InPlace
    ) -> tuple[np.ndarray, Mapping[str, Tensor]]:
        """Make at most so many steps from the step `first` on."""
        config = self.config
        count = min(most, self.most)
        x = torch.empty(count, config.N + 1, config.f, config.batch)
        W = torch.empty(count, config.f, config.f, config.batch)
        for index in range(count):  # in the order of `task.sample`
            x[index].uniform_(-config.r, config.r, generator=self.generator)
            W[index].normal_(generator=self.generator)
        rates = [config.learning_rate * self.schedule(first + index) for index in range(count)]
        packed = _packed(in_place)  # (3, seeds, numbers)
        gradient = np.zeros_like(packed[0])
        losses = np.empty((count, config.seeds), np.float32)
        made = _go(
            x.numpy(),
            W.numpy(),
            packed,
            gradient,
            losses,
            1 if config.recurrence == "scalar" else config.f,
            config.skip,
            np.array(rates),
            self.slower,
            self.decay,
            first,
            self.ceiling,
        )
        _unpack(packed, in_place)
        return losses[:made], {"all": torch.from_numpy(gradient)}


def _packed(in_place: InPlace) -> np.ndarray:
    """Return all parameters of each seed as one vector, a, Q, q, beta and skip, and Adam's mean and
    mean square of them: (3, seeds, numbers)."""
    columns = [np.stack(own).reshape(3, len(own[0]), -1) for own in in_place.values()]
    return np.concatenate(columns, -1)


def _unpack(packed: np.ndarray, in_place: InPlace) -> None:
    """Write what is packed back in its place."""
    start = 0
    for own in in_place.values():
        stop = start + own[0][0].size
        for array, changed in zip(own, packed, strict=True):
            array[:] = changed[:, start:stop].reshape(array.shape)
        start = stop


@njit(cache=True)
def _go(
    all_x,  # of the tasks (steps, N + 1, f, tasks)
    all_W,  # (steps, f, f, tasks)
    packed,  # the parameters of each seed, and Adam's moments (3, seeds, numbers)
    gradient,  # filled with the last gradients (seeds, numbers)
    losses,  # filled (steps, seeds)
    rows,  # numbers in a
    has_skip,
    rates,  # learning rates (steps,)
    slower,  # the factor on that of a
    decay,  # AdamW's
    first,  # the number of the first step
    ceiling,  # of the loss
):
    """Make the steps, and return how many: up to the first that diverges."""
    steps, pairs, f, tasks = all_x.shape
    seeds = len(gradient)
    x = np.empty((pairs, f, BLOCK), np.float32)
    y = np.empty((pairs, f, BLOCK), np.float32)
    state = np.empty((pairs, f, BLOCK), np.float32)  # r
    scores = np.empty((pairs, 3, BLOCK), np.float32)  # sigma
    vectors = np.empty((3, f, BLOCK), np.float32)
    mixed = np.empty((3, BLOCK), np.float32)
    for index in range(steps):
        for seed in range(seeds):
            losses[index, seed] = ZERO
            for i in range(gradient.shape[1]):
                gradient[seed, i] = ZERO
        for start in range(0, tasks, BLOCK):
            count = min(BLOCK, tasks - start)
            _take(all_x[index], all_W[index], start, x, y, vectors[0], count)
            for seed in range(seeds):
                losses[index, seed] += _block(
                    x, y, state, scores, vectors, mixed,
                    packed[0, seed], gradient[seed], rows, has_skip, tasks, count,
                )  # fmt: skip
        diverges = not np.isfinite(gradient.sum())
        for seed in range(seeds):
            diverges = diverges or not losses[index, seed] <= ceiling
        if diverges:
            return index + 1
        for seed in range(seeds):
            weights = packed[0, seed]
            mean = packed[1, seed]
            square = packed[2, seed]
            slope = gradient[seed]
            rate = rates[index]
            compiled_adam.step(
                weights[:rows], slope[:rows], mean[:rows], square[:rows],
                slower * rate, BETAS[0], BETAS[1], first + index + 1, decay,
            )  # fmt: skip
            compiled_adam.step(
                weights[rows:], slope[rows:], mean[rows:], square[rows:],
                rate, BETAS[0], BETAS[1], first + index + 1, decay,
            )  # fmt: skip
    return steps


@njit(cache=True)
def _take(of_step, W, start, x, y, row, count):
    """Copy x of `count` tasks from `start` on, and fill their y = W x, (pairs, f, block). `row` (f,
    block) is overwritten."""
    pairs, f, _ = x.shape
    for t in range(pairs):
        _copy(of_step[t], start, x[t], count)
    for i in range(f):
        _copy(W[i], start, row, count)
        for t in range(pairs):
            _score(row, x[t], y[t, i], count)


@njit(cache=True)
def _copy(vectors, start, block, count):
    """Copy vectors (f, tasks) of `count` tasks from `start` on."""
    for i in range(len(block)):
        source = vectors[i]
        target = block[i]
        for p in range(count):
            target[p] = source[start + p]


@njit(cache=True, fastmath=FAST)
def _block(
    x, y, state, scores, vectors, mixed, weights, gradient, rows, has_skip, tasks, count
):  # fmt: skip
    """Return one seed's loss on a block of tasks, a share of the mean over all `tasks`, and add its
    gradient. `state`, `scores`, `vectors` and `mixed` are overwritten."""
    N = len(x) - 1
    f = x.shape[1]
    beta_at = rows + 12  # behind a, Q and q
    skip = slice(rows + 13, rows + 16)
    out = vectors[1]  # (f, block) each
    slope = vectors[2]
    _forward(x, y, state, scores, vectors[0], mixed, weights, rows, count)
    if has_skip:
        _read(x, y, weights[skip], out, count)
    else:
        _set_zero(out, count)
    beta = weights[beta_at]
    scale = np.float32(1) / np.float32(f * tasks)
    loss = ZERO
    beta_slope = ZERO
    for i in range(f):
        applied = state[N, i]
        out_i = out[i]
        slope_i = slope[i]
        label = y[N, i]
        for p in range(count):
            residual = beta * applied[p] + out_i[p] - label[p]
            loss += residual * residual
            out_i[p] = scale * residual  # the derivative by the output
            beta_slope += out_i[p] * applied[p]
            slope_i[p] = beta * out_i[p]  # and by r_N
    gradient[beta_at] += beta_slope
    if has_skip:
        _read_back(x, y, out, gradient[skip], count)
    _backward(x, y, state, scores, vectors, mixed, weights, gradient, rows, count)
    return loss * scale / np.float32(2)


@njit(cache=True, fastmath=FAST)
def _forward(x, y, state, scores, u, mixed, weights, rows, count):
    """Fill u = C_N q (f, block), sigma_t in `scores` and r_t in `state`, from r_0 = 0."""
    Q = weights[rows : rows + 9].reshape(3, 3)
    _read(x, y, weights[rows + 9 : rows + 12], u, count)
    _set_zero(state[0], count)
    for t in range(len(x) - 1):
        for k in range(3):
            _score(_token(x, y, t, k), u, scores[t, k], count)
        for k in range(3):
            _mix(Q[k], scores[t], mixed[k], count)
        m_0 = mixed[0]
        m_1 = mixed[1]
        m_2 = mixed[2]
        for i in range(len(u)):
            a = weights[i if rows > 1 else 0]
            x_i = x[t, i]
            y_i = y[t, i]
            next_i = x[t + 1, i]
            before = state[t, i]
            after = state[t + 1, i]
            for p in range(count):
                after[p] = a * before[p] + (x_i[p] * m_0[p] + y_i[p] * m_1[p] + next_i[p] * m_2[p])


@njit(cache=True, fastmath=FAST)
def _backward(x, y, state, scores, vectors, mixed, weights, gradient, rows, count):
    """Add the gradient by a, Q and q. The last of `vectors` is the loss' derivative by r_N, and
    becomes that by r_t; sigma_t is overwritten by its own."""
    u_slope = vectors[1]
    slope = vectors[2]
    Q = weights[rows : rows + 9].reshape(3, 3)
    Q_slope = gradient[rows : rows + 9].reshape(3, 3)
    _set_zero(u_slope, count)
    for t in range(len(x) - 2, -1, -1):
        for k in range(3):
            _score(_token(x, y, t, k), slope, mixed[k], count)
        for k in range(3):
            for j in range(3):
                Q_slope[k, j] += _dot(mixed[k], scores[t, j], count)
        for j in range(3):
            _mix(Q[:, j], mixed, scores[t, j], count)
        s_0 = scores[t, 0]
        s_1 = scores[t, 1]
        s_2 = scores[t, 2]
        for i in range(len(slope)):
            row = i if rows > 1 else 0
            a = weights[row]
            x_i = x[t, i]
            y_i = y[t, i]
            next_i = x[t + 1, i]
            before = state[t, i]
            slope_i = slope[i]
            u_i = u_slope[i]
            a_slope = ZERO
            for p in range(count):
                a_slope += slope_i[p] * before[p]
                slope_i[p] *= a
                u_i[p] += x_i[p] * s_0[p] + y_i[p] * s_1[p] + next_i[p] * s_2[p]
            gradient[row] += a_slope
    _read_back(x, y, u_slope, gradient[rows + 9 : rows + 12], count)


@njit(cache=True)
def _set_zero(vectors, count):
    """Fill the first `count` columns of vectors (f, block) with zeros."""
    for i in range(len(vectors)):
        for p in range(count):
            vectors[i, p] = ZERO


@njit(cache=True)
def _token(x, y, t, k):
    """Return column k of C_t = [x_t, y_t, x_(t+1)], (f, block)."""
    return y[t] if k == 1 else x[t + k // 2]


@njit(cache=True, fastmath=FAST)
def _read(x, y, q, read, count):
    """Fill `read` with C_N q, (f, block)."""
    N = len(x) - 1
    for i in range(len(read)):
        x_i = x[N - 1, i]
        y_i = y[N - 1, i]
        last_i = x[N, i]
        read_i = read[i]
        for p in range(count):
            read_i[p] = q[0] * x_i[p] + q[1] * y_i[p] + q[2] * last_i[p]


@njit(cache=True, fastmath=FAST)
def _read_back(x, y, slope, q_slope, count):
    """Add to the derivative by q, of which C_N q has the derivative `slope` (f, block)."""
    N = len(x) - 1
    for k in range(3):
        token = _token(x, y, N - 1, k)
        for i in range(len(slope)):
            q_slope[k] += _dot(token[i], slope[i], count)


@njit(cache=True, fastmath=FAST)
def _score(left, right, score, count):
    """Fill `score` [block] with the product of two vectors of each task, (f, block)."""
    for p in range(count):
        score[p] = ZERO
    f = len(left)
    i = 0
    while i + 4 <= f:  # four at a time: the sums are read and written less often
        l_0 = left[i]
        l_1 = left[i + 1]
        l_2 = left[i + 2]
        l_3 = left[i + 3]
        r_0 = right[i]
        r_1 = right[i + 1]
        r_2 = right[i + 2]
        r_3 = right[i + 3]
        for p in range(count):
            score[p] += l_0[p] * r_0[p] + l_1[p] * r_1[p] + l_2[p] * r_2[p] + l_3[p] * r_3[p]
        i += 4
    while i < f:
        l_0 = left[i]
        r_0 = right[i]
        for p in range(count):
            score[p] += l_0[p] * r_0[p]
        i += 1


@njit(cache=True, fastmath=FAST)
def _mix(weights, scores, mixed, count):
    """Fill `mixed` [block] with three weights times three scores (3, block)."""
    s_0 = scores[0]
    s_1 = scores[1]
    s_2 = scores[2]
    for p in range(count):
        mixed[p] = weights[0] * s_0[p] + weights[1] * s_1[p] + weights[2] * s_2[p]


@njit(cache=True, fastmath=FAST)
def _dot(left, right, count):
    """Return the sum over tasks of a product."""
    total = ZERO
    for p in range(count):
        total += left[p] * right[p]
    return total
