"""What a lesson allows.

The address names the lesson; its rules hold whatever else the address says.
"""

from collections.abc import Mapping
from typing import Any

import streamlit as st

from icl_core import registry
from icl_core.contract.experiment import Paper, Preset
from icl_core.contract.lesson import PRESETS, Lesson

LOCKED = "Set by the lesson."


def requested_lesson(paper: Paper, warnings: list[str]) -> Lesson | None:
    """Return the lesson of the paper that the address asks for; None if it asks for none.

    Another lesson's name, or another experiment beside it, adds a sentence to `warnings`.
    """
    name = st.query_params.get("lesson")
    if name is None:
        return None
    lesson = next((lesson for lesson in paper.lessons if lesson.name == name), None)
    if lesson is None:
        lessons = ", ".join(
            f"{other} ({its_paper.title.split(':')[0]})"
            for other, (its_paper, _) in registry.lessons().items()
        )
        warnings.append(f"There is no lesson {name!r:.80} on this page; the lessons are {lessons}.")
        return None
    experiment = st.query_params.get("experiment", lesson.experiment)
    if experiment != lesson.experiment:
        warnings.append(
            f"This lesson is on the experiment {lesson.experiment}; the link's {experiment!r:.80} "
            "is not used."
        )
    return lesson


def lesson_preset(lesson: Lesson | None, warnings: list[str]) -> str:
    """Return the preset that a lesson sets; empty if the visitor may choose one."""
    if lesson is None or PRESETS not in lesson.hidden:
        return ""
    preset = st.query_params.get("preset", lesson.preset)
    if preset != lesson.preset:
        warnings.append(
            f"In this lesson preset is {lesson.preset}; the link's {preset!r:.80} is not used."
        )
    return lesson.preset


def apply_lesson(
    lesson: Lesson | None, preset: Preset, linked: Mapping[str, Any], warnings: list[str]
) -> dict[str, Any]:
    """Return the fields of a link, `linked`, with the lesson's in place of those that it sets.

    Each replaced value adds a sentence to `warnings`.
    """
    fixed = lesson.fixed_fields(preset.config) if lesson else {}
    for field, value in linked.items():
        if field in fixed and value != fixed[field]:
            warnings.append(
                f"In this lesson {field} is {fixed[field]}; the link's {value!r:.80} is not used."
            )
    return {**linked, **fixed}


def is_hidden(lesson: Lesson | None, control: str) -> bool:
    """Return whether a lesson leaves out a control, or a drawer."""
    return lesson is not None and control in lesson.hidden


def lesson_query(fields: Mapping[str, str]) -> dict[str, str]:
    """Return the address's lesson, as a field, if the next address, `fields`, stays within the
    lesson's experiment; else nothing."""
    name = st.query_params.get("lesson", "")
    _, lesson = registry.lessons().get(name, (None, None))
    if lesson is None or fields.get("experiment") != lesson.experiment:
        return {}
    return {"lesson": name}
