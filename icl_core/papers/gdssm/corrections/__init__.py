"""The paper's formulas, taken as printed, do not give gradient descent. Five small corrections make them do so; a
sixth statement, on an MLP, cannot be repaired. Here both versions of each are run on the same tasks, without any
training, and measured against plain gradient descent.

The trained models decide the matter too: they end at the corrected formulas. None of it touches the paper's message,
that a state-space layer can accumulate gradients; but whoever builds the layer as printed gets noise.

Try:
- Move the length of the step (in "View"): where does the printed sign gain, and where the printed Q?
- Take fewer features: from which size on does the printed Q not look hopeless?
- Open the six corrections: the last row cannot be repaired by a sign or a factor.
"""

from icl_core.experiment import Drawing, Experiment, Run
from icl_core.papers.gdssm.corrections import claims, draw
from icl_core.papers.gdssm.corrections.metrics import metrics
from icl_core.papers.gdssm.corrections.run import best_gain, gain, run, upgrade
from icl_core.papers.gdssm.corrections.settings import PRESETS, Config, View
from icl_core.papers.gdssm.shared.read_run import percent


def headline(run: Run, view: View) -> str:
    """What you see: the gains of the right step and of three printed ones."""
    right, sign = best_gain(run, "right"), gain(run, "sign")
    changed = f"{'adds' if sign < 0 else 'removes'} {percent(abs(sign))}"
    return (
        f"A step of gradient descent removes {percent(right)} of the loss; as printed it {changed} (sign) or removes "
        f"{percent(best_gain(run, 'Q'))} (Q)."
    )


def cost(config: Config) -> float:
    """Giga-operations: six outputs for every task, and two steps of gradient descent for some."""
    return 6 * config.tasks * config.N * config.f * 60 / 1e9


EXPERIMENT = Experiment(
    name="corrections",
    title="Six corrections",
    about=__doc__ or "",
    config=Config,
    view=View,
    run=run,
    claims=claims.ALL,
    metrics=metrics,
    drawings=(
        Drawing("gains", draw.gains, moving=False),
        Drawing("lengths", draw.lengths, ("times",), moving=False),
        Drawing("table", draw.table, (), "The six corrections", wide=True, moving=False),
    ),
    presets=PRESETS,
    headline=headline,
    cost=cost,
    upgrade=upgrade,
)
