"""What can be predicted in context without a transformer: by repeating the token, and by Bayes' rule."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from icl_core.papers.birth.shared.gradient import share
from icl_core.papers.birth.shared.task import Batch, Task

AT_ONCE = 128  # sequences evaluated together, to bound the memory


def inclusion(task: Task) -> Float[Tensor, "N"]:
    """The probability of each token to be among the K triggers of a sequence, float64; sums to K.

    Drawing without replacement is a race: token i arrives at an exponential time of rate pi_u(i), and the first K
    are taken. Token i is one if at its time fewer than K others have arrived; the number of arrivals by a time s
    is built up token by token, and s integrated on a logarithmic grid, where the rule of trapezoids is exact to
    about 1e-10.
    """
    if task.fixed_triggers is not None:
        return torch.zeros(task.N, dtype=torch.float64).index_fill_(0, task.fixed_triggers, 1.0)
    if task.K == task.N:
        return torch.ones(task.N, dtype=torch.float64)
    log_s = torch.linspace(-25, 40, 1000, dtype=torch.float64)
    waited = task.unigram[:, None] * log_s.exp()  # (N, grid): pi_i s
    arrived = -torch.expm1(-waited)
    count = torch.zeros(task.N, task.K, len(log_s), dtype=torch.float64)  # P(k others of i have arrived), k < K
    count[:, 0] = 1.0
    for j in range(task.N):
        others = torch.arange(task.N) != j
        before = count[others]
        after = before * (1 - arrived[j])
        after[:, 1:] += before[:, :-1] * arrived[j]
        count[others] = after
    return torch.trapezoid(waited * (-waited).exp() * count.sum(1), log_s).clamp(max=1)


def bayes(task: Task, inputs: Int[Tensor, "batch T"], prior: Float[Tensor, "N"]) -> Float[Tensor, "batch T N"]:
    """The predictive distribution of the next token after every position, given all before it, the task's
    distributions and K, float64 on the CPU; `prior` is its `inclusion`.

    A token is taken to be a trigger with its prior probability, independently of the others: the only
    approximation, since the others' evidence says little about it. Its successors so far are either all one output
    drawn from pi_o, or draws from pi_b.
    """
    inputs = inputs.cpu()
    batch, T = inputs.shape
    rows = torch.arange(batch)
    log_b, log_o = task.bigram.log(), task.output_law.log()
    as_trigger = prior.log().repeat(batch, 1)  # (batch, N): log of prior and likelihood of the successors so far
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
        trigger, other, known = as_trigger[rows, here], as_other[rows, here], output[rows, here]
        posterior = torch.sigmoid(trigger - other).nan_to_num(0.0)[:, None]  # impossible either way: no trigger
        told = torch.nn.functional.one_hot(known.clamp(min=0), task.N).double()
        law = torch.where((known >= 0)[:, None], told, task.output_law[here])
        predicted[:, t] = posterior * law + (1 - posterior) * task.bigram[here]
    return predicted


def accuracies(task: Task, batch: Batch) -> dict[str, float]:
    """Accuracies on in-context positions to draw beside a model's: of `bayes`, and of repeating the token just read,
    as an output may equal its trigger, and such a sequence repeats it to the end. With suffix _new where target and
    input differ, as `gradient.evaluate` names them."""
    prior = inclusion(task)
    guesses = torch.cat([bayes(task, inputs, prior).argmax(-1) for inputs in batch.inputs.split(AT_ONCE)])
    right, repeats = guesses.to(batch.targets.device) == batch.targets, batch.inputs == batch.targets
    best, best_new = (share(right, where)[0] for where in (batch.in_context, batch.in_context & ~repeats))
    return {"repeat": share(repeats, batch.in_context)[0], "repeat_new": 0.0, "bayes": best, "bayes_new": best_new}
