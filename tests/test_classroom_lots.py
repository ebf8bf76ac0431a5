"""A class that trains by turns: who draws which setting, whose runs are asked for, what phones are
told, and what the lecturer's page shows."""

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import Any

import pytest
import streamlit as st
from house import TOY, house
from hypothesis import given, settings, strategies
from streamlit.testing.v1 import AppTest
from test_classroom import CHOICE, Clock, phone, refusal
from test_classroom_page import html, labels, press
from test_classroom_routes import post

from icl_core import registry
from icl_core.classroom import sessions
from icl_core.classroom.lots import Lot, Told
from icl_core.classroom.sessions import LIFETIME, Sessions
from icl_core.jobs import queue, spawn, worker
from icl_core.machine import limits
from icl_core.runs import owners
from icl_core.runs.request import Request
from icl_core.runs.store import Store
from icl_core.sweeps import by_class, setting_grid
from icl_core.sweeps.map import MapChoice, draw_map
from icl_core.sweeps.setting_grid import Grid
from icl_core.sweeps.sweep import DONE, FAILED, MISSING, QUEUED, Sweep
from pages.ui.classroom import lots
from pages.ui.look import menu

LOT = Lot("grid", {0: "d = 2", 2: "d = 3", 5: "d = 5"})
TOLD = {0: Told("It is in training.", "step 4 of 20")}


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def classes(monkeypatch, clock: Clock) -> Sessions:
    classes = Sessions(clock)
    monkeypatch.setattr(sessions, "ALL", classes)
    return classes


def begun(classes: Sessions, lot: Lot = LOT) -> str:
    code = classes.open("a")
    classes.draw_lots("a", lot)
    return code


def draw(classes: Sessions, code: str, *phones: int) -> list[str]:
    """Let phones draw; what they have then."""
    number = classes.state(code, phone(phones[0]))["number"]
    return [classes.draw(code, phone(one), number)["lot"]["own"] for one in phones]


def drawn(classes: Sessions) -> Lot:
    seen = classes.seen("a")
    assert seen is not None and seen.lot is not None
    return seen.lot


def test_nobody_has_anothers_setting_while_there_is_a_free_one(classes: Sessions) -> None:
    code = begun(classes)
    assert classes.state(code, phone(1))["lot"] == {"of": 3}
    own = draw(classes, code, *range(1, 8))
    assert set(own[:3]) == set(own[3:6]) == set(LOT.labels.values())
    assert draw(classes, code, 7, 1, 4) == [own[6], own[0], own[3]]  # the first draw counts
    assert classes.state(code, phone(2))["lot"]["own"] == own[1]
    assert Counter(drawn(classes).drawn.values()).most_common()[-1][1] == 2


@given(
    strategies.dictionaries(strategies.integers(0, 399), strategies.text(), min_size=1, max_size=9),
    strategies.lists(strategies.integers(0, 30), max_size=60),
)
@settings(max_examples=50, deadline=None)
def test_settings_are_of_the_grid_and_shared_by_as_few_as_can_be(
    labels: dict[int, str], phones: list[int]
) -> None:
    lot = Lot("grid", labels)
    for number in phones:
        lot = lot.with_draw(phone(number))
    assert set(lot.drawn) == {phone(number) for number in phones}
    holders = Counter(lot.drawn.values())
    assert holders.keys() <= labels.keys()
    counts = [holders[index] for index in labels]
    assert max(counts) - min(counts) <= 1


def test_the_draw_is_by_chance() -> None:
    first = {LOT.with_draw(phone(1)).drawn[phone(1)] for _ in range(100)}
    assert first == LOT.labels.keys()  # one of 3: all but once in 10^17 times


