"""Some of the paper's formulas do not give gradient descent as they are printed. Here each stands
beside one that does. Both are measured on the same tasks, beside plain gradient descent, and
nothing is trained.

Three are slips: Q and its transpose, factors in A.1 and A.4, W and its transpose in A.2. One is a
convention: with the sign of eq. 13 the state has to add up −y xᵀ, and it adds up +y xᵀ. One is a
reading: t counts pairs, not tokens. One is a proof: an MLP behind the sum cannot do what
Proposition 4 asks of it, while a non-linear input before the sum can, so the statement holds. None
of it touches the paper's message that a state-space layer can accumulate gradients.
"""

from icl_core.contract.experiment import Claim, Drawing, Experiment, Run, Theory
from icl_core.papers.gdssm.corrections import claims, draw
from icl_core.papers.gdssm.corrections.metrics import measure
from icl_core.papers.gdssm.corrections.run import best_gain, compute
from icl_core.papers.gdssm.corrections.settings import PRESETS, Config, View
from icl_core.papers.gdssm.corrections.story import STORY
from icl_core.papers.gdssm.shared.load_run import percent


def headline(run: Run, view: View) -> str:
    """Return what you see: the gains of the right step and of two that are taken as printed."""
    right, Q, odd = (percent(best_gain(run, name)) for name in ("right", "Q", "odd"))
    return (
        f"One right step removes {right} of the loss; Q as printed removes {Q}, a window at "
        f"every token {odd}."
    )


def cost(config: Config) -> float:
    """Return the giga-operations: three outputs for every task, and two steps of gradient descent
    for some."""
    return 4 * config.tasks * config.N * config.f * 60 / 1e9


def expected(claim: Claim) -> Theory:
    """Return what the closed form gives for the number of a claim, at any size."""
    return Theory(
        "closed form", lambda config: claims.EXPECTED[claim](config.f, config.N), claim.id
    )


EXPERIMENT = Experiment(
    name="corrections",
    title="The formulas as printed",
    about=__doc__ or "",
    config=Config,
    view=View,
    run=compute,
    claims=claims.ALL,
    metrics=measure,
    drawings=(
        Drawing("gains", draw.gains, moving=False),
        Drawing("lengths", draw.lengths, ("times",), moving=False),
        Drawing("table", draw.table, (), "Formula by formula", wide=True, moving=False),
    ),
    presets=PRESETS,
    headline=headline,
    cost=cost,
    story=STORY,
    theory=tuple(map(expected, claims.EXPECTED)),
)
