"""A class on one server: visitors take turns, ask for so much, end what is theirs; and a server
that only shows."""

import random
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest
import streamlit as st
from house import TOY, change, config, house
from streamlit.testing.v1 import AppTest
from test_links import open_page

from icl_core.contract.knobs import BadSetting
from icl_core.jobs import queue, spawn, table, worker
from icl_core.jobs.folder import Job, hold_lock
from icl_core.machine import limits
from icl_core.papers.birth.shared.text_counts import count
from icl_core.runs import database, documents, owners
from icl_core.runs.request import Request
from icl_core.sweeps.setting_grid import parse
from icl_core.sweeps.sweep import MISSING, Sweep
from pages.ui.link import visitors
from pages.ui.look import menu
from tests.test_at_once import page

OTHERS = "only who asked for it, or whoever is at the machine"


@pytest.fixture
def runs(tmp_path, monkeypatch):
    with house(tmp_path, monkeypatch) as own_store:
        monkeypatch.setattr(spawn, "warm", lambda: None)
        # its links need the files of pages
        monkeypatch.setattr(menu, "frame", lambda *of, **more: st.container())
        monkeypatch.setattr("pages.ui.controls.training.ensure_workers", lambda: None)
        yield own_store


def ask(visitor: str, *seeds: int, **more) -> list[str]:
    return [
        queue.submit(Request(TOY, config(seed=seed)), visitor=visitor, **more) for seed in seeds
    ]


def order() -> list[str]:
    return [job.visitor for job in queue.states() if not job.ended]


@dataclass
class QueuedJob:
    visitor: str
    turn: int
    number: int
    status: str = "queued"
    later: bool = False
    waited: int = 0

    @property
    def ended(self) -> bool:
        return self.status == "done"


@pytest.mark.parametrize("seed", range(20))
def test_whoever_has_nothing_waiting_is_served_after_one_run_of_everybody_else_at_most(
    seed: int,
) -> None:
    chance = random.Random(seed)
    jobs = []
    served = []
    for number in range(300):
        waiting = [job for job in jobs if job.status == "queued"]
        if chance.random() < 0.5:
            visitor = chance.choice("aaaaabbcde")
            job = QueuedJob(visitor, table.next_turn(visitor, False, jobs), number)
            if not table.count_jobs(visitor, jobs):
                job.waited = len(served) + 1
            jobs.append(job)
        elif waiting:
            for job in jobs:
                job.status = "done" if job.status == "running" else job.status
            now = min(waiting, key=lambda job: (job.turn, job.number))
            now.status = "running"
            between = [job.visitor for job in served[now.waited - 1 :]] if now.waited else []
            assert len(between) == len(set(between)), (seed, now, between)
            earlier = [job for job in waiting if job.visitor == now.visitor]
            assert now is earlier[0]
            served.append(now)


def test_one_run_comes_second_behind_fifty_and_the_place_is_told(runs) -> None:
    ask("a", *range(50))
    (key,) = ask("b", 50)
    assert order()[:3] == ["a", "b", "a"] and queue.state(key).position == 2
    ask("", 51)  # the command line takes its turn too
    ask("c", 52, 53, later=True)
    assert order()[:4] == ["a", "b", "", "a"] and order()[-2:] == ["c", "c"]
    first = queue.states()[0].key
    with hold_lock(Job(first).folder / "lock"):
        Job(first).write_state(status="running")
        ask("d", 60, 61)
        assert order()[1:6] == ["b", "", "d", "a", "d"]


def test_what_two_ask_for_comes_with_the_first_turn_and_goes_on_for_the_other(runs) -> None:
    keys = ask("a", *range(9))
    ask("b", 7)
    assert queue.state(keys[7]).position == 2 and owners.owners_of(keys[7]) == {"a", "b"}
    assert not queue.cancel(keys[7], visitor="a") and queue.state(keys[7]).status == "queued"
    assert queue.state(keys[7]).visitor == "b" and queue.state(keys[7]).position == 2
    with pytest.raises(BadSetting, match=OTHERS):
        queue.cancel(keys[7], visitor="a")
    queue.unwatch(keys[7], "a window", "a")
    assert queue.state(keys[7]).status == "queued"
    assert queue.cancel(keys[7], visitor="b") and queue.state(keys[7]).status == "cancelled"
    ask("c", 7)
    assert owners.owners_of(keys[7]) == {"c"}  # it began anew
    assert queue.cancel(keys[7]) and queue.state(keys[7]).ended  # at the machine


