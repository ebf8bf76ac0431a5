"""What a visitor may do to what the stage shows: type a text that the model reads, or put something
else in place of parts of the model; and train the model in the browser's tab. No torch."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
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


@dataclass(frozen=True)
class InTab:
    """How an experiment's model is trained in a browser's tab.

    script   the JavaScript file that holds the trainer and what it needs beside those of
             `site/browser/training`
    trainer  its class; see `worker.js` for what it does
    config   the setting from which the sliders start
    knobs    the positions of the sliders, by the config's field
    note     what differs from the experiment's own training, in a sentence; empty if nothing does
    data     takes a config and returns what else the trainer is given, by name, ready for JSON
    """

    script: Path
    trainer: str
    config: Any
    knobs: Mapping[str, tuple[Any, ...]]
    note: str = ""
    data: Callable[[Any], Mapping[str, Any]] = lambda config: {}
