"""A visitor's own points, "x y" a line: the shortest complete example of a kind of document."""

from dataclasses import dataclass
from pathlib import Path

from icl_core.contract.document import DocumentKind, digest_of
from icl_core.contract.knobs import BadSetting, NotHere
from icl_core.machine.folders import cache_folder, read_regular_file

LARGEST = 2**10  # bytes of a file


@dataclass(frozen=True)
class Points:
    """Points as (x, y)."""

    points: tuple[tuple[float, float], ...]

    @property
    def content(self) -> bytes:
        """The bytes of the file that is kept."""
        return "".join(f"{x!r} {y!r}\n" for x, y in self.points).encode()

    @property
    def digest(self) -> str:
        """The digest by which the points are kept."""
        return digest_of(self.content)


def read(content: bytes) -> Points:
    """Return the points in the bytes of a file; `BadSetting` if it holds none."""
    KIND.check_size(len(content))
    try:
        rows = [line.split() for line in content.decode().splitlines()]
        return Points(tuple((float(x), float(y)) for x, y in rows))
    except ValueError as problem:
        raise BadSetting(f"points must be two numbers a line, got {problem}") from problem


def describe(points: Points) -> list[str]:
    """Return how many points there are, in a sentence."""
    return [f"{len(points.points)} points."]


def path_of(digest: str) -> Path:
    """Return the file of the points with this digest."""
    return cache_folder() / "points" / f"{digest}.txt"


def load(digest: str) -> Points:
    """Return the points with this digest; `NotHere` if they are not kept on this computer."""
    try:
        return read(read_regular_file(path_of(digest), LARGEST))
    except (OSError, ValueError) as problem:
        raise NotHere(f"the points {digest} must be kept on this computer") from problem


KIND = DocumentKind(
    title="Points",
    subject="points",
    largest=LARGEST,
    read=read,
    describe=describe,
    path_of=path_of,
    load=load,
    plural="points",
    are="points are",
    this="these points",
    in_use="These points are in use.",
    away="The points {} are not on this computer.",
    command="keep points of yours",
    file=f"at most {LARGEST} bytes",
    upload="Choose a file",
    instructions="Two numbers a line.",
)
