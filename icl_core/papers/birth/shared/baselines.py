"""What can be predicted in context without a transformer: by repeating the token, and as well as it
can be."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from icl_core.papers.birth.shared.accuracy import hits
from icl_core.papers.birth.shared.gradient import share
from icl_core.papers.birth.shared.task import Batch, Task

AT_ONCE = 128  # sequences evaluated together, to bound the memory


def best_in_context(task: Task, inputs: Int[Tensor, "batch T"]) -> Float[Tensor, "batch T N"]:
    """Return the best predictor of the next token that is known here, after every position, float64
    on the CPU.

    It knows pi_u, pi_b, pi_o, K, how triggers are chosen, and all that stands before; not which
    tokens are triggers. What it does not know it infers by Bayes' rule, but for one approximation:
    a token is taken to be a trigger with its probability `Task.inclusion`, whatever the others are.
    (That exactly K are triggers is left out; with fixed triggers nothing is.) A token's successors
    so far are either all one output drawn from pi_o, or draws from pi_b. It is held against models
    at in-context positions only, where a model that is trained there alone knows more: that the
    position is one.
    """
    prior = task.inclusion
    inputs = inputs.cpu()
    batch, T = inputs.shape
    rows = torch.arange(batch)
    log_b = task.bigram.log()
    log_o = task.output_law.log()
    # (batch, N): log of prior and likelihood of the successors so far
    as_trigger = prior.log().repeat(batch, 1)
    as_other = (-prior).log1p().repeat(batch, 1)
    output = torch.full((batch, task.N), -1)  # first successor
    predicted = torch.empty(batch, T, task.N, dtype=torch.float64)
    for t in range(T):
        here = inputs[:, t]
        if t > 0:
            before = inputs[:, t - 1]
            first = output[rows, before]
            repeated = torch.where(first == here, 0.0, -torch.inf).double()
            as_trigger[rows, before] += torch.where(first < 0, log_o[before, here], repeated)
            as_other[rows, before] += log_b[before, here]
            output[rows, before] = torch.where(first < 0, here, first)
        trigger = as_trigger[rows, here]
        other = as_other[rows, here]
        known = output[rows, here]
        # impossible either way: no trigger
        posterior = torch.sigmoid(trigger - other).nan_to_num(0.0)[:, None]
        told = torch.nn.functional.one_hot(known.clamp(min=0), task.N).double()
        law = torch.where((known >= 0)[:, None], told, task.output_law[here])
        predicted[:, t] = posterior * law + (1 - posterior) * task.bigram[here]
    return predicted


def best_hits(
    task: Task, inputs: Int[Tensor, "batch T"], targets: Int[Tensor, "batch T"]
) -> Float[Tensor, "batch T"]:
    """Return how often what `best_in_context` takes for the likeliest is what follows (`hits`), on
    the CPU."""
    parts = zip(inputs.split(AT_ONCE), targets.cpu().split(AT_ONCE), strict=True)
    return torch.cat([hits(best_in_context(task, tokens), follows) for tokens, follows in parts])


def unusual(task: Task, inputs: Int[Tensor, "batch T"]) -> Float[Tensor, "batch T N"]:
    """Return how much more often than usual each token has come up so far: its count less what pi_u
    lets expect. The largest names a trigger's output without a look at the order of the tokens: it
    comes whenever its trigger does."""
    count = torch.nn.functional.one_hot(inputs.cpu(), task.N).double().cumsum(1)  # (batch, T, N)
    return count - torch.arange(1, inputs.shape[1] + 1)[:, None] * task.unigram


def accuracies(task: Task, batch: Batch) -> dict[str, float]:
    """Accuracies on in-context positions to draw beside a model's: of `best_in_context`, and of
    repeating the token just read, as an output may equal its trigger, and such a sequence repeats
    it to the end. With suffix _new where target and input differ, as `gradient.evaluate` names
    them."""
    right = best_hits(task, batch.inputs, batch.targets).to(batch.targets.device)
    repeats = batch.inputs == batch.targets
    best, best_new = (
        share(right, where)[0] for where in (batch.in_context, batch.in_context & ~repeats)
    )
    repeat = share(repeats, batch.in_context)[0]
    return {
        "repeat": repeat,
        "repeat_new": 0.0,
        "best_in_context": best,
        "best_in_context_new": best_new,
    }