def test_a_visitor_has_so_many_runs_in_the_queue(runs, monkeypatch) -> None:
    monkeypatch.setenv("ICL_MAX_QUEUED", "2")
    keys = ask("a", 1, 2)
    with pytest.raises(
        BadSetting,
        match=r"in training is 2 \(ICL_MAX_QUEUED\), you have 2, and this asks for 1 more",
    ):
        ask("a", 3)
    ask("a", 2)  # it is there already
    ask("b", 3)
    ask("", 4, 5, 6)
    sweep = Sweep(parse(TOY, ["d=2,3,4"], config(), None))
    with pytest.raises(BadSetting, match="this asks for 3 more"):
        sweep.ask("c")
    assert set(order()) == {"a", "b", ""} and sweep.look().counts[MISSING] == 3
    queue.cancel(keys[0], visitor="a")
    assert ask("a", 3)
    for wrong in ("0", "many", "nan", "-1"):
        monkeypatch.setenv("ICL_MAX_QUEUED", wrong)
        with pytest.raises(BadSetting, match="ICL_MAX_QUEUED must be a number above 0"):
            ask("a", 9)


def test_a_page_asks_for_no_run_beyond_the_longest(runs, monkeypatch) -> None:
    monkeypatch.setattr(queue, "estimate_seconds", lambda *of: 200 * 3600.0)
    with pytest.raises(
        BadSetting, match=r"about 200 h on this machine, the limit is 24 h \(ICL_MAX_HOURS\)"
    ):
        ask("a", 1)
    sweep = Sweep(parse(TOY, ["d=2,3"], config(), None))
    sweep.ask("a")
    assert len(sweep.refused) == 1 and order() == []
    ask("", 1)  # whoever has the command line may
    monkeypatch.setenv("ICL_MAX_HOURS", "201")
    ask("a", 2)
    monkeypatch.setattr(queue, "estimate_seconds", lambda *of: None)
    ask("a", 3)
    assert order() == ["", "a", "a"]


def test_a_run_and_a_text_are_deleted_by_who_asked_for_them(runs, monkeypatch) -> None:
    for visitor in "ab":
        ask(visitor, 1)
    runs.save(TOY, config(seed=1), {"x": np.zeros(1)}, {})
    header = runs.find(Request(TOY, config(seed=1)))
    with pytest.raises(BadSetting, match=OTHERS):
        runs.delete(header, "c")
    runs.delete(header, "a")
    assert runs.find(Request(TOY, config(seed=1)))
    runs.delete(header, "b")
    assert not runs.find(Request(TOY, config(seed=1))) and owners.owners_of(header.key) == set()
    documents.keep("text", count("a few words"), "a")
    (document,) = documents.all_documents()
    with pytest.raises(BadSetting, match=OTHERS):
        documents.delete(document, "b")
    monkeypatch.setenv("ICL_MAX_GIVEN", str(document.size + 1))
    with pytest.raises(
        BadSetting, match=r"your texts, matrices, weights and points may take 0\.0 MiB here"
    ):
        documents.keep("text", count("other words"), "a")
    documents.keep("text", count("other words"), "b")
    total = sum(text.size for text in documents.all_documents())
    monkeypatch.setattr(runs, "limit", documents.SHARE * total)
    with pytest.raises(BadSetting, match="all texts, matrices, weights and points may take"):
        documents.keep("text", count("third"))
    documents.delete(document, "a")
    assert len(documents.all_documents()) == 1


def test_a_name_cannot_leave_the_folder_and_what_is_old_is_forgotten(runs, monkeypatch) -> None:
    for bad in ("../x", "a/b", "", "x" * 65):
        with pytest.raises(ValueError, match="letters and digits"):
            owners.add(bad, "a")
    with pytest.raises(ValueError, match="letters and digits"):
        owners.add("00", "../x")
    monkeypatch.setattr(owners, "MOST", 10)
    for number in range(30):
        owners.add(f"{number:02}", "a")
        change("UPDATE owners SET added = ? WHERE item = ?", 1e9 + number, f"{number:02}")
    assert owners.owners_of("29") == {"a"}
    assert database.rows("SELECT count(DISTINCT item) FROM owners")[0][0] <= 10


def labels(app: AppTest) -> list[str]:
    return [button.label for button in app.button]


def files(folder) -> dict:
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*")}


