"""Steps of the linear transformer and of the LFOM Memformer in compiled code: the iteration of
`first_order`, its gradient, and the update, many steps in one call.

As there prompts are the last axis. A block of them goes through all layers and back while it stays
in the nearest cache. W_j^l = Γ_j^l Σ^½ A_j Σ^½; without memory Γ is the identity, and stays.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numba import njit
from torch import Tensor

from icl_core.papers.memformers.shared import variants
from icl_core.papers.memformers.shared.task import Pool
from icl_core.training import compiled_adam
from icl_core.training.loop import InPlace, Problem

DRAWN = 2**19  # numbers of w* that are drawn for one call
BLOCK = 256  # prompts that go through all layers at once, in the cache
# A sum over prompts may be made in any order, as vectors take it.
FAST = {"reassoc", "contract", "nsz"}
ZERO = np.float32(0)


class Segment:
    """Makes the steps of one training; see `Problem.segment`."""

    def __init__(self, config: Any, root: Tensor, pool: Pool, problem: Problem) -> None:
        self.config = config
        self.pool = pool
        (self.generator,) = problem.generators
        self.schedule = problem.schedule
        self.ceiling = problem.ceiling
        factor = variants.start_root(variants.learned_in(config), root)
        self.root = factor.contiguous().numpy()
        self.most = max(1, DRAWN // (config.seeds * config.d * config.batch))  # steps at once

    def __call__(
        self, first: int, most: int, in_place: InPlace
    ) -> tuple[np.ndarray, Mapping[str, Tensor]]:
        """Make at most so many steps from the step `first` on."""
        config = self.config
        count = min(most, self.most)
        starts = np.empty(count, np.int64)
        targets = torch.empty(count, config.seeds, config.d, config.batch)
        for index in range(count):  # in the order of `Batches.at`
            starts[index] = self.pool.start(config.seeds, config.batch, self.generator)
            targets[index].normal_(generator=self.generator)
        rates = [config.learning_rate * self.schedule(first + index) for index in range(count)]
        losses = np.empty((count, config.seeds), np.float32)
        gradients = {name: np.zeros_like(own[0]) for name, own in in_place.items()}
        has_memory = "Gamma" in in_place
        memory = in_place["Gamma"] if has_memory else _no_memory(config)
        made = _go(
            self.pool.held.numpy(),
            starts,
            targets.numpy(),
            self.root,
            in_place["A"],
            memory,
            gradients["A"],
            gradients["Gamma"] if has_memory else np.zeros_like(memory[0]),
            losses,
            np.array(rates),
            first,
            (config.beta_1, config.beta_2),
            config.clip,
            has_memory,
            config.objective == "log",
            self.ceiling,
        )
        tensors = {name: torch.from_numpy(array) for name, array in gradients.items()}
        return losses[:made], tensors


def _no_memory(config: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the identity in place of Γ, [seeds, L, L], with the moments that it does not need."""
    Gamma = np.tile(np.eye(config.layers, dtype=np.float32), (config.seeds, 1, 1))
    return Gamma, np.zeros_like(Gamma), np.zeros_like(Gamma)


