"""The curves that the paper prints, as read off its figures, and the claims that each comes out."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from icl_core.contract.claims import agree
from icl_core.contract.experiment import Claim, Metric, Run
from icl_core.papers.memformers.methods.claims import AUTHORS, FEW_PROMPTS, FOURTH
from icl_core.papers.memformers.shared.load_run import log_from_least

READ_OFF = 0.01  # how exactly the curves were read
LARGEST = 3.0  # standard deviations that a curve may be off


@dataclass(frozen=True)
class Printed:
    """A curve of log-losses of one to four layers. `model` is the folder of what it is of in a run:
    "evaluated" or what is trained beside it; `minus` the one that is subtracted, where both were
    evaluated on the same prompts."""

    claim: Claim
    model: str
    curve: tuple[float, ...]
    minus: str = ""

    def measured(self, run: Run) -> np.ndarray:
        """What the run has for it on each batch of 1000 prompts, the mean over seeds: [layers,
        batches]."""
        found = _logs(run, self.model)
        return found - _logs(run, self.minus) if self.minus else found

    def metric(self, run: Run) -> Metric:
        """How far the curve is from the one printed at the worst depth, in standard deviations of
        what another batch of 1000 prompts would have given."""
        found = self.measured(run)[: len(self.curve)]
        read = READ_OFF * 2**0.5 if self.minus else READ_OFF  # a difference was read off two curves
        spread = np.hypot(found.std(1, ddof=1), read)
        return Metric(self.claim, float((np.abs(found.mean(1) - self.curve) / spread).max()))


def _logs(run: Run, model: str) -> np.ndarray:
    """Log-losses on batches, [layers, batches]: seeds are rotations of the same prompts, and repeat
    nothing."""
    return log_from_least(run[f"{model}/batches"]).mean(0)


def _curve(figure: str, name: str, quote: str, **setting: Any) -> Claim:
    """The claim that a printed curve comes out."""
    return Claim(
        id=f"figure-{figure}-{name.split()[0].lower()}",
        label=f"Figure {figure}, {name}: off by",
        kind="paper",
        text=f"Trained as the authors did, the {name} follows the curve of Figure {figure}: at the "
        "worst depth it is off by so many standard deviations of a mean over 1000 prompts, as "
        "many as the authors test on.",
        source=f"Figure {figure}",
        quote=quote,
        at={**AUTHORS, "heads": 1, **setting},
        at_most=LARGEST,
    )


def _gap(figure: str, quote: str, **setting: Any) -> Claim:
    """The claim that the printed gap between two curves comes out."""
    return Claim(
        id=f"figure-{figure}-gap",
        label=f"Figure {figure}, gain by memory: off by",
        kind="paper",
        text=f"The gap between the two trained curves of Figure {figure}, both tested on the same "
        "1000 prompts, comes out; in standard deviations of that gap over batches of 1000, at the "
        "worst depth.",
        source=f"Figure {figure}",
        quote=quote,
        at={**AUTHORS, "heads": 1, "beside": "linear", **setting},
        at_most=LARGEST,
    )


WITHOUT, WITH = (
    "CGD-like Memformer (3.2) without preconditioning",
    "CGD-like Memformer (3.2) with preconditioning",
)
THIRD = "CGD, Nesterov AGM and momentum GD (Pre = non-trivial preconditioners)"
MAIN, BESIDE, LINEAR = "evaluated", "beside/linear", "linear transformer"
ONE: dict[str, Any] = {"variant": "cgd", "preconditioner": "scalar"}
TWO: dict[str, Any] = {"variant": "cgd", "preconditioner": "full"}
THREE: dict[str, Any] = {"variant": "token shared", "preconditioner": "full"}
FIRST = (0.81, 0.49, 0.19, -0.13), (0.81, 0.48, 0.22, -0.01)
SECOND = (0.12, -0.90, -1.58, -1.96), (0.25, -0.30, -0.71, -1.08)


def _difference(curves: tuple[tuple[float, ...], tuple[float, ...]]) -> tuple[float, ...]:
    return tuple(one - other for one, other in zip(*curves, strict=True))


ROWS = (
    Printed(_curve("1", "Memformer", WITHOUT, **ONE), MAIN, FIRST[0]),
    Printed(_curve("2", "Memformer", WITH, **TWO), MAIN, SECOND[0]),
    Printed(_curve("3", "Memformer", THIRD, **THREE), MAIN, (0.12, -0.84, -1.62, -2.04)),
    Printed(_curve("1", LINEAR, WITHOUT, **ONE, beside="linear"), BESIDE, FIRST[1]),
    Printed(_curve("2", LINEAR, WITH, **TWO, beside="linear"), BESIDE, SECOND[1]),
    Printed(_gap("1", WITHOUT, **ONE), MAIN, _difference(FIRST), BESIDE),
    Printed(_gap("2", WITH, **TWO), MAIN, _difference(SECOND), BESIDE),
)
CLAIMS = tuple(row.claim for row in ROWS)

# what else is printed: of the model on its own batch, of conjugate gradient on that batch
TEN = {**FEW_PROMPTS, "batch": 10, "heads": 1}
OWN_BATCH = (
    (FOURTH, "evaluated/train", (0.13, -2.51, -4.69, -6.52)),
    (TEN, "evaluated/train", (-0.75, -1.14, -2.00, -2.19)),
    (TEN, "baseline/cg_train", (-0.85, -0.69, -0.82, -1.30)),
)
CLASSICAL = {  # Figures 1 to 3, with 19 of the 20 examples
    "baseline/cg": (0.73, 0.20, -0.52, -1.47),
    "baseline/nesterov": (0.92, 0.51, 0.28, 0.06),
    "baseline/momentum": (1.46, 1.24, 0.98, 0.77),
}


def fresh(run: Run) -> dict[str, tuple[tuple[float, ...], np.ndarray | None]]:
    """What the paper prints of fresh prompts in this setting, by the name of the tensor that should
    come out so; with two standard deviations over batches of 1000 prompts [layers], where the run
    has them."""
    rows = [row for row in ROWS if row.claim.is_at(run.config) and not row.minus]
    found = {
        f"{row.model}/loss": (row.curve, 2 * row.measured(run)[: len(row.curve)].std(1, ddof=1))
        for row in rows
    }
    return {**found, **{name: (curve, None) for name, curve in CLASSICAL.items()}} if found else {}


def own_batch(config: Any) -> dict[str, tuple[float, ...]]:
    """What the paper prints of the batch that was trained on, by the name of the tensor."""
    return {tensor: curve for setting, tensor, curve in OWN_BATCH if agree(config, setting)}
