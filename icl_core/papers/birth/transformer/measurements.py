"""What is read off one model after its training: its example at every snapshot, what its heads are
needed for, and what it attends to and predicts in context."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from icl_core.contract.experiment import names
from icl_core.papers.birth.shared.accuracy import hits, share, unusual
from icl_core.papers.birth.shared.behaviour import by_position, on_previous
from icl_core.papers.birth.shared.full.head_scores import head_names, passes
from icl_core.papers.birth.shared.full.model import Weights, forward
from icl_core.papers.birth.shared.sequence import Shown, choose
from icl_core.papers.birth.shared.task import Batch, Task
from icl_core.papers.birth.shared.train import WATCHED, held_out, task_of
from icl_core.papers.birth.transformer.ablation import MEASURES, POSITIONS, Bench, each_alone
from icl_core.papers.birth.transformer.settings import Config

LENGTH = 64  # positions of the example
LOOKED = 40  # first positions of the example
FEWEST = 5  # at least so many of them are asked of the context
ATTENDS = ("guess", "agrees", "right", "where_right", "where_wrong", "bigram")


@dataclass(frozen=True)
class Asked:
    """A random sequence by its number, as `choose` asks for it."""

    sample: int
    length: int = LENGTH
    sequence: str = ""
    marked: str = ""


def example(task: Task) -> Shown:
    """Return the sequence on the stage: the first of a hundred that asks the context often enough
    and has no output that is a trigger, which may lock a sequence in a circle."""
    sequences = [choose(task, Asked(number)) for number in range(100)]
    for sequence in sequences:
        asks_often = int(sequence.in_context[:LOOKED].sum()) >= FEWEST
        has_no_circle = not set(sequence.truth) & set(sequence.truth.values())
        if asks_often and has_no_circle:
            return sequence
    return sequences[0]


@torch.no_grad()
def example_readings(config: Config, snapshots: Sequence[Weights]) -> dict[str, np.ndarray]:
    """Return of the example

    reading/attention                 [snapshots, heads, T (T + 1) / 2], the maps' lower halves row
                                      by row in parts of 255
    reading/predicted                 [snapshots, T], the likeliest next token, an index into
                                      `names/characters`
    reading/probability               [snapshots, T], its probability
    example/in_context, example/truth [T], -1 where the context does not tell
    names/sequence, names/characters
    """
    task = task_of(config)
    sequence = example(task)
    inputs = sequence.inputs
    inside = sequence.in_context.numpy()
    rows, columns = np.tril_indices(len(inputs))
    maps = []
    chances = []
    for weights in snapshots:
        outcome = forward(weights, inputs[None].to(weights["W_E"].device), config.heads)
        attention = torch.cat(outcome.attention, 1)[0].cpu().numpy()  # (heads, T, T)
        maps.append(attention[:, rows, columns])
        chances.append(outcome.logits[0].softmax(-1).cpu().numpy())  # (T, N)
    probabilities = np.stack(chances)  # (snapshots, T, N)
    truth = []
    for token, known in zip(inputs.tolist(), inside, strict=True):
        truth.append(sequence.truth[token] if known else -1)
    return {
        "reading/attention": np.rint(255 * np.array(maps)).astype(np.uint8),
        "reading/predicted": probabilities.argmax(-1).astype(np.int16),
        "reading/probability": probabilities.max(-1).astype(np.float16),
        "example/in_context": inside,
        "example/truth": np.array(truth, np.int16),
        "names/sequence": names(sequence.characters),
        "names/characters": names(task.characters),
    }


def heads_of(config: Config) -> list[tuple[int, int]]:
    """Return all heads as (layer, head), in the order of their ids."""
    return [pair_of(name) for name in head_names(config.layers, config.heads)]


def pair_of(name: str) -> tuple[int, int]:
    """Return a head's layer and number, counted from 1, by its id."""
    layer, head = name.split(".")
    return int(layer), int(head)


def head_effects(config: Config, weights: Weights) -> dict[str, np.ndarray]:
    """Return `effect/mean`, `effect/zero`, `effect/patch` [1 + heads, measures]: the model as it
    is, then each head alone replaced; and `names/measures`."""
    task = task_of(config)
    bench = Bench(weights, task, held_out(task, POSITIONS // config.T), config.heads)
    effects = each_alone(bench, heads_of(config))
    arrays = {f"effect/{way}": values for way, values in effects.items()}
    return {**arrays, "names/measures": names(MEASURES)}


@torch.no_grad()
def attending(config: Config, weights: Weights) -> dict[str, np.ndarray]:
    """Return what a model attends to and predicts in context.

    attends/values     in the order of `names/attends`, shares of in-context predictions: the guess
                       `unusual` is right; the model names the same; it is right, in all, where the
                       guess is, where it is not; it names the likeliest bigram
    position/previous  [heads, T], the attention on t - 1 at every position
    """
    task = task_of(config)
    batch = held_out(task, WATCHED)
    predicted = []
    right = []
    masses = []
    for _, part, outcome in passes(weights, batch, config.heads):
        predicted.append(outcome.logits.argmax(-1))
        right.append(hits(outcome.logits, part.targets))
        masses.append(on_previous(torch.cat(outcome.attention, 1)))
    return {
        "attends/values": _shares(task, batch, torch.cat(predicted), torch.cat(right)),
        "names/attends": names(ATTENDS),
        "position/previous": by_position(torch.cat(masses)).cpu().numpy().astype(np.float32),
    }


def _shares(
    task: Task, batch: Batch, predicted: Int[Tensor, "batch T"], right: Float[Tensor, "batch T"]
) -> np.ndarray:
    """Return the shares of `attending` in the order of ATTENDS."""
    guess = unusual(task, batch.inputs).argmax(-1).to(predicted.device)  # (batch, T)
    is_hit = guess == batch.targets
    inside = batch.in_context
    bigram = task.bigram.argmax(1).to(predicted.device)[batch.inputs]  # (batch, T)
    shares = {
        "guess": share(is_hit, inside),
        "agrees": share(predicted == guess, inside),
        "right": share(right, inside),
        "where_right": share(right, inside & is_hit),
        "where_wrong": share(right, inside & ~is_hit),
        "bigram": share(predicted == bigram, inside),
    }
    return np.array([shares[name][0] for name in ATTENDS], np.float32)