@njit(cache=True)
def _go(
    pool,  # S [d, d, prompts of the pool]
    starts,  # [steps] of each step's prompts in the pool
    targets,  # w* [steps, seeds, d, prompts]
    root,  # what A is multiplied with from both sides, [seeds, d, d]
    A_and_moments,  # A [seeds, H, L, d, d], Adam's mean and mean square
    Gamma_and_moments,  # Γ [seeds, L, L] likewise
    A_slope,  # filled with the last gradients
    Gamma_slope,
    losses,  # filled, [steps, seeds]
    rates,  # learning rates [steps]
    first,  # the number of the first step
    betas,  # Adam's
    clip,  # the longest gradient of a matrix, and of Γ; 0 if there is none
    has_memory,
    is_log,  # whether the logarithm of the loss is minimised
    ceiling,  # of the loss
):
    """Make the steps, and return how many: up to the first that diverges."""
    A, A_mean, A_square = A_and_moments
    Gamma, Gamma_mean, Gamma_square = Gamma_and_moments
    seeds, heads, layers, d, _ = A.shape
    prompts = targets.shape[3]
    S = np.empty((d, d, BLOCK), np.float32)
    rows = np.empty((3, layers, d, BLOCK), np.float32)
    error = np.empty((d, BLOCK), np.float32)
    M = np.empty((layers, d, d), np.float32)  # Σ^½ A Σ^½
    W = np.empty((layers, layers, d, d), np.float32)
    slope = np.empty((layers, layers, d, d), np.float32)  # of the loss by W
    diverges = False
    for index in range(len(starts)):
        for seed in range(seeds):
            _table(A[seed], Gamma[seed], root[seed], M, W, slope)
            loss = 0.0
            for start in range(0, prompts, BLOCK):
                count = min(BLOCK, prompts - start)
                at = starts[index] + seed * prompts + start
                _take(pool, at, targets[index, seed], start, S, error, count)
                loss += _block(S, error, W, rows, slope, prompts, count, has_memory)
            loss /= prompts
            losses[index, seed] = loss
            factor = np.float32(1.0 / loss if is_log else 1.0)
            _to_parameters(
                slope, factor, M, Gamma[seed], root[seed], A_slope[seed], Gamma_slope[seed]
            )
            if clip > 0.0:
                _clip(Gamma_slope[seed], clip)
                for matrix in A_slope[seed].reshape(heads * layers, d, d):
                    _clip(matrix, clip)
            diverges = diverges or not loss <= ceiling
        if diverges or not (np.isfinite(A_slope.sum()) and np.isfinite(Gamma_slope.sum())):
            return index + 1
        count = first + index + 1
        rate = rates[index]
        compiled_adam.step(A, A_slope, A_mean, A_square, rate, betas[0], betas[1], count, 0.0)
        if has_memory:
            compiled_adam.step(
                Gamma, Gamma_slope, Gamma_mean, Gamma_square, rate, betas[0], betas[1], count, 0.0
            )
    return len(starts)


@njit(cache=True)
def _take(pool, at, target, start, S, error, count):
    """Copy the S of `count` prompts, `at` this place of the pool and behind it, to S [d, d, block],
    and their w* [d, prompts], from `start` on, to `error` [d, block]."""
    for i in range(len(S)):
        target_i = target[i]
        error_i = error[i]
        for p in range(count):
            error_i[p] = target_i[start + p]
        for k in range(len(S)):
            of_pool = pool[i, k]
            of_block = S[i, k]
            for p in range(count):
                of_block[p] = of_pool[at + p]


@njit(cache=True)
def _table(A, Gamma, root, M, W, slope):
    """Fill M_l = Σ^½ A_l Σ^½ [L, d, d], the heads summed, and W_j^l [L, L, d, d] over (l, j); set
    `slope`, of the size of W, to zero."""
    heads, layers, d, _ = A.shape
    total = np.empty((d, d), np.float32)
    for layer in range(layers):
        for i in range(d):
            for k in range(d):
                total[i, k] = ZERO
                for head in range(heads):
                    total[i, k] += A[head, layer, i, k]
        _turn(root, total, M[layer])
    for layer in range(layers):
        for j in range(layers):
            for i in range(d):
                for k in range(d):
                    W[layer, j, i, k] = Gamma[layer, j] * M[j, i, k]
                    slope[layer, j, i, k] = ZERO


@njit(cache=True)
def _turn(root, matrix, turned):
    """Fill `turned` with root · matrix · root, [d, d] each."""
    d = len(matrix)
    left = np.empty((d, d), np.float32)
    for first, second, product in ((root, matrix, left), (left, root, turned)):
        for i in range(d):
            for j in range(d):
                product[i, j] = ZERO
            for k in range(d):
                for j in range(d):
                    product[i, j] += first[i, k] * second[k, j]


@njit(cache=True, fastmath=FAST)
def _block(S, error, W, rows, slope, prompts, count, has_memory):
    """Return the summed loss of the first `count` prompts of S [d, d, block], whose w* are in
    `error` [d, block], and add to `slope` the derivative of the loss, a mean over `prompts`, by W.
    Without memory only the diagonal of W counts."""
    layers = len(W)
    d = len(error)
    gradients = rows[0]  # [L, d, block]
    slopes = rows[1]
    by_gradient = rows[2, 0]  # [d, block]
    for layer in range(layers):
        _set_zero(gradients[layer], count)
        _add_products(S, error, gradients[layer], np.float32(1), count)
        for j in range(0 if has_memory else layer, layer + 1):
            _add_mapped(W[layer, j], gradients[j], error, np.float32(-1), count)
    loss = ZERO
    factor = np.float32(2) / np.float32(prompts)
    for i in range(d):
        of_row = error[i]
        for p in range(count):
            loss += of_row[p] * of_row[p]
            of_row[p] *= factor
    for layer in range(layers - 1, -1, -1):
        for i in range(d):
            for p in range(count):
                slopes[layer, i, p] = error[i, p]
        for j in range(0 if has_memory else layer, layer + 1):
            _subtract_products(slopes[layer], gradients[j], slope[layer, j], count)
        if layer:
            _set_zero(by_gradient, count)
            for later in range(layer, layers if has_memory else layer + 1):
                _add_mapped(W[later, layer].T, slopes[later], by_gradient, np.float32(1), count)
            _add_products(S, by_gradient, error, np.float32(-1), count)
    return loss


