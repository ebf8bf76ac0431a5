"""What is told of an experiment is true of the run that its first preset ships, and leads
somewhere."""

import gc
import weakref
from dataclasses import replace

import cells
import numpy as np
import pytest

from icl_core import registry
from icl_core.contract import story as storytelling
from icl_core.contract.experiment import STAGE, Run
from icl_core.contract.knobs import knobs_of, values
from icl_core.contract.story import FIRST, HEADLINE, LAST, MARKS, Beat, Story
from icl_core.papers.birth.shared.draw import on_stage
from icl_core.papers.birth.shared.train import task_of

IDS = [id for id in registry.experiment_ids() if not id.startswith("toy.")]


def first_preset(id: str):
    """An experiment, its first preset's run, and the view that the preset starts from."""
    experiment = registry.experiment(id)
    preset = experiment.presets[0]
    assert experiment.story is not None
    return experiment, cells.shipped(id, preset.name), experiment.view(**preset.view)


@pytest.fixture(params=IDS)
def shipped(request):
    return first_preset(request.param)


def test_three_to_six_beats_and_two_questions_are_true_of_the_run(shipped):
    experiment, run, _ = shipped
    beats = experiment.story.beats
    assert storytelling.resolve_beats(experiment.story, run) == list(beats)  # none is left out
    assert 3 <= len(beats) <= 6 and len({beat.name for beat in beats}) == len(beats)
    assert sum(beat.ask is not None for beat in beats) >= 2
    for beat in beats:
        assert beat.name.isascii() and " " not in beat.name
        at = storytelling.snapshot_of(beat, run)
        assert at is None or 0 <= at < len(run.snapshot_steps)


def test_beats_speak_of_what_is_there(shipped):
    experiment, run, view = shipped
    drawings = {
        drawing.name: drawing for drawing in experiment.drawings if drawing.applies(run.config)
    }
    for beat in experiment.story.beats:
        replace(view, **beat.view)
        assert set(beat.view) <= set(knobs_of(experiment.view)) - {"snapshot"}
        assert set(beat.marks) <= drawings.keys(), beat.name
        assert {drawings[name].place for name in beat.marks} <= {STAGE, beat.drawer}, beat.name
        hidden = set(beat.ask.hides) - {HEADLINE, MARKS} if beat.ask else set()
        assert hidden <= drawings.keys(), beat.name


def test_every_sentence_is_said_of_the_run(shipped):
    experiment, run, view = shipped
    for beat in experiment.story.beats:
        here = storytelling.seen_at(beat, run, view)
        say, then = (storytelling.sentence_of(text, run, here) for text in (beat.say, beat.then))
        texts = [say, beat.do, then]
        if beat.ask:
            assert len(beat.ask.choices) == 3 and len(set(beat.ask.choices)) == 3
            assert beat.ask.right(run, here) in range(3)
            answer = storytelling.sentence_of(beat.ask.answer, run, here)
            texts += [beat.ask.ask, answer, beat.ask.why]
            assert beat.ask.ask.endswith("?") and beat.ask.why
        assert say and bool(beat.do) == (beat.done is not None)
        assert all(text == "" or text[-1] in ".?)”" for text in texts), texts
        assert not any(word in text.lower().split() for text in texts for word in ("nan", "inf"))
        assert max(map(len, texts)) <= 330, max(texts, key=len)


def test_every_try_leads_to_a_setting_that_can_be(shipped):
    experiment, _, _ = shipped
    presets = {preset.name: preset for preset in experiment.presets}
    places = {drawing.place for drawing in experiment.drawings} - {STAGE}
    places |= {"View", "Numbers", "Evidence", "Why"}
    names = knobs_of(experiment.config)
    assert experiment.story.tries
    for link in experiment.story.tries:
        preset = presets[link.preset] if link.preset else experiment.presets[0]
        config = {name: value for name, value in link.fields.items() if name in names}
        replace(preset.config, **config)
        view = experiment.view(**preset.view)
        replace(view, **{name: value for name, value in link.fields.items() if name not in names})
        assert link.fields or link.preset or link.drawer or link.step is not None
        assert not link.drawer or link.drawer in places
        assert set(link.marks) <= {drawing.name for drawing in experiment.drawings}
        assert values(view) is not None


def test_the_task_comes_in_two_sentences_with_an_example(shipped):
    experiment, _, _ = shipped
    task = experiment.story.task
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
    characters = on_stage(task_of(config), experiment.view()).characters
    assert "".join(characters).startswith(prompt)


@pytest.mark.parametrize("name", [name for name in registry.papers() if name != "toy"])
def test_tours_pass_by_what_there_is(name):
    paper = registry.papers()[name]
    assert set(paper.tour) <= set(paper.experiments) and paper.highlights
    for experiment, beat_name in paper.highlights:
        beats = registry.experiment(f"{name}.{experiment}").story.beats
        assert beat_name in [beat.name for beat in beats]


def test_a_tour_says_little_at_a_time():
    """Of each step what stands on the screen at once: the question, or what follows it."""
    for paper in registry.papers().values():
        former = ""
        for name, beat_name in paper.highlights:
            experiment, run, start = first_preset(f"{paper.name}.{name}")
            story = experiment.story
            beat = next(beat for beat in story.beats if beat.name == beat_name)
            view = storytelling.seen_at(beat, run, start)
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
    assert storytelling.first_at(steps, holds) == at
    assert storytelling.first_from(np.array(steps), np.array(holds)) == on


def test_a_word_that_names_no_step_is_refused():
    with pytest.raises(ValueError, match="got 'end'"):
        storytelling.step_of(Beat("x", "It is.", "end"), _run([1.0]))


class WatchedView:
    """A view that notes which of its fields are read."""

    def __init__(self, view):
        self.view = view
        self.fields = set()

    def __getattr__(self, name):
        self.fields.add(name)
        return getattr(self.view, name)


def test_what_a_visitor_is_to_do_is_not_done_yet_and_put_back_afterwards(shipped):
    experiment, _, view = shipped
    put_back = {field for beat in experiment.story.beats for field in beat.view}
    for beat in experiment.story.beats:
        if beat.done is not None:
            watched = WatchedView(replace(view, **beat.view))
            assert not beat.done(watched), beat.name
            assert watched.fields <= put_back, beat.name


def test_a_beat_whose_rule_finds_nothing_is_left_out():
    task = registry.experiment("toy.walk").story.task
    rule = lambda run: 10.0 if (run["curve/loss"] < 0.5).any() else None  # noqa: E731
    story = Story(task, (Beat("a", "First.", FIRST), Beat("b", "Half is gone.", rule)))
    assert [beat.name for beat in storytelling.resolve_beats(story, _run([1.0, 0.9]))] == ["a"]
    assert [beat.name for beat in storytelling.resolve_beats(story, _run([1.0, 0.4]))] == ["a", "b"]
    assert storytelling.resolve_beats(None, _run([1.0])) == []


def test_a_rule_looks_at_a_run_once_and_holds_no_run():
    calls = []
    run = _run([1.0])
    other = _run([1.0])
    # it finds nothing, which is found once, too
    beat = Beat("x", "It is.", lambda run: calls.append(id(run)))
    steps = [storytelling.step_of(beat, r) for r in (run, run, other, other)]
    assert steps == [None] * 4
    assert calls == [id(run), id(other)]
    gone = weakref.ref(other)
    del other
    gc.collect()
    assert gone() is None
