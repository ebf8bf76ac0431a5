"""What is claimed of trainings at the authors' protocol, on batches that are kept, and how it is
measured."""

from typing import Any

import numpy as np
import torch

from icl_core.contract.experiment import Claim, Metric, Run
from icl_core.papers.memformers.methods.authors_settings import (
    AUTHORS,
    EITHER,
    FEW_PROMPTS,
    FOURTH,
    IN_THE_END,
    SEVEN,
)
from icl_core.papers.memformers.methods.claims.training_end import fresh_log_loss
from icl_core.papers.memformers.shared import load_run, token_form
from icl_core.papers.memformers.shared.load_run import log_from_least
from icl_core.papers.memformers.shared.variants import VARIANTS

UNSTATED = "the paper does not say on which prompts it tests, nor n, nor Σ"
FEW = 100  # prompts up to which a fixed batch counts as few
HEADS_ON = 256  # prompts on which heads are held against their sum

BEATS_LINEAR = Claim(
    id="memory-beats-none",
    panel="by_depth",
    label="Memformer minus linear transformer",
    kind="paper",
    text="With memory the same training ends at a lower log-loss than without, in the mean over "
    "two to four layers; by 0.02 or more, which can be seen.",
    source="Section 3.3, Figures 1 to 3",
    quote="In practice, these parameters further improve performance",
    at={**EITHER, "variant": ("cgd", "token shared"), "heads": 1, "beside": "linear"},
    at_most=-0.02,
)
BEATS_CGD_TO_THREE = Claim(
    id="beats-cgd-to-three",
    panel="batch",
    label="trained minus CGD, up to three layers",
    kind="paper",
    text="With preconditioners, a Memformer of up to three layers has a lower log-loss than "
    "conjugate gradient per prompt.",
    source="Section 3.3, Figures 2 and 3",
    quote="strategy that can even outperform standard CGD",
    at={**EITHER, "variant": ("cgd", "token shared"), "preconditioner": "full", "heads": 1},
    at_most=0.0,
)
BEATS_CGD_AT_FOUR = Claim(
    id="beats-cgd-at-four",
    panel="batch",
    label="trained minus CGD, four layers, over batches",
    kind="paper",
    text="With preconditioners, a Memformer of four layers has a lower log-loss than conjugate "
    "gradient per prompt, in the mean over training batches of 1000 prompts: of these each seed "
    "has one of its own.",
    source="Section 3.3, Figures 2 and 3",
    quote="strategy that can even outperform standard CGD",
    at={
        **AUTHORS,
        "batches": "fixed",
        "variant": ("cgd", "token shared"),
        "preconditioner": "full",
        "heads": 1,
    },
    at_most=0.0,
)
FITS_BATCH = Claim(
    id="fits-its-batch",
    panel="batch",
    label="trained minus CGD, on the batch",
    kind="paper",
    text="Trained on few prompts, the Memformer is ahead of conjugate gradient on these; in the "
    "mean over 40 batches.",
    source="Section 3.4, Figures 5 and 6",
    quote="Memformers learn parameters that significantly outperform CGD, even when CGD runs "
    "independently on each observation in the batch",
    at={**FEW_PROMPTS, "batch": (1, 10), "heads": 1},
    at_most=0.0,
)
OVERFITS = Claim(
    id="overfits-its-batch",
    panel="batch",
    label="trained minus CGD, fresh prompts",
    kind="ours",
    text="On fresh prompts a Memformer that was trained on few is behind conjugate gradient: any "
    "lead on its own prompts was overfitting.",
    source="against Figures 5 and 6",
    at={
        **FEW_PROMPTS,
        "batch": (1, 10),
        "preconditioner": ("scalar", "full"),
        "seeds": range(5, 41),
    },
    at_least=0.0,
)
QUASI_NEWTON = Claim(
    id="gd++-beats-cgd",
    panel="batch",
    label="GD++ minus CGD, on its batch",
    kind="paper",
    text="Where the covariates move too, the Memformer is far ahead of conjugate gradient from "
    "two layers on, as in the figure's curves; on the batch that it was trained on, as in the "
    "authors' code.",
    source="Section 3.3, Figure 4",
    quote="LFOM Memformer with GD++ (3.4) vs. CGD",
    at=FOURTH,
    at_most=-1.0,
)
LEARNS_ITS_BATCH = Claim(
    id="gd++-overfits",
    panel="batch",
    label="GD++, fresh minus own batch",
    kind="ours",
    text="With four layers the model of Figure 4 is far worse on fresh prompts than on its own "
    "1000: it has learned these by heart.",
    source="against Figure 4",
    at=FOURTH,
    at_least=1.0,
)
KEEPS_UP = Claim(
    id="keeps-up",
    panel="batch",
    label="Memformer minus CGD, 4 steps, d = 5",
    kind="paper",
    text="For d = 5 the Memformer keeps up with conjugate gradient for up to four steps; the "
    "worst of them counts.",
    source="Appendix C, Figure 15",
    quote="it manages to keep up with CGD for up to 4 steps",
    at={
        **AUTHORS,
        "variant": "token shared",
        "preconditioner": "full",
        "layers": 5,
        "seeds": range(3, 6),
    },
    at_most=0.1,
)
KEEPS_UP_LONGER = Claim(
    id="keeps-up-longer",
    panel="batch",
    label="d = 10, on its batch: Memformer minus CGD",
    kind="paper",
    text="For d = 10 the Memformer matches conjugate gradient for six steps and is comparable at "
    "seven, on the batch that it was trained on; the paper does not say where it tests. The worse "
    "of both steps counts.",
    source="Appendix C, Figure 16",
    quote="performance for 6 steps and even performing comparably at 7 steps",
    at=SEVEN,
    at_most=0.1,
)
DEEP_OVERFITS = Claim(
    id="deep-overfits",
    panel="batch",
    label="d = 10, fresh prompts: Memformer minus CGD",
    kind="ours",
    text="On fresh prompts the model of Figure 16 is behind conjugate gradient: 1000 prompts are "
    "too few for so many matrices. The worse of six and seven steps counts.",
    source="against Figure 16",
    at=SEVEN,
    at_least=0.0,
)
HEADS = Claim(
    id="heads-equal-one",
    panel="path",
    label="H heads against their sum",
    kind="theory",
    text="H heads whose attention is summed are one head with A = Σ A_h, exact to rounding.",
    source="against Section 4.1, Figure 7",
    near=0.0,
    tolerance=1e-4,
)
HEADS_FASTER = Claim(
    id="heads-faster",
    panel="batch",
    label="5 heads minus 1 after 200 steps",
    kind="paper",
    text="After 200 steps on ten prompts, as many as in the authors' code, five heads have a "
    "lower log-loss on them than one has; as a mean over three and four layers and 40 batches.",
    source="Section 4.1, Figure 7",
    quote="Multi-head attention accelerates convergence and improves test performance",
    at={**FEW_PROMPTS, "batch": 10, "steps": 200, "heads": 5, "beside": "one head"},
    at_most=-0.02,
)
HEADS_TEST = Claim(
    id="heads-test-better",
    panel="by_depth",
    label="5 heads minus 1 on fresh prompts",
    kind="paper",
    text="On prompts that were not trained on, five heads have a lower log-loss than one after 200 "
    "steps on ten prompts; as a mean over three and four layers. The authors test on the ten.",
    source="Section 4.1, Figure 7",
    quote="Multi-head attention accelerates convergence and improves test performance",
    at={**FEW_PROMPTS, "batch": 10, "steps": 200, "heads": 5, "beside": "one head"},
    at_most=-0.02,
)
HEADS_LOWER = Claim(
    id="heads-lower",
    panel="batch",
    label="5 heads minus 1 in the end",
    kind="paper",
    text="Trained on, to 3000 steps each, five heads still have the lower log-loss on the ten "
    "prompts; as a mean over three and four layers and 120 batches.",
    source="Section 4.1, Figure 7",
    quote="the number of heads strongly influences both convergence speed and final test loss",
    at=IN_THE_END,
    at_most=-0.02,
)


