"""The curves that the paper prints, as read off its figures, and the claims that each comes out on
the authors' own prompts."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from icl_core.contract.claims import agree
from icl_core.contract.experiment import Claim, Metric, Run
from icl_core.papers.memformers.methods.authors_settings import AUTHORS, FEW_PROMPTS, FOURTH
from icl_core.papers.memformers.shared.load_run import log_from_least

CLOSE = 0.05  # log-losses on the same prompts that differ by less count as equal


@dataclass(frozen=True)
class Printed:
    """A curve of log-losses of one to four layers.

    claim   that it comes out
    name    its name in a legend
    kind    its colour
    tensor  what should come out so in a run on the authors' own prompts: [seeds, K] losses, or [K]
    curve   what is printed
    minus   a tensor that is subtracted, for a gap between two curves
    """

    claim: Claim
    name: str
    kind: str
    tensor: str
    curve: tuple[float, ...]
    minus: str = ""

    def measured(self, run: Run) -> np.ndarray:
        """Return the run's own log-losses of as many layers, [seeds or 1, layers]."""
        logs = _logs(run, self.tensor)
        if self.minus:
            logs = logs - _logs(run, self.minus)
        return logs[:, : len(self.curve)]

    def metric(self, run: Run) -> Metric:
        """Return the largest gap over depths between the mean over seeds and the printed curve. The
        seeds are the authors' own, so their spread is no error; the reason tells it."""
        own = self.measured(run)
        mean = own.mean(0)
        gaps = np.abs(mean - self.curve)
        depth = int(gaps.argmax())
        layers = f"{depth + 1} layer{'s' * (depth > 0)}"
        reason = f"Largest at {layers}: {_number(mean[depth])} for {_number(self.curve[depth])}."
        if len(own) > 1 and gaps[depth] > CLOSE:
            spread = own[:, depth].std(ddof=1)
            reason += f" There the seeds, whose U differ alone, spread by ± {spread:.2f}."
        return Metric(self.claim, float(gaps[depth]), reason=reason)


def _logs(run: Run, tensor: str) -> np.ndarray:
    """Return log-losses as [seeds or 1, K]."""
    return np.atleast_2d(log_from_least(run[tensor]))


def _number(value: float) -> str:
    return f"{value:.2f}".replace("-", "−")


def _claim(id: str, figure: str, name: str, quote: str, setting: dict[str, Any]) -> Claim:
    """Return the claim that a printed curve comes out."""
    return Claim(
        id=id,
        panel="batch" if figure == "Figures 12 to 14" else "as_printed",
        label=f"{figure}, {name}: off by",
        kind="paper",
        text=f"On the authors' own prompts the {name} follows the curve of {figure}: at the worst "
        "depth it is off by 0.05 in log-loss at most.",
        source=figure,
        quote=quote,
        at=setting,
        at_most=CLOSE,
    )


def _gap(figure: str, quote: str, setting: dict[str, Any]) -> Claim:
    """Return the claim that the printed gap between two curves comes out."""
    return Claim(
        id=f"figure-{figure}-gap",
        panel="as_printed",
        label=f"Figure {figure}, gain by memory: off by",
        kind="paper",
        text=f"On the authors' own prompts the gap between the two trained curves of Figure "
        f"{figure} comes out: at the worst depth it is off by 0.05 in log-loss at most.",
        source=f"Figure {figure}",
        quote=quote,
        at=setting,
        at_most=CLOSE,
    )


# captions of the figures
WITHOUT = "CGD-like Memformer (3.2) without preconditioning"
WITH = "CGD-like Memformer (3.2) with preconditioning"
THIRD = "CGD, Nesterov AGM and momentum GD (Pre = non-trivial preconditioners)"
HESSIAN = "approximate the Hessian inverse (quasi-Newton)"
FEW = "The Memformer outperforms CGD on the training data"
TWELFTH = "Comparison of LFOM Memformer with (a) Nesterov AGM and (b) Momentum GD"
# names in a legend
MEMFORMER = "Memformer"
LINEAR = "linear transformer"
# tensors
MAIN = "evaluated/authors"
OWN = "evaluated/train"
BESIDE = "beside/linear/authors"