def test_a_read_only_server_changes_nothing(runs, monkeypatch) -> None:
    keys = ask("a", 1, 2)
    worker.work(once=True, slots=1)
    documents.keep("text", count("a few words"), "a")
    header = runs.find(Request(TOY, config(seed=1)))
    before = files(runs.local)
    monkeypatch.setenv("ICL_READ_ONLY", "1")
    for attempt in (
        lambda: ask("a", 3),
        lambda: queue.cancel(keys[1]),
        lambda: runs.delete(header),
        lambda: documents.keep("text", count("more")),
        lambda: documents.delete(documents.all_documents()[0]),
    ):
        with pytest.raises(BadSetting, match="this server is read-only"):
            attempt()
    with pytest.raises(OSError, match="this server is read-only"):
        runs.save(TOY, config(seed=3), {"x": np.zeros(1)}, {})
    assert spawn.ensure_workers(1) == worker.work(once=True, slots=1) == 0 and spawn.warm() is None
    assert runs.load(header) and runs.messages() == []
    app = AppTest.from_function(page, default_timeout=120)
    app.query_params["seed"] = "5"
    app.run()
    text = " ".join(markdown.value for markdown in app.markdown)
    assert not app.exception
    assert "There is no run of these settings. Shown faded: the nearest" in text
    assert not [name for name in labels(app) if name.startswith(("Train", "Run", "Cancel"))]
    assert "switch" not in [toggle.key for toggle in app.toggle]
    runs_page = open_page("runs", "")
    assert not runs_page.exception and not {"Cancel", "Delete"} & set(labels(runs_page))
    assert list(runs_page.dataframe[0].value["Origin"]) == ["made here"]
    assert files(runs.local) == before


@pytest.mark.parametrize(
    ("value", "meant"), [("1", True), ("true", True), ("0", False), ("", False), ("off", False)]
)
def test_read_only_is_a_plain_yes_or_no(monkeypatch, value: str, meant: bool) -> None:
    monkeypatch.setenv("ICL_READ_ONLY", value)
    assert limits.read_only() is meant


def test_a_page_offers_what_its_visitor_may_do(runs, monkeypatch) -> None:
    keys = ask("a", 1) + ask("c", 2)
    monkeypatch.setattr(visitors, "name", lambda: "b")
    monkeypatch.setattr(visitors, "is_at_machine", lambda: False)
    app = AppTest.from_function(page, default_timeout=120)
    app.query_params["seed"] = "1"
    app.query_params["steps"] = "20"
    app.run()
    assert "Cancel" not in labels(app)
    app.button(key="ask too").click().run()
    assert owners.owners_of(keys[0]) == {"a", "b"}
    app.button(key="cancel").click().run()
    assert owners.owners_of(keys[0]) == {"a"} and queue.state(keys[0]).status == "queued"
    runs_page = open_page("runs", "")
    assert not runs_page.exception and "Cancel" not in labels(runs_page)
    monkeypatch.setattr(visitors, "is_at_machine", lambda: True)
    open_page("runs", "").button(key=f"cancel {keys[1]}").click().run()
    assert queue.state(keys[1]).status == "cancelled" and visitors.acting_name(keys[0]) is None


def cookie(token: bytes, mask: bytes) -> str:
    masked = bytes(byte ^ mask[i % 4] for i, byte in enumerate(token))
    return f"2|{mask.hex()}|{masked.hex()}|1700000000"


def test_a_visitor_is_a_browser_and_whoever_comes_from_outside_is_not_at_the_machine(
    monkeypatch,
) -> None:
    def comes(ip: str | None, cookies: str = "", **headers: str) -> tuple[str, bool]:
        dashed = {name.replace("_", "-"): value for name, value in headers.items()}
        cookie_jar = {"_streamlit_xsrf": cookies}
        context = SimpleNamespace(ip_address=ip, headers=dashed, cookies=cookie_jar)
        streamlit = SimpleNamespace(context=context, session_state={"visitor": "window"})
        monkeypatch.setattr(visitors, "st", streamlit)
        return visitors.name(), visitors.is_at_machine()

    local = {"Host": "localhost:8501", "Origin": "http://localhost:8501"}
    names = [
        comes(None, cookie(token, mask), **local)[0]
        for token in (b"x" * 16, b"y" * 16)
        for mask in (b"abcd", b"efgh")
    ]
    assert names[0] == names[1] != names[2] == names[3]
    assert all(owners._NAME.fullmatch(name) for name in names)
    assert [comes(None, bad)[0] for bad in ("", "x", "2||00|1", "2|zz|00|1")] == ["window"] * 4
    assert comes(None, **local)[1] and comes(None, Host="[::1]:8501", Origin="http://[::1]:8501")[1]
    assert not comes("192.0.2.1", **local)[1]
    # through a proxy on this machine
    assert not comes(None, **local, X_Forwarded_For="192.0.2.1")[1]
    assert not comes(None, Host="icl.example.org", Origin="https://icl.example.org")[1]
    assert not comes(None, Host="localhost:8501", Origin="https://icl.example.org")[1]
    assert not comes(None, Host="localhost:8501")[1]
    assert not comes(None, Host="[", Origin="http://[")[1]
