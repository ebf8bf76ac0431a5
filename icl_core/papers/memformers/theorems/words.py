"""The numbers in words.md, how small ones are written, and which answers are right."""

from functools import partial
from typing import Any

from icl_core.contract.experiment import Run
from icl_core.contract.number_text import number_text, power_of_ten
from icl_core.contract.words import Reading, Words
from icl_core.papers.memformers.shared.words import EXAMPLE
from icl_core.papers.memformers.theorems import claims, parameters
from icl_core.papers.memformers.theorems.claims import expected, gap_of
from icl_core.papers.memformers.theorems.settings import LEMMA, METHODS, Config, View

ALIKE = 1.5  # a factor within which errors count as alike


def power(value: float) -> str:
    """Return a number in one digit and a power of ten, 3 · 10⁻¹⁵; 0 if it is none."""
    if value == 0:
        return "0"
    digit, exponent = f"{value:.0e}".split("e")
    return f"{digit}\u00a0·\u00a0{power_of_ten(int(exponent))}"


def _last(name: str) -> Reading:
    """Return the reading of a tensor's last number."""
    return lambda run, view: float(run[name][-1])


def _gap(method: str, run: Run, view: Any) -> str:
    """Return how far the tokens are from a method."""
    return power(gap_of(run, method))


def _of_pair(tensor: str, index: int, run: Run, view: Any) -> str:
    """Return one of the two numbers that are measured for an erratum."""
    value = float(run[tensor][index])
    return power(value) if abs(value) < 1e-3 else number_text(value, 2)


def _what_is_shown(run: Run, view: Any) -> str:
    return WORDS.text("cgd" if view.method == "cgd-gamma" else view.method)


def _lfom_is_fewer_from(run: Run, view: Any) -> int:
    """Return the smallest batch for which conjugate gradient uses more numbers than LFOM."""
    numbers = dict(zip(run.names("variants"), run["count/used"].tolist(), strict=True))
    return parameters.overtaken(numbers["lfom"], run.config.layers)


def _error(run: Run, name: str) -> float:
    return float(run[f"others/loss/{name}"][-1])


def _other(run: Run, view: Any) -> int:
    own, other = (_error(run, name) for name in ("own", "other"))
    return 0 if other < ALIKE * own else 1 if other < float(run["others/loss/own"][0]) else 2


def _mean(run: Run, view: Any) -> int:
    own, other, mean = (_error(run, name) for name in ("own", "other", "mean"))
    return 0 if mean < ALIKE * own else 1 if mean < other else 2


ERRATA = {  # such as "last_sign_printed" and "last_sign_right"
    f"{name.replace('-', '_')}_{which}": partial(_of_pair, f"errata/{name}", index)
    for name in claims.ERRATA
    for index, which in enumerate(("printed", "right"))
}

WORDS = Words(
    __file__,
    Config,
    View,
    readings={
        # median errors of conjugate gradient after the last layer, by whose coefficients it has
        **{name: _last(f"others/loss/{name}") for name in ("own", "other", "mean")},
        "at_start": lambda run, view: float(run["others/loss/own"][0]),
        "other_distance": _last("others/distance/other"),
        "first_step": lambda run, view: float(run["others/first_step"]),
        # largest differences between tokens and methods
        **{f"{name.replace('-', '_')}_gap": partial(_gap, name) for name in (LEMMA, *METHODS)},
        "largest_gap": lambda run, view: power(
            max(gap_of(run, name) for name in run.names("methods"))
        ),
        "method_shown": lambda run, view: METHODS[view.method],
        "gap_shown": lambda run, view: _gap(view.method, run, view),
        "what_is_shown": _what_is_shown,
        # the gradient on all prompts of the pool
        "pool_size": lambda run, view: int(run["gradient/size"][-1]),
        "gradient_at_construction": _last("gradient/construction"),
        "gradient_near": _last("gradient/near"),
        "gradient_at_random": lambda run, view: power(float(run["gradient/random"][-1])),
        "gradient_along": lambda run, view: power(float(run["gradient/along"])),
        "power_of_N": lambda run, view: claims.slope(run)[0],
        "elsewhere_is_seen": lambda run, view: claims.gradient_is_seen(run),
        "squares_ratio": lambda run, view: expected(run)[0],
        "squares_ratio_error": lambda run, view: expected(run)[1],
        # what is learned, and what conjugate gradient computes
        "lfom_is_fewer_from": _lfom_is_fewer_from,
        "numbers_of_cgd": lambda run, view: parameters.conjugate(run.config.layers, view.batch),
        "none_fixed": lambda run, view: parameters.as_written(run.config),
        # as printed, and right
        **ERRATA,
        "turned_multiples": partial(_of_pair, "code/five-runs", 0),
        "turned_matrix": partial(_of_pair, "code/five-runs", 1),
    },
    right={"other": _other, "mean": _mean},
    done={"exact": lambda view: view.prompt != 0},
    example=EXAMPLE,
)
