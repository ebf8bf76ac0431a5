"""Files that are damaged, cut or swapped, at rest or under a worker's hands."""

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from tests.faults.audit import GIVEN_UP, check, finish
from tests.faults.bed import ASKED, FINISHED, Bed, key, submit
from tests.faults.stages import Halted

JOB = f"jobs/{key(ASKED[0])}"
# Of each kind the files, and those of the same kind that it may be swapped with.
KINDS: dict[str, tuple[str, str]] = {
    "run": (f"runs/{key(FINISHED[0])}-*.safetensors", f"runs/{key(FINISHED[1])}-*.safetensors"),
    "queue": ("queue.db*", f"runs/{key(FINISHED[1])}-*.safetensors"),
    "checkpoint": (f"{JOB}/checkpoint.safetensors", f"runs/{key(FINISHED[1])}-*.safetensors"),
    "lock": (f"{JOB}/lock", f"runs/{key(FINISHED[1])}-*.safetensors"),
    "index of runs": ("runs/cache.db*", "queue.db"),
    "any other file": (f"{JOB}/**/*", "queue.db"),
}


def _flip(bed: Bed, path: Path, other: Path) -> None:
    content = bytearray(path.read_bytes() or b".")
    for _ in range(bed.chance.randint(1, 8)):
        content[bed.chance.randrange(len(content))] ^= 1 << bed.chance.randrange(8)
    _into(path, bytes(content))


def _cut(bed: Bed, path: Path, other: Path) -> None:
    os.truncate(path, bed.chance.randrange(path.stat().st_size + 1))


def _nest(bed: Bed, path: Path, other: Path) -> None:
    _into(path, bed.chance.choice(["[", '{"a":', '{"config":[']).encode() * 100_000)


def _swap(bed: Bed, path: Path, other: Path) -> None:
    content = path.read_bytes()
    _into(path, other.read_bytes())
    if other.parent.parent == path.parent.parent:
        _into(other, content)


def _into(path: Path, content: bytes) -> None:
    """In place, not as a new file: whoever has it open sees it."""
    with open(path, "r+b") as file:
        file.write(content)
        file.truncate()


ASIDE = {"run": "*.safetensors", "queue": "queue*"}  # where what is damaged is set aside
WAYS: tuple[Callable[[Bed, Path, Path], None], ...] = (_flip, _cut, _nest, _swap)


def _damaged(kind: str, bed: Bed) -> str:
    """By design, a run whose own file is damaged is set aside and can be made anew, and a job that
    cannot be read in a damaged queue must be asked for again."""
    for seed in ASKED[:2]:
        bed.act(submit, seed)
    stages = ["training", "checkpoint", "metrics", "save", "last state"]
    worker = Halted(bed, bed.chance.choice(stages))
    at_rest = bed.chance.random() < 0.5
    if at_rest:
        worker.kill()
    _inject(kind, bed)
    left = FINISHED if kind != "run" else ()
    bed.begin(check, bed, left).result()
    if not at_rest:
        worker.go_on()
        worker.end()
    outcome = finish(bed, ASKED[:2] if kind != "run" else (*ASKED[:2], *FINISHED), left)
    return GIVEN_UP if kind in ASIDE and any((bed.cache / "aside").glob(ASIDE[kind])) else outcome


def _inject(kind: str, bed: Bed) -> None:
    files, others = KINDS[kind]
    paths = list(bed.cache.glob(files))
    if kind == "any other file":
        paths += bed.cache.glob("jobs/*")
    paths = [path for path in paths if path.is_file() and not path.name.startswith(".")]
    if not paths:  # a checkpoint, say, before the first
        return
    path = bed.chance.choice(sorted(paths))
    other = next(iter(bed.cache.glob(others)))
    with suppress(FileNotFoundError):  # replaced or dropped meanwhile
        way = bed.chance.choice(WAYS)
        bed.log.open("a").write(f"{way.__name__} {path}\n")
        way(bed, path, other)


FAULTS = {f"damaged: {kind}": lambda bed, kind=kind: _damaged(kind, bed) for kind in KINDS}
