"""The numbers in words.md, and which answers are right."""

from typing import Any

from icl_core.contract.experiment import Run
from icl_core.contract.statistics import still_falling
from icl_core.contract.story import Example
from icl_core.contract.words import Words
from icl_core.papers.memformers.mixture.claims import ADAPTED, GATED, LINEAR, by_component
from icl_core.papers.memformers.mixture.settings import Config, View, mixture_of
from icl_core.papers.memformers.shared.load_run import end
from icl_core.papers.memformers.shared.words import TO, compared

ALIKE = 0.1  # the logarithm of a ratio of errors: within 10% they count as equal
EXAMPLE = Example(
    (
        ("2", "x"),
        TO,
        ("6", "y"),
        ("  ", ""),
        ("−1", "x"),
        TO,
        ("−3", "y"),
        ("  ", ""),
        ("3", "query"),
    ),
    "9",
)


def _apart(run: Run, method: str) -> float:
    """Return how far a method is above the linear transformer with gates, in the logarithm of the
    error."""
    return end(run, f"evaluated/{method}") - end(run, f"evaluated/{LINEAR}")


def _still_learning(run: Run, view: Any) -> bool:
    """Return whether the loss of every head still fell when its training ended."""
    heads = ("curve/linear", "curve/lfom")
    losses = [run[name] for name in run.tensors if name.startswith(heads)]
    return bool(losses) and all(still_falling(loss, steps=run["curve/step"]) for loss in losses)


def _on_each_curve(run: Run, view: Any) -> str:
    """Return how the error of a head with memory compares with that of one without, curve by
    curve."""
    means = [f"{mean:g}".replace("-", "\N{MINUS SIGN}") for mean in mixture_of(run.config).means]
    *phrases, last = [
        WORDS.text("on a curve", compared=compared(float(apart)), mean=mean)
        for apart, mean in zip(by_component(run).mean(0), means, strict=True)
    ]
    return f"{', '.join(phrases)} and {last}"


def _smaller_error(run: Run, view: Any) -> int:
    apart = _apart(run, GATED)
    return 2 if abs(apart) < ALIKE else int(apart > 0)


def _better_heads(run: Run, view: Any) -> int:
    above = by_component(run).mean(0)  # [M]
    worse = (above > ALIKE).sum()
    better = (above < -ALIKE).sum()
    return 2 if worse == better else int(worse > better)


WORDS = Words(
    __file__,
    Config,
    View,
    readings={
        # log-losses of the deepest model, on fresh prompts and on those that gates are learned on
        "linear": lambda run, view: end(run, f"evaluated/{LINEAR}"),
        "memformer": lambda run, view: end(run, f"evaluated/{GATED}"),
        "adapted": lambda run, view: end(run, f"evaluated/{ADAPTED}"),
        "memformer_met": lambda run, view: end(run, f"learning/{GATED}"),
        "adapted_met": lambda run, view: end(run, f"learning/{ADAPTED}"),
        "standard_error": lambda run, view: float(run[f"error/{LINEAR}"][:, -1].mean()),
        "conjugate_gradient": lambda run, view: float(run["baseline/cg"][0]),  # a loss
        # such as "3.6 times smaller than"
        "memformer_against_linear": lambda run, view: compared(_apart(run, GATED)),
        "adapted_against_linear": lambda run, view: compared(_apart(run, ADAPTED)),
        "still_learning": _still_learning,
        "on_each_curve": _on_each_curve,
        "layers_shown": lambda run, view: min(view.depth_shown, run.config.layers),
        "several_seeds": lambda run, view: run.config.seeds > 1,
    },
    of_config={
        "one_component_each": lambda config: config.prompts == "components",
        "curves": lambda config: len(mixture_of(config).means),
    },
    right={"order": _smaller_error, "heads": _better_heads},
    example=EXAMPLE,
)
