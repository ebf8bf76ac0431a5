"""How the student comes to agree with its teacher."""

from icl_core.papers.toy.walk.settings import View

from icl_core import figures
from icl_core.experiment import Panel, Run
from icl_core.figure import Figure, Trace


def loss(run: Run, view: View) -> Panel:
    """The loss over training, of a run that may still be going."""
    line = figures.Curve("loss", run["curve/step"], run["curve/loss"])
    figure = figures.curves([line], "training step", "loss", log_y=True)
    return Panel("The loss falls", "Half the squared error of a fresh point; the band is over seeds.", figure)


def weights(run: Run, view: View) -> Panel:
    """The weights at the step shown beside the teacher's."""
    seed = min(view.seed_shown, run.config.seeds - 1)
    bars = {"student": run["snapshot/weights"][view.snapshot, seed], "teacher": run["final/teacher"][seed]}
    figure = Figure([Trace("bar", y=values, name=name) for name, values in bars.items()])
    return Panel("The student meets the teacher", f"Weights at step {run.snapshot_steps[view.snapshot]}.", figure)