def test_a_phone_hears_of_what_changes_and_of_nothing_else(classes: Sessions) -> None:
    code = begun(classes)
    own = draw(classes, code, 1)[0]
    state = classes.state(code, phone(1))
    assert state["lot"] == {"own": own, "says": "It waits to be trained.", "large": ""}
    assert classes.state(code, phone(1), state["version"]) == {"version": state["version"]}
    index = drawn(classes).drawn[phone(1)]
    told = {index: Told("Teacher found: lowest of 2 that are done.", "0.98")}
    classes.tell("a", "grid", told, {index})
    after = classes.state(code, phone(1), state["version"])
    assert after["lot"]["large"] == "0.98" and after["lot"]["own"] == own
    classes.tell("a", "grid", told, {index})
    assert classes.state(code, phone(1), after["version"]) == {"version": after["version"]}
    classes.tell("a", "another grid", {index: Told("no")}, ())
    classes.tell("b", "grid", {index: Told("no")}, ())
    assert classes.state(code, phone(1))["lot"] == after["lot"]
    assert drawn(classes).asked == {index}


def test_a_phone_shows_either_a_question_or_its_setting(classes: Sessions) -> None:
    code = begun(classes)
    own = draw(classes, code, 1)
    before = classes.state(code, phone(1))
    classes.show("a", CHOICE)
    asked = classes.state(code, phone(1))
    assert asked["ask"] == "Which?" and "lot" not in asked
    said, status = refusal(lambda: classes.draw(code, phone(2), before["number"]))
    assert (said, status) == ("Settings are no longer drawn here.", 409)
    classes.vote(code, phone(1), asked["number"], 1, 1)
    classes.open_answers("a")
    classes.draw_lots("a", LOT)
    again = classes.state(code, phone(1))
    assert again["lot"]["own"] == own[0] and again["number"] > asked["number"] > before["number"]
    assert refusal(lambda: classes.vote(code, phone(1), again["number"], 1, 1))[1] == 409
    seen = classes.seen("a")
    assert seen and seen.question is None and [result.rounds for result in seen.former] == [((1,),)]
    classes.draw_lots("a", Lot("another", {0: "K = 1"}))
    assert classes.state(code, phone(1))["lot"] == {"of": 1}


@pytest.mark.parametrize("number", [None, 0, 2, "1", [], {}, 1.5, "d = 2"])
def test_a_draw_from_no_lot_is_refused(classes: Sessions, number: object) -> None:
    code = begun(classes)
    assert refusal(lambda: classes.draw(code, phone(1), number))[1] == 409
    assert refusal(lambda: classes.draw(code, "x", 1))[1] == 400
    assert not drawn(classes).drawn


def test_a_flood_of_draws_fills_no_memory(classes: Sessions, clock: Clock, monkeypatch) -> None:
    monkeypatch.setattr(limits, "PHONES", 5)
    code = begun(classes)
    for number in range(5):
        draw(classes, code, number)
    clock.now += 60  # they are silent, and their places free
    classes.state(code, phone(9))
    assert "so many have drawn" in refusal(lambda: draw(classes, code, 9))[0]
    assert len(drawn(classes).drawn) == 5
    for _ in range(30):
        status = post("draw", code=code, phone=phone(1), number=1).status
    assert status == 429


def test_a_class_lives_while_it_trains(classes: Sessions, clock: Clock) -> None:
    code = begun(classes)
    draw(classes, code, 1)
    for step in range(3):
        clock.now += LIFETIME - 1
        classes.tell("a", "grid", {0: Told("It is in training.", f"step {step} of 3")}, ())
    clock.now += LIFETIME - 1
    classes.tell("a", "grid", {0: Told("It is in training.", "step 2 of 3")}, ())
    clock.now += 2
    assert classes.seen("a") is None  # nothing has changed for an hour


def test_a_phone_draws_by_its_route(classes: Sessions) -> None:
    code = begun(classes)
    answer = post("draw", code=code, phone=phone(1), number=1)
    assert answer.status == 200 and answer.said["lot"]["own"] in LOT.labels.values()
    assert post("state", code=code, phone=phone(1)).said == answer.said
    assert post("draw", code=code, phone=phone(2), number=9).status == 409
    assert post("draw", code=code, phone=phone(2)).status == 409