def measure(run: Run) -> list[Metric]:
    """Return the metrics of a run on a batch that is kept."""
    return few_prompts(run) if run.config.batch <= FEW else figures(run)


def figures(run: Run) -> list[Metric]:
    """Measure the authors' own training, on a batch of 1000 prompts, against conjugate gradient."""
    config = run.config
    own = log_from_least(run["evaluated/train"])
    if VARIANTS[config.variant].moves_covariates:
        ahead = (own - log_from_least(run["baseline/cg_train"]))[:, 1:]
        worse = (fresh_log_loss(run) - own)[:, -1]
        return [
            Metric.over_seeds(QUASI_NEWTON, ahead[:, ahead.mean(0).argmax()]),
            Metric.over_seeds(LEARNS_ITS_BATCH, worse),
        ]
    measured: list[Metric] = []
    if KEEPS_UP_LONGER.is_at(config):
        behind = (own - log_from_least(run["baseline/cg_train"]))[:, 5:7]
        worst = behind[:, behind.mean(0).argmax()]
        measured.append(Metric.over_seeds(KEEPS_UP_LONGER, worst, unfinished=UNSTATED))
        measured.append(behind_cgd(run, DEEP_OVERFITS, slice(5, 7)))
    if BEATS_CGD_AT_FOUR.is_at(config):
        at_four = over_batches(run)
        reason = _by_batch(at_four)
        measured.append(Metric.over_seeds(BEATS_CGD_AT_FOUR, at_four, reason=reason))
    depths = {BEATS_CGD_TO_THREE: slice(0, 3), KEEPS_UP: slice(0, 4)}
    measured += [
        behind_cgd(run, claim, steps) for claim, steps in depths.items() if claim.is_at(config)
    ]
    return measured


