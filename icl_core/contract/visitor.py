"""What a visitor may do to what the stage shows: type a text that the model reads, or put something
else in place of parts of the model."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from icl_core.contract.run import Run

# What stands in place of a part of a model, in words, by the name that views use.
IN_PLACE = {"constructed": "its construction", "initial": "its initial value", "zero": "zero"}


@dataclass(frozen=True)
class TextInput:
    """A text that the visitor types above the stage, which shows what the model makes of it.

    field    the view's text field
    label    what to type, in a word or two
    example  takes a run and a view and returns what the stage shows while the field is empty
    help     a sentence beside the field
    """

    field: str
    label: str
    example: Callable[[Run, Any], str]
    help: str = ""


@dataclass(frozen=True)
class ReplacedPart:
    """A part of the model in whose place the view puts something else.

    part   its name for visitors: "W_O²"
    by     what stands in its place: "zero"
    panel  the stage's panel that shows the part; empty if there is none
    """

    part: str
    by: str
    panel: str = ""


@dataclass(frozen=True)
class Replacements:
    """What a view can replace; the stage's panels and the headline then show the model with it.

    fields  the view's fields that say what is put in place of what; at the preset's values nothing
            is replaced
    parts   takes a config and a view and returns what is replaced
    """

    fields: tuple[str, ...]
    parts: Callable[[Any, Any], Sequence[ReplacedPart]]


def in_words(parts: Sequence[ReplacedPart]) -> str:
    """Return what is replaced, and by what: "W_K¹ and W_O² replaced by zero"."""
    groups: dict[str, list[str]] = {}
    for replaced in parts:
        groups.setdefault(replaced.by, []).append(replaced.part)
    return ", ".join(f"{_listed(names)} replaced by {by}" for by, names in groups.items())


def _listed(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
