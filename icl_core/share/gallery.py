"""The gallery: a card for each experiment, with one sentence and a picture of its shipped run.

A card is one SVG file in artifacts/gallery/, drawn when the run is built, so that the page of the
gallery needs neither torch nor the runs.
"""

import html
import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from icl_core import registry
from icl_core.contract.experiment import STAGE, Drawing, Experiment, Panel
from icl_core.contract.run import Run
from icl_core.contract.story import sentence_of
from icl_core.figures.thumbnail import MOST_BYTES, thumbnail
from icl_core.runs import store

_ATTRIBUTE = re.compile(r' (aria-label|data-title|data-says|data-seen|data-run)="([^"]*)"')


@dataclass(frozen=True)
class Card:
    """An experiment in the gallery.

    title    the experiment's title
    says     what it finds: its headline at the end of its first preset's shipped run
    seen     what that run has shown, for the end of a tour (`Story.seen`), else the headline
    shows    the titles of the panels in the picture
    run      the first digits of that run's digest
    picture  an SVG in the colours of the light theme
    """

    title: str
    says: str
    seen: str
    shows: str
    run: str
    picture: str


def path(experiment_id: str) -> Path:
    """Return the file of an experiment's card."""
    return store.default().shipped / "gallery" / f"{experiment_id}.svg"


def card(experiment_id: str) -> Card | None:
    """Return an experiment's card as it was built; None if there is none that can be read."""
    with suppress(OSError, UnicodeDecodeError, KeyError):
        picture = path(experiment_id).read_bytes()[: MOST_BYTES + 1].decode()
        if len(picture.encode()) > MOST_BYTES:
            return None
        head = picture[: picture.index(">")] if ">" in picture else ""
        texts = {name: html.unescape(text) for name, text in _ATTRIBUTE.findall(head)}
        return Card(
            texts["data-title"],
            texts["data-says"],
            texts["data-seen"],
            texts["aria-label"],
            texts["data-run"],
            picture,
        )
    return None


def title(experiment_id: str) -> str:
    """Return an experiment's title: that of its card, as importing all experiments takes a second,
    or where it has none, its own."""
    own_card = card(experiment_id)
    return own_card.title if own_card else registry.experiment(experiment_id).title


def can_draw(experiment_id: str) -> bool:
    """Return whether there is the run that an experiment's card shows."""
    first = registry.experiment(experiment_id).presets[0]
    return store.default().preset(experiment_id, first.name) is not None


def write(experiment_ids: Iterable[str]) -> list[str]:
    """Draw the cards of experiments whose first preset has a shipped run; return a sentence for
    each that failed."""
    problems: list[str] = []
    for experiment_id in experiment_ids:
        experiment = registry.experiment(experiment_id)
        header = store.default().preset(experiment_id, experiment.presets[0].name)
        run = store.default().load(header) if header else None
        if run is None:
            continue
        try:
            text = draw(experiment, run)
        except Exception as problem:  # a drawing may fail in any way: draw the others
            problems.append(f"gallery, {experiment_id}: {type(problem).__name__}: {problem}")
            continue
        file = path(experiment_id)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return problems


def draw(experiment: Experiment, run: Run) -> str:
    """Return the text of a card's file, for a run of the experiment's first preset."""
    view = experiment.view(**experiment.presets[0].view)
    panels = [drawing.draw(run, view) for drawing in _drawings(experiment, run)]
    figures = [panel.figure for panel in panels if panel.figure is not None]
    headline = experiment.headline(run, view)
    seen = sentence_of(experiment.story.seen, run, view) if experiment.story else ""
    attributes = {
        "data-title": experiment.title,
        "data-says": headline,
        "data-seen": seen or headline,
        "data-run": run.digest[:16],
    }
    titles = [_short_title(panel) for panel in panels] if len(panels) > 1 else []
    name = "; ".join(panel.title for panel in panels)
    return thumbnail(figures, name, attributes, titles)


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