@pytest.fixture
def runs(tmp_path, monkeypatch) -> Iterator[Store]:
    """Runs of one's own, which `work` trains."""
    with house(tmp_path, monkeypatch) as own_store:
        monkeypatch.setattr(spawn, "ensure_workers", lambda count=None: 0)
        monkeypatch.setattr(spawn, "warm", lambda: None)
        # its links need the files of pages
        monkeypatch.setattr(menu, "frame", lambda *of, **more: st.container())
        yield own_store


def work(count: int = 1) -> None:
    for _ in range(count):
        worker.work(once=True, slots=1)


def toy(*words: str, **fields: Any) -> Grid:
    return setting_grid.parse(
        TOY, words, registry.experiment(TOY).config(**{"steps": 20, **fields})
    )


def holding(grid: Grid, *indices: int, asked: Collection[int] = ()) -> Lot:
    """The lot of a grid in which phones have drawn these cells."""
    lot = by_class.lot(grid)
    by_phone = {phone(number): index for number, index in enumerate(indices)}
    return Lot(lot.key, lot.labels, grid, by_phone, frozenset(asked))


def trained(lot: Lot, metric: str = "") -> tuple[Lot, by_class.Progress]:
    """The lot once the lecturer's page has looked, and what it saw."""
    progress = by_class.train(lot, "a", metric)
    return lot.with_told(progress.told, progress.asked), progress


def test_a_lot_has_what_the_experiment_accepts() -> None:
    base = registry.experiment("birth.laboratory").config()
    grid = setting_grid.parse("birth.laboratory", ["d=64,128", "N=64,128"], base)
    assert list(by_class.lot(grid).labels) == [0, 2, 3]
    assert by_class.lot(grid).labels[2] == "d = 128, pairs to learn = 64"
    # the setting on screen may move on the map
    assert by_class.key(toy("d=2,3", d=2)) == by_class.key(toy("d=2,3", d=3))
    assert by_class.key(toy("d=2,3")) != by_class.key(toy("d=2,3", seed=1))


def test_what_was_drawn_is_trained_once_and_says_its_number(runs: Store) -> None:
    grid = toy("d=2,3,4", "rate=0.001,10", steps=200)
    lot, progress = trained(holding(grid, 0, 2, 2, 3))  # two share one; the last diverges
    assert progress.counts == {QUEUED: 3} and len(queue.states()) == 3
    assert {owner for job in queue.states() for owner in owners.owners_of(job.key)} == {"a"}
    waits = [lot.told[index].says for index in (0, 2, 3)]
    assert waits == [f"It waits: number {place} in the queue." for place in (1, 2, 3)]
    work(3)
    lot, progress = trained(lot)
    assert progress.counts == {DONE: 2, FAILED: 1} and len(runs.headers(TOY)) == 2
    assert lot.told[3].says.startswith("It failed: it diverged at step")
    records = {index: Sweep(grid).look().outcomes[index].measured for index in (0, 2)}
    values = {index: record["toy.recovered"]["value"] for index, record in records.items()}
    assert values[0] != values[2]
    lowest = min(values, key=values.__getitem__)
    (other,) = values.keys() - {lowest}
    assert lot.told[lowest].says == "Teacher found: lowest of 2 that are done."
    assert lot.told[other].says == "Teacher found: highest of 2 that are done."
    assert all(
        float(lot.told[index].large) == pytest.approx(values[index], 1e-3) for index in values
    )
    assert trained(lot, "toy.exact")[0].told[0].says.startswith("Last loss: ")
    assert Sweep(grid).look().counts == {DONE: 2, FAILED: 1, MISSING: 3}
    assert trained(lot)[0] == lot  # nothing is asked for again


