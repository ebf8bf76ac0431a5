"""What is known of the formulas, each statement written once; numbers that depend on f and N are
those of the paper's size. What cannot fail, as the sign of a negated output, the top of a parabola
or an identity, is shown and tested, not claimed."""

from functools import partial

from icl_core.contract.experiment import Claim, Metric, Run
from icl_core.papers.gdssm.corrections.run import best_gain
from icl_core.papers.gdssm.shared.closed_forms import KAPPA

SIZE = {"f": 10, "N": 10}  # the paper's
theory = partial(Claim, kind="theory")


def gain(f: int, N: int) -> float:
    """Return the share of the loss of predicting zero that the best step removes."""
    return N / (N - 2 + KAPPA + f)


def share_of_printed_Q(f: int, N: int) -> float:
    """Return the share of that gain which is left with Q as printed."""
    return 1 / f**2


def lost_by_odd_windows(f: int, N: int) -> float:
    """Return the share of that gain which is lost if windows begin at every token."""
    mixed = N - 2 + KAPPA + f
    return (N - 1) * f / (N * mixed + (N - 1) * f)


GAIN = theory(
    id="corrected-gain",
    panel="lengths",
    label="gain of the corrected layer",
    text="The corrected layer removes N / (N − 2 + κ + f) of the loss of predicting zero, as "
    "gradient descent does.",
    source="closed form",
    at=SIZE,
    near=gain(**SIZE),
    tolerance=0.01,
)
PRINTED_Q = theory(
    id="printed-q",
    panel="lengths",
    label="gain with Q as printed, as a share",
    text="With Q = e₁ e₂ᵀ, as printed, the state adds up x yᵀ, which gains 1/f² of what y xᵀ does.",
    source="against Section 3.2 and Appendix A.1; exact",
    at=SIZE,
    near=share_of_printed_Q(**SIZE),
    tolerance=0.0045,
)
ODD = theory(
    id="odd-windows",
    panel="lengths",
    label="gain lost by a window at every token",
    text=(
        "Windows that begin at a y add x yᵀ of an x and a y that do not belong together. This "
        "noise takes (N − 1) f / (N (N − 2 + κ + f) + (N − 1) f) of the gain."
    ),
    source="a reading of t in Section 3.2, eq. 21; exact",
    at=SIZE,
    near=lost_by_odd_windows(**SIZE),
    tolerance=0.02,
)
TRANSPOSES = Claim(
    id="a2-transposes",
    panel="gains",
    label="gain by A.2's transposes",
    kind="ours",
    text=(
        "A.2 mixes W and Wᵀ. As printed, the second step is no gradient, and two steps gain less "
        "than two steps of gradient descent, each formula at the one rate that is best for it."
    ),
    source="against Appendix A.2",
    at_most=0.0,
)

EXPECTED = {GAIN: gain, PRINTED_Q: share_of_printed_Q, ODD: lost_by_odd_windows}
ALL = (GAIN, PRINTED_Q, ODD, TRANSPOSES)


def measure(run: Run) -> list[Metric]:
    """Measure every formula on the tasks of the run."""
    best = best_gain(run, "right")
    return [
        Metric(GAIN, best),
        Metric(PRINTED_Q, best_gain(run, "Q") / best),
        Metric(ODD, 1 - best_gain(run, "odd") / best),
        Metric(TRANSPOSES, float(run["gain/mixed"] - run["gain/right"])),
    ]
