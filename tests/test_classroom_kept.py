"""What is kept of classes: counts alone, on this machine, whole after every write; and the files
that a lecturer takes along."""

import csv
import io
import json
import re
from pathlib import Path

import pytest
from test_classroom import CHOICE, NUMBER, asked, phone
from test_classroom_page import html, opened, press, said, the, vote
from test_links import open_page

from icl_core.classroom import export, record, sessions
from icl_core.classroom.session import Result
from icl_core.classroom.sessions import Sessions

FIRST = Result(CHOICE, ((0.0, 1.0, 1.0),))
TWICE = Result(CHOICE, ((0.0, 1.0, 1.0, 2.0), (1.0, 1.0, 1.0, 0.0)), 4, 2, 2)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch) -> Path:
    monkeypatch.setenv("ICL_CACHE_DIR", str(tmp_path))
    return tmp_path


def kept() -> list[record.Record]:
    return record.records(["toy.walk "])


def test_a_room_is_kept_once_with_its_latest_counts(cache: Path) -> None:
    assert kept() == []
    record.keep("a-1", FIRST)
    record.keep("b-1", FIRST)
    record.keep("b-1", TWICE)  # its second vote
    (rooms,) = kept()
    assert [room.counts for room in rooms.rooms] == [((1, 2, 0),), ((1, 2, 1), (1, 3, 0))]
    assert rooms.head() == "2 rooms, 7 answers"
    assert rooms.lines() == [
        "this: 29%; voting twice 25%, then 25%",
        "✓ that: 57%; voting twice 50%, then 75%",
        "neither: 14%; voting twice 25%, then 0%",
    ]
    (file,) = cache.rglob("answers.json")
    assert file.stat().st_mode & 0o777 == 0o600 and record.records(["other "]) == []


def test_a_number_has_counts_of_wrong_and_right() -> None:
    record.keep("a-1", Result(NUMBER, ((3.0, 128.0, 128.5),)))
    (rooms,) = kept()
    assert rooms.lines() == ["wrong: 33%", "✓ right: 67%"] and rooms.head() == "1 room, 3 answers"


def test_nothing_of_phones_and_numbers_reaches_the_disk(cache: Path, monkeypatch) -> None:
    classes = Sessions()
    code = asked(classes, NUMBER)
    classes.vote(code, phone(7), 1, 1, "31.4159")
    classes.open_answers("a")
    seen = classes.seen("a")
    assert seen and seen.result
    record.keep(seen.id, seen.result)
    (file,) = (path for path in cache.rglob("*") if path.is_file())
    assert phone(7) not in file.read_text() and "31.4159" not in file.read_text()
    assert code not in file.read_text()


def test_other_words_begin_anew_and_no_answers_are_not_kept(monkeypatch) -> None:
    record.keep("a-1", FIRST)
    other = Result(sessions.Question(CHOICE.key, "Which now?", 0, ("x", "y")), ((0.0,),))
    record.keep("b-1", other)
    (rooms,) = kept()
    assert rooms.ask == "Which now?" and len(rooms.rooms) == 1
    record.keep("c-1", Result(NUMBER, ((),)))
    assert len(kept()) == 1
    monkeypatch.setattr(record, "ROOMS", 3)
    for number in range(9):
        record.keep(f"d-{number}", other)
    assert [room.id for room in kept()[0].rooms] == ["d-6", "d-7", "d-8"]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"5",
        b'[{"key": "toy.walk x"}]',
        b"[" * 5000,
        b'[{"key": "a", "ask": "b", "choices": ["c"], "right": 0, "rooms": [{"id": "1", '
        b'"date": "", "counts": [[1, 2]]}]}]',
    ],
)
def test_a_damaged_file_is_set_aside(cache: Path, content: bytes) -> None:
    record.keep("a-1", FIRST)
    (file,) = cache.rglob("answers.json")
    file.write_bytes(content)
    assert kept() == []
    record.keep("a-1", FIRST)
    assert len(kept()) == 1
    assert [path.read_bytes() for path in cache.rglob("damaged/*")] == [content]


def test_a_read_only_server_keeps_nothing(cache: Path, monkeypatch) -> None:
    monkeypatch.setenv("ICL_READ_ONLY", "1")
    record.keep("a-1", FIRST)
    assert list(cache.iterdir()) == []


def test_the_table_has_every_count() -> None:
    numbers = Result(NUMBER, ((3.0, 128.0, 128.0), (128.0, 1e30)), 2, 1, 1)
    rows = list(csv.reader(io.StringIO(export.table([TWICE, FIRST, numbers]))))
    assert rows == [
        ["question", "answer", "right", "first vote", "second vote"],
        ["Which?", "this", "no", "1", "1"],
        ["Which?", "that", "yes", "2", "3"],
        ["Which?", "neither", "no", "1", "0"],
        ["Which?", "this", "no", "1", ""],
        ["Which?", "that", "yes", "2", ""],
        ["Which?", "neither", "no", "0", ""],
        ["How many?", "3 pairs", "no", "1", "0"],
        ["How many?", "128 pairs", "yes", "2", "1"],
        ["How many?", "1e+30 pairs", "no", "0", "1"],
    ]


def test_the_page_to_print_loads_nothing_and_shows_texts_as_they_are() -> None:
    awkward = sessions.Question("k", "Is <b> & “b” one?", 1, ("<script>", "no"))
    page = export.page([TWICE, Result(awkward, ((1.0,),))], "A class")
    assert "Is &lt;b&gt; &amp; “b” one?" in page and "<script>" not in page
    assert not re.search(r"https?:|src=|@import|url\(", page)
    assert page.count("<section>") == 2 and page.count("✓") == 2
    assert "2 of 4 changed their answer, 2 to the right one. Right: 2, then 3." in page


def test_a_class_leaves_its_counts_for_the_notes_and_its_files(monkeypatch) -> None:
    classes = Sessions()
    monkeypatch.setattr(sessions, "ALL", classes)
    app = opened(open_page("birth", "beat=output"))
    press(app, "With the class")
    assert not app.get("download_button") or "Results (CSV)" not in str(app.get("download_button"))
    vote(classes, 1, 0, 2, 2, 2)
    opened(app.run())
    press(app, "Open the answers")
    assert "Results (CSV)" in str(app.get("download_button"))
    (rooms,) = record.records(["birth.induction output"])
    assert rooms.rooms[0].counts == ((1, 0, 3),)
    assert the(classes).code not in json.dumps(rooms.lines())
    notes = said(opened(open_page("lessons", "")))
    assert f"**Rooms answered:** {rooms.ask} (1 room, 4 answers)" in notes
    assert "✓ W_O² (says what followed): 75%" in notes and "<script" not in html(app)


def test_a_cache_that_cannot_be_written_is_told(cache: Path, monkeypatch) -> None:
    monkeypatch.setattr(sessions, "ALL", Sessions())
    (cache / "classes").write_text("a file in its place")
    app = opened(open_page("birth", "beat=output"))
    press(app, "With the class")
    vote(sessions.ALL, 1, 0)
    opened(app.run())
    press(app, "Open the answers")
    for _ in range(2):  # until the lecturer does the next thing
        assert any("could not be kept" in warning.value for warning in app.warning)
        opened(app.run())
    press(app, "Vote again")
    assert not any("could not be kept" in warning.value for warning in app.warning)
