"""What classes have answered before, in a file of this machine: counts alone, of each room that
opened its answers, the latest rooms of a question."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock
from typing import Any

from icl_core.classroom.session import Result
from icl_core.machine import folders, limits
from icl_core.runs import disk

QUESTIONS = 500
ROOMS = 50  # of one question
LARGEST = 8 * 2**20  # bytes of the file
_lock = Lock()  # two servers on one cache may still lose a room that both keep at once


@dataclass(frozen=True)
class Room:
    """What one room answered: for each round the counts of `Question.counts`."""

    id: str
    date: str
    counts: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Record:
    """What rooms answered to a question; `right` is the right choice's index, or the true value."""

    key: str
    ask: str
    choices: tuple[str, ...]
    right: float
    rooms: tuple[Room, ...]

    def lines(self) -> list[str]:
        """Return the share of each choice, of a number that of the right ones, in words: of all
        rooms in the first vote, and before and after in rooms that voted twice."""
        once = _sums([room.counts[0] for room in self.rooms])
        twice = [room.counts for room in self.rooms if len(room.counts) > 1]
        before, after = (_sums([counts[round] for counts in twice]) for round in (0, 1))
        names = self.choices or ("wrong", "right")
        lines = []
        for index, name in enumerate(names):
            is_right = index == (self.right if self.choices else 1)
            line = f"{'✓ ' if is_right else ''}{name}: {_share(once, index)}"
            if any(before) and any(after):
                line += f"; voting twice {_share(before, index)}, then {_share(after, index)}"
            lines.append(line)
        return lines

    def head(self) -> str:
        """Return how many rooms and answers there are."""
        count = sum(sum(room.counts[0]) for room in self.rooms)
        rooms = "1 room" if len(self.rooms) == 1 else f"{len(self.rooms)} rooms"
        return f"{rooms}, {count} {'answer' if count == 1 else 'answers'}"


def keep(id: str, result: Result) -> None:
    """Keep the counts of a room, in place of those it had under the same `id`; nothing where nobody
    answered or the server is read-only. Raises `OSError` where the file cannot be written."""
    question = result.question
    counts = tuple(question.counts(votes) for votes in result.rounds)
    choices = question.choices
    right = question.right
    if question.curve:  # what is counted stands in place of choices
        choices = question.outcomes
        right = 1.0
    if limits.read_only() or not any(map(sum, counts)):
        return
    with _lock:
        records = {record.key: record for record in _read()}
        record = records.pop(question.key, None)
        rooms: list[Room] = []
        # not of other words that the question had
        if record and (record.ask, record.choices) == (question.ask, choices):
            rooms = [room for room in record.rooms if room.id != id]
        rooms.append(Room(id, f"{datetime.now(UTC):%Y-%m-%d}", counts))
        kept_rooms = tuple(rooms[-ROOMS:])
        records[question.key] = Record(question.key, question.ask, choices, right, kept_rooms)
        content = json.dumps([asdict(record) for record in list(records.values())[-QUESTIONS:]])
        disk.write_whole(_file(), content.encode())


def records(beginnings: Sequence[str]) -> list[Record]:
    """Return what rooms answered to the questions whose keys begin so."""
    with _lock:
        return [record for record in _read() if record.key.startswith(tuple(beginnings))]


def _file() -> Path:
    return folders.cache_folder() / "classes" / "answers.json"


def _read() -> list[Record]:
    """Return all records; none if there is no file, or a damaged one, which is set aside."""
    path = _file()
    try:
        return [_record(item) for item in json.loads(folders.read_regular_file(path, LARGEST))]
    except OSError:
        return []
    except (ValueError, TypeError, KeyError, RecursionError):
        if not limits.read_only():
            disk.move_aside(path, path.parent / "damaged")
        return []


def _record(item: Any) -> Record:
    """Return a record of the file. Raises if it is none."""
    choices = tuple(map(str, item["choices"]))
    rooms = tuple(_room(room, len(choices) or 2) for room in item["rooms"])
    return Record(str(item["key"]), str(item["ask"]), choices, float(item["right"]), rooms)


def _room(item: Any, width: int) -> Room:
    counts = tuple(tuple(int(count) for count in round) for round in item["counts"])
    if not 1 <= len(counts) <= 2 or any(len(round) != width for round in counts):
        raise ValueError(f"a room must have one or two rounds of {width} counts, got {counts}")
    return Room(str(item["id"]), str(item["date"]), counts)


def _sums(rows: Sequence[Sequence[int]]) -> list[int]:
    return [sum(column) for column in zip(*rows, strict=True)]


def _share(counts: Sequence[int], index: int) -> str:
    return f"{counts[index] / max(1, sum(counts)):.0%}"
