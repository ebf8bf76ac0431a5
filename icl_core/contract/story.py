"""The story of a run: its task, beats with questions, and things to try. Values only; the page
plays them.

A beat is one sentence with what is shown while it is read. Both are computed from the run on
screen; a beat whose rule finds no step in that run is left out.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from weakref import WeakKeyDictionary

from icl_core.contract.run import Run

Said = str | Callable[[Run, Any], str]  # a sentence, or a function of a run and a view

FIRST = "first"
LAST = "last"
Rule = Callable[[Run], float | None]  # takes a run and returns a training step, None if it has none
When = float | str | Rule  # a training step, FIRST, LAST or a rule

# The steps that rules have returned, for as long as the run is in memory: a page needs them at
# every rerun, and some rules read every snapshot.
_STEPS: WeakKeyDictionary[Run, dict[Rule, float | None]] = WeakKeyDictionary()


@dataclass(frozen=True)
class Example:
    """One prompt of a model.

    pieces  pieces of text, each with its role: "trigger", "output", "other", "x", "y", "query", or
            "" for plain text
    answer  what comes next
    """

    pieces: tuple[tuple[str, str], ...]
    answer: str = ""


@dataclass(frozen=True)
class Task:
    """What the model has to do.

    say      two sentences for a reader who knows what a matrix is, or a function of the config that
             returns them
    example  one prompt, or a function of the config that returns it
    """

    say: str | Callable[[Any], str]
    example: Example | Callable[[Any], Example]


@dataclass(frozen=True)
class Question:
    """A prediction that the visitor makes before the answer is shown.

    ask      the question
    choices  the answers to choose from
    right    takes a run and a view and returns the index of the right choice
    answer   what came out, with its numbers
    why      our reason, shown after the visitor's own
    hides    what would reveal the answer and is hidden until then: names of drawings, HEADLINE,
             MARKS. The marks, and without a clock the headline, are also hidden in the beats before
    there    ask it at the step of its beat; otherwise it is asked where the clock stands
    """

    ask: str
    choices: tuple[str, ...]
    right: Callable[[Run, Any], int]
    answer: Said
    why: str
    hides: tuple[str, ...] = ()
    there: bool = False


HEADLINE = "headline"  # of the run on screen, for `hides`
MARKS = "marks"  # on the clock, for `hides`


@dataclass(frozen=True)
class Beat:
    """One sentence with what is shown while it is read.

    name    its id in links
    say     the sentence
    at      the training step to which the clock plays; None leaves the clock where it is. With a
            rule that returns None the beat is left out
    marks   the names of the drawings that it is about: they are outlined, the rest of the stage is
            dimmed
    view    the view fields that it sets; fields that only other beats set have the preset's values
    drawer  the drawer that it opens
    ask     a question; the sentence is shown when it is answered or skipped
    do      what the visitor should do, in words
    done    takes a view and returns whether the visitor has done it
    then    the sentence that is shown once it is done
    """

    name: str
    say: Said
    at: When | None = None
    marks: tuple[str, ...] = ()
    view: Mapping[str, Any] = field(default_factory=dict)
    drawer: str = ""
    ask: Question | None = None
    do: str = ""
    done: Callable[[Any], bool] | None = None
    then: Said = ""


@dataclass(frozen=True)
class Try:
    """Something to try, as a link.

    say     the link's text
    preset  the preset to which it leads; the first if empty
    fields  the config and view fields that it sets
    step    the training step at which the clock stands
    drawer  the drawer that is open
    marks   the names of the drawings that are outlined
    """

    say: str
    preset: str = ""
    fields: Mapping[str, Any] = field(default_factory=dict)
    step: int | None = None
    drawer: str = ""
    marks: tuple[str, ...] = ()

    @property
    def sight(self) -> dict[str, str]:
        """The part of its address that says where to look: the step, the drawer, the panels."""
        fields: dict[str, str] = {}
        if self.step is not None:
            fields["step"] = str(self.step)
        if self.drawer:
            fields["drawer"] = self.drawer
        if self.marks:
            fields["marks"] = ",".join(self.marks)
        return fields


@dataclass(frozen=True)
class Story:
    """The story of an experiment.

    task   what the model has to do
    beats  those of its first preset
    tries  things to try
    brief  the task in one short sentence, which a tour shows in its place; empty for the task's
    seen   one sentence on what its run has shown, for the end of a tour; empty for the headline
    """

    task: Task
    beats: tuple[Beat, ...]
    tries: tuple[Try, ...] = ()
    brief: str | Callable[[Any], str] = ""
    seen: Said = ""


def sentence_of(what: Said, run: Run, view: Any) -> str:
    """Return a sentence for a run and a view."""
    return what if isinstance(what, str) else what(run, view)


def task_of(task: Task, config: Any) -> str:
    """Return the task's sentences for a config."""
    return task.say if isinstance(task.say, str) else task.say(config)


def brief_of(story: Story, config: Any) -> str:
    """Return the task of a story for a config in one sentence, or in the task's if it has none."""
    if not story.brief:
        return task_of(story.task, config)
    return story.brief if isinstance(story.brief, str) else story.brief(config)


def example_of(task: Task, config: Any) -> Example:
    """Return the task's example for a config."""
    return task.example if isinstance(task.example, Example) else task.example(config)


def seen_at(beat: Beat, run: Run, base: Any) -> Any:
    """Return the view in which a beat's sentence is true: `base` with the fields that the beat
    sets, at the snapshot to which it plays."""
    snapshot = snapshot_of(beat, run)
    fields = dict(beat.view)
    if snapshot is not None and hasattr(base, "snapshot"):
        fields["snapshot"] = snapshot
    return replace(base, **fields)


def step_of(beat: Beat, run: Run) -> float | None:
    """Return the training step to which a beat plays; None if the clock stays where it is or the
    beat's rule finds no step (see `resolve_beats`)."""
    if callable(beat.at):
        steps = _STEPS.setdefault(run, {})
        if beat.at not in steps:
            steps[beat.at] = beat.at(run)
        return steps[beat.at]
    if not isinstance(beat.at, str):
        return beat.at
    if beat.at not in (FIRST, LAST):
        raise ValueError(f"at must be FIRST, LAST, a step or a rule, got {beat.at!r}")
    return (run.snapshot_steps or [0])[0 if beat.at == FIRST else -1]


def first_at(steps: Iterable[float], holds: Iterable[bool]) -> float | None:
    """Return the first of `steps` whose entry of `holds` is true; None if there is none. Later
    entries are not computed."""
    return next((float(step) for step, true in zip(steps, holds, strict=False) if true), None)


def first_from(steps: Iterable[float], holds: Iterable[bool]) -> float | None:
    """Return the first of `steps` from which on all entries of `holds` are true; None if the last
    one is not."""
    first = None
    for step, true in zip(steps, holds, strict=True):
        if not true:
            first = None
        elif first is None:
            first = step
    return None if first is None else float(first)


def resolve_beats(story: Story | None, run: Run) -> list[Beat]:
    """Return the beats whose sentence is true in a run, in order."""
    beats = story.beats if story else ()
    return [beat for beat in beats if beat.at is None or step_of(beat, run) is not None]


def snapshot_of(beat: Beat, run: Run) -> int | None:
    """Return the index of the first snapshot at or after a beat's step, or the last one; None if
    the clock stays where it is or the run has no snapshots."""
    step = step_of(beat, run)
    snapshot_steps = run.snapshot_steps
    if step is None or not snapshot_steps:
        return None
    for index, snapshot_step in enumerate(snapshot_steps):
        if snapshot_step >= step:
            return index
    return len(snapshot_steps) - 1
