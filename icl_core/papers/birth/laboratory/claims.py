"""What Appendices A and D say of memories, and what is claimed here of their limits, each written
once; how a run is measured against it: means over seeds with their standard errors."""

from functools import partial

import numpy as np

from icl_core.contract.experiment import Claim, Metric, Run
from icl_core.papers.birth.laboratory.load_run import at, growth, off_theory, waiting
from icl_core.papers.birth.laboratory.run import one_step
from icl_core.papers.birth.laboratory.settings import CLASSROOM

WHICH = ("N", "d", "exponent")  # the memory that is learned

SEVERAL = range(3, 6)  # seeds: one decides nothing
paper = partial(Claim, kind="paper", at={"seeds": SEVERAL})
ours = partial(Claim, kind="ours", source="not in the paper", at={"seeds": SEVERAL})
LEARNED = {
    "seeds": SEVERAL,
    "N": 64,
    "d": 128,
    "exponent": 1.0,
    "learning_rate": 10.0,
    "steps": 200,
}

NEAR = paper(
    id="near-orthogonal",
    panel="spread",
    label="√d times an inner product, worst width",
    text="Inner products of two random vectors have root mean square 1/√d, at every width from 16 "
    "to 512.",
    source="Appendix A",
    quote="For i ≠ j, we have uᵢᵀuⱼ = O(1/√d)",
    near=1.0,
    tolerance=0.1,
)
REMAPPED = paper(
    id="remapped-orthogonal",
    panel="spread",
    label="√d times one with a remapped vector, mean over widths",
    text="A remapped vector W₀u is as orthogonal to u itself and to other vectors as two random "
    "vectors are, on average over widths.",
    source="Section 4.1",
    quote="is near-orthogonal to uᵢ in addition to the other uⱼ",
    near=1.0,
    tolerance=0.1,
)
LENGTH = paper(
    id="remapped-length",
    panel="norms",
    label="length of a remapped vector, worst width",
    text="A remapped vector has about length 1, at every width from 16 to 512.",
    source="Section 4.1",
    quote="The new remapped embedding W₀uᵢ is near-unit norm",
    near=1.0,
    tolerance=0.05,
)
SAME = paper(
    id="factorised-same",
    panel="factorised",
    label="recall of U V, d = 256, d′ = 64, 32 pairs",
    text="Where dimensions are many and pairs few, the factorised memory recalls all that W does.",
    source="Appendix D",
    quote="W and W∗ encode the same associations, when d and d′ are large enough to ensure "
    "near-orthogonality",
    at_least=0.97,
)
FILTERS = paper(
    id="mlp-capacity",
    panel="half",
    label="recall gained by the MLP, d = 64, 1,024 pairs",
    text="An MLP with a hidden unit for each pair still recalls them where one matrix no longer "
    "does.",
    source="Appendix D",
    quote="this can help filter out noise that arises from near-orthogonality, and may then lead "
    "to additional storage capacity",
    at_least=0.5,
)
SETS_LINEAR = paper(
    id="sets-linear",
    panel="sets",
    label="a matrix's recall of sets of two, d = 256",
    text="A matrix cannot give each set of two vectors an output of its own choice. The paper "
    "names no level; here, at most 60% are right.",
    source="Section 4.1",
    quote="linearity can also be limiting, since it makes it difficult to map sets to specific "
    "output embeddings",
    at_most=0.6,
)
SETS_MLP = paper(
    id="sets-mlp",
    panel="sets",
    label="an MLP's recall of sets of three, d = 256",
    text="With the best threshold an MLP gives sets of three vectors their outputs.",
    source="Appendix D",
    quote="the non-linearity may still succeed at filtering out any I that does not correspond to "
    "the query set in x",
    at_least=0.95,
)
EVENS_OUT = paper(
    id="norm-evens-out",
    panel="evened",
    label="frequent over rare with layer norm, over the same without",
    text="Learned with layer norm, the most frequent quarter of the pairs is stored less "
    "strongly, relative to the rarest quarter, than without.",
    source="Appendix D",
    quote="encouraging frequent and infrequent tokens to be weighted similarly in the final memory",
    at=LEARNED,
    at_most=0.75,
)
ONE_STEP = Claim(
    id="one-step",
    panel="first",
    label="one step: off the formula by",
    kind="theory",
    text="After one step of gradient descent from zero a pair that comes up with frequency p has "
    "strength η p (1 − 1/N).",
    source="Lemma 1, eq. 5",
    near=0.0,
    tolerance=1e-5,
)
VARIANCE = ours(
    id="erratum-variance",
    panel="spread",
    label="E (xᵀWx)², over (d + 2) / d²",
    text="The variance of xᵀWx is (d + 2) / d². As printed in Appendix A, with d(d − 1)/2 pairs "
    "of indices, it would be about half of that: both orders of a pair count.",
    source="against Appendix A",
    near=1.0,
    tolerance=0.15,
)
THEORY = ours(
    id="capacity-theory",
    panel="capacity",
    label="recall, simulated less by formula",
    text="A formula without free parameters gives what a matrix of random pairs recalls, for "
    "widths from 32 to 256 and 4 to 8,192 pairs.",
    at_most=0.02,
)
SQUARE = ours(
    id="capacity-grows",
    panel="half",
    label="power of d with which capacity grows",
    text="The number of pairs at which half are recalled grows nearly with the square of the "
    "width: with the count of the matrix's numbers.",
    near=2.0,
    tolerance=0.3,
)
ZIPF = ours(
    id="zipf-asked",
    panel="zipf",
    label="recall as asked less recall of pairs, d = 64, 1,024 pairs",
    text="Stored with Zipf's frequencies, most pairs are lost, but not those that are asked for.",
    at={"seeds": SEVERAL, "exponent": 1.0},
    at_least=0.2,
)
FEWER = ours(
    id="factorised-fewer",
    panel="factorised",
    label="recall lost by U V, d = d′ = 64, 256 pairs",
    text="The factorised memory of Appendix D holds fewer pairs than W, even at full inner width.",
    at_least=0.2,
)
SHARED = ours(
    id="heads-shared",
    panel="heads",
    label="recall gained if every head stores all, d = 128, 64 pairs",
    text="Eight narrow heads recall more if each stores all pairs than if each stores an eighth "
    "of them.",
    at_least=0.2,
)
FIRST = ours(
    id="frequent-first",
    panel="first",
    label="power of its frequency in a pair's time",
    text="The time until a pair is predicted with probability one half grows as its frequency to "
    "the power −1: half as often, twice as late.",
    at=LEARNED,
    near=-1.0,
    tolerance=0.15,
)

