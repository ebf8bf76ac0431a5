"""The sequence on screen, typed or sampled, and what a model makes of it."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from icl_core.contract.experiment import CannotDraw
from icl_core.figures.character_labels import typed_characters, visible_characters
from icl_core.papers.birth.shared import model
from icl_core.papers.birth.shared.model import Weights
from icl_core.papers.birth.shared.task import Task, masks, sample
from icl_core.papers.birth.shared.text_characters import as_counted


@dataclass(frozen=True)
class Shown:
    """A sequence on screen, with its triggers and what follows them."""

    task: Task
    inputs: torch.Tensor  # [T]
    targets: torch.Tensor  # [T], or [T - 1] if nothing is known to follow the last
    triggers: torch.Tensor  # [k]
    in_context: torch.Tensor  # [T] bool
    truth: dict[int, int]  # trigger to its output, as far as known

    @property
    def characters(self) -> list[str]:
        return [self.task.characters[token] for token in self.inputs.tolist()]


def choose(task: Task, view: Any) -> Shown:
    """Return the sequence that a view's fields sequence, marked, sample and length ask for.
    `CannotDraw` for a character outside the vocabulary."""
    return typed(task, view.sequence, view.marked) if view.sequence else _sampled(task, view)


def choose_first(task: Task, view: Any) -> Shown:
    """Return what `choose` does, but for sample 0 the stage's example. Raises as `choose`."""
    if view.sequence or view.sample:
        return choose(task, view)
    sequence, triggers = on_stage(task)
    return typed(task, sequence, view.marked or triggers)


def _sampled(task: Task, view: Any) -> Shown:
    batch = sample(task, 1, torch.Generator().manual_seed(4_012 + view.sample))
    length = min(view.length, task.T)
    truth = dict(zip(batch.triggers[0].tolist(), batch.outputs[0].tolist(), strict=True))
    tokens = batch.tokens[0]
    return Shown(
        task,
        tokens[:length],
        tokens[1 : length + 1],
        batch.triggers[0],
        batch.in_context[0, :length],
        truth,
    )


def typed(task: Task, sequence: str, marked: str) -> Shown:
    """Return a sequence and its triggers, if none are marked the characters that come again. Raises
    as `choose`."""
    tokens = torch.tensor(encode(task, sequence, "the sequence")[: task.T])
    marked_tokens = encode(task, marked, "the triggers")
    triggers = torch.tensor(marked_tokens) if marked_tokens else _repeated(task, tokens)
    in_context = (
        masks(tokens[None], triggers[None], task.N)[0][0]
        if len(triggers)
        else torch.zeros(len(tokens)).bool()
    )
    truth: dict[int, int] = {}
    for token, follower in zip(tokens.tolist(), tokens.tolist()[1:], strict=False):
        if token in triggers.tolist():
            # the first thing that followed: what an induction head would repeat
            truth.setdefault(token, follower)
    return Shown(task, tokens, tokens[1:], triggers, in_context, truth)


def _repeated(task: Task, tokens: torch.Tensor) -> torch.Tensor:
    """Return the tokens that come more than once and may be triggers."""
    distinct, counts = tokens.unique(return_counts=True)
    repeated = distinct[counts > 1]
    if task.fixed_triggers is None:
        return repeated
    return repeated[torch.isin(repeated, task.fixed_triggers)]


WORDS = ("hotshots", "beriberi", "couscous")  # whose second half can be known from the first


def on_stage(task: Task) -> tuple[str, str]:
    """Return the sequence that the stage shows to a visitor who has typed none, and its triggers:
    a word that repeats itself, or the example where the vocabulary or the triggers allow no word.
    """
    if task.fixed_triggers is None and task.K >= 4:
        for word in WORDS:
            if set(word) <= set(task.characters):
                return word, ""
    return example(task)


def example(task: Task) -> tuple[str, str]:
    """Return a short sequence and its triggers: abcXabcXab, or with the vocabulary's most frequent
    letters. A model that has met fewer triggers a sequence, or fixed ones, is asked for two at
    most: aXbYaXbYaX."""
    frequent = [
        task.characters[token]
        for token in task.unigram.argsort(descending=True, stable=True).tolist()
    ]
    letters = sorted(frequent, key=lambda character: not character.isalpha())
    familiar = [character for character in task.familiar if character in letters]
    free = [*familiar, *(character for character in letters if character not in familiar)]
    if task.fixed_triggers is None and task.K >= 4:
        unit = free[:4]
        return "".join([*unit, *unit, *unit[:2]]), "".join(unit)
    fixed = (
        []
        if task.fixed_triggers is None
        else [task.characters[token] for token in task.fixed_triggers.tolist()]
    )
    triggers = (fixed or free)[: min(2, task.K)]
    candidates = dict.fromkeys(
        character for character in (*task.familiar[3:], *free) if character in letters
    )
    others = [character for character in candidates if character not in (*fixed, *triggers)]
    first = triggers[0] + others[0]
    second = (triggers[1] if len(triggers) > 1 else others[2]) + others[1]
    return first + second + first + second + first, "".join(triggers)


def encode(task: Task, text: str, subject: str) -> list[int]:
    """Return the tokens of a text as a visitor types it (`as_counted`, `typed_characters`);
    `CannotDraw` names the text by its `subject`, and a character that is no token."""
    characters = typed_characters(as_counted(text), task.characters)
    unknown = [character for character in characters if character not in task.characters]
    if unknown:
        vocabulary = "".join(visible_characters(sorted(task.characters)))
        label = visible_characters(unknown)[0]
        quoted = f"'{label}'" if unknown[0].isprintable() else repr(unknown[0])
        raise CannotDraw(
            f"{subject} must be made of the vocabulary's {task.N} characters {vocabulary}, got "
            f"{quoted}"
        )
    return [task.characters.index(character) for character in characters]


@dataclass(frozen=True)
class Reading:
    """What a model makes of a sequence: both maps [T, T] (layer 1's None if it has none),
    probabilities [T, N]."""

    attention1: np.ndarray | None
    attention2: np.ndarray
    probabilities: np.ndarray


def read(weights: Weights, sequence: Shown, layers: int) -> Reading:
    """Run the model over the sequence."""
    with torch.no_grad():
        logits, first, second = model.forward(weights, sequence.inputs[None], layers)
    maps = [None if attention is None else attention[0].numpy() for attention in (first, second)]
    return Reading(maps[0], maps[1], logits[0].softmax(-1).numpy())  # type: ignore[arg-type]


def boxes(sequence: Shown) -> list[tuple[int, int, str]]:
    """Return the cells (query, key, kind) to box in layer 2's map, as in Figure 2: at every
    repeated character what followed its earlier occurrences, the correct outputs of a trigger apart
    from others; and each in-context query itself."""
    tokens = sequence.inputs.tolist()
    inside = sequence.in_context.tolist()
    cells = [(query, query, "trigger") for query in range(len(tokens)) if inside[query]]
    for query, token in enumerate(tokens):
        for key in range(1, query + 1):
            if tokens[key - 1] == token:
                right = inside[query] and sequence.truth.get(token) == tokens[key]
                cells.append((query, key, "correct output" if right else "other output"))
    return cells
