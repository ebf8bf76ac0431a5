"""What a lesson allows: it is read from the address, and holds whatever else a link says."""

from collections.abc import Mapping
from typing import Any

import streamlit as st

from icl_core import registry
from icl_core.contract import knobs
from icl_core.contract.experiment import Paper, Preset
from icl_core.contract.lesson import PRESETS, SETTINGS, TRAIN, Lesson

LOCKED = "Set by the lesson."


def requested_lesson(paper: Paper, warnings: list[str]) -> Lesson | None:
    """The paper's lesson, if the address asks for it; of any other name or experiment the visitor
    is told."""
    name, lesson = st.query_params.get("lesson"), paper.lesson
    if name is None:
        return None
    if lesson is None or name != lesson.name:
        there = ", ".join(
            f"{each} ({on.title.split(':')[0]})" for each, (on, _) in registry.lessons().items()
        )
        warnings.append(f"There is no lesson {name!r:.80} on this page; the lessons are {there}.")
        return None
    if (wanted := st.query_params.get("experiment", lesson.experiment)) != lesson.experiment:
        warnings.append(
            f"This lesson is on the experiment {lesson.experiment}; the link's {wanted!r:.80} "
            "is not used."
        )
    return lesson


def lesson_preset(lesson: Lesson | None, warnings: list[str]) -> str:
    """The preset that a lesson holds; empty if it leaves the choice."""
    if lesson is None or PRESETS not in lesson.hidden:
        return ""
    if (wanted := st.query_params.get("preset", lesson.preset)) != lesson.preset:
        warnings.append(
            f"In this lesson preset is {lesson.preset}; the link's {wanted!r:.80} is not used."
        )
    return lesson.preset


def fixed_fields(lesson: Lesson | None, preset: Preset) -> dict[str, Any]:
    """The fields that a lesson sets: its own, and all of the config where none may be chosen or
    trained."""
    if lesson is None:
        return {}
    whole = knobs.values(preset.config) if {SETTINGS, TRAIN} & {*lesson.hidden} else {}
    return {**whole, **lesson.fixed}


def apply_lesson(
    lesson: Lesson | None, preset: Preset, wanted: Mapping[str, Any], warnings: list[str]
) -> dict[str, Any]:
    """What a link wants, with what the lesson sets in its place, each said."""
    here = fixed_fields(lesson, preset)
    for field, value in wanted.items():
        if field in here and value != here[field]:
            warnings.append(
                f"In this lesson {field} is {here[field]}; the link's {value!r:.80} is not used."
            )
    return {**wanted, **here}


def is_hidden(lesson: Lesson | None, control: str) -> bool:
    """Whether a lesson leaves out a control, or a drawer."""
    return lesson is not None and control in lesson.hidden


def lesson_query(fields: Mapping[str, str]) -> dict[str, str]:
    """The lesson in the address, where the next one is still its experiment."""
    name = st.query_params.get("lesson", "")
    _, lesson = registry.lessons().get(name, (None, None))
    return (
        {"lesson": name}
        if lesson is not None and fields.get("experiment") == lesson.experiment
        else {}
    )
