"""What a page of an experiment says, as JSON: its presets and knobs, its task, the beats of its
story with their questions, and what there is to try."""

from typing import Any

from icl_core.contract import knobs
from icl_core.contract.experiment import Run
from icl_core.contract.settings_io import value_text
from icl_core.contract.story import (
    Beat,
    Story,
    brief_of,
    example_of,
    resolve_beats,
    seen_at,
    sentence_of,
    snapshot_of,
    task_of,
)
from icl_core.share import gallery, glossary
from icl_core.site.markup import html_of
from icl_core.site.scenes import Scenes, ShownRun, shipped_runs, try_query


def experiment_texts(scenes: Scenes) -> dict[str, Any]:
    """Return what a page of an experiment says, and how it finds its scenes."""
    experiment = scenes.experiment
    presets = [preset for preset in experiment.presets if scenes.run_of(preset.name)]
    return {
        "id": scenes.id,
        "title": experiment.title,
        "about": html_of(experiment.about),
        "presets": [
            {
                "name": preset.name,
                "title": preset.title,
                "full": preset.full_title,
                "about": preset.about,
                "group": preset.group,
            }
            for preset in presets
        ],
        "knobs": _knobs(scenes),
        **scenes.index(),
        "tasks": _tasks(scenes),
        "beats": _beats_by_preset(scenes),
        "tries": _tries(scenes),
        "seen": _seen(scenes),
        "replaced": list(experiment.replaced.fields) if experiment.replaced else [],
        "drawings": [drawing.name for drawing in experiment.drawings],
        "trains": experiment.in_tab is not None,
    }


def _knobs(scenes: Scenes) -> list[dict[str, Any]]:
    """Return the main knobs: name, label, help, and the values that runs have, each with its
    text."""
    fields = knobs.knobs_of(scenes.experiment.config)
    names = knobs.main_knobs(scenes.experiment.config)
    rows: list[dict[str, Any]] = []
    for name in names:
        knob = fields[name]
        values = dict.fromkeys(getattr(run.config, name) for run in scenes.runs)
        ordered = sorted(values) if knob.kind == "slider" else list(values)
        labels = {
            value_text(value): knob.options.get(value) or knob.said(value) for value in ordered
        }
        rows.append(
            {
                "name": name,
                "label": knob.label,
                "help": knob.help,
                "slides": knob.kind == "slider",
                "values": labels,
            }
        )
    return rows


def _tasks(scenes: Scenes) -> dict[str, dict[str, Any]]:
    """Return the task of each run, by the run's name."""
    story = scenes.experiment.story
    if story is None:
        return {}
    return {run.name: _task(scenes.id, story, run) for run in scenes.runs}


def _task(id: str, story: Story, run: ShownRun) -> dict[str, Any]:
    example = example_of(story.task, run.config)
    return {
        "say": _marked(id, task_of(story.task, run.config)),
        "brief": _marked(id, brief_of(story, run.config)),
        "pieces": [list(piece) for piece in example.pieces],
        "answer": example.answer,
    }


def _marked(id: str, text: str) -> str:
    return glossary.marked(text, glossary.meanings(id.partition(".")[0]))


def _beats_by_preset(scenes: Scenes) -> dict[str, list[dict[str, Any]]]:
    """Return the beats of the story: those of the first preset's run, and of each lesson's."""
    story = scenes.experiment.story
    beats: dict[str, list[dict[str, Any]]] = {}
    presets = [scenes.experiment.presets[0].name]
    presets += [lesson.preset for lesson in scenes.lessons]
    for preset in dict.fromkeys(presets):
        shown = scenes.run_of(preset)
        run = shipped_runs().load(shown.header) if shown else None
        if story and shown and run:
            beats[preset] = [
                _beat(scenes.id, beat, run, shown.base) for beat in resolve_beats(story, run)
            ]
    return beats


def _beat(id: str, beat: Beat, run: Run, base: Any) -> dict[str, Any]:
    view = seen_at(beat, run, base)
    values = {
        name: value_text(value)
        for name, value in beat.view.items()
        if value != getattr(base, name) and name != "snapshot"
    }
    question = beat.ask and {
        "ask": _marked(id, beat.ask.ask),
        "choices": beat.ask.choices,
        "right": beat.ask.right(run, view),
        "answer": _marked(id, sentence_of(beat.ask.answer, run, view)),
        "why": _marked(id, beat.ask.why),
        "hides": beat.ask.hides,
        "there": beat.ask.there,
    }
    return {
        "name": beat.name,
        "say": _marked(id, sentence_of(beat.say, run, view)),
        "do": beat.do,
        "at": snapshot_of(beat, run),
        "marks": beat.marks,
        "drawer": beat.drawer,
        "view": values,
        "ask": question,
    }


def _tries(scenes: Scenes) -> list[dict[str, Any]]:
    """Return what there is to try: its words, its address, and whether the site has it; what the
    site has not needs a training."""
    story = scenes.experiment.story
    first = scenes.experiment.presets[0].name
    return [
        {
            "say": item.say,
            "query": try_query(scenes, item),
            "here": scenes.is_shown(item.preset or first, item.fields),
        }
        for item in (story.tries if story else ())
    ]


def _seen(scenes: Scenes) -> str:
    card = gallery.card(scenes.id)
    return card.seen if card else ""
