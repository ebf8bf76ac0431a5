"""Experiments from Python: `LIBRARY.md` is the page that describes it.

    import icl_core as icl

    run = icl.run("birth.induction", d=64, K=3)
    run.plot("memories")
    run.curves

Runs come from the same store and the same queue as those of the dashboard and the command line.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from icl_core import registry
from icl_core.contract import settings_io
from icl_core.contract.experiment import CannotDraw as CannotDraw
from icl_core.contract.experiment import Experiment
from icl_core.contract.knobs import BadSetting, unknown_name, values
from icl_core.evidence import measurements
from icl_core.jobs.faults import Failed
from icl_core.jobs.terminal import train_or_load
from icl_core.machine import device
from icl_core.runs import store
from icl_core.runs.header import Header
from icl_core.runs.request import Request
from icl_core.share import stage_page
from icl_core.share.run_file import OpenedRun, checked_step, plain
from icl_core.share.run_file import open_run as open_run
from icl_core.sweeps import setting_grid, terminal
from icl_core.sweeps.sweep import Sweep

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from icl_core.share.stage_widget import StageWidget


def run(experiment_id: str, preset: str | None = None, **settings: Any) -> "LibraryRun":
    """Return the run of an experiment such as "birth.induction": loaded where it is stored, else
    trained with a progress bar.

    `settings` change those of the preset, by default the experiment's first. Raises `BadSetting`
    for an unknown name or a value that a setting cannot have, and `Failed` where the training
    fails. An interruption (Ctrl-C, the notebook's stop) cancels the training; the same call goes on
    from its last checkpoint.
    """
    return load(experiment_id, _config(experiment_id, preset, settings))


def load(experiment_id: str, config: Any) -> "LibraryRun":
    """Return the run of a config, as `run` does. Raises `Failed`."""
    return _loaded(train_or_load(Request(experiment_id, config)))


def sweep(
    experiment_id: str,
    over: Mapping[str, Iterable[Any]],
    preset: str | None = None,
    seeds: int | None = None,
    jobs: int | None = None,
    **settings: Any,
) -> pd.DataFrame:
    """Train every combination of the values in `over`, such as {"d": [32, 64], "K": [1, 3]}, and
    return a row for each: its values, its status, a message if it failed, its run's key, and for
    every claim that was measured the value and, as `<claim>_error`, its standard error.

    seeds     the seeds of every run
    jobs      the trainings at once
    settings  what all runs share, changed from the preset

    Raises `BadSetting` for a grid that cannot be, `Failed` where nothing can be written.
    """
    base = _config(experiment_id, preset, settings)
    if not isinstance(over, Mapping):
        raise BadSetting(f'a sweep must be over lists such as {{"d": [32, 64]}}, got {over!r:.80}')
    swept = [(str(name), _values(name, each)) for name, each in over.items()]
    grid = setting_grid.grid(experiment_id, swept, base, plain(seeds))
    rows = []
    for outcome in terminal.carry_out(Sweep(grid), plain(jobs)).outcomes:
        cell = terminal.row(outcome)
        row = {**cell["settings"], **{name: cell[name] for name in ("status", "message", "run")}}
        for claim, record in cell["metrics"].items():
            row[claim] = record["value"]
            row[f"{claim}_error"] = record["error"]
        rows.append(row)
    return pd.DataFrame(rows)


@dataclass(frozen=True, eq=False)
class Comparison:
    """Two runs side by side.

    settings  the settings that differ, a row each: `a`, `b`; "not a setting" where a run's
              experiment does not have it
    metrics   the claims that both have measured, a row each: `a`, `a_error`, `b`, `b_error`, the
              `difference` b − a and its standard error `difference_error`, of independent errors;
              NaN for an error that is not known
    """

    settings: pd.DataFrame
    metrics: pd.DataFrame

    def _repr_html_(self) -> str:
        """Return both tables for a notebook."""
        return self.settings.to_html() + self.metrics.to_html()


def compare(a: "LibraryRun", b: "LibraryRun") -> Comparison:
    """Return how the settings and the metrics of two runs differ."""
    of_a = values(a.config)
    of_b = values(b.config)
    settings = {}
    for name in dict.fromkeys([*of_a, *of_b]):
        if name not in of_a or name not in of_b or of_a[name] != of_b[name]:
            absent = "not a setting"
            settings[name] = (of_a.get(name, absent), of_b.get(name, absent))
    columns = ["a", "a_error", "b", "b_error"]
    of_both = [run.metrics[["value", "error"]].astype(float) for run in (a, b)]
    metrics = pd.concat(of_both, axis=1, join="inner").set_axis(columns, axis=1)
    metrics["difference"] = metrics["b"] - metrics["a"]
    metrics["difference_error"] = np.hypot(metrics["a_error"], metrics["b_error"])
    table = pd.DataFrame.from_dict(settings, orient="index", columns=["a", "b"])
    return Comparison(table.rename_axis("setting"), metrics)


@dataclass(frozen=True, eq=False)
class LibraryRun(OpenedRun):
    """A run with what one asks of it in Python; `run` is the contract's Run."""

    @property
    def config(self) -> Any:
        """The settings that it was trained with."""
        return self.run.config

    @property
    def steps(self) -> list[int]:
        """The training step of each snapshot."""
        return self.run.snapshot_steps

    @property
    def drawings(self) -> list[str]:
        """The names that `plot` takes."""
        return [
            drawing.name for drawing in self.experiment.drawings if drawing.applies(self.config)
        ]

    def plot(self, name: str, step: int | None = None, **view: Any) -> "go.Figure":
        """Return a drawing as a Plotly figure, at the last snapshot not beyond `step`, by default
        the last; `view` sets other fields of the experiment's view. `panel` also has its caption.

        Raises `BadSetting` for an unknown name and for a drawing that is a table, `CannotDraw`
        where the run has nothing to show.
        """
        if name not in self.drawings:
            raise unknown_name("the drawing", name, self.drawings)
        figure = self.panel(name, step, **view).figure
        if figure is None:
            raise BadSetting(f"the drawing must be a figure, got the table {name!r}: use .panel")
        return figure.plotly()

    @property
    def curves(self) -> pd.DataFrame:
        """The training curves: a row for each evaluated training step, a column for each curve and
        seed. Empty for an experiment that trains nothing.

        Curves of several values a step have a column for each, `<name>[<index>]`.
        """
        tensors = self.run.tensors
        steps = tensors.get("curve/step", np.zeros(0, int))
        columns: dict[tuple[str, int], np.ndarray] = {}
        for name, array in tensors.items():
            kind, _, curve = name.partition("/")
            if kind == "curve" and curve != "step" and array.shape[1:2] == steps.shape:
                for seed, values_of_seed in enumerate(array):  # [steps, …]
                    columns |= _columns(curve, seed, values_of_seed)
        index = pd.Index(steps, name="step")
        names = pd.MultiIndex.from_tuples(list(columns), names=["curve", "seed"])
        frame = pd.DataFrame(dict(enumerate(columns.values())), index=index)
        return frame.set_axis(names, axis=1)

    @property
    def metrics(self) -> pd.DataFrame:
        """What was measured at the end of the training, a row for each claim: `label`, `value`, its
        standard `error`, `relation`, `bound` and `tolerance`, `verdict`, `kind`, `quote`,
        `source`."""
        names = ("label", "value", "error", "relation", "bound", "tolerance", "verdict", "kind")
        rows = {
            row["claim"]: {name: row[name] for name in (*names, "quote", "source")}
            for row in (finding.row() for finding in measurements.of_run(self.header))
            if row["value"] is not None
        }
        columns = [*names, "quote", "source"]
        return pd.DataFrame.from_dict(rows, orient="index", columns=columns).rename_axis("claim")

    def weights(self, step: int | None = None) -> dict[str, np.ndarray]:
        """Return the tensors that the run keeps of its model by name, float32: those of the last
        snapshot not beyond a training `step`, or those after the training. What an experiment
        measures at every snapshot is among them.

        Raises `BadSetting` for a step that is none, and for one before the last where the run keeps
        no earlier weights.
        """
        if step is not None and checked_step(step) < 0:
            raise BadSetting(f"step must be 0 or more, got {step}")
        last = max(self.steps, default=0)
        moving = self._tensors("snapshot").keys() - {"step"}
        if step is None or step >= last:
            after = {name: self.run.snapshot(name, -1) for name in sorted(moving)}
            return after | self._tensors("frozen") | self._tensors("final")
        if not moving or self._tensors("final").keys() - moving:
            raise BadSetting(
                f"step must be the last, {last}, as this run keeps no earlier weights; got {step}"
            )
        snapshot = max(index for index, at in enumerate(self.steps) if at <= step)
        before = {name: self.run.snapshot(name, snapshot) for name in sorted(moving)}
        return self._tensors("frozen") | before

    def _tensors(self, kind: str) -> dict[str, np.ndarray]:
        """Return the run's tensors whose names begin with a kind, without it."""
        return {
            name.removeprefix(f"{kind}/"): np.asarray(array, np.float32)
            for name, array in self.run.tensors.items()
            if name.startswith(f"{kind}/")
        }

    def html(self) -> str:
        """Return the stage with its clock as one page that needs no server and no network."""
        return stage_page.html_text(self.header.experiment, self.run, self.view())

    def widget(self) -> "StageWidget":
        """Return the stage with its clock as a notebook's widget, whose `step` is the clock's.

        Raises `BadSetting` without the package `anywidget`.
        """
        if find_spec("anywidget") is None:
            raise BadSetting("a widget needs the package anywidget: pip install anywidget")
        from icl_core.share.stage_widget import StageWidget

        return StageWidget(self.header.experiment, self.run, self.view())

    def _repr_mimebundle_(self, **_: Any) -> Any:
        """Return the stage with its clock for a notebook: a widget, or a frame with a page of its
        own without the package `anywidget`."""
        if find_spec("anywidget") is None:
            return {"text/html": stage_page.in_notebook(self.html()), "text/plain": repr(self)}
        bundle = self.widget()._repr_mimebundle_()
        contents, metadata = bundle if isinstance(bundle, tuple) else (bundle, {})
        return {**(contents or {}), "text/plain": repr(self)}, metadata

    def export_model(self, folder: str | Path) -> Path:
        """Write the model as a model organism into a folder, which is made, and return it.

        Raises `BadSetting` for an experiment whose models cannot be exported.
        """
        from icl_core.share import export

        return export.write_organism(self.header.experiment, self.run, Path(folder))

    def __repr__(self) -> str:
        """Return how the run is made again: its experiment and all settings."""
        settings = ", ".join(f"{name}={value!r}" for name, value in values(self.config).items())
        return f"icl.run({self.header.experiment!r}, {settings})"


def _config(experiment_id: str, preset: str | None, settings: Mapping[str, Any]) -> Any:
    """Return the config of a preset with changed settings. Raises `BadSetting`."""
    experiment = registry.experiment(str(experiment_id))
    base = _preset_config(experiment, preset)
    named = {name: plain(value) for name, value in settings.items()}
    with device.no_memory_check():  # its run may be stored; else it is refused when asked for
        return settings_io.changed(experiment.config, named, base)


def _preset_config(experiment: Experiment, name: str | None) -> Any:
    presets = {preset.name: preset.config for preset in experiment.presets}
    if name is None:
        return experiment.presets[0].config
    if name not in presets:
        raise unknown_name("preset", name, presets)
    return presets[name]


def _loaded(header: Header) -> LibraryRun:
    """Return a stored run with its tensors; raises `Failed` if it is gone."""
    loaded = store.default().load(header)
    if loaded is None:
        raise Failed("\n".join(store.default().messages()) or f"the run {header.key} is gone")
    return LibraryRun(registry.experiment(header.experiment), header, loaded)


def _values(name: str, swept: Any) -> list[Any]:
    """Return the values of a swept setting. Raises `BadSetting` for what is no list of values."""
    if isinstance(swept, str) or not np.iterable(swept):
        raise BadSetting(f"{name} must be a list of values to sweep over, got {swept!r:.80}")
    return [plain(value) for value in swept]


def _columns(curve: str, seed: int, points: np.ndarray) -> dict[tuple[str, int], np.ndarray]:
    """Return the columns of one seed's curve, `points` [steps, …]."""
    if points.ndim == 1:
        return {(curve, seed): points}
    columns = {}
    for index in np.ndindex(points.shape[1:]):
        at = ",".join(map(str, index))
        columns[f"{curve}[{at}]", seed] = points[:, *index]
    return columns
