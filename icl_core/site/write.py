"""Writes the site: a folder of plain files that any host serves, and that opens from a disk.

A page opened from a disk may load scripts, but may not read other files. So all that the site shows
is in scripts, each of which hands one value to `iclTake` under its name: JSON, compressed, in
base64.
"""

import base64
import json
import multiprocessing
import os
import shutil
import tempfile
import zlib
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from icl_core import registry
from icl_core.contract.knobs import BadSetting
from icl_core.machine import device
from icl_core.runs.file import Damaged
from icl_core.share import gallery
from icl_core.site import scripts, stage_data, texts, training
from icl_core.site.experiment_texts import experiment_texts
from icl_core.site.scenes import Scenes, ShownRun, shipped_runs

COMPRESSION = 9
PROCESSES = min(4, os.cpu_count() or 1)  # that draw at once
NOT_TOGETHER = "These choices do not go together."
DATA = "data"  # the folder of what the pages show


def write_site(folder: Path, say: Callable[[str], object] = print) -> None:
    """Write the site of all shipped runs into `folder`, which must be empty or not be there. A
    write that is broken off leaves nothing in it.

    Raises `FileExistsError` for a file, and for a folder with other files; `OSError` where it
    cannot be written; and `Damaged` for a run that cannot be read. `say` is told each experiment
    that is done.
    """
    if folder.is_file() or (folder.exists() and any(folder.iterdir())):
        raise FileExistsError(f"{folder} must be an empty folder, or a new one")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".site-") as beside:
        site = Path(beside) / "site"
        site.mkdir()
        _write_all(site, say)
        site.replace(folder)


def _write_all(folder: Path, say: Callable[[str], object]) -> None:
    _write_pages(folder)
    data = folder / DATA
    _put(data, "site", texts.site_texts())
    _put(data, "front", texts.front_texts())
    _put(data, "gallery", texts.gallery_texts())
    _put(data, "claims", texts.claims_texts())
    lessons = [texts.lesson_texts(paper, lesson) for paper, lesson in registry.lessons().values()]
    _put(data, "lessons", lessons)
    _put(data, "worker", training.worker_source())
    for paper in registry.papers().values():
        _put(data, paper.name, texts.paper_texts(paper))
    ids = registry.experiment_ids()
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(PROCESSES, context, device.set_threads) as pool:
        for id in pool.map(partial(write_experiment, data), ids):
            say(id)


def write_experiment(data: Path, id: str) -> str:
    """Write what the pages of an experiment show, and return its id."""
    scenes = Scenes(id)
    place = data / id
    _put(data, id, experiment_texts(scenes))
    _put(place, "evidence", texts.evidence_texts(id))
    if scenes.experiment.in_tab:
        _put(place, "tab", [training.options(id, dark) for dark in (False, True)])
    for shown in scenes.runs:
        _write_run(scenes, shown, place)
    return id


def _write_run(scenes: Scenes, shown: ShownRun, place: Path) -> None:
    """Write a run's stage and, of a preset's run, its drawers and its other views."""
    experiment = scenes.experiment
    run = shipped_runs().load(shown.header)
    if run is None:
        raise Damaged(f"the shipped run {shown.header.key} of {scenes.id} cannot be read")
    preset = experiment.presets[0].config
    stage = stage_data.stage(experiment, scenes.id, run, shown.base, preset)
    if not shown.presets:  # a run of the atlas holds too little for the drawers
        _put(place, shown.name, {**stage, "drawers": []})
        return
    _put(place, shown.name, stage)
    drawers = [name for name, _ in stage["drawers"]]
    for index, drawer in enumerate(drawers):
        content = stage_data.drawer(experiment, run, shown.base, drawer)
        _put(place, f"{shown.name}.{index}", content)
    for drawer, fields in scenes.drawer_knobs(shown).items():
        for number, view_fields in enumerate(scenes.drawer_views(shown, fields)):
            content = {"problem": NOT_TOGETHER}
            with suppress(BadSetting):
                view = replace(shown.base, **view_fields)
                content = stage_data.drawer(experiment, run, view, drawer)
            _put(place, f"{shown.name}.{drawers.index(drawer)}.{number}", content)
    for name, fields in shown.views.items():
        view = replace(shown.base, **fields)
        panels = stage_data.changed_panels(experiment, scenes.id, run, view, shown.base)
        headlines = stage_data.headlines(experiment, run, view)
        own = stage_data.changed_drawers(experiment, run, view, shown.base)
        _put(place, name, {"panels": panels, "headlines": headlines, "drawers": list(own)})
        for drawer in own:
            content = stage_data.drawer(experiment, run, view, drawer)
            _put(place, f"{name}.{drawers.index(drawer)}", content)


def _put(folder: Path, name: str, value: Any) -> None:
    """Write a value as a script."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    packed = base64.b64encode(zlib.compress(text.encode(), COMPRESSION)).decode()
    folder.mkdir(parents=True, exist_ok=True)
    path = f"{folder.name}/{name}" if folder.name != DATA else name
    (folder / f"{name}.js").write_text(f'iclTake("{path}","{packed}")\n', encoding="ascii")


def _write_pages(folder: Path) -> None:
    """Write the page, its scripts, its style and type, plotly.js, the pictures of the gallery."""
    for name, text in scripts.files().items():
        (folder / name).write_text(text, encoding="utf-8")
    for path in scripts.COPIED:
        shutil.copyfile(path, folder / path.name)
    pictures = folder / "pictures"
    pictures.mkdir()
    for id in registry.experiment_ids():
        for ending in ("light.webp", "dark.webp"):
            path = gallery.path(id, ending)
            if path.exists():
                shutil.copyfile(path, pictures / path.name)
