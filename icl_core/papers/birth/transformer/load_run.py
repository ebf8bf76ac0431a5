"""What is read from a run: its heads' measures and what they do at a step, its example's maps, its
final weights and what these do with heads replaced, or in place of a single layer."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch

from icl_core.contract.experiment import Run
from icl_core.contract.seeds import of_seed
from icl_core.figures import mean_of
from icl_core.papers.birth.shared.accuracy import copied_the_unlikely, hits
from icl_core.papers.birth.shared.behaviour import INDUCTION, PREVIOUS, UNIFORM, beyond, role
from icl_core.papers.birth.shared.full.head_scores import (
    PROBED,
    OneBack,
    one_back,
    one_back_of,
    passes,
)
from icl_core.papers.birth.shared.full.model import forward
from icl_core.papers.birth.shared.train import held_out, task_of
from icl_core.papers.birth.transformer.ablation import POSITIONS, Bench
from icl_core.papers.birth.transformer.measurements import pair_of

DOES = {
    PREVIOUS: "finds the previous character",
    INDUCTION: "finds what followed",
    UNIFORM: "spreads evenly",
}
MIXED = "does neither"
KINDS = {PREVIOUS: "layer 1", INDUCTION: "layer 2"}  # colours
MILESTONES = {PREVIOUS: "previous", INDUCTION: "followers"}
SEQUENCES = 256  # held-out ones on which it is counted what the model copies
MOST = 4  # benches kept
_BENCHES: dict[str, Bench] = {}


@dataclass(frozen=True)
class Head:
    """What one head does at a snapshot.

    previous       attention on t − 1: where the next layer reads, and in the last layer, which no
                   layer reads, at every position
    strongest      share of the places read from which its strongest look is at t − 1 (the authors'
                   probe); NaN in the last layer
    everywhere     attention on t − 1, mean over all positions
    triggers       attention on what followed, at triggers that come again
    others         the same, at other characters that come again
    uniformity     how evenly its attention is spread
    triggers_even  what a uniform attention has on what followed, at triggers
    others_even    the same, at others
    """

    name: str
    previous: float
    strongest: float
    everywhere: float
    triggers: float
    others: float
    uniformity: float
    triggers_even: float
    others_even: float

    @property
    def role(self) -> str:
        """Return its role, one of those in `behaviour`."""
        return role(self.previous, self.triggers, self.triggers_even, self.uniformity)

    @property
    def does(self) -> str:
        """Return what it does, in words."""
        return DOES.get(self.role, MIXED)

    @property
    def found(self) -> float:
        """Return how far its attention at triggers is beyond a uniform attention's: 0 is chance, 1
        is all."""
        return beyond(self.triggers, self.triggers_even)

    @property
    def strength(self) -> float:
        """Return how much it does of what it does, a share of attention."""
        return {PREVIOUS: self.previous, INDUCTION: self.found}.get(self.role, self.uniformity)


# of every head at every evaluation, in the order of Head's fields from `everywhere` on
MEASURES = ("previous", "triggers", "others", "uniformity", "triggers_even", "others_even")


def heads_shown(run: Run, snapshot: int) -> list[Head]:
    """Return what all heads of the seed shown do at a snapshot."""
    steps = run["curve/step"][: len(run["heads/previous"])]
    evaluation = int(np.abs(steps - run.snapshot_steps[snapshot]).argmin())
    measures = [run[f"heads/{name}"][evaluation].tolist() for name in MEASURES]
    look_back = one_back_at(run, snapshot)
    heads = []
    for index, (name, *values) in enumerate(zip(run.names("heads"), *measures, strict=True)):
        everywhere = values[0]
        where_read = float(look_back.attention[index])
        previous = everywhere if math.isnan(where_read) else where_read
        heads.append(Head(name, previous, float(look_back.strongest[index]), *values))
    return heads


def last_heads(run: Run) -> list[Head]:
    """Return what all heads do at the last snapshot."""
    return heads_shown(run, len(run.snapshot_steps) - 1)


def of_role(heads: list[Head], role_name: str) -> list[Head]:
    """Return the heads that have a role."""
    return [head for head in heads if head.role == role_name]


def finder(run: Run) -> Head:
    """Return the head that finds most of what followed triggers, after the training."""
    heads = last_heads(run)
    return max(of_role(heads, INDUCTION) or heads, key=lambda head: head.found)


def one_back_at(run: Run, snapshot: int) -> OneBack:
    """Return what every head does where the next layer reads, at a snapshot, [heads].

    After the training it is measured on held-out sequences. Before, only the maps of the example
    are kept: it is measured there.
    """
    if run.finished and snapshot == len(run.snapshot_steps) - 1:
        return one_back_after_training(run)
    in_example = one_back_in_example(run)
    return OneBack(in_example.attention[snapshot], in_example.strongest[snapshot])


@lru_cache(maxsize=8)
def one_back_after_training(run: Run) -> OneBack:
    """Return `one_back` of the trained model on PROBED held-out positions, [heads]."""
    batch = held_out(task_of(run.config), PROBED // run.config.T, "cpu")
    return one_back_of(final_weights(run), batch, run.config.heads)


@lru_cache(maxsize=8)
def one_back_in_example(run: Run) -> OneBack:
    """Return `one_back` of the example at every snapshot, [snapshots, heads]."""
    in_context = torch.tensor(run["example/in_context"])[None]  # (1, T)
    snapshots = [
        one_back(torch.tensor(example_maps(run, index))[None], in_context, run.config.heads)
        for index in range(len(run.snapshot_steps))
    ]
    return OneBack(
        np.stack([snapshot.attention for snapshot in snapshots]),
        np.stack([snapshot.strongest for snapshot in snapshots]),
    )


def example_maps(run: Run, snapshot: int) -> np.ndarray:
    """Return the example's attention at a snapshot, [heads, T, T].

    That of the last snapshot is computed from the final weights, the others are kept in parts of
    255.
    """
    if run.finished and snapshot == len(run.snapshot_steps) - 1:
        with torch.no_grad():
            outcome = forward(final_weights(run), example_inputs(run)[None], run.config.heads)
        return torch.cat(outcome.attention, 1)[0].numpy()
    packed = run["reading/attention"][snapshot]  # (heads, T (T + 1) / 2)
    T = len(run.names("sequence"))
    maps = np.zeros((len(packed), T, T), np.float32)
    maps[:, *np.tril_indices(T)] = packed.astype(np.float32) / 255
    return maps


def example_inputs(run: Run) -> torch.Tensor:
    """Return the tokens of the example, [T]."""
    tokens = {character: token for token, character in enumerate(run.names("characters"))}
    return torch.tensor([tokens[character] for character in run.names("sequence")])


def final_weights(run: Run) -> dict[str, torch.Tensor]:
    """Return the weights after the training, in single precision."""
    return {
        name[6:]: torch.from_numpy(array.astype(np.float32))
        for name, array in run.tensors.items()
        if name.startswith("final/")
    }


def forms(run: Run, role_name: str) -> float | None:
    """Return the step of the first snapshot at which some head of the seed shown has a role; None
    if none ever does."""
    for snapshot, step in enumerate(run.snapshot_steps):
        if of_role(heads_shown(run, snapshot), role_name):
            return float(step)
    return None


def milestones(run: Run) -> dict[str, float]:
    """Return the training step at which a head of the first seed first does each thing."""
    steps = {name: forms(run, role_name) for role_name, name in MILESTONES.items()}
    return {name: step for name, step in steps.items() if step is not None}


def where_read(run: Run) -> OneBack:
    """Return what every head does where the next layer reads, after the training,
    [seeds, heads].

    Runs of before it was measured in training hold the weights of every seed instead.
    """
    if "evaluated/strongest" in run.tensors:
        return OneBack(run["evaluated/where_read"], run["evaluated/strongest"])
    numbers = range(1, 1 + len(run["evaluated/previous"]))
    seeds = [one_back_after_training(of_seed(run, number)) for number in numbers]
    return OneBack(
        np.stack([seed.attention for seed in seeds]),
        np.stack([seed.strongest for seed in seeds]),
    )


def roles(run: Run) -> list[list[str]]:
    """Return what every head does after the training, a list a seed."""
    previous = where_read(run).attention  # (seeds, heads)
    # no layer reads the last one: there the mean over all positions counts
    previous = np.where(np.isnan(previous), run["evaluated/previous"], previous)
    names = ("triggers", "triggers_even", "uniformity")
    measures = [previous, *(run[f"evaluated/{name}"] for name in names)]
    seeds = np.stack(measures, -1)  # (seeds, heads, measures)
    return [[role(*map(float, head)) for head in heads] for heads in seeds]


def accuracy_at(run: Run, at: float) -> float:
    """Return the mean over seeds of the accuracy at a training step, which may lie between two
    evaluations."""
    return float(np.interp(at, run["curve/step"], mean_of(run["curve/accuracy"])))


def copied(run: Run) -> tuple[float, float]:
    """Return how often the trained model of the first seed copies against the bigrams, with the
    standard error."""
    task = task_of(run.config)
    batch = held_out(task, SEQUENCES, "cpu")
    chunks = []
    with torch.no_grad():
        for _, part, outcome in passes(final_weights(run), batch, run.config.heads):
            chunks.append(hits(outcome.logits, part.targets))
    return copied_the_unlikely(torch.cat(chunks), batch, task)


def named(heads: str) -> list[str]:
    """Return the ids of heads in a text, with commas or spaces between them."""
    return heads.replace(",", " ").split()


def measure_replaced(run: Run, names: Sequence[str], by: str) -> dict[str, float]:
    """Return the trained model's `MEASURES` with heads, by their ids, replaced in the way `by`."""
    if run.digest not in _BENCHES:
        while len(_BENCHES) >= MOST:
            _BENCHES.pop(next(iter(_BENCHES)))
        task = task_of(run.config)
        batch = held_out(task, POSITIONS // run.config.T, "cpu")
        _BENCHES[run.digest] = Bench(final_weights(run), task, batch, run.config.heads)
    return _BENCHES[run.digest].measure([pair_of(name) for name in names], by)


def attends(run: Run) -> tuple[dict[str, float] | None, dict[str, float]]:
    """Return `attends/values` by name: of the single layer beside the model, None if there is none,
    and of the model."""
    names = run.names("attends")
    model = dict(zip(names, run["attends/values"].tolist(), strict=True))
    alone = run.tensors.get("one_layer/attends")
    if alone is None:
        return None, model
    return dict(zip(names, alone.tolist(), strict=True)), model


def single_layer(run: Run) -> dict[str, float]:
    """Return `attends/values` by name of the single layer: the one beside the model, or the model
    itself."""
    alone, model = attends(run)
    return alone or model
