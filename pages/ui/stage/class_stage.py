"""The stage on the phones of a class: the snapshot that the lecturer sees, drawn once."""

import gzip
import json
import logging

from icl_core.classroom import sessions
from icl_core.classroom.session import ShownStage
from icl_core.contract import knobs, words
from icl_core.contract.experiment import Run
from icl_core.share.stage_films import film_id
from icl_core.site import stage_data
from pages.ui.controls.cache import keep_by_size
from pages.ui.link import visitors
from pages.ui.link.address import Setting
from pages.ui.story.places import Place

SCENE_BYTES = 16 * 2**20  # of the scenes kept for all lecturers
_log = logging.getLogger(__name__)


def draw(setting: Setting, run: Run, place: Place) -> None:
    """Give the visitor's class the stage at the view's snapshot, if its phones are to show it;
    without what open questions hide, and none while the beat's own question is open."""
    seen = sessions.ALL.seen(visitors.name())
    if seen is None or not seen.has_stage:
        return
    stage = None
    try:
        if place.question is None:
            hidden = tuple(sorted(set(place.hidden)))
            shown = f"{run.digest} {setting.id} {setting.preset.name} {knobs.values(setting.view)}"
            name = film_id(f"{shown} {hidden} {words.stamp()}")
            stage = ShownStage(name, _scene(name, setting, run, hidden))
    finally:  # none in place of one that cannot be drawn: the former is not what the page shows
        sessions.ALL.draw_stage(visitors.name(), stage)


@keep_by_size(SCENE_BYTES, len)
def _scene(name: str, setting: Setting, run: Run, hidden: tuple[str, ...]) -> bytes:
    """Return the scene of a stage as phones get it."""
    preset = setting.preset.config
    scene = stage_data.snapshot(setting.experiment, setting.id, run, setting.view, preset, hidden)
    packed = gzip.compress(json.dumps(scene, allow_nan=False).encode(), mtime=0)
    _log.info("%s, step %d: %d bytes for a phone", setting.id, scene["steps"][0], len(packed))
    return packed