PROMPTS = {**AUTHORS, "batches": "authors", "seed": 0, "heads": 1}
ONE = {**PROMPTS, "variant": "cgd", "preconditioner": "averaged"}
TWO = {**PROMPTS, "variant": "cgd", "preconditioner": "full"}
THREE = {**PROMPTS, "variant": "token shared", "preconditioner": "full"}
FOUR = {**FOURTH, "batches": "authors", "seed": 0}
SIX = {**ONE, "batch": 10, "first_steps": 900}
TWELVE = {**PROMPTS, "variant": "token older", "preconditioner": "full"}
CLASSICAL_SETTING = {
    **PROMPTS,
    "variant": ("cgd", "token shared", "token older"),
    "preconditioner": ("full", "averaged"),
}
LINEAR_BESIDE = {"beside": "linear"}
# log-losses of the Memformer, and of the linear transformer
FIRST = (0.81, 0.49, 0.19, -0.13), (0.81, 0.48, 0.22, -0.01)
SECOND = (0.12, -0.90, -1.58, -1.96), (0.25, -0.30, -0.71, -1.08)


def _difference(curves: tuple[tuple[float, ...], tuple[float, ...]]) -> tuple[float, ...]:
    return tuple(one - other for one, other in zip(*curves, strict=True))


def _trained(
    figure: str, name: str, quote: str, setting: dict[str, Any], tensor: str, curve: Any
) -> Printed:
    """Return the printed curve of a trained model; `figure` as in "Figure 1"."""
    number = figure.split()[1] if "to" not in figure else figure.split(maxsplit=1)[1]
    id = f"figure-{number.replace(' ', '-')}-{name.split()[0].lower()}"
    kind = "trained" if name == MEMFORMER else "layer 2"
    return Printed(_claim(id, figure, name, quote, setting), name, kind, tensor, curve)


def _classical(id: str, name: str, kind: str, curve: tuple[float, ...]) -> Printed:
    """Return the printed curve of a classical method, the same in Figures 1 to 3."""
    claim = _claim(f"figures-1-to-3-{id}", "Figures 1 to 3", name, THIRD, CLASSICAL_SETTING)
    return Printed(claim, name, kind, f"authors/{id}", curve)


ROWS = (
    _trained("Figure 1", MEMFORMER, WITHOUT, ONE, MAIN, FIRST[0]),
    _trained("Figure 2", MEMFORMER, WITH, TWO, MAIN, SECOND[0]),
    _trained("Figure 3", MEMFORMER, THIRD, THREE, MAIN, (0.12, -0.84, -1.62, -2.04)),
    _trained("Figure 1", LINEAR, WITHOUT, ONE | LINEAR_BESIDE, BESIDE, FIRST[1]),
    _trained("Figure 2", LINEAR, WITH, TWO | LINEAR_BESIDE, BESIDE, SECOND[1]),
    Printed(
        _gap("1", WITHOUT, ONE | LINEAR_BESIDE), "gap", "layer 5", MAIN, _difference(FIRST), BESIDE
    ),
    Printed(
        _gap("2", WITH, TWO | LINEAR_BESIDE), "gap", "layer 5", MAIN, _difference(SECOND), BESIDE
    ),
    _classical("cg", "CGD", "conjugate gradient", (0.73, 0.20, -0.52, -1.47)),
    _classical("nesterov", "Nesterov", "nesterov", (0.92, 0.51, 0.28, 0.06)),
    _classical("momentum", "momentum", "momentum", (1.46, 1.24, 0.98, 0.77)),
    _trained("Figure 4", MEMFORMER, HESSIAN, FOUR, OWN, (0.13, -2.51, -4.69, -6.52)),
    _trained(
        "Figure 4",
        LINEAR,
        HESSIAN,
        FOUR | LINEAR_BESIDE,
        "beside/linear-gd++/train",
        (0.13, -2.47, -4.44, -6.01),
    ),
    _trained("Figure 6", MEMFORMER, FEW, SIX, OWN, (-0.75, -1.14, -2.00, -2.19)),
    Printed(
        _claim("figure-6-cgd", "Figure 6", "CGD", FEW, SIX),
        "CGD",
        "conjugate gradient",
        "authors/cg_train",
        (-0.85, -0.69, -0.82, -1.30),
    ),
    _trained("Figures 12 to 14", MEMFORMER, TWELFTH, TWELVE, OWN, (0.25, -0.65, -1.26, -1.95)),
)
ON_OTHER_PROMPTS = Claim(
    id="figures-12-to-14-on-other-prompts",
    panel="batch",
    label="Figures 12 to 14, other prompts minus own",
    kind="ours",
    text="The printed curve of Figures 12 to 14 is that of the batch that the model was trained "
    "on, while Figure 3 tests on another. On the next 1000 prompts of the same generator, on which "
    "later notebooks test, the model's log-loss is higher by 0.3 or more, in the mean over two to "
    "four layers.",
    source="against Figures 12 to 14",
    at=TWELVE,
    at_least=0.3,
)
CLAIMS = (*(row.claim for row in ROWS), ON_OTHER_PROMPTS)


