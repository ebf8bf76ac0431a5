"""How the numbers on the stage's maps are made, at the step shown."""

from functools import partial

from icl_core.contract.experiment import Run
from icl_core.contract.explanation import Map
from icl_core.papers.birth.induction.draw.stage import reading
from icl_core.papers.birth.induction.grafted import weights_shown
from icl_core.papers.birth.induction.settings import View
from icl_core.papers.birth.shared import explanations
from icl_core.papers.birth.shared.train import task_of


def _memory(name: str, run: Run, view: View) -> list[Map]:
    return explanations.memory(name, weights_shown(run, view), task_of(run.config))


def _attention(layer: int, run: Run, view: View) -> list[Map]:
    return explanations.attention(layer, *reading(run, view))


first, second = (partial(_attention, layer) for layer in (1, 2))
w_k1, w_k2, w_o2 = (partial(_memory, name) for name in ("W_K1", "W_K2", "W_O2"))
