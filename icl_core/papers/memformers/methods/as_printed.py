"""The curves that the paper prints, and the claims that they come out."""

from dataclasses import dataclass
from typing import Any

from icl_core.experiment import Claim
from icl_core.papers.memformers.methods.claims import AUTHORS


@dataclass(frozen=True)
class AsPrinted:
    """A curve of the paper: the log-loss of one to four layers as read off a figure, of the trained `model` ("main")
    or of what is trained beside it."""

    claim: Claim
    model: str
    curve: tuple[float, ...]


def _follows(figure: str, name: str, quote: str, **setting: Any) -> Claim:
    """The claim that a curve of the paper comes out, in standard errors of its mean over five times 1000 prompts."""
    return Claim(
        id=f"figure-{figure}-{name.split()[0].lower()}",
        label=f"Figure {figure}, {name}: off by",
        kind="paper",
        text=(
            f"Trained as the authors did, the {name} follows the curve of Figure {figure}; in standard errors of a "
            "mean over five times 1000 prompts, at the worst depth."
        ),
        source=f"Figure {figure}",
        quote=quote,
        at={**AUTHORS, "heads": 1, **setting},
        at_most=3.0,
    )


WITHOUT, WITH = "CGD-like Memformer (3.2) without preconditioning", "CGD-like Memformer (3.2) with preconditioning"
THIRD = "CGD, Nesterov AGM and momentum GD (Pre = non-trivial preconditioners)"
LINEAR = "linear transformer"
ONE: dict[str, Any] = {"variant": "cgd", "preconditioner": "scalar"}
TWO: dict[str, Any] = {"variant": "cgd", "preconditioner": "full"}
THREE: dict[str, Any] = {"variant": "token", "preconditioner": "full"}
AS_PRINTED = (
    AsPrinted(_follows("1", "Memformer", WITHOUT, **ONE), "main", (0.81, 0.49, 0.19, -0.13)),
    AsPrinted(_follows("2", "Memformer", WITH, **TWO), "main", (0.12, -0.90, -1.58, -1.96)),
    AsPrinted(_follows("3", "Memformer", THIRD, **THREE), "main", (0.12, -0.84, -1.62, -2.04)),
    AsPrinted(_follows("1", LINEAR, WITHOUT, **ONE, beside="linear"), "linear", (0.81, 0.48, 0.22, -0.01)),
    AsPrinted(_follows("2", LINEAR, WITH, **TWO, beside="linear"), "linear", (0.25, -0.30, -0.71, -1.08)),
)
