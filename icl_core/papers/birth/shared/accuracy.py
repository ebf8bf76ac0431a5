"""When a prediction counts as right, the rule behind the accuracies and recalls of all models; the
share that is right over some positions; and what can be predicted in context without a transformer,
by repeating the token, and as well as possible.

The memory laboratory, whose answers may be zero, has rules of its own that say yes or no:
`laboratory/memory.py` and `laboratory/run.py`.
"""

import math

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from icl_core.papers.birth.shared.task import Batch, Task

LIKELIER = 10  # so many bigrams at least are likelier than an output that counts as unlikely
AT_ONCE = 128  # sequences evaluated together, to bound the memory


def hits(scores: Float[Tensor, "*rows n"], target: Int[Tensor, "*#rows"]) -> Float[Tensor, "*rows"]:
    """Return the probability that a guess among the largest scores of each row is its `target`.

    It is 1 where the target's score is larger than all others, 1 / m where it is one of m that are
    largest, else 0. So equal scores give 1 / n, the share that chance gets right.
    """
    index = target.expand(scores.shape[:-1]).unsqueeze(-1)  # (*rows, 1)
    own = scores.gather(-1, index)  # (*rows, 1)
    others = scores.scatter(-1, index, -torch.inf)  # (*rows, n)
    return hits_beside(own, others).squeeze(-1)  # (*rows)


def hits_beside(
    own: Float[Tensor, "*rows 1"], others: Float[Tensor, "*rows n"]
) -> Float[Tensor, "*rows 1"]:
    """Return `hits` from the targets' own scores and the scores of all others, which hold -inf in
    the targets' places. This is several times as fast as a comparison with argmax."""
    lead = own - others.amax(-1, keepdim=True)  # (*rows, 1)
    right = (lead > 0).to(others.dtype)
    if not lead.all():
        tied = lead == 0
        equal = (others == own).sum(-1, keepdim=True)  # (*rows, 1): others with the same score
        right[tied] = 1 / (1 + equal[tied]).to(others.dtype)
    return right


def share(values: Tensor, where: Bool[Tensor, "batch T"]) -> tuple[float, float]:
    """Return the mean of `values` [batch, T] over the positions `where`, and its standard error by
    linearising the ratio of the sequences' sums. Both are NaN over no positions."""
    sums = (values * where).double().sum(1)  # (batch)
    numbers = where.double().sum(1)  # (batch)
    batch = len(sums)
    count = float(numbers.sum())
    if count == 0:
        return math.nan, math.nan
    mean = float(sums.sum()) / count
    spread = float((sums - mean * numbers).square().sum()) * batch / max(1, batch - 1)
    return mean, math.sqrt(spread) / count


def copied_the_unlikely(
    right: Float[Tensor, "batch T"], batch: Batch, task: Task
) -> tuple[float, float]:
    """Return how often a model says what the context tells where at least LIKELIER characters
    follow the query more often in the text, and its standard error.

    `right` is how often its prediction is right at every position (`hits`).
    """
    follow = task.bigram[batch.inputs]  # (batch, T, N)
    own = follow.gather(2, batch.targets[..., None])  # (batch, T, 1)
    is_unlikely = (follow > own).sum(2) >= LIKELIER  # (batch, T)
    return share(right, batch.in_context & is_unlikely)


def best_in_context(task: Task, inputs: Int[Tensor, "batch T"]) -> Float[Tensor, "batch T N"]:
    """Return the probabilities of the next token after every position, as the best predictor that
    is known here gives them; float64, on the CPU.

    It knows pi_u, pi_b, pi_o, K, how triggers are chosen, and all that stands before; it does not
    know which tokens are triggers. It infers what it does not know by Bayes' rule, with one
    approximation: a token is taken to be a trigger with its probability `Task.inclusion`, whatever
    the others are. (So it is left out that exactly K are triggers; with fixed triggers nothing is
    left out.) A token's successors so far are either all one output drawn from pi_o, or draws from
    pi_b. Models are compared with it at in-context positions only. A model that is trained at these
    positions alone knows one thing more: that the position is one of them.
    """
    prior = task.inclusion  # (N)
    inputs = inputs.cpu()
    batch, T = inputs.shape
    rows = torch.arange(batch)
    log_b = task.bigram.log()  # (N, N)
    log_o = task.output_law.log()  # (N, N)
    # log of the prior and of the likelihood of the successors so far, if the token is a trigger
    # and if it is none
    as_trigger = prior.log().repeat(batch, 1)  # (batch, N)
    as_other = (-prior).log1p().repeat(batch, 1)  # (batch, N)
    output = torch.full((batch, task.N), -1)  # each token's first successor, -1 before it has one
    predicted = torch.empty(batch, T, task.N, dtype=torch.float64)
    for t in range(T):
        token = inputs[:, t]  # (batch)
        if t > 0:
            previous = inputs[:, t - 1]  # (batch)
            first = output[rows, previous]
            repeated = torch.where(first == token, 0.0, -torch.inf).double()
            as_trigger[rows, previous] += torch.where(first < 0, log_o[previous, token], repeated)
            as_other[rows, previous] += log_b[previous, token]
            output[rows, previous] = torch.where(first < 0, token, first)
        log_odds = as_trigger[rows, token] - as_other[rows, token]  # (batch)
        # NaN where both are impossible: no trigger
        posterior = torch.sigmoid(log_odds).nan_to_num(0.0)[:, None]  # (batch, 1)
        successor = output[rows, token]  # (batch)
        certain = torch.nn.functional.one_hot(successor.clamp(min=0), task.N).double()  # (batch, N)
        law = torch.where((successor >= 0)[:, None], certain, task.output_law[token])
        predicted[:, t] = posterior * law + (1 - posterior) * task.bigram[token]
    return predicted


def best_hits(
    task: Task, inputs: Int[Tensor, "batch T"], targets: Int[Tensor, "batch T"]
) -> Float[Tensor, "batch T"]:
    """Return how often the token that `best_in_context` finds likeliest is the target (`hits`), on
    the CPU."""
    parts = zip(inputs.split(AT_ONCE), targets.cpu().split(AT_ONCE), strict=True)
    return torch.cat([hits(best_in_context(task, tokens), target) for tokens, target in parts])


def unusual(task: Task, inputs: Int[Tensor, "batch T"]) -> Float[Tensor, "batch T N"]:
    """Return how much more often than usual each token has occurred so far: its count minus the
    count expected under pi_u.

    The largest excess names a trigger's output without regard to the order of the tokens, since an
    output occurs whenever its trigger does.
    """
    count = torch.nn.functional.one_hot(inputs.cpu(), task.N).double().cumsum(1)  # (batch, T, N)
    return count - torch.arange(1, inputs.shape[1] + 1)[:, None] * task.unigram


def accuracies(task: Task, batch: Batch) -> dict[str, float]:
    """Return accuracies on in-context positions to draw beside a model's.

    best_in_context  of the predictor of that name
    repeat           of repeating the token just read: an output may equal its trigger, and such a
                     sequence repeats it to the end

    With suffix _new only where target and input differ, as in `gradient.evaluate`.
    """
    right = best_hits(task, batch.inputs, batch.targets).to(batch.targets.device)  # (batch, T)
    repeats = batch.inputs == batch.targets  # (batch, T)
    best, _ = share(right, batch.in_context)
    best_new, _ = share(right, batch.in_context & ~repeats)
    repeat, _ = share(repeats, batch.in_context)
    return {
        "repeat": repeat,
        "repeat_new": 0.0,
        "best_in_context": best,
        "best_in_context_new": best_new,
    }