@pytest.mark.parametrize(
    ("value", "values", "place"),
    [
        (3.0, [3.0], "the first one that is done"),
        (1.0, [3.0, 1.0, 2.0], "lowest of 3 that are done"),
        (2.0, [3.0, 1.0, 2.0], "2nd lowest of 3 that are done"),
        (3.0, [3.0, 1.0, 2.0, 4.0], "2nd highest of 4 that are done"),
        (0.99999, [1.0, 1.0, 0.5], "highest of 3 that are done"),  # it is shown as 1
        (12.0, [float(number) for number in range(1, 31)], "12th lowest of 30 that are done"),
        (23.0, [float(number) for number in range(1, 90)], "23rd lowest of 89 that are done"),
    ],
)
def test_a_number_has_its_place_in_the_class(value: float, values: list[float], place: str) -> None:
    assert by_class._place(value, values) == place


def test_a_run_in_training_says_its_step(runs: Store, monkeypatch) -> None:
    lot, _ = trained(holding(toy("d=2,3"), 1))
    (job,) = queue.states()
    job = replace(job, status="running", step=7, total=20)
    monkeypatch.setattr(queue, "states", lambda: [job])
    assert trained(lot)[0].told == {1: Told("It is in training, until step 20.", "step 7")}


def test_what_the_lecturer_cancels_stays_cancelled(runs: Store) -> None:
    grid = toy("d=2,3,4")
    Sweep(grid).ask("a", {0})  # asked for before anybody drew it
    lot, _ = trained(holding(grid, 0, 1))
    Sweep(grid).cancel("a")
    lot, progress = trained(lot)
    assert progress.counts == {MISSING: 2}
    assert {told.says for told in lot.told.values()} == {"It was cancelled."}
    later = Lot(lot.key, lot.labels, grid, {**lot.drawn, phone(9): 2}, lot.asked, lot.told)
    assert trained(later)[1].counts == {MISSING: 2, QUEUED: 1}


def test_what_is_too_much_now_is_asked_for_later(runs: Store, monkeypatch) -> None:
    monkeypatch.setenv(limits.QUEUED, "1")
    lot, progress = trained(holding(toy("d=2,3"), 0, 1))
    assert "the limit of runs waiting or in training is 1" in progress.put_off[0]
    assert lot.asked == {0} and len(queue.states()) == 1
    assert lot.told.keys() == {0}  # the other still waits to be trained
    monkeypatch.setenv(limits.QUEUED, "2")
    lot, progress = trained(lot)
    assert not progress.put_off and progress.counts == {QUEUED: 2} and lot.asked == {0, 1}


def test_a_run_that_is_refused_says_why_and_is_not_asked_for_again(
    runs: Store, monkeypatch
) -> None:
    Sweep(toy("d=9")).ask()
    work()  # a run that tells how long others take
    monkeypatch.setenv(limits.HOURS, "1e-9")
    lot, progress = trained(holding(toy("d=2,3"), 1))
    assert progress.counts == {FAILED: 1} and "the limit is 1e-09 h" in progress.refused[0]
    assert lot.told[1].says == f"It failed: {progress.refused[0]}."
    assert trained(lot)[0] == lot and not [job for job in queue.states() if not job.ended]


@pytest.mark.parametrize("y", ["", "rate"])
def test_a_map_marks_what_phones_have_drawn(runs: Store, y: str) -> None:
    grid = toy("d=2,3,4", "rate=0.1,1") if y else toy("d=2,3,4")
    before, after = (
        draw_map(grid, Sweep(grid).look(), MapChoice("toy.recovered", "d", y, drawn=indices))
        for indices in ((), (1, 2))
    )
    assert before.figure is not None and after.figure is not None
    assert "marked" not in {trace.get("name") for trace in before.figure.data}
    assert "phone" not in before.caption and "a phone has drawn it." in after.caption
    traces = {trace.get("name"): trace for trace in after.figure.data}
    marked, targets = traces["marked"], traces["runs"]
    after.figure.plotly()  # refuses what plotly does not know
    places = {
        key: (targets["x"][at], targets["y"][at]) for at, key in enumerate(targets["customdata"])
    }
    if not y:
        assert list(zip(marked["x"], marked["y"], strict=True)) == [places[1], places[2]]
        return
    outlines = zip(marked["x"], marked["y"], strict=True)
    # (d = 2, rate = 1) and (d = 3, rate = 0.1), row by row, the lower rate first
    for index in (2, 1):
        across, up = zip(*[next(outlines) for _ in range(5)], strict=True)
        assert next(outlines) == (None, None)
        for side, coordinates in enumerate((across, up)):
            assert min(coordinates) < places[index][side] < max(coordinates)
            inside = [at for at in places if min(coordinates) < places[at][side] < max(coordinates)]
            assert len(inside) == (2 if side == 0 else 3)  # of its own column, of its own row
    assert next(outlines, None) is None


