"""While a question of a story is open, nothing that is left on the page tells its answer."""

import math
import re
from collections.abc import Iterable
from dataclasses import replace

import pytest
from test_script import IDS, first_preset

from icl_core.contract import story as storytelling
from icl_core.contract.experiment import STAGE, CannotDraw
from icl_core.contract.knobs import values
from icl_core.contract.story import HEADLINE

NUMBER = re.compile(r"(?<![\w.,])[−-]?\d[\d,]*(?:\.\d+)?%?")
COUNT = re.compile(r"\b\d+ of \d+\b")
CLOSE = 0.008  # of a number: the same, rounded otherwise


def numbers(text: str) -> set[float]:
    """The numbers of a text that have two digits or more, but for counts; percents as shares."""
    found = set()
    for written in NUMBER.findall(COUNT.sub("", text)):
        digits = written.strip("−-%").replace(",", "").rstrip(".")
        if len(digits.lstrip("0.").replace(".", "")) >= 2:
            found.add(float(digits) / (100 if written.endswith("%") else 1))
    return found


def known(texts: Iterable[str], config: object) -> set[float]:
    """The numbers that a visitor has read already, or that are settings."""
    settings = {float(v) for v in values(config).values() if isinstance(v, (int, float))}
    return settings.union(*map(numbers, texts))


def is_among(number: float, others: Iterable[float]) -> bool:
    return any(math.isclose(number, other, rel_tol=CLOSE) for other in others)


def told(text: str, answers: set[float], counts: set[str]) -> list[object]:
    """What of the answer a text tells."""
    same = [number for number in numbers(text) if is_among(number, answers)]
    return [*same, *(count for count in COUNT.findall(text) if count in counts)]


def asked_at(beats, beat, run) -> int | None:
    """The snapshot on screen while a beat's question is open: its own, or that of the last beat
    before it that has one."""
    if beat.ask.there:
        return storytelling.snapshot_of(beat, run)
    for earlier in reversed(beats[: beats.index(beat)]):
        if (snapshot := storytelling.snapshot_of(earlier, run)) is not None:
            return snapshot
    return 0 if run.snapshot_steps else None


@pytest.mark.parametrize("id", IDS)
def test_nothing_that_stays_visible_tells_the_answer(id):
    experiment, run, base = first_preset(id)
    beats = experiment.story.beats
    read = [storytelling.task_of(experiment.story.task, run.config)]
    for beat in beats:
        at = asked_at(beats, beat, run) if beat.ask else None
        own = storytelling.seen_at(beat, run, base)
        if beat.ask:
            view = own if at is None else replace(own, snapshot=at)
            if experiment.replaced:
                view = replace(
                    view, **{name: getattr(base, name) for name in experiment.replaced.fields}
                )
            assert beat.ask.hides, beat.name
            question = [beat.ask.ask, *beat.ask.choices]
            answer = storytelling.sentence_of(beat.ask.answer, run, own)
            before = known([*read, *question], run.config)
            answers = {number for number in numbers(answer) if not is_among(number, before)}
            counts = set(COUNT.findall(answer)) - set(COUNT.findall(" ".join([*read, *question])))
            option = beat.ask.choices[beat.ask.right(run, own)].lower()
            shown = {}
            for drawing in experiment.drawings:
                is_there = drawing.place in (STAGE, beat.drawer) and drawing.applies(run.config)
                if is_there and drawing.name not in beat.ask.hides:
                    try:
                        panel = drawing.panel(run, view)
                    except CannotDraw as problem:
                        shown[drawing.name] = str(problem)
                    else:
                        shown[drawing.name] = f"{panel.title} {panel.caption}"
            if HEADLINE not in beat.ask.hides:
                shown[HEADLINE] = experiment.headline(run, view)
            for name, text in shown.items():
                assert not told(text, answers, counts), (beat.name, name, answer, text)
                if option.count(" ") >= 2:
                    assert option not in text.lower(), (beat.name, name, option, text)
            read.append(answer)
        read.append(storytelling.sentence_of(beat.say, run, own))