ALL = (
    NEAR,
    REMAPPED,
    LENGTH,
    SAME,
    FILTERS,
    SETS_LINEAR,
    SETS_MLP,
    EVENS_OUT,
    ONE_STEP,
    VARIANCE,
    THEORY,
    SQUARE,
    ZIPF,
    FEWER,
    SHARED,
    FIRST,
)


def measure(run: Run) -> list[Metric]:
    """Return the measured claims that this run can bear out. What is simulated for all widths does
    not depend on the memory that is learned, so runs that differ in that alone tell it once."""
    over_seeds = _learned(run)  # [seeds] each
    single = {ONE_STEP: off_one_step(run)}
    if all(getattr(run.config, name) == getattr(CLASSROOM, name) for name in WHICH):
        over_seeds |= {**_vectors(run), **_capacity(run), **_forms(run)}
        single |= {THEORY: off_theory(run)}
    metrics = [_metric(claim, over_seeds[claim]) for claim in ALL if claim in over_seeds]
    return [*metrics, *(Metric(claim, value) for claim, value in single.items())]


def _metric(claim: Claim, values: np.ndarray) -> Metric:
    """Return the claim measured over the seeds whose value is finite."""
    finite = values[np.isfinite(values)]
    return Metric.over_seeds(claim, finite) if len(finite) else Metric(claim, None)


def _vectors(run: Run) -> dict[Claim, np.ndarray]:
    d = run["axis/near"]
    scaled = {name: run[f"near/{name}"] * np.sqrt(d) for name in run.names("near")}
    return {
        NEAR: _farthest(scaled["independent"]),
        REMAPPED: np.mean([scaled["remapped"], scaled["other"]], (0, 2)),
        LENGTH: _farthest(run["near/norm_remapped"]),
        VARIANCE: (run["near/remapped"] ** 2 * d**2 / (d + 2)).mean(1),
    }


def _farthest(values: np.ndarray) -> np.ndarray:
    """Return the values at the width where their mean over seeds is farthest from 1: [seeds,
    widths] to [seeds]."""
    return values[:, np.abs(values.mean(0) - 1).argmax()]


def _capacity(run: Run) -> dict[Claim, np.ndarray]:
    asked, zipf = (
        at(run, f"capacity/{name}", width=64, capacity=1024) for name in ("asked", "zipf")
    )
    return {
        SQUARE: np.array([growth(run, seed) for seed in range(len(asked))]),
        ZIPF: asked - zipf,
    }


def _forms(run: Run) -> dict[Claim, np.ndarray]:
    def full(width: int, pairs: int) -> np.ndarray:
        return at(run, "capacity/equal", width=width, capacity=pairs)

    shared, split = (
        at(run, f"form/{name}", width=128, pairs=64, taken=0) for name in ("shared", "split")
    )
    return {
        SAME: at(run, "form/factorised", width=256, pairs=32, rank=64),
        FEWER: full(64, 256) - at(run, "form/factorised", width=64, pairs=256, rank=64),
        FILTERS: at(run, "form/mlp", width=64, pairs=1024) - full(64, 1024),
        SETS_LINEAR: at(run, "form/linear", width=256, members=2),
        SETS_MLP: at(run, "form/sets", width=256, members=3).max(-1),
        SHARED: shared - split,
    }


def _learned(run: Run) -> dict[Claim, np.ndarray]:
    return {
        EVENS_OUT: run["curve/ratio_norm"][:, -1] / run["curve/ratio_plain"][:, -1],
        FIRST: waiting(run),
    }


def off_one_step(run: Run) -> float:
    """Return the largest difference of a strength after one step from the formula, over pairs and
    seeds."""
    strengths = one_step(run["learned/often"], run.config.learning_rate)
    return float(np.abs(run["learned/one_step"] - strengths).max())