def behind_cgd(run: Run, claim: Claim, steps: slice) -> Metric:
    """Measure the trained model's log-loss less conjugate gradient's at the worst of the depths
    `steps`, the mean over seeds; the error is that of two means over heavy-tailed prompts."""
    behind = (fresh_log_loss(run) - log_from_least(run["baseline/cg"])).mean(0)
    depth = int(np.arange(len(behind))[steps][behind[steps].argmax()])
    error = np.hypot(run["evaluated/error"][:, depth].mean(), run["baseline/cg_error"][depth])
    ahead = [layers for layers, gap in enumerate(behind[: steps.stop], 1) if gap < 0]
    open_ended = ahead and 0 < behind[depth] < 2 * error
    reason = (
        f"It is ahead with {', '.join(map(str, ahead))} layers; at {depth + 1}, rare prompts "
        "decide the mean."
    )
    return Metric(claim, float(behind[depth]), float(error), reason=reason if open_ended else "")


def few_prompts(run: Run) -> list[Metric]:
    """Measure the deepest model of a batch of few prompts against conjugate gradient, on that batch
    and on fresh prompts."""
    own = (log_from_least(run["evaluated/train"]) - log_from_least(run["baseline/cg_train"]))[:, -1]
    fresh = (fresh_log_loss(run) - log_from_least(run["baseline/cg"]))[:, -1]
    return [
        Metric.over_seeds(FITS_BATCH, own, reason=_by_batch(own)),
        Metric.over_seeds(OVERFITS, fresh),
    ]


def beside(run: Run) -> list[Metric]:
    """Measure the claims that compare a model with one trained beside it on the same batch."""
    config = run.config
    others = run.names("beside")
    if config.batches != "fresh" and config.batch > FEW and config.beside == "linear":
        return [against_linear(run)] if "linear" in others else []
    if config.heads > 1 and "one-head" in others:
        return [Metric(HEADS, _off_their_sum(run)), *heads(run)]
    return []


def heads(run: Run) -> list[Metric]:
    """Measure several heads against one on the prompts that both were trained on, and on fresh
    ones, as means over three and four layers; the error is that over batches."""
    metrics: list[Metric] = []
    rows = (
        (HEADS_FASTER, "train"),
        (HEADS_TEST, "loss"),
        (HEADS_LOWER, "train"),
    )
    for claim, tested_on in rows:
        if _as_long(claim, run):
            above_one = _heads_over_one(run, tested_on, slice(2, 4))
            metrics.append(Metric.over_seeds(claim, above_one, reason=_by_batch(above_one)))
    return metrics


