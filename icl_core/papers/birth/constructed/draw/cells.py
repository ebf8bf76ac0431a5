"""How the numbers on the stage's maps are made."""

from functools import partial

from icl_core.cells import Map
from icl_core.experiment import Run
from icl_core.papers.birth.constructed.draw.stage import reading
from icl_core.papers.birth.constructed.run import constructed, task_of
from icl_core.papers.birth.constructed.settings import View
from icl_core.papers.birth.shared import cells


def _memory(name: str, run: Run, view: View) -> list[Map]:
    return cells.memory(name, constructed(run.config, run.config.d, view.cross_talk), task_of(run.config))


def _attention(layer: int, run: Run, view: View) -> list[Map]:
    return cells.attention(layer, *reading(run, view))


first, second = (partial(_attention, layer) for layer in (1, 2))
w_k1, w_k2, w_o2 = (partial(_memory, name) for name in ("W_K1", "W_K2", "W_O2"))