@njit(cache=True)
def _set_zero(total, count):
    """Fill the first `count` columns of `total` [d, block] with zeros."""
    for i in range(len(total)):
        for p in range(count):
            total[i, p] = ZERO


@njit(cache=True, fastmath=FAST)
def _add_products(S, v, total, sign, count):
    """Add sign · S v of every prompt to `total`, [d, block] as v; S [d, d, block]."""
    d = len(v)
    for i in range(d):
        sums = total[i]
        k = 0
        while k + 4 <= d:  # four at a time: the sums are read and written less often
            S_0 = S[i, k]
            S_1 = S[i, k + 1]
            S_2 = S[i, k + 2]
            S_3 = S[i, k + 3]
            v_0 = v[k]
            v_1 = v[k + 1]
            v_2 = v[k + 2]
            v_3 = v[k + 3]
            for p in range(count):
                part = S_0[p] * v_0[p] + S_1[p] * v_1[p] + S_2[p] * v_2[p] + S_3[p] * v_3[p]
                sums[p] += sign * part
            k += 4
        while k < d:
            S_0 = S[i, k]
            v_0 = v[k]
            for p in range(count):
                sums[p] += sign * S_0[p] * v_0[p]
            k += 1


@njit(cache=True, fastmath=FAST)
def _add_mapped(M, v, total, sign, count):
    """Add sign · M v of every prompt to `total`, [d, block] as v; M [d, d]."""
    d = len(v)
    for i in range(d):
        sums = total[i]
        k = 0
        while k + 4 <= d:
            M_0 = sign * M[i, k]
            M_1 = sign * M[i, k + 1]
            M_2 = sign * M[i, k + 2]
            M_3 = sign * M[i, k + 3]
            v_0 = v[k]
            v_1 = v[k + 1]
            v_2 = v[k + 2]
            v_3 = v[k + 3]
            for p in range(count):
                sums[p] += M_0 * v_0[p] + M_1 * v_1[p] + M_2 * v_2[p] + M_3 * v_3[p]
            k += 4
        while k < d:
            M_0 = sign * M[i, k]
            v_0 = v[k]
            for p in range(count):
                sums[p] += M_0 * v_0[p]
            k += 1


@njit(cache=True, fastmath=FAST)
def _subtract_products(left, right, matrix, count):
    """Subtract left rightᵀ, summed over prompts, from a matrix [d, d]; both are [d, block]."""
    d = len(left)
    for i in range(d):
        row = left[i]
        for k in range(d):
            column = right[k]
            total = ZERO
            for p in range(count):
                total += row[p] * column[p]
            matrix[i, k] -= total


@njit(cache=True)
def _to_parameters(slope, factor, M, Gamma, root, A_slope, Gamma_slope):
    """Fill the gradients by A [H, L, d, d], every head's the same, and by Γ [L, L], from `factor`
    times the derivative by W, `slope` [L, L, d, d]."""
    heads, layers, d, _ = A_slope.shape
    total = np.empty((d, d), np.float32)
    turned = np.empty((d, d), np.float32)
    for j in range(layers):
        for i in range(d):
            for k in range(d):
                total[i, k] = ZERO
        for layer in range(j, layers):
            by_Gamma = ZERO
            for i in range(d):
                for k in range(d):
                    own = factor * slope[layer, j, i, k]
                    by_Gamma += own * M[j, i, k]
                    total[i, k] += own * Gamma[layer, j]
            Gamma_slope[layer, j] = by_Gamma
        _turn(root, total, turned)
        for head in range(heads):
            for i in range(d):
                for k in range(d):
                    A_slope[head, j, i, k] = turned[i, k]


@njit(cache=True)
def _clip(gradient, limit):
    """Make a matrix of the gradient no longer than the limit."""
    square = 0.0
    for i in range(len(gradient)):
        for k in range(len(gradient)):
            square += gradient[i, k] ** 2
    factor = np.float32(limit / max(limit, np.sqrt(square)))
    for i in range(len(gradient)):
        for k in range(len(gradient)):
            gradient[i, k] *= factor
