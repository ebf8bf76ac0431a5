"""What is told of a run: its task, beats with questions, tries. Values only; the page plays them.

A beat is one sentence with what is seen while it is read. What it says is found in the run on
screen: a beat whose rule finds nothing there is left out.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from weakref import WeakKeyDictionary

from icl_core.contract.run import Run

Said = str | Callable[[Run, Any], str]  # a sentence, or how a run and a view make one
FIRST, LAST = "first", "last"
When = (
    float | str | Callable[[Run], float | None]
)  # a training step, FIRST, LAST, or a rule that finds one in the run

# What the rules found in a run, as long as it is held: a page asks at every rerun, and some look at
# every snapshot.
_FOUND: WeakKeyDictionary[Run, dict[Callable[[Run], float | None], float | None]] = (
    WeakKeyDictionary()
)


@dataclass(frozen=True)
class Example:
    """One prompt as the model meets it: pieces of text, each with what it is ("trigger", "output",
    "other", "x", "y", "query", or "" for plain), and what is to come next, `answer`."""

    pieces: tuple[tuple[str, str], ...]
    answer: str = ""


@dataclass(frozen=True)
class Task:
    """What the model has to do, in two sentences for somebody who knows what a matrix is, with one
    example.

    say  the sentences, or how a config makes them where its settings stand in them
    """

    say: str | Callable[[Any], str]
    example: Example


@dataclass(frozen=True)
class Question:
    """A prediction to make before it is seen: `choices` of which `right`, computed from the run, is
    the index of one.

    `answer` says what came out, with its numbers; `why` is our sentence, shown after the visitor's
    own. `hides` names what would give the answer away until then: drawings, HEADLINE, MARKS; the
    marks, and where there is no clock the headline, are hidden in the beats before it, too. It is
    asked where the clock stands, or with `there` where its beat is seen.
    """

    ask: str
    choices: tuple[str, ...]
    right: Callable[[Run, Any], int]
    answer: Said
    why: str
    hides: tuple[str, ...] = ()
    there: bool = False


HEADLINE, MARKS = "headline", "marks"  # of the clock, for `hides`


@dataclass(frozen=True)
class Beat:
    """One thing that is said, and seen.

    name    its id in links
    say     the sentence
    at      the training step that the clock plays to; None leaves it where it is. A rule that gives
            None leaves the
            beat out
    marks   the drawings that it speaks of: outlined, the rest of the stage dimmed
    view    view fields that it sets; those that other beats of the script set go back to the
            preset's
    drawer  the drawer that it opens
    ask     a question; what the beat says is shown when it is answered or passed over
    do      what the visitor is to do, in words, until `done` holds of the view; then `then` is said
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
    """Something to try, as a link: `say` is its text. It leads to `preset` (the first, if none is
    named) with the config's and view's `fields` set, the clock at `step`, `drawer` open and the
    drawings `marks` outlined."""

    say: str
    preset: str = ""
    fields: Mapping[str, Any] = field(default_factory=dict)
    step: int | None = None
    drawer: str = ""
    marks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Story:
    """What an experiment tells: its task, the beats of its first preset, what to try."""

    task: Task
    beats: tuple[Beat, ...]
    tries: tuple[Try, ...] = ()


def sentence_of(what: Said, run: Run, view: Any) -> str:
    """The sentence of a run."""
    return what if isinstance(what, str) else what(run, view)


def task_of(task: Task, config: Any) -> str:
    """The task's sentences for a config."""
    return task.say if isinstance(task.say, str) else task.say(config)


def seen_at(beat: Beat, run: Run, base: Any) -> Any:
    """The view in which what a beat says is true: `base` with what it sets, at the snapshot that it
    plays to."""
    at = snapshot_of(beat, run)
    moved = {"snapshot": at} if at is not None and hasattr(base, "snapshot") else {}
    return replace(base, **beat.view, **moved)


def step_of(beat: Beat, run: Run) -> float | None:
    """The training step that a beat plays to; None: it stays, or is not in this run
    (see `told`)."""
    if callable(beat.at):
        found = _FOUND.setdefault(run, {})
        if beat.at not in found:
            found[beat.at] = beat.at(run)
        return found[beat.at]
    if not isinstance(beat.at, str):
        return beat.at
    if beat.at not in (FIRST, LAST):
        raise ValueError(f"at must be FIRST, LAST, a step or a rule, got {beat.at!r}")
    return (run.snapshot_steps or [0])[0 if beat.at == FIRST else -1]


def first_at(steps: Iterable[float], holds: Iterable[bool]) -> float | None:
    """The first of the steps at which something holds; None if at none. Looks no
    further than that."""
    return next((float(step) for step, each in zip(steps, holds, strict=False) if each), None)


def first_from(steps: Iterable[float], holds: Iterable[bool]) -> float | None:
    """The first of the steps from which on something holds to the end; None if it does not at the
    last."""
    found = None
    for step, each in zip(steps, holds, strict=True):
        found = (step if found is None else found) if each else None
    return None if found is None else float(found)


def resolve_beats(story: Story | None, run: Run) -> list[Beat]:
    """The beats that are true of a run, in their order."""
    beats = story.beats if story else ()
    return [beat for beat in beats if beat.at is None or step_of(beat, run) is not None]


def snapshot_of(beat: Beat, run: Run) -> int | None:
    """The index of the first snapshot at or after a beat's step; None if it stays where the clock
    is."""
    step, steps = step_of(beat, run), run.snapshot_steps
    if step is None or not steps:
        return None
    return next((index for index, each in enumerate(steps) if each >= step), len(steps) - 1)
