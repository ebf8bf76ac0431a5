"""What is read off one model after its training: its example at every snapshot, what its heads are
needed for, and what it attends to and predicts in context."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from icl_core.contract.experiment import names
from icl_core.papers.birth.shared.accuracy import hits
from icl_core.papers.birth.shared.baselines import unusual
from icl_core.papers.birth.shared.behaviour import by_position, on_previous
from icl_core.papers.birth.shared.full.head_scores import head_names, passes
from icl_core.papers.birth.shared.full.model import Weights, forward
from icl_core.papers.birth.shared.gradient import share
from icl_core.papers.birth.shared.sequence import Shown, choose
from icl_core.papers.birth.shared.task import Batch, Task
from icl_core.papers.birth.shared.train import WATCHED, held_out, task_of
from icl_core.papers.birth.transformer.ablation import MEASURES, POSITIONS, Bench, each_alone
from icl_core.papers.birth.transformer.settings import Config

LENGTH = 64  # positions of the example
LOOKED, WANTED = 40, 5  # of its first positions so many at least are asked of the context
ATTENDS = ("guess", "agrees", "right", "where_right", "where_wrong", "bigram")


@dataclass(frozen=True)
class Asked:
    """A random sequence by its number, as `choose` asks for it."""

    sample: int
    length: int = LENGTH
    sequence: str = ""
    marked: str = ""


def example(task: Task) -> Shown:
    """The sequence on the stage: the first of a hundred that asks the context often enough and has
    no output that is a trigger, which may lock a sequence in a circle."""
    every = [choose(task, Asked(number)) for number in range(100)]
    good = (each for each in every if int(each.in_context[:LOOKED].sum()) >= WANTED and _free(each))
    return next(good, every[0])


def _free(shown: Shown) -> bool:
    return not set(shown.truth) & set(shown.truth.values())


@torch.no_grad()
def example_readings(config: Config, snapshots: Sequence[Weights]) -> dict[str, np.ndarray]:
    """Of the example at every snapshot: `reading/attention` [snapshots, heads, T (T + 1) / 2], the
    maps' lower halves row by row in parts of 255; `reading/predicted`, an index into
    `names/characters`, and its `/probability` [snapshots, T]; `example/in_context` and
    `example/truth` [T], -1 where the context does not tell."""
    task = task_of(config)
    shown = example(task)
    inputs, inside = shown.inputs, shown.in_context.numpy()
    found = [
        forward(weights, inputs[None].to(weights["W_E"].device), config.heads)
        for weights in snapshots
    ]
    rows, columns = np.tril_indices(len(inputs))
    maps = [torch.cat(each.attention, 1)[0].cpu().numpy()[:, rows, columns] for each in found]
    chances = np.stack(
        [each.logits[0].softmax(-1).cpu().numpy() for each in found]
    )  # [snapshots, T, N]
    truth = [
        shown.truth[token] if known else -1
        for token, known in zip(inputs.tolist(), inside, strict=True)
    ]
    return {
        "reading/attention": np.rint(255 * np.array(maps)).astype(np.uint8),
        "reading/predicted": chances.argmax(-1).astype(np.int16),
        "reading/probability": chances.max(-1).astype(np.float16),
        "example/in_context": inside,
        "example/truth": np.array(truth, np.int16),
        "names/sequence": names(shown.characters),
        "names/characters": names(task.characters),
    }


def heads_of(config: Config) -> list[tuple[int, int]]:
    """All heads as (layer, head), in the order of their ids."""
    return [pair_of(name) for name in head_names(config.layers, config.heads)]


def pair_of(name: str) -> tuple[int, int]:
    """A head's layer and number, counted from 1, by its id."""
    layer, head = name.split(".")
    return int(layer), int(head)


def head_effects(config: Config, weights: Weights) -> dict[str, np.ndarray]:
    """`effect/mean`, `/zero`, `/patch` [1 + heads, measures]: the model as it is, then each head
    alone replaced."""
    task = task_of(config)
    bench = Bench(weights, task, held_out(task, POSITIONS // config.T), config.heads)
    found = each_alone(bench, heads_of(config))
    return {
        **{f"effect/{way}": values for way, values in found.items()},
        "names/measures": names(MEASURES),
    }


@torch.no_grad()
def attending(config: Config, weights: Weights) -> dict[str, np.ndarray]:
    """`attends/values` in the order of `names/attends`, over in-context predictions: how often the
    guess `unusual` is right; how often the model names the same; how often it is right, in all,
    where the guess is, where it is not; how often it names the likeliest bigram. And
    `position/previous` [heads, T], the mass on t - 1 at every position."""
    task = task_of(config)
    batch, guesses, right, masses = held_out(task, WATCHED), [], [], []
    for _, part, found in passes(weights, batch, config.heads):
        guesses.append(found.logits.argmax(-1))
        right.append(hits(found.logits, part.targets))
        masses.append(on_previous(torch.cat(found.attention, 1)))
    return {
        "attends/values": _compared(task, batch, torch.cat(guesses), torch.cat(right)),
        "names/attends": names(ATTENDS),
        "position/previous": by_position(torch.cat(masses)).cpu().numpy().astype(np.float32),
    }


def _compared(task: Task, batch: Batch, model: Tensor, right: Tensor) -> np.ndarray:
    guess = unusual(task, batch.inputs).argmax(-1).to(model.device)
    hit, inside = guess == batch.targets, batch.in_context
    bigram = task.bigram.argmax(1).to(model.device)[batch.inputs]
    found = {
        "guess": share(hit, inside),
        "agrees": share(model == guess, inside),
        "right": share(right, inside),
        "where_right": share(right, inside & hit),
        "where_wrong": share(right, inside & ~hit),
        "bigram": share(model == bigram, inside),
    }
    return np.array([found[name][0] for name in ATTENDS], np.float32)
