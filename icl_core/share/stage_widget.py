"""A run's stage with its clock as a widget of a notebook. It needs the package `anywidget`
(`icl_core/requirements-notebook.txt`)."""

import json
from bisect import bisect_right
from typing import Any

import anywidget
import traitlets

from icl_core import registry
from icl_core.contract.experiment import Run
from icl_core.share import stage_page
from icl_core.share.run_file import checked_step


class StageWidget(anywidget.AnyWidget):
    """The stage with its clock, by the script of the dashboard and of the plain page (stage.js).

    `step` is the training step of the snapshot where the clock rests; set, the clock plays to the
    last snapshot not beyond it. Raises `BadSetting` where it is set to what is no step.
    """

    _esm = stage_page.script() + "\nexport default { render };\n"
    _css = stage_page.style()
    stage = traitlets.Unicode().tag(sync=True)
    index = traitlets.Int().tag(sync=True)

    def __init__(self, experiment_id: str, run: Run, view: Any) -> None:
        """Raises `CannotDraw` if no panel of the stage can be drawn."""
        data = stage_page.stage_data(registry.experiment(experiment_id), run, view)
        self._steps: list[int] = data["steps"]
        super().__init__(stage=json.dumps(data, allow_nan=False), index=data["at"])
        self.on_msg(self._send_plotly)

    @traitlets.validate("index")
    def _within(self, proposal: Any) -> int:
        """Return the index of the snapshot nearest to one that is asked for."""
        return max(0, min(len(self._steps) - 1, proposal["value"]))

    @property
    def step(self) -> int:
        """The training step of the snapshot shown; 0 of a run without a clock."""
        return self._steps[self.index] if self._steps else 0

    @step.setter
    def step(self, step: int) -> None:
        self.index = max(0, bisect_right(self._steps, checked_step(step)) - 1)

    def _send_plotly(self, widget: Any, content: Any, buffers: Any) -> None:
        """Send plotly.js, for which the first stage of a notebook asks."""
        from plotly.offline import get_plotlyjs

        self.send({"kind": "plotly"}, [get_plotlyjs().encode()])