def _heads_over_one(run: Run, tested_on: str, depths: slice) -> np.ndarray:
    """Return by how much the log-loss of several heads is above that of one, as a mean over the
    models of `depths`, [seeds]."""
    folders = ("evaluated", "beside/one-head")
    logs = [log_from_least(run[f"{folder}/{tested_on}"]) for folder in folders]  # [seeds, depths]
    return (logs[0] - logs[1])[:, depths].mean(1)


def over_batches(run: Run) -> np.ndarray:
    """Return by how much a model's log-loss is above another's, on each training batch, [seeds].

    Of several heads, beside one: on that batch, as a mean over the two deepest models. Else of the
    deepest model, beside conjugate gradient: on that batch where it has few prompts, and otherwise
    on fresh prompts.
    """
    if has_one_head(run.config):
        return _heads_over_one(run, "train", slice(-2, None))
    if run.config.batch <= FEW:
        own, cg = (run[name] for name in ("evaluated/train", "baseline/cg_train"))
        return (log_from_least(own) - log_from_least(cg))[:, -1]
    return (fresh_log_loss(run) - log_from_least(run["baseline/cg"]))[:, -1]


def has_one_head(config: Any) -> bool:
    """Return whether several heads are trained, and one beside them."""
    return config.heads > 1 and config.beside == "one head"


def _as_long(claim: Claim, run: Run) -> bool:
    return claim.at is not None and run.config.steps == claim.at["steps"]


def _by_batch(differences: np.ndarray) -> str:
    """Return on how many batches the difference is negative, in words; nothing where all agree."""
    lower = int((differences < 0).sum())
    if lower in (0, len(differences)):
        return ""
    return f"Which prompts they are decides: lower on {lower} of {len(differences)} batches."


def against_linear(run: Run) -> Metric:
    """Measure the trained model's log-loss less that of the linear transformer beside it, the mean
    over two to four layers; the error is that over batches of 1000 fresh prompts, on which both
    were tested."""
    gaps = _paired(run, "beside/linear")[1:4].mean(0)  # [batches]
    reason = _no_gap(run, float(gaps.mean()))
    return Metric.over_seeds(BEATS_LINEAR, gaps, reason=reason)


def _paired(run: Run, other: str) -> np.ndarray:
    """Return the trained model's log-loss less another's on the same batches of 1000 fresh prompts,
    the mean over seeds: [K, batches]."""
    own = log_from_least(run["evaluated/batches"])  # [seeds, K, batches]
    return (own - log_from_least(run[f"{other}/batches"])).mean(0)


def _no_gap(run: Run, gap: float) -> str:
    """Return why memory gains nothing, in words, as far as it is measured: both are at the floor,
    or the gain lies in the batch alone. Nothing where it gains."""
    if BEATS_LINEAR.slack(gap) >= 0:
        return ""
    own, other = (
        log_from_least(run[f"{folder}/train"])[:, 1:4].mean()
        for folder in ("evaluated", "beside/linear")
    )
    if run.config.preconditioner != "full":
        above = (fresh_log_loss(run) - log_from_least(run["baseline/floor_scalar"]))[:, 1:4].mean()
        left = "There is nothing left to gain: w" if above < 0.02 else "W"
        return f"{left}ith memory the loss ends {above:.2f} above the floor of A = aI."
    if own < other:
        gain = f"{other - own:.2f}"
        return (
            f"On the batch that both learn from, the Memformer is {gain} lower: the gain is in "
            "that batch."
        )
    return ""


def _off_their_sum(run: Run) -> float:
    """Return the largest difference between the predictions of H heads and of one head with the sum
    of their matrices on fresh prompts, token by token as the paper writes them, relative to the
    largest prediction."""
    config = run.config
    generator = torch.Generator().manual_seed(2**31 + 37)
    parameters = load_run.parameters_at(run, 1, config.layers)
    root = load_run.root_of(run, 1)
    merged = {**parameters, "A": parameters["A"].sum(1, keepdim=True)}
    X = root @ torch.randn(HEADS_ON, config.d, config.n + 1, generator=generator)
    y = (X * torch.randn(HEADS_ON, config.d, 1, generator=generator)).sum(1)[:, : config.n]
    many, one = (
        token_form.forward(each, config, root, X, y).predictions for each in (parameters, merged)
    )
    return float((many - one).abs().max() / one.abs().max())
