"""A training step of each paper as its authors' published code takes it, written anew and plainly
in torch: what they compute and in which order, from their repositories. Their probes, logs and
evaluations are left out.
"""

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from icl_core.papers.birth.shared.task import Task


def birth(task: Task, d: int, batch: int) -> Callable[[], None]:
    """albietz/transformer-birth, the simplified model with embeddings and output frozen, loss on
    repeated outputs.

    Sequences are drawn token by token; their 60 processes that do so are counted as one.
    """
    rng = np.random.default_rng(0)
    embedding, places, output, W_V1, W_O1, W_V2 = (
        torch.randn(rows, d) / d**0.5 for rows in (task.N, task.T, task.N, d, d, d)
    )
    W_K1, W_K2, W_O2 = (nn.Parameter(torch.empty(d, d).uniform_(-1, 1) / d**0.5) for _ in range(3))
    optimiser = torch.optim.SGD([W_K1, W_K2, W_O2], lr=0.03, momentum=0.9, weight_decay=1e-4)
    mask = torch.full((task.T, task.T), -torch.inf).triu(1)

    def attend(h: Tensor, W_K: Tensor, W_V: Tensor, W_O: Tensor) -> Tensor:
        scores = h @ (h @ W_K.T).mT / d**0.5 + mask
        return torch.softmax(scores, -1) @ (h @ W_V.T) @ W_O.T

    def step() -> None:
        tokens, counts = (
            torch.tensor(part) for part in zip(*_sequences(task, batch, rng), strict=True)
        )
        optimiser.zero_grad()
        h = embedding[tokens[:, :-1]] + places
        h = h + attend(h, W_K1, W_V1, W_O1)
        h = h + attend(h, W_K2, W_V2, W_O2)
        logits = h @ output.T  # of all positions
        counted = counts[:, :-1] >= 2
        cross_entropy(logits[counted], tokens[:, 1:][counted]).backward()
        optimiser.step()

    return step


def _sequences(
    task: Task, batch: int, rng: np.random.Generator
) -> list[tuple[list[int], list[int]]]:
    """Tokens, and at each trigger how often it has come."""
    letters = list(range(task.N))
    unigram = task.unigram.numpy()
    bigram = list(task.bigram.numpy())
    sequences = []
    for _ in range(batch):
        triggers = list(rng.choice(letters, task.K, replace=False, p=unigram))
        outputs = [rng.choice(letters) for _ in triggers]
        tokens = [rng.choice(letters, p=unigram)]
        counts = []
        times = dict.fromkeys(triggers, 0)
        while len(tokens) < task.T + 1:
            last = tokens[-1]
            if last in triggers:
                times[last] += 1
                counts.append(times[last])
                tokens.append(outputs[triggers.index(last)])
            else:
                counts.append(0)
                tokens.append(rng.choice(letters, p=bigram[last]))
        sequences.append((tokens, [*counts, 0]))
    return sequences


def memformers(
    d: int, n: int, layers: int, batch: int, eigenvalues: Sequence[float]
) -> Callable[[], None]:
    """The authors' notebooks: prompts as tokens, batch first, attention with padded matrices,
    registers that are mixed by Γ, each matrix's gradient clipped by its norm as a Python number,
    AdamW. The batch stays for 100 steps."""
    A = nn.Parameter(1e-4 * torch.randn(layers, d, d))
    Gamma = nn.Parameter(torch.eye(layers))
    optimiser = torch.optim.AdamW([A, Gamma], lr=0.01, betas=(0.99, 0.9), weight_decay=0)
    X = torch.randn(batch, n + 1, d) * torch.tensor(eigenvalues).sqrt()
    w = torch.randn(batch, d) / torch.tensor(eigenvalues).sqrt()
    label = torch.einsum("bi,bti->bt", w, X)
    y = torch.cat([label[:, :-1], torch.zeros(batch, 1)], 1)  # the query's label is left out
    Z0 = torch.cat([X, y[..., None]], 2)  # [b, n + 1, d + 1]

    def attention(Q: Tensor, Z: Tensor) -> Tensor:
        P = torch.zeros(d + 1, d + 1)
        P[d, d] = 1
        wide = torch.cat([torch.cat([Q, torch.zeros(1, d)], 0), torch.zeros(d + 1, 1)], 1)
        M = torch.eye(n + 1)
        M[n, n] = 0
        scores = torch.einsum("bni,ij,bmj->bnm", Z, wide, Z)
        return torch.einsum("bnm,ml,bli->bni", scores, M, torch.einsum("ij,bnj->bni", P, Z)) / n

    def step() -> None:
        Z = Z0
        registers = []
        for layer in range(layers):
            registers.append(attention(A[layer], Z))
            Z = Z + sum(Gamma[layer, j] * register for j, register in enumerate(registers))
        (Z[:, n, d] + label[:, n]).square().mean().backward()
        assert A.grad is not None
        for gradient in A.grad:
            norm = gradient.norm().item()
            if norm > 0.01:
                gradient.mul_(0.01 / norm)
        optimiser.step()
        optimiser.zero_grad()

    return step


def gdssm(f: int, N: int, batch: int) -> Callable[[], None]:
    """Efficient-Scalable-Machine-Learning/gd-ssm, vector labels: windows of three tokens, a decay
    exp(Λ dt) for every entry of the state, an output mixing C of every window's state, a vector D
    that reads the window; Adam for Λ and dt, AdamW for the rest. Their scan over a column of the
    state is one over all columns here; JAX compiles theirs."""
    Lambda = nn.Parameter(-0.5 * torch.ones(f, f))
    step_size = nn.Parameter(torch.full((f, 1), -4.0))
    w_q, C, D = (nn.Parameter(0.1 * torch.randn(*shape)) for shape in ((3, 3), (f, f), (3,)))
    slow = torch.optim.Adam([Lambda, step_size], lr=1e-4)
    fast = torch.optim.AdamW([w_q, C, D], lr=2e-4, weight_decay=0.05)

    def step() -> None:
        W = torch.randn(batch, f, f)
        x = torch.rand(batch, N + 1, f) - 0.5
        tokens = torch.stack([x, x @ W], 2).flatten(1, 2)[:, :-1]  # x_1, y_1, …, x_{N+1}
        windows = tokens.unfold(1, 3, 2)  # [b, N, f, 3]
        added = windows @ w_q @ windows.mT  # [b, N, f, f]
        decay = torch.exp(Lambda * step_size.exp())
        state = torch.zeros(batch, f, f)
        states = []
        for window in range(N):
            state = decay * state + added[:, window]
            states.append(state)
        mixed = C @ torch.stack(states, 1)
        outputs = (mixed @ (windows @ D)[..., None])[..., 0]  # of every window
        slow.zero_grad()
        fast.zero_grad()
        (0.5 * (outputs[:, -1] + x[:, -1:].bmm(W)[:, 0]).square().sum(-1).mean()).backward()
        slow.step()
        fast.step()

    return step
