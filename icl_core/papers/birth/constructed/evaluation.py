"""What a constructed model achieves, what its errors are, and which part of the stream W_F should
not read."""

import math

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from icl_core.papers.birth.shared.accuracy import hits
from icl_core.papers.birth.shared.cross_talk import interference
from icl_core.papers.birth.shared.gradient import evaluate, share
from icl_core.papers.birth.shared.model import Weights, attend, forward
from icl_core.papers.birth.shared.probes import recalls
from icl_core.papers.birth.shared.task import Batch, Task

MEMORIES = ("W_O2", "W_K2", "W_K1")
MEASURES = (
    "accuracy",
    "error",
    "global_loss",
    "kl_W_F",
    *(f"recall_{n}" for n in MEMORIES),
    *(f"talk_{n}" for n in MEMORIES),
)
ERRORS = ("first", "attention", "output")
READ = ("stream", "before_output", "token")  # what W_F may be given to read
AT_ONCE = 32  # sequences, to bound the memory


def measured(weights: Weights, task: Task, batch: Batch) -> Float[np.ndarray, "measures"]:
    """Return the `MEASURES` of a model; global loss and KL, in nats, are NaN where there is no
    W_F."""
    everywhere = weights.W_F is not None
    achieved = evaluate(weights, batch, positions="all" if everywhere else "in_context")
    recalled = recalls(weights, task)
    row = [
        achieved["accuracy"],
        achieved["accuracy_error"],
        achieved["global_loss"],
        recalled.get("kl_W_F", math.nan),
    ]
    row += [recalled[name] for name in MEMORIES]
    return np.array([*row, *(interference(name, weights, task) for name in MEMORIES)], np.float32)


@torch.no_grad()
def errors(weights: Weights, batch: Batch) -> Float[np.ndarray, "errors"]:
    """Return the share of in-context positions with each of `ERRORS`: queries equal to the first
    token, whose position attends to itself for lack of a previous one and so passes for its own
    successor; layer 2 looking elsewhere; the rest, outputs that another reading outweighs."""
    guess, key = zip(
        *(_guess_and_key(weights, tokens) for tokens in batch.inputs.split(AT_ONCE)), strict=True
    )
    guess = torch.cat(guess)
    key = torch.cat(key)
    wrong = batch.in_context & (guess != batch.targets)
    first = wrong & (batch.inputs == batch.inputs[:, :1])
    looked = (key > 0) & (batch.inputs.gather(1, (key - 1).clamp(min=0)) == batch.inputs)
    kinds = (first, wrong & ~first & ~looked, wrong & ~first & looked)
    return np.array(
        [float(where.sum()) / float(batch.in_context.sum()) for where in kinds], np.float32
    )


def _guess_and_key(weights: Weights, tokens: Int[Tensor, "batch T"]) -> tuple[Tensor, Tensor]:
    """Return the likeliest next token at every position, and where layer 2 looks most, (batch, T)
    each."""
    logits, _, attention = forward(weights, tokens)
    return logits.argmax(-1), attention.argmax(-1)


@torch.no_grad()
def readings(weights: Weights, batch: Batch) -> Float[np.ndarray, "read 2"]:
    """In-context accuracy and global loss (nats) if W_F reads each of `READ`: the whole stream, as
    it does; the stream without what W_O2 writes; the current token's embedding alone, as eq. 8
    assumes."""
    parts = [_logits(weights, tokens) for tokens in batch.inputs.split(AT_ONCE)]
    found = []
    for name in READ:
        logits = torch.cat([part[name] for part in parts])
        right = hits(logits, batch.targets)
        loss = -logits.log_softmax(-1).gather(-1, batch.targets[..., None])[..., 0]
        found.append([share(right, batch.in_context)[0], share(loss, batch.global_)[0]])
    return np.array(found, np.float32)


def _logits(weights: Weights, tokens: Tensor) -> dict[str, Float[Tensor, "batch T N"]]:
    """Return the logits with W_F reading each of `READ`; the first as `model.forward`."""
    assert weights.W_F is not None
    token = weights.W_E[tokens]
    x = token + weights.P[: tokens.shape[1]]  # (batch, T, d)
    h = x + attend(x, weights.W_K1)[0] @ weights.R1.T
    g = h + attend(h, weights.W_K2)[0] @ weights.V2.T @ weights.W_O2.T
    read = {"stream": g, "before_output": h, "token": token}
    return {name: (g + read[name] @ weights.W_F.T) @ weights.W_U.T for name in READ}


def bigrams_loss(task: Task, batch: Batch) -> float:
    """Return the global loss, in nats, of pi_b itself."""
    # a trigger's output may be new
    told = task.bigram[batch.inputs, batch.targets].masked_fill(~batch.global_, 1.0)
    return share(-told.log(), batch.global_)[0]
