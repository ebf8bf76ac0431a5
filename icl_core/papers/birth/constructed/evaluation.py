"""What a constructed model achieves, what its errors are, and what it achieves if W_F reads only a
part of the stream; and what a run says of that at the setting's own width."""

import math

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from icl_core.contract.experiment import Run
from icl_core.papers.birth.shared.accuracy import hits, share
from icl_core.papers.birth.shared.construction import interference
from icl_core.papers.birth.shared.gradient import evaluate
from icl_core.papers.birth.shared.model import Weights, attend, forward
from icl_core.papers.birth.shared.probes import recalls
from icl_core.papers.birth.shared.task import Batch, Task

MEMORIES = ("W_O2", "W_K2", "W_K1")
MEASURES = (
    "accuracy",
    "error",
    "global_loss",
    "kl_W_F",
    *(f"recall_{name}" for name in MEMORIES),
    *(f"talk_{name}" for name in MEMORIES),
)
ERRORS = ("first", "attention", "output")
READ = ("stream", "before_output", "token")  # what W_F may be given to read
AT_ONCE = 32  # sequences, to bound the memory


def measured(weights: Weights, task: Task, batch: Batch) -> Float[np.ndarray, "measures"]:
    """Return the `MEASURES` of a model; global loss and KL, in nats, are NaN where there is no
    W_F."""
    positions = "in_context" if weights.W_F is None else "all"
    evaluation = evaluate(weights, batch, positions=positions)
    probes = recalls(weights, task)
    values = [
        evaluation["accuracy"],
        evaluation["accuracy_error"],
        evaluation["global_loss"],
        probes.get("kl_W_F", math.nan),
    ]
    values += [probes[name] for name in MEMORIES]
    values += [interference(name, weights, task) for name in MEMORIES]
    return np.array(values, np.float32)


@torch.no_grad()
def errors(weights: Weights, batch: Batch) -> Float[np.ndarray, "errors"]:
    """Return the share of in-context positions with each of `ERRORS`.

    first      the query equals the first token, whose position has no previous one, attends to
               itself and so passes for its own successor
    attention  of the others, layer 2 looks elsewhere than at what followed the query's token
    output     the rest: another reading outweighs the right output
    """
    guesses = []
    keys = []
    for tokens in batch.inputs.split(AT_ONCE):
        logits, _, attention = forward(weights, tokens)
        guesses.append(logits.argmax(-1))  # the likeliest next token
        keys.append(attention.argmax(-1))  # where layer 2 looks most
    guess = torch.cat(guesses)  # (batch, T)
    key = torch.cat(keys)  # (batch, T)
    wrong = batch.in_context & (guess != batch.targets)  # (batch, T)
    before = batch.inputs.gather(1, (key - 1).clamp(min=0))  # (batch, T): the token before the key
    looks_right = (key > 0) & (before == batch.inputs)  # (batch, T)
    first = wrong & (batch.inputs == batch.inputs[:, :1])  # (batch, T)
    others = wrong & ~first
    positions = float(batch.in_context.sum())
    shares = [
        float(where.sum()) / positions
        for where in (first, others & ~looks_right, others & looks_right)
    ]
    return np.array(shares, np.float32)


@torch.no_grad()
def readings(weights: Weights, batch: Batch) -> Float[np.ndarray, "read 2"]:
    """Return the in-context accuracy and the global loss (nats) if W_F reads each of `READ`.

    stream         the whole stream, as it does
    before_output  the stream without what W_O2 writes
    token          the current token's embedding alone, as eq. 8 assumes
    """
    parts = [_logits(weights, tokens) for tokens in batch.inputs.split(AT_ONCE)]
    rows = []
    for name in READ:
        logits = torch.cat([part[name] for part in parts])  # (batch, T, N)
        right = hits(logits, batch.targets)  # (batch, T)
        log_p = logits.log_softmax(-1)  # (batch, T, N)
        loss = -log_p.gather(-1, batch.targets[..., None])[..., 0]  # (batch, T)
        accuracy, _ = share(right, batch.in_context)
        global_loss, _ = share(loss, batch.global_)
        rows.append([accuracy, global_loss])
    return np.array(rows, np.float32)


def _logits(weights: Weights, tokens: Tensor) -> dict[str, Float[Tensor, "batch T N"]]:
    """Return the logits with W_F reading each of `READ`; the first as `model.forward` computes
    them."""
    assert weights.W_F is not None
    token = weights.W_E[tokens]  # (batch, T, d)
    x = token + weights.P[: tokens.shape[1]]  # (batch, T, d)
    h = x + attend(x, weights.W_K1)[0] @ weights.R1.T  # (batch, T, d)
    g = h + attend(h, weights.W_K2)[0] @ weights.V2.T @ weights.W_O2.T  # (batch, T, d)
    read = {"stream": g, "before_output": h, "token": token}
    return {name: (g + read[name] @ weights.W_F.T) @ weights.W_U.T for name in READ}


def bigrams_loss(task: Task, batch: Batch) -> float:
    """Return the global loss, in nats, of pi_b itself."""
    p = task.bigram[batch.inputs, batch.targets]  # (batch, T)
    # pi_b may be 0 elsewhere: a trigger's output need not be a bigram of the text
    p = p.masked_fill(~batch.global_, 1.0)
    loss, _ = share(-p.log(), batch.global_)
    return loss


def at_d(run: Run, measure: str) -> np.ndarray:
    """Return a measure of the sweep at the setting's own width, [seeds]."""
    return run[f"sweep/{measure}"][:, run["sweep/width"] == run.config.d][:, 0]


def shares_closed(run: Run) -> dict[str, np.ndarray]:
    """Return the share of the gap to the trained model that is closed, [seeds], by what is cleaned:
    the whole construction, "stream", or one of its matrices alone, by its name. Empty where some
    embedding has no gap."""
    constructed = at_d(run, "accuracy_kept")
    gap = run["beside/accuracy"] - constructed
    if gap.min() <= 0.02:
        return {}
    cleaned = {"stream": at_d(run, "accuracy_stream")}
    for name in run.names("memories"):
        cleaned[name] = run[f"alone/accuracy_{name}"]
    return {name: (accuracy - constructed) / gap for name, accuracy in cleaned.items()}


def trained_accuracy(run: Run) -> float | None:
    """Return the accuracy of the models trained at width d, the mean over embeddings; None if there
    are none."""
    accuracies = run.tensors.get("beside/accuracy")  # (seeds,)
    return None if accuracies is None else float(accuracies.mean())
