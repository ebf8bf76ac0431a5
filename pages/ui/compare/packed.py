"""Films of a comparison, packed for the browser: drawn once for all visitors, and at most
MOST_BYTES of frames for the stage."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b

from icl_core.contract.experiment import CannotDraw, Drawing, Panel
from icl_core.contract.figure import Figure
from icl_core.figures.frames import tag_figure
from icl_core.findings.comparison import films
from icl_core.findings.comparison.common_clock import CommonClock, thinned
from icl_core.findings.comparison.films import Compared, Film, Scene
from pages.ui.look.sized_cache import keep_by_size
from pages.ui.look.style import Theme
from pages.ui.stage import panels, playback

MOST_BYTES = 12 * 10**6  # of the frames of a stage
KEPT_BYTES = 96 * 2**20  # of the frames of stages that are kept for all visitors
KEPT_BYTES_OF_MORE = 24 * 2**20  # of those of further curves


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
    """A scene for the browser; see `films.Scene`."""

    runs: tuple[PackedFilm, ...]
    differences: tuple[PackedFilm, ...]
    note: str


@dataclass(frozen=True, eq=False)
class Packed:
    """What a page plays.

    clock     the clock, without the places that had to be left out
    scenes    the panels
    left_out  how many drawings are not among them, as not all runs have something to draw
    """

    clock: CommonClock
    scenes: tuple[PackedScene, ...]
    left_out: int = 0

    @property
    def films(self) -> list[PackedFilm]:
        """All of its films."""
        return [film for scene in self.scenes for film in (*scene.runs, *scene.differences)]

    @property
    def size(self) -> int:
        """The bytes of its frames."""
        return sum(len(film.states) for film in self.films)


def run_name(name: str) -> str:
    """Return the browser's name for a comparison that is cached as `name`."""
    return blake2b(name.encode(), digest_size=8).hexdigest()


@keep_by_size(KEPT_BYTES, lambda packed: packed.size)
def pack(name: str, compared: Compared, drawings: Sequence[Drawing], theme: Theme) -> Packed:
    """Return the stage of a comparison for the browser. Where its frames would take more than
    MOST_BYTES, places of the clock are left out, evenly. `name` names all that the result depends
    on."""
    packed = _pack(name, compared, drawings, theme)
    while packed.size > MOST_BYTES and len(packed.clock.places) > 2:
        fitting = int(len(packed.clock.places) * 0.95 * MOST_BYTES / packed.size)
        shorter = replace(compared, clock=thinned(packed.clock, fitting))
        packed = _pack(name, shorter, drawings, theme)
    return packed


@keep_by_size(KEPT_BYTES_OF_MORE, lambda packed: packed.size)
def pack_more(name: str, compared: Compared, drawings: Sequence[Drawing], theme: Theme) -> Packed:
    """Return further drawings of a comparison, which the clock of its stage moves: at all places of
    the clock that `pack` has returned under this name, whatever the frames take."""
    return _pack(name, compared, drawings, theme)


def _pack(name: str, compared: Compared, drawings: Sequence[Drawing], theme: Theme) -> Packed:
    run = run_name(name)
    scenes: list[PackedScene] = []
    left_out = 0
    for drawing in drawings:
        try:
            scene = films.scene(compared, drawing)
        except CannotDraw:
            left_out += 1
            continue
        if scene is not None:
            scenes.append(_packed_scene(run, scene, theme))
    return Packed(compared.clock, tuple(scenes), left_out)


def _packed_scene(run: str, scene: Scene, theme: Theme) -> PackedScene:
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
    states = [tag_figure(each, film_id, index) for index, each in enumerate(styled)]
    return PackedFilm(
        film.name,
        tag_figure(panel, film_id, last),
        playback.pack_states(film.name, run, film_id, states, film.order),
    )


def _copy(panel: Panel) -> Panel:
    """Return a panel whose figure can be tagged without the other's being changed."""
    if panel.figure is None:
        return panel
    return replace(panel, figure=Figure(panel.figure.data, dict(panel.figure.layout)))
