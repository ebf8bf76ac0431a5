"""The lesson on a state that is a gradient. Imports no torch until an answer is asked for."""

from icl_core.contract.experiment import Run
from icl_core.contract.lesson import EXPERIMENTS, PRESETS
from icl_core.contract.paper_words import LessonWords

TEST_SCALE = 3.0  # the test scale that is asked for


def _rate_of_theory(run: Run) -> float:
    config = run.config
    return 3 / (config.r**2 * (config.N - 0.2 + config.f))


def _without_decay(run: Run) -> tuple[float, float]:
    """Return the loss as trained, and with A at zero, as the drawer Graft measures them."""
    from icl_core.papers.gdssm.layer.grafted import after
    from icl_core.papers.gdssm.layer.settings import View

    return after(run, View(one_a="zero"))


def _zero(run: Run) -> float:
    """Return the loss of predicting zero."""
    return float(run["baseline/zero"][0])


def _gain_left(run: Run) -> float:
    """Return the share of the gain over predicting zero that is left with A at zero."""
    trained, forgetful = _without_decay(run)
    return (_zero(run) - forgetful) / (_zero(run) - trained)


def _losses(run: Run) -> tuple[float, float]:
    """Return two losses at TEST_SCALE: of the layer's step, in closed form, and of predicting
    zero."""
    at = list(run["sweep/alpha"]).index(TEST_SCALE)
    return float(run["sweep/closed"][at]), float(run["sweep/zero"][at])


def _excess(run: Run) -> float:
    """Return the first of these losses over the second."""
    step, zero = _losses(run)
    return step / zero


LESSON = LessonWords(
    __file__,
    right={
        # η/N of the construction, the best one on the tasks that were evaluated
        "rate": (lambda run: float(run["constructed/beta"][0]), 0.002),
        "decay": (lambda run: _without_decay(run)[1], 0.01),
        "far": (_excess, 0.5),
    },
    readings={
        "N": lambda run: run.config.N,
        "f": lambda run: run.config.f,
        "theory": _rate_of_theory,
        "trained": lambda run: _without_decay(run)[0],
        "zero": _zero,
        "gain_left": _gain_left,
        "step": lambda run: _losses(run)[0],
        "zero_at_scale": lambda run: _losses(run)[1],
    },
).lesson(
    name="state-is-gradient",
    experiment="layer",
    preset="layer",
    working=15,
    fixed={
        "model": "N-D",
        "recurrence": "row",
        "layers": 1,
        "skip": False,
        "penalty": 0.0,
        "f": 10,
        "N": 10,
        "r": 1.0,
        "optimiser": "ours",
        "batch": 256,
        "raw": False,
    },
    hidden=(PRESETS, EXPERIMENTS, "Your own points", "Evidence"),
    predict=("early", "scale"),
)
