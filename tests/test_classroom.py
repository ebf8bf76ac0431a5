"""Sessions of classes: whose they are, which votes count, and what is told before it is opened."""

import threading
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from icl_core.classroom import sessions
from icl_core.classroom.question import Question, Refused
from icl_core.classroom.sessions import LETTERS, LIFETIME, SILENCE, Sessions
from icl_core.machine import limits

CHOICE = Question("toy.walk first", "Which?", 1, ("this", "that", "neither"))
NUMBER = Question("toy.walk lesson/pairs", "How many?", 128.0, unit="pairs", within=1.0)


class Clock:
    """A clock that a test moves."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def classes(clock: Clock) -> Sessions:
    return Sessions(clock)


def phone(number: int) -> str:
    return f"phone{number:016}"


def asked(classes: Sessions, question: Question = CHOICE, owner: str = "a") -> str:
    code = classes.open(owner)
    classes.show(owner, question)
    return code


def refusal(attempt: Callable[[], object]) -> tuple[str, int]:
    with pytest.raises(Refused) as refused:
        attempt()
    return str(refused.value), refused.value.status


def counts(classes: Sessions, owner: str = "a") -> list[tuple[int, ...]]:
    seen = classes.seen(owner)
    assert seen is not None and seen.result is not None
    return [seen.result.question.counts(votes) for votes in seen.result.rounds]


def test_a_code_has_four_letters_and_each_lecturer_has_one_class(classes: Sessions) -> None:
    codes = {classes.open(owner) for owner in "abc"}
    assert len(codes) == 3 and all(len(code) == 4 and set(code) <= set(LETTERS) for code in codes)
    assert not set(LETTERS) & set("AEIOUYQLNGSV0158")
    assert {classes.open(owner) for owner in "abc"} == codes


def test_a_code_in_use_is_not_given_again(classes: Sessions, monkeypatch) -> None:
    letters = iter("BBBB" + "BBBB" + "CCCC")
    monkeypatch.setattr(sessions.secrets, "choice", lambda of: next(letters))
    assert [classes.open("a"), classes.open("b")] == ["BBBB", "CCCC"]


def test_nobody_gets_at_another_lecturers_class(classes: Sessions) -> None:
    asked(classes)
    asked(classes, NUMBER, "b")
    classes.open_answers("b")
    first, second = classes.seen("a"), classes.seen("b")
    assert first and second and first.question == CHOICE and not first.opened and second.opened
    classes.end("b")
    assert classes.seen("a") and classes.seen("b") is None and classes.seen("c") is None
    classes.reveal("b", CHOICE.key)
    assert (first := classes.seen("a")) and not first.revealed
    for act in (classes.open_answers, classes.vote_again):
        assert refusal(lambda act=act: act("b")) == ("Your class has ended.", 404)


def test_before_it_is_opened_nothing_of_the_tally_is_told(classes: Sessions) -> None:
    code = asked(classes)
    for number in range(3):
        classes.vote(code, phone(number), 1, 1, number)
    seen = classes.seen("a")
    assert seen and seen.answered == 3 and seen.result is None and seen.former == ()
    silent = classes.state(code, phone(9))
    assert not {"tally", "right", "answered"} & silent.keys() and silent["own"] == [None]
    classes.reveal("a", NUMBER.key)  # not what is shown
    assert not seen.revealed and (seen := classes.seen("a")) and not seen.revealed
    classes.reveal("a", CHOICE.key)
    assert "right" not in classes.state(code, phone(9))
    classes.open_answers("a")
    state = classes.state(code, phone(9))
    assert state["tally"] == (1, 1, 1) and state["right"] == 1 and counts(classes) == [(1, 1, 1)]


def test_the_last_answer_before_the_opening_counts_once(classes: Sessions) -> None:
    code = asked(classes)
    for choice in (0, 2, 1):
        classes.vote(code, phone(1), 1, 1, choice)
    classes.open_answers("a")
    sentence, status = refusal(lambda: classes.vote(code, phone(1), 1, 1, 2))
    assert sentence == "The answers are open: this round takes no more." and status == 409
    assert counts(classes) == [(0, 1, 0)]


def test_the_second_round_says_who_changed_and_a_late_phone_may_answer(classes: Sessions) -> None:
    code = asked(classes)
    classes.vote_again("a")  # not before the first is open
    for number, choice in enumerate((0, 0, 1, 2)):
        classes.vote(code, phone(number), 1, 1, choice)
    classes.open_answers("a")
    classes.vote_again("a")
    assert counts(classes) == [(2, 1, 1)]  # the second is closed
    for number, choice in ((0, 1), (1, 2), (2, 1), (8, 1)):
        classes.vote(code, phone(number), 1, 2, choice)
    stale, _ = refusal(lambda: classes.vote(code, phone(3), 1, 1, 1))
    assert stale == "This question is no longer shown: your answer does not count."
    classes.open_answers("a")
    classes.vote_again("a")  # there is no third
    seen = classes.seen("a")
    assert seen and seen.round == 2 and seen.opened and seen.result
    assert counts(classes) == [(2, 1, 1), (0, 3, 1)]
    assert (seen.result.both, seen.result.changed, seen.result.to_right) == (3, 2, 1)


def test_a_vote_for_a_question_that_is_no_longer_shown_is_refused(classes: Sessions) -> None:
    code = asked(classes)
    classes.vote(code, phone(1), 1, 1, 0)
    classes.open_answers("a")
    classes.show("a", NUMBER)
    assert refusal(lambda: classes.vote(code, phone(1), 1, 1, 0))[1] == 409
    state = classes.state(code, phone(1))
    assert (state["number"], state["own"], state["choices"], state["unit"]) == (
        2,
        [None],
        (),
        "pairs",
    )
    seen = classes.seen("a")
    assert seen and [former.rounds for former in seen.former] == [((0,),)]
    classes.show("a", CHOICE)  # what was not opened is not kept
    assert (seen := classes.seen("a")) and len(seen.former) == 1 and not seen.opened


def test_a_phone_that_comes_back_sees_its_own_vote_and_an_unchanged_state_is_short(
    classes: Sessions,
) -> None:
    code = asked(classes)
    state = classes.vote(code, phone(1), 1, 1, 2)
    assert state["own"] == [2] and classes.state(code, phone(1)) == state
    assert classes.state(code, phone(1), state["version"]) == {"version": state["version"]}
    classes.vote(code, phone(2), 1, 1, 0)  # others do not change it
    assert classes.state(code, phone(1), state["version"]).keys() == {"version"}
    classes.vote(code, phone(1), 1, 1, 0)  # from its other window
    assert classes.state(code, phone(1), state["version"])["own"] == [0]


def test_an_unknown_and_an_ended_code_are_told_apart(classes: Sessions, clock: Clock) -> None:
    assert refusal(lambda: classes.state("BCDF", phone(1))) == ("There is no class BCDF here.", 404)
    code = asked(classes)
    classes.end("a")
    assert refusal(lambda: classes.state(code, phone(1))) == (f"The class {code} has ended.", 410)
    for bad in ("", "bcdf", "BCDFG", None, 5, ["BCDF"]):
        assert refusal(lambda bad=bad: classes.state(bad, phone(1)))[1] == 400
    code = asked(classes)
    for bad in ("", "short", "x" * 65, "../../../../etc/passwd", None, 5):
        assert refusal(lambda bad=bad: classes.state(code, bad))[1] == 400


def test_a_class_ends_an_hour_after_its_last_sign(classes: Sessions, clock: Clock) -> None:
    code = asked(classes)
    clock.now += LIFETIME - 1
    classes.vote(code, phone(1), 1, 1, 0)
    clock.now += LIFETIME - 1
    classes.open_answers("a")
    for _ in range(4):  # a phone in a pocket, and a lecturer's forgotten window, are no sign
        clock.now += LIFETIME / 4
        classes.state(code, phone(1))
        assert classes.seen("a")
    clock.now += 1
    assert classes.seen("a") is None
    assert refusal(lambda: classes.state(code, phone(1)))[1] == 410
    assert classes.open("a") != code


def test_a_phone_that_floods_is_refused_and_takes_nothing_of_the_others(
    classes: Sessions, clock: Clock, monkeypatch
) -> None:
    code = asked(classes)
    burst = int(limits.PHONE_REQUESTS[1])
    for choice in range(burst):
        classes.vote(code, phone(1), 1, 1, choice % 3)
    monkeypatch.setattr(limits, "CLASS_REQUESTS", (1.0, 1.0))
    for _ in range(5000):
        sentence, status = refusal(lambda: classes.vote(code, phone(1), 1, 1, 0))
        assert status == 429 and sentence.startswith("This phone asks too often.")
    assert classes.state(code, phone(2))["ask"] == "Which?"
    classes.open_answers("a")
    assert sum(counts(classes)[0]) == 1
    clock.now += 1
    assert classes.state(code, phone(1))


def test_a_class_takes_so_many_requests(classes: Sessions, clock: Clock, monkeypatch) -> None:
    monkeypatch.setattr(limits, "CLASS_REQUESTS", (1.0, 5.0))
    code = asked(classes)
    for number in range(5):
        classes.state(code, phone(number))
    sentence, status = refusal(lambda: classes.state(code, phone(5)))
    assert status == 429 and sentence.startswith("Too many phones ask at once.")
    clock.now += 1
    assert classes.state(code, phone(5))


def test_phones_and_classes_are_bounded(classes: Sessions, clock: Clock, monkeypatch) -> None:
    monkeypatch.setattr(limits, "PHONES", 3)
    monkeypatch.setattr(limits, "CLASSES", 2)
    code = asked(classes)
    for number in range(3):
        classes.vote(code, phone(number), 1, 1, 0)
    full = "A class takes 3 phones, and so many are there."
    assert refusal(lambda: classes.state(code, phone(3))) == (full, 503)
    clock.now += SILENCE + 1  # phones that are gone leave their place, and their votes
    assert classes.state(code, phone(3)) and classes.state(code, phone(0))["own"] == [0]
    assert (seen := classes.seen("a")) and (seen.phones, seen.answered) == (2, 3)
    assert refusal(lambda: classes.vote(code, phone(3), 1, 1, 0)) == (full, 503)
    classes.open("b")
    sentence, status = refusal(lambda: classes.open("c"))
    assert status == 503 and sentence.startswith("This server holds 2 classes at once")
    classes.end("b")
    assert classes.open("c")


@pytest.mark.parametrize(
    ("answer", "vote"),
    [("128", 128.0), ("0.5", 0.5), ("0,5", 0.5), ("1,250.5", 1250.5), (" 50 % ", 50.0), ("-3", -3)],
)
def test_a_number_is_read_as_it_is_typed(answer: str, vote: float) -> None:
    assert NUMBER.read(answer) == vote


@pytest.mark.parametrize("answer", ["", "many", "nan", "inf", "1e9", "9" * 41, 5, None, True, [1]])
def test_what_is_no_number_is_refused(answer: object) -> None:
    assert refusal(lambda: NUMBER.read(answer)) == ("Send a number, such as 1250 or 0.5.", 400)


def test_a_comma_that_may_mean_either_is_asked_back() -> None:
    sentence, _ = refusal(lambda: NUMBER.read("49,152"))
    assert sentence == "Send 49152 or 49.152: the comma may mean either."


@pytest.mark.parametrize("answer", [3, -1, 1.0, True, "1", None, [0]])
def test_what_is_no_choice_is_refused(answer: object) -> None:
    assert refusal(lambda: CHOICE.read(answer))[1] == 400


def test_right_is_the_choice_or_a_number_close_enough() -> None:
    assert [CHOICE.is_right(vote) for vote in (0, 1, 2)] == [False, True, False]
    assert NUMBER.counts([128, 129, 127, 129.1, 0]) == (2, 3)
    assert replace(NUMBER, right=0.1 + 0.2, within=0.0).is_right(0.3)


Act = tuple[str, int, int]
ACTS = st.lists(
    st.tuples(st.sampled_from(["vote", "open", "again"]), st.integers(0, 4), st.integers(0, 2)),
    max_size=40,
)


@settings(max_examples=60, deadline=None)
@given(ACTS)
def test_whatever_comes_each_round_has_the_last_vote_of_each_phone(acts: list[Act]) -> None:
    clock = Clock()
    classes = Sessions(clock)
    code = asked(classes)
    rounds: list[dict[int, int]] = [{}]
    opened = False
    for act, number, choice in acts:
        clock.now += 1
        if act == "open":
            classes.open_answers("a")
            opened = True
        elif act == "again":
            classes.vote_again("a")
            if opened and len(rounds) == 1:
                rounds.append({})
                opened = False
        elif opened:
            refusal(lambda n=number, c=choice: classes.vote(code, phone(n), 1, len(rounds), c))
        else:
            classes.vote(code, phone(number), 1, len(rounds), choice)
            rounds[-1][number] = choice
    classes.open_answers("a")
    assert counts(classes) == [CHOICE.counts(votes.values()) for votes in rounds]


def test_thirty_phones_at_once_are_each_counted_once() -> None:
    classes = Sessions()
    code = asked(classes)
    barrier = threading.Barrier(30)

    def answer(number: int) -> None:
        barrier.wait()
        for choice in (0, 2, number % 3):
            classes.vote(code, phone(number), 1, 1, choice)

    threads = [threading.Thread(target=answer, args=(number,)) for number in range(30)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    classes.open_answers("a")
    assert counts(classes) == [(10, 10, 10)]