def measure(run: Run) -> list[Metric]:
    """Return how far each printed curve of a run's setting is off, and what Figures 12 to 14 leave
    out."""
    measured = [row.metric(run) for row in rows_of(run)]
    if ON_OTHER_PROMPTS.is_at(run.config):
        higher = (_logs(run, MAIN) - _logs(run, OWN))[:, 1:4].mean(1)  # [seeds]
        measured.append(Metric.over_seeds(ON_OTHER_PROMPTS, higher))
    return measured


def rows_of(run: Run) -> list[Printed]:
    """Return what is printed of a run's setting and was measured in it."""
    return [
        row
        for row in ROWS
        if row.claim.is_at(run.config)
        and row.tensor in run.tensors
        and (not row.minus or row.minus in run.tensors)
    ]


# what else is printed, of every seed's own ten prompts
TEN = {**FEW_PROMPTS, "batch": 10, "heads": 1}
OWN_BATCH = (
    (FOURTH, "evaluated/train", (0.13, -2.51, -4.69, -6.52)),
    (TEN, "evaluated/train", (-0.75, -1.14, -2.00, -2.19)),
    (TEN, "baseline/cg_train", (-0.85, -0.69, -0.82, -1.30)),
)


def fresh(run: Run) -> dict[str, tuple[tuple[float, ...], np.ndarray | None]]:
    """Return what the paper prints of 1000 test prompts in this setting, by the name of the tensor
    of the same on all fresh ones; with two standard deviations over batches of 1000 prompts
    [layers], where the run has them."""
    rings: dict[str, tuple[tuple[float, ...], np.ndarray | None]] = {}
    for row in rows_of(run):
        folder, measure = row.tensor.rsplit("/", 1)
        if row.minus or measure.endswith("train"):
            continue
        if folder == "authors":
            rings[f"baseline/{measure}"] = (row.curve, None)
        else:
            logs = log_from_least(run[f"{folder}/batches"]).mean(0)  # [K, batches]
            rings[f"{folder}/loss"] = (row.curve, 2 * logs[: len(row.curve)].std(1, ddof=1))
    return rings


def own_batch(config: Any) -> dict[str, tuple[float, ...]]:
    """Return what the paper prints of the batch that was trained on, by the name of the tensor."""
    rings: dict[str, tuple[float, ...]] = {}
    for setting, tensor, curve in OWN_BATCH:
        if agree(config, setting):
            rings[tensor] = curve
    for row in ROWS:
        if row.claim.is_at(config) and row.tensor == OWN:
            rings[row.tensor] = row.curve
    return rings
