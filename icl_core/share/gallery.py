"""The gallery: a card for each experiment, with one sentence and a picture of its shipped run.

A card is a JSON file in artifacts/gallery/ with two pictures beside it, light and dark. They are
made when the run is built, so that the page of the gallery needs neither torch nor the runs.
"""

import hashlib
import json
import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from icl_core import registry
from icl_core.contract.experiment import STAGE, Drawing, Experiment, Panel
from icl_core.contract.run import Run
from icl_core.contract.story import sentence_of
from icl_core.runs import store
from icl_core.runs.disk import write_shipped
from icl_core.share import pictures

MOST_BYTES = 40_000  # of a file
WIDTH, HEIGHT = 340, 220  # of a picture on a page, in its pixels


@dataclass(frozen=True)
class Card:
    """An experiment in the gallery.

    title    the experiment's title
    says     what it finds: its headline at the end of its first preset's shipped run
    seen     what that run has shown, for the end of a tour (`Story.seen`), else the headline
    shows    the titles of the panels in the picture
    run      the first digits of that run's digest
    figures  the first digits of the digest of what the pictures were drawn of
    """

    title: str
    says: str
    seen: str
    shows: str
    run: str
    figures: str


def path(experiment_id: str, ending: str = "json") -> Path:
    """Return a file of an experiment's card: its texts, or its picture with the ending
    "light.webp" or "dark.webp"."""
    return store.default().shipped / "gallery" / f"{experiment_id}.{ending}"


def card(experiment_id: str) -> Card | None:
    """Return an experiment's card as it was built; None if there is none that can be read."""
    with suppress(OSError, ValueError, TypeError):
        read = Card(**json.loads(_read(path(experiment_id))))
        if all(isinstance(text, str) for text in asdict(read).values()):
            return read
    return None


def picture(experiment_id: str, dark: bool) -> bytes | None:
    """Return the picture of an experiment's card as WebP; None if there is none."""
    with suppress(OSError, ValueError):
        return _read(path(experiment_id, _ending(dark)))
    return None


def _ending(dark: bool) -> str:
    return f"{'dark' if dark else 'light'}.webp"


def _read(file: Path) -> bytes:
    """Return what a file holds. Raises `OSError`, and `ValueError` if it is too large for one of a
    card."""
    with file.open("rb") as stream:
        content = stream.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise ValueError(f"{file} must have at most {MOST_BYTES} bytes")
    return content


def title(experiment_id: str) -> str:
    """Return an experiment's title: that of its card, as importing all experiments takes a second,
    or where it has none, its own."""
    own_card = card(experiment_id)
    return own_card.title if own_card else registry.experiment(experiment_id).title


def can_draw(experiment_id: str) -> bool:
    """Return whether there is the run that an experiment's card shows."""
    first = registry.experiment(experiment_id).presets[0]
    return store.default().preset(experiment_id, first.name) is not None


def write(experiment_ids: Iterable[str], anew: bool = False) -> list[str]:
    """Make the cards of experiments whose first preset has a shipped run: all of them if `anew`,
    else those that would become others. Return a sentence for each that failed, or one if no
    pictures can be taken; then the cards stay as they were."""
    problems: list[str] = []
    cards: dict[str, Card] = {}
    scenes: list[dict[str, Any]] = []
    for experiment_id in experiment_ids:
        experiment = registry.experiment(experiment_id)
        header = store.default().preset(experiment_id, experiment.presets[0].name)
        run = store.default().load(header) if header else None
        if run is None:
            continue
        try:
            own_card, own_scenes = draw(experiment, run)
        except Exception as problem:  # a drawing may fail in any way: draw the others
            problems.append(f"gallery, {experiment_id}: {type(problem).__name__}: {problem}")
            continue
        if anew or own_card != card(experiment_id) or not _has_pictures(experiment_id):
            cards[experiment_id] = own_card
            scenes += own_scenes
    try:
        taken = iter(pictures.take(scenes)) if scenes else iter(())
    except pictures.NotTaken as problem:
        return [*problems, str(problem)]
    for experiment_id, own_card in cards.items():
        for dark in (False, True):
            write_shipped(path(experiment_id, _ending(dark)), next(taken))
        text = json.dumps(asdict(own_card), ensure_ascii=False, indent=1)
        write_shipped(path(experiment_id), f"{text}\n".encode())
    return problems


def _has_pictures(experiment_id: str) -> bool:
    return all(picture(experiment_id, dark) for dark in (False, True))


def draw(experiment: Experiment, run: Run) -> tuple[Card, list[dict[str, Any]]]:
    """Return a card for a run of the experiment's first preset, and what its pictures show, light
    and dark."""
    view = experiment.view(**experiment.presets[0].view)
    panels = [drawing.draw(run, view) for drawing in _drawings(experiment, run)]
    figures = [panel.figure for panel in panels if panel.figure is not None]
    titles = [_short_title(panel) for panel in panels if panel.figure is not None]
    scenes = [pictures.scene(figures, titles, dark) for dark in (False, True)]
    drawn = json.dumps(scenes, sort_keys=True).encode()
    headline = experiment.headline(run, view)
    seen = sentence_of(experiment.story.seen, run, view) if experiment.story else ""
    own_card = Card(
        title=experiment.title,
        says=headline,
        seen=seen or headline,
        shows="; ".join(panel.title for panel in panels),
        run=run.digest[:16],
        figures=hashlib.sha256(drawn).hexdigest()[:16],
    )
    return own_card, scenes


def _drawings(experiment: Experiment, run: Run) -> list[Drawing]:
    """Return the drawings of an experiment's picture: those that it names, else the stage's
    first."""
    drawings = {drawing.name: drawing for drawing in experiment.drawings}
    if experiment.picture:
        return [drawings[name] for name in experiment.picture]
    return [
        drawing
        for drawing in experiment.drawings
        if drawing.place == STAGE and drawing.applies(run.config)
    ][:1]


def _short_title(panel: Panel) -> str:
    """Return the beginning of a panel's title, for a picture of several panels."""
    return re.split(r"[,:]", panel.title)[0]
