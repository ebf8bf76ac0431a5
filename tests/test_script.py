"""What is told of an experiment is true of the run that its first preset ships, and leads
somewhere."""

import gc
import os
import weakref
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

os.environ.setdefault("ICL_PAPERS", str(Path(__file__).parent / "papers_extra"))

from icl_core import registry
from icl_core.contract import story as storytelling
from icl_core.contract.experiment import STAGE, Run
from icl_core.contract.knobs import knobs_of, values
from icl_core.contract.story import FIRST, HEADLINE, LAST, MARKS, Beat, Story
from icl_core.papers.birth.shared.draw import on_stage
from icl_core.papers.birth.shared.train import task_of
from icl_core.runs import store

IDS = [id for id in registry.experiment_ids() if not id.startswith("toy.")]


@pytest.fixture(params=IDS)
def told(request):
    """An experiment, its first preset's run, and the view that the preset starts from."""
    experiment = registry.experiment(request.param)
    header = store.default().preset(request.param, experiment.presets[0].name)
    run = store.default().load(header) if header else None
    assert experiment.story is not None and run is not None
    return experiment, run, experiment.view(**experiment.presets[0].view)


def test_three_to_six_beats_and_two_questions_are_true_of_the_run(told):
    experiment, run, _ = told
    beats = experiment.story.beats
    assert storytelling.resolve_beats(experiment.story, run) == list(beats)  # none is left out
    assert 3 <= len(beats) <= 6 and len({beat.name for beat in beats}) == len(beats)
    assert sum(beat.ask is not None for beat in beats) >= 2
    for beat in beats:
        assert beat.name.isascii() and " " not in beat.name
        at = storytelling.snapshot_of(beat, run)
        assert at is None or 0 <= at < len(run.snapshot_steps)


def test_beats_speak_of_what_is_there(told):
    experiment, run, view = told
    drawings = {each.name: each for each in experiment.drawings if each.applies(run.config)}
    for beat in experiment.story.beats:
        replace(view, **beat.view)
        assert set(beat.view) <= set(knobs_of(experiment.view)) - {"snapshot"}
        assert set(beat.marks) <= drawings.keys(), beat.name
        assert {drawings[name].place for name in beat.marks} <= {STAGE, beat.drawer}, beat.name
        hidden = set(beat.ask.hides) - {HEADLINE, MARKS} if beat.ask else set()
        assert hidden <= drawings.keys(), beat.name


def test_every_sentence_is_said_of_the_run(told):
    experiment, run, view = told
    for beat in experiment.story.beats:
        here = storytelling.seen_at(beat, run, view)
        texts = [
            storytelling.sentence_of(beat.say, run, here),
            beat.do,
            storytelling.sentence_of(beat.then, run, here),
        ]
        if beat.ask:
            assert len(beat.ask.choices) == 3 and len(set(beat.ask.choices)) == 3
            assert beat.ask.right(run, here) in range(3)
            texts += [
                beat.ask.ask,
                storytelling.sentence_of(beat.ask.answer, run, here),
                beat.ask.why,
            ]
            assert beat.ask.ask.endswith("?") and beat.ask.why
        assert texts[0] and bool(beat.do) == (beat.done is not None)
        assert all(text == "" or text[-1] in ".?)”" for text in texts), texts
        assert not any(word in text.lower().split() for text in texts for word in ("nan", "inf"))
        assert max(map(len, texts)) <= 330, max(texts, key=len)


def test_every_try_leads_to_a_setting_that_can_be(told):
    experiment, _, _ = told
    presets = {preset.name: preset for preset in experiment.presets}
    places = {drawing.place for drawing in experiment.drawings} - {STAGE} | {
        "View",
        "Numbers",
        "Evidence",
        "Why",
    }
    assert experiment.story.tries
    for each in experiment.story.tries:
        preset = presets[each.preset] if each.preset else experiment.presets[0]
        config = {
            name: value
            for name, value in each.fields.items()
            if name in knobs_of(experiment.config)
        }
        replace(preset.config, **config)
        view = experiment.view(**preset.view)
        replace(view, **{name: value for name, value in each.fields.items() if name not in config})
        assert each.fields or each.preset or each.drawer or each.step is not None
        assert not each.drawer or each.drawer in places
        assert set(each.marks) <= {drawing.name for drawing in experiment.drawings}
        assert values(view) is not None


def test_the_task_comes_in_two_sentences_with_an_example(told):
    experiment, task = told[0], told[0].story.task
    for preset in experiment.presets:
        say = storytelling.task_of(task, preset.config)
        assert say.count(". ") <= 1 and len(say) <= 260
        example = storytelling.example_of(task, preset.config)
        assert len(example.pieces) >= 2 and any(kind for _, kind in example.pieces)


@pytest.mark.parametrize(
    ("K", "prompt", "answer"),
    [(5, "hotshots", "h"), (3, "aXbYaXbYa", "X"), (1, "aXZYaXZYa", "X")],
)
def test_the_example_of_a_head_is_the_sequence_on_its_stage(K, prompt, answer):
    experiment = registry.experiment("birth.induction")
    config = replace(experiment.presets[0].config, K=K)
    example = storytelling.example_of(experiment.story.task, config)
    assert ("".join(text for text, _ in example.pieces), example.answer) == (prompt, answer)
    shown = on_stage(task_of(config), experiment.view()).characters
    assert "".join(shown).startswith(prompt)