def page() -> None:
    from pages.ui.paper_page import show

    show("toy")


def lecturer(**query: str) -> AppTest:
    """The lecturer at the drawer of sweeps over three settings."""
    app = AppTest.from_function(page, default_timeout=120)
    for name, value in {"drawer": "Sweep", "sweep": "d=2,3,5", "steps": "20", **query}.items():
        app.query_params[name] = value
    app.run()
    assert not app.exception
    return app


def warnings(app: AppTest) -> str:
    return " ".join(warning.value for warning in app.warning).replace("\\", "")


@pytest.fixture
def first_run(runs: Store) -> Store:
    """The same with the run on screen."""
    queue.submit(Request(TOY, registry.experiment(TOY).config(steps=20)))
    work()
    return runs


def test_the_lecturers_page_trains_what_is_drawn(first_run: Store, classes: Sessions) -> None:
    app = lecturer()
    press(app, "With the class")
    (owner,) = [session.owner for session in classes._by_code.values()]
    code = classes.open(owner)
    assert "0 of 3 settings are drawn" in html(app) and "QR code of" in html(app)
    assert "With the class" not in labels(app) and "Open the answers" not in labels(app)
    assert any(label.startswith("Train 3 runs") for label in labels(app))
    own = draw(classes, code, 1, 2)
    app.run()
    assert "2 of 3 settings are drawn · 2 waiting" in html(app)
    assert "Drawn by <b>2</b>, 2 phones here" in html(app) and "Cancel" in labels(app)
    assert classes.state(code, phone(1))["lot"]["says"].startswith("It waits: number")
    work(2)
    app.run()
    assert "2 of 3 settings are drawn · 2 done" in html(app)
    state = classes.state(code, phone(2))["lot"]
    assert state["own"] == own[1] and state["large"] and "of 2 that are done" in state["says"]
    assert any(label.startswith("Train 1 run ") for label in labels(app))  # the rest
    assert any("a phone has drawn it" in caption.value for caption in app.caption)
    press(app, "Fold")
    draw(classes, code, 3)
    app.run()
    assert (
        len([job for job in queue.states() if not job.ended]) == 1
    )  # folded, it asks all the same
    press(app, "End the class")
    assert "End the class" not in labels(app) and not classes._by_code
    assert not any("a phone has drawn it" in caption.value for caption in app.caption)


def test_the_page_says_what_is_refused(first_run: Store, classes: Sessions, monkeypatch) -> None:
    app = lecturer()
    press(app, "With the class")
    (session,) = classes._by_code.values()
    draw(classes, session.code, 1)
    monkeypatch.setenv(limits.HOURS, "1e-9")
    for _ in range(2):  # it stays
        app.run()
        assert "the limit is 1e-09 h" in warnings(app)
    says = classes.state(session.code, phone(1))["lot"]["says"]
    assert says.startswith("It failed: it would take about")


def test_a_read_only_server_offers_no_lots(
    first_run: Store, classes: Sessions, monkeypatch
) -> None:
    monkeypatch.setenv("ICL_READ_ONLY", "1")
    app = lecturer()
    assert "With the class" not in labels(app)
    assert not lots.can_offer(toy("d=2,3"))
