"""Films of a comparison, packed for the browser: drawn once for all visitors, and at most
MOST_BYTES of frames for the stage."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from threading import Lock

from cachetools import LRUCache

from icl_core.comparison import films
from icl_core.comparison.films import CommonClock, Compared, Film, thinned_clock
from icl_core.contract.experiment import CannotDraw, Drawing, Panel
from icl_core.contract.figure import Figure
from icl_core.figures.frames import tag_figure
from icl_core.share.stage_films import packed, states_message
from pages.ui.controls.cache import keep_by_size
from pages.ui.look.style import Theme
from pages.ui.stage import panels

MOST_BYTES = 12 * 10**6  # of the frames of a stage
KEPT_BYTES = 120 * 2**20  # of the frames of comparisons that are kept for all visitors
KEPT_CLOCKS = 1000  # comparisons of which it is known which places their clock can have


@dataclass(frozen=True, eq=False)
class PackedFilm:
    """A film for the browser.

    name    its seat's name
    panel   what its chart shows at first: the last place of the clock
    states  its frames, as JSON; empty if it does not move
    """

    name: str
    panel: Panel
    states: bytes


@dataclass(frozen=True, eq=False)
class PackedScene:
    """A scene for the browser; see `films.Scene`. It has no films where nothing is to be drawn;
    `is_left_out` where that is because one of the runs has nothing to draw."""

    runs: tuple[PackedFilm, ...] = ()
    differences: tuple[PackedFilm, ...] = ()
    note: str = ""
    is_left_out: bool = False

    @property
    def films(self) -> tuple[PackedFilm, ...]:
        """All of its films."""
        return (*self.runs, *self.differences)

    @property
    def size(self) -> int:
        """The bytes of its frames."""
        return sum(len(film.states) for film in self.films)


@dataclass(frozen=True, eq=False)
class Packed:
    """What a page plays.

    clock   the clock, without the places that had to be left out
    scenes  the panels, one for each drawing
    """

    clock: CommonClock
    scenes: tuple[PackedScene, ...]

    @property
    def left_out(self) -> int:
        """How many drawings have no panel, as not all runs have something to draw."""
        return sum(scene.is_left_out for scene in self.scenes)

    @property
    def films(self) -> list[PackedFilm]:
        """All of its films."""
        return [film for scene in self.scenes for film in scene.films]

    @property
    def size(self) -> int:
        """The bytes of its frames."""
        return sum(scene.size for scene in self.scenes)


_clocks: LRUCache[str, CommonClock] = LRUCache(KEPT_CLOCKS)  # those that fit, by the name
_lock = Lock()  # of the clocks


def run_name(name: str) -> str:
    """Return the browser's name for a comparison that is cached as `name`."""
    return blake2b(name.encode(), digest_size=8).hexdigest()


def with_fitting_clock(name: str, compared: Compared) -> Compared:
    """Return a comparison with the places of its clock that fit, as far as `pack` has found out."""
    with _lock:
        return replace(compared, clock=_clocks.get(name, compared.clock))


def scenes(
    name: str, compared: Compared, drawings: Sequence[Drawing], theme: Theme
) -> Iterator[PackedScene]:
    """Yield a scene for each drawing, whatever its frames take, as soon as it is packed. `name`
    names all that the comparison depends on but the places of its clock."""
    for drawing in drawings:
        key = f"{name} {compared.clock.places} {drawing.name}"
        yield _scene(key, name, compared, drawing, theme)


def pack(name: str, compared: Compared, drawings: Sequence[Drawing], theme: Theme) -> Packed:
    """Return the stage of a comparison for the browser. Where its frames would take more than
    MOST_BYTES, places of the clock are left out, evenly. `name` as in `scenes`."""
    compared = with_fitting_clock(name, compared)
    packed = _pack(name, compared, drawings, theme)
    while packed.size > MOST_BYTES and len(packed.clock.places) > 2:
        count = int(len(packed.clock.places) * 0.95 * MOST_BYTES / packed.size)
        shorter = replace(compared, clock=thinned_clock(packed.clock, count))
        packed = _pack(name, shorter, drawings, theme)
        with _lock:
            _clocks[name] = packed.clock
    return packed


def pack_more(name: str, compared: Compared, drawings: Sequence[Drawing], theme: Theme) -> Packed:
    """Return further drawings of a comparison, which the clock of its stage moves: at all places of
    the clock that `pack` has returned under this name, whatever the frames take."""
    return _pack(name, compared, drawings, theme)


def _pack(name: str, compared: Compared, drawings: Sequence[Drawing], theme: Theme) -> Packed:
    return Packed(compared.clock, tuple(scenes(name, compared, drawings, theme)))


@keep_by_size(KEPT_BYTES, lambda scene: scene.size)
def _scene(key: str, name: str, compared: Compared, drawing: Drawing, theme: Theme) -> PackedScene:
    run = run_name(name)
    try:
        scene = films.scene(compared, drawing)
    except CannotDraw:
        return PackedScene(is_left_out=True)
    if scene is None:
        return PackedScene()
    return PackedScene(
        _packed_films(run, scene.runs, theme),
        _packed_films(run, scene.differences, theme),
        scene.note,
    )


def _packed_films(run: str, many: Sequence[Film], theme: Theme) -> tuple[PackedFilm, ...]:
    return tuple(_packed_film(run, film, theme) for film in many)


def _packed_film(run: str, film: Film, theme: Theme) -> PackedFilm:
    film_id = run_name(f"{run} {film.name}")
    styled = [panels.style_panel(panel, theme) for panel in film.states]
    panel = _copy(styled[film.order[-1]])
    last = len(film.order) - 1
    if len(styled) == 1:
        return PackedFilm(film.name, tag_figure(panel, film_id), b"")
    states = [tag_figure(state, film_id, index) for index, state in enumerate(styled)]
    return PackedFilm(
        film.name,
        tag_figure(panel, film_id, last),
        packed(states_message(film.name, run, film_id, states, film.order)),
    )


def _copy(panel: Panel) -> Panel:
    """Return a panel whose figure can be tagged without the other's being changed."""
    if panel.figure is None:
        return panel
    return replace(panel, figure=Figure(panel.figure.data, dict(panel.figure.layout)))
