"""Every training in numbers."""

import numpy as np
import pandas as pd

from icl_core.contract.experiment import Panel, Run
from icl_core.papers.birth.data.arrivals import LEVEL, arrival, chosen, of
from icl_core.papers.birth.data.draw.style import PROBES, short
from icl_core.papers.birth.data.settings import View


def data_table(run: Run, view: View) -> Panel:
    """One row for each kind of data."""
    return Panel(
        f"{len(run.names('data'))} kinds of data, number of seeds: {len(run['curve/accuracy'])}",
        "Accuracy and losses (in nats) on fresh sequences after training, and the steps until "
        f"{LEVEL:.0%} are right or recalled, by the mean over seeds. If the data did not matter, "
        "all rows would agree.",
        table=pd.DataFrame([_row(run, name) for name in run.names("data")]),
    )


def _row(run: Run, name: str) -> dict[str, str]:
    ends = {
        "accuracy": "accuracy",
        "loss in context": "in_context_loss",
        "global loss": "global_loss",
    }
    measures = {
        label: f"{float(of(run, f'evaluated/{measure}', name).mean()):.2f}"
        for label, measure in ends.items()
    }
    steps = {f"{label}, step": _when(run, probe, name) for probe, (label, _, _) in PROBES.items()}
    return {"data": short(name), **measures, **steps}


def _when(run: Run, probe: str, name: str) -> str:
    if not chosen(name, probe):
        return "no choice"
    step = arrival(run, probe, name)
    return f"{step:.0f}" if np.isfinite(step) else "later"
