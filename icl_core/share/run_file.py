"""A run's file, as the dashboard gives it, opened anywhere: its numbers, its figures, its tensors.

from icl_core.share.run_file import open_run

opened = open_run("birth-induction-3ad0b7c1.safetensors")
print(opened.report(step=300))
opened.panel("w_k2", step=300).figure.plotly().show()
"""

from bisect import bisect_right
from dataclasses import dataclass
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np

from icl_core import registry
from icl_core.contract.experiment import Experiment, Panel, Run
from icl_core.contract.knobs import BadSetting, knobs_of, unknown_name
from icl_core.contract.message import printable_lines
from icl_core.contract.settings_io import changed
from icl_core.evidence import measurements
from icl_core.evidence.measurements import bound_text
from icl_core.runs import code
from icl_core.runs.file import Damaged, read
from icl_core.runs.header import Header, header_of, info_of, key_of_record, typed_config


@dataclass(frozen=True, eq=False)
class OpenedRun:
    """A run from a file.

    experiment  what it is a run of
    header      what the file says of it: settings, circumstances, results
    run         its settings (`config`) and tensors
    """

    experiment: Experiment
    header: Header
    run: Run

    def view(self, step: int | None = None, **fields: Any) -> Any:
        """Return the view of the last snapshot not beyond a training `step`, or of the last one of
        all, with other `fields` of the experiment's view.

        Raises `BadSetting` for a step that is none, an unknown field, and a value that the view
        refuses.
        """
        steps = self.run.snapshot_steps
        fields = {name: plain(value) for name, value in fields.items()}
        if steps and "snapshot" in knobs_of(self.experiment.view):
            reached = len(steps) if step is None else bisect_right(steps, checked_step(step))
            fields = {"snapshot": max(0, reached - 1), **fields}
        return changed(self.experiment.view, fields)

    def report(self, step: int | None = None, **fields: Any) -> str:
        """Return what the page says of the run in that view, in plain text: its headline, and what
        was measured at the end of the training for every claim, with the verdicts."""
        title = f"{self.experiment.title} ({self.header.experiment})"
        version = self.header.info["version"]
        current = registry.version(self.header.experiment)
        if version != current:
            title += f"; made with version {version}, read with version {current}"
        elif "code" in self.header.info and (note := code.note(self.header)):
            title += f". {note}"
        settings = ", ".join(f"{name} = {value}" for name, value in self.header.config.items())
        view = self.view(step, **fields)
        lines = [title, settings, "", self.experiment.headline(self.run, view), ""]
        return printable_lines("\n".join([*lines, *self._measured()]))

    def _measured(self) -> list[str]:
        """Return a line for each claim: its name, what was measured, what was expected, the
        verdict."""
        cells = [("claim", "measured", "expected", "verdict")]
        for finding in measurements.of_run(self.header):
            row = finding.row()
            value = "not run" if row["value"] is None else f"{row['value']:.6g}"
            error = f" ± {row['error']:.2g}" if row["error"] else ""
            cells.append((row["label"], value + error, bound_text(row), row["verdict"]))
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        lines = []
        for row_cells in cells:
            padded = [f"{cell:<{width}}" for cell, width in zip(row_cells, widths, strict=True)]
            lines.append("  ".join(padded).rstrip())
        return lines

    def panel(self, name: str, step: int | None = None, **fields: Any) -> Panel:
        """Return the drawing called `name` in that view; `icl_core.figures.panel_tables.tables`
        gives its numbers.

        Raises `BadSetting` for an unknown name, and `CannotDraw` where there is nothing to draw.
        """
        drawings = {drawing.name: drawing for drawing in self.experiment.drawings}
        if name not in drawings:
            raise unknown_name("the drawing", name, drawings)
        return drawings[name].panel(self.run, self.view(step, **fields))


def checked_step(step: float) -> float:
    """Return a training step. Raises `BadSetting` unless it is a number."""
    if not isinstance(step, Real) or step != step:  # NaN is not itself
        raise BadSetting(f"step must be a number, got {step!r:.80}")
    return step


def plain(value: Any) -> Any:
    """Return a value without numpy's type, which a setting does not take."""
    return value.item() if isinstance(value, np.generic) else value


def open_run(path: str | Path) -> OpenedRun:
    """Open a run's file; nothing else is read.

    Raises `Damaged` for a file that is not a run or has changed, `NotHere` if its settings name a
    visitor's document, which only the dashboard that made the run has, and `OSError` if the file
    cannot be read.
    """
    record, tensors = read(Path(path))
    if record["experiment"] not in registry.experiment_ids():
        raise Damaged(f"expected a run of an experiment here, got {record['experiment']!r:.80}")
    header = header_of(record, key_of_record(record), "local", Path(path))
    run = Run(typed_config(header), tensors, info_of(record), header.digest)
    return OpenedRun(registry.experiment(header.experiment), header, run)
