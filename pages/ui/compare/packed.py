"""Films of a comparison, packed for the browser: drawn once for all visitors, and at most
MOST_BYTES of frames a page."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b

from icl_core.contract.experiment import Drawing, Panel
from icl_core.contract.figure import Figure
from icl_core.findings.comparison import films
from icl_core.findings.comparison.common_clock import CommonClock, thinned
from icl_core.findings.comparison.films import Compared, Film, Scene
from pages.ui.look.sized_cache import keep_by_size
from pages.ui.look.style import Theme
from pages.ui.stage import panels, playback

MOST_BYTES = 12 * 10**6  # of the frames of a page
KEPT_BYTES = 96 * 2**20  # of the frames that are kept for all visitors


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
    """All that a page plays.

    clock   the clock, without the places that had to be left out
    scenes  the panels
    """

    clock: CommonClock
    scenes: tuple[PackedScene, ...]

    @property
    def size(self) -> int:
        """The bytes of its frames."""
        every = [film for scene in self.scenes for film in (*scene.runs, *scene.differences)]
        return sum(len(film.states) for film in every)


def run_name(name: str) -> str:
    """Return the browser's name for a comparison that is cached as `name`."""
    return blake2b(name.encode(), digest_size=8).hexdigest()


@keep_by_size(KEPT_BYTES, lambda packed: packed.size)
def pack(name: str, compared: Compared, drawings: Sequence[Drawing], theme: Theme) -> Packed:
    """Return drawings of a comparison for the browser. Where their frames would take more than
    MOST_BYTES, places of the clock are left out, evenly. `name` names all that the result depends
    on; its part before a line break names the comparison."""
    packed = _pack(name, compared, drawings, theme)
    while packed.size > MOST_BYTES and len(packed.clock.places) > 2:
        fitting = int(len(packed.clock.places) * 0.95 * MOST_BYTES / packed.size)
        shorter = replace(compared, clock=thinned(packed.clock, fitting))
        packed = _pack(name, shorter, drawings, theme)
    return packed


def _pack(name: str, compared: Compared, drawings: Sequence[Drawing], theme: Theme) -> Packed:
    run = run_name(name.partition("\n")[0])
    scenes = [films.scene(compared, drawing) for drawing in drawings]
    packed = [_packed_scene(run, scene, theme) for scene in scenes if scene is not None]
    return Packed(compared.clock, tuple(packed))


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
    shown = _copy(styled[film.order[-1]])
    last = len(film.order) - 1
    if len(styled) == 1:
        return PackedFilm(film.name, playback.tag_figure(shown, film_id), b"")
    states = [playback.tag_figure(panel, film_id, index) for index, panel in enumerate(styled)]
    return PackedFilm(
        film.name,
        playback.tag_figure(shown, film_id, last),
        playback.pack_states(film.name, run, film_id, states, film.order),
    )


def _copy(panel: Panel) -> Panel:
    """Return a panel whose figure can be tagged without the other's being changed."""
    if panel.figure is None:
        return panel
    return replace(panel, figure=Figure(panel.figure.data, dict(panel.figure.layout)))