@pytest.mark.parametrize(
    "paper", [each.name for each in registry.papers().values() if each.name != "toy"]
)
def test_tours_pass_by_what_there_is(paper):
    found = registry.papers()[paper]
    assert set(found.tour) <= set(found.experiments) and found.highlights
    for name, beat in found.highlights:
        experiment = registry.experiment(f"{paper}.{name}")
        assert beat in [each.name for each in experiment.story.beats]


def test_a_tour_says_little_at_a_time():
    """Of each step what stands on the screen at once: the question, or what follows it."""
    for paper in registry.papers().values():
        former = ""
        for name, beat_name in paper.highlights:
            experiment = registry.experiment(f"{paper.name}.{name}")
            story = experiment.story
            header = store.default().preset(f"{paper.name}.{name}", experiment.presets[0].name)
            run = store.default().load(header)
            beat = next(beat for beat in story.beats if beat.name == beat_name)
            view = storytelling.seen_at(beat, run, experiment.view(**experiment.presets[0].view))
            first = ""
            if name != former:
                first = storytelling.brief_of(story, run.config)
                first += f" {paper.bridge}" if not former else ""
                assert story.brief and storytelling.sentence_of(story.seen, run, view)
            says = storytelling.sentence_of(beat.say, run, view)
            screens = [f"{first} {says} {beat.do}"]
            if beat.ask:
                answer = storytelling.sentence_of(beat.ask.answer, run, view)
                screens = [f"{first} {beat.ask.ask}", f"{answer} {says}"]
            assert max(len(text.split()) for text in screens) <= 40, screens
            former = name


def _run(losses: list[float]) -> Run:
    tensors = {"snapshot/step": np.array([0, 10, 20, 40]), "curve/loss": np.array(losses)}
    return Run(None, tensors)


@pytest.mark.parametrize(
    ("at", "index"),
    [(FIRST, 0), (LAST, 3), (10, 1), (11, 2), (99, 3), (None, None), (lambda run: 20.0, 2)],
)
def test_a_beat_plays_to_the_first_snapshot_that_shows_it(at, index):
    assert storytelling.snapshot_of(Beat("x", "It is.", at), _run([1.0])) == index


@pytest.mark.parametrize(
    ("holds", "at", "on"),
    [
        ([True] * 4, 0, 0), ([False] * 4, None, None), ([False, True, False, True], 10, 40),
        ([False, True, True, True], 10, 10), ([True, True, True, False], 0, None),
        ([nan <= 1 for nan in (2.0, np.nan, 0.5, 0.5)], 20, 20),
    ],
)  # fmt: skip
def test_where_something_first_holds_and_from_where_on(holds, at, on):
    steps = [0, 10, 20, 40]
    assert (
        storytelling.first_at(steps, holds) == at
        and storytelling.first_from(np.array(steps), np.array(holds)) == on
    )


def test_a_word_that_names_no_step_is_refused():
    with pytest.raises(ValueError, match="got 'end'"):
        storytelling.step_of(Beat("x", "It is.", "end"), _run([1.0]))


class Asked:
    """A view that notes which of its fields are read."""

    def __init__(self, view):
        self.view, self.fields = view, set()

    def __getattr__(self, name):
        self.fields.add(name)
        return getattr(self.view, name)


def test_what_a_visitor_is_to_do_is_not_done_yet_and_put_back_afterwards(told):
    experiment, _, view = told
    put_back = {field for beat in experiment.story.beats for field in beat.view}
    for beat in experiment.story.beats:
        if beat.done is not None:
            asked = Asked(replace(view, **beat.view))
            assert not beat.done(asked), beat.name
            assert asked.fields <= put_back, beat.name


def test_a_beat_whose_rule_finds_nothing_is_left_out():
    task = registry.experiment("toy.walk").story.task
    rule = lambda run: 10.0 if (run["curve/loss"] < 0.5).any() else None  # noqa: E731
    story = Story(task, (Beat("a", "First.", FIRST), Beat("b", "Half is gone.", rule)))
    assert [beat.name for beat in storytelling.resolve_beats(story, _run([1.0, 0.9]))] == ["a"]
    assert [beat.name for beat in storytelling.resolve_beats(story, _run([1.0, 0.4]))] == ["a", "b"]
    assert storytelling.resolve_beats(None, _run([1.0])) == []


def test_a_rule_looks_at_a_run_once_and_holds_no_run():
    asked, run, other = [], _run([1.0]), _run([1.0])
    beat = Beat(
        "x", "It is.", lambda run: asked.append(id(run))
    )  # it finds nothing, which is found once, too
    assert [storytelling.step_of(beat, each) for each in (run, run, other, other)] == [None] * 4
    assert asked == [id(run), id(other)]
    gone = weakref.ref(other)
    del other
    gc.collect()
    assert gone() is None
