"""What the paper claims of the data's distribution, each claim once: Section 5, Figures 4 to 7."""

from functools import partial

import numpy as np

from icl_core.contract.experiment import Claim, Metric, Run
from icl_core.figures import number_text
from icl_core.papers.birth.data.arrivals import (
    BIGRAM,
    MATRICES,
    UNIFORM,
    by_case,
    by_position,
    correlation,
    halved,
    of,
    over_training,
    times,
    unevenness,
)

# Section 5 and Appendix E: batches of 512 sequences of 256 tokens, d = 128, SGD with momentum,
# learning rate 1.
SEVERAL = range(3, 6)  # seeds: one decides nothing
LONG = range(300, 2001)  # fewer steps decide nothing
PAPER = {
    "N": 65,
    "T": 256,
    "d": 128,
    "scale": "code",
    "learning_rate": 1.0,
    "batch": 512,
    "steps": LONG,
    "seeds": SEVERAL,
}
LATER = "steps by which 40% right in context come later"
DUE = (
    "we hypothesize that (i) and (ii) are due to slow learning of W_O², while (iii) is more "
    "related to slow learning of key-query matrices"
)
SLOWED = "the following may slow down in-context learning: "

paper = partial(Claim, kind="paper", source="Section 5, Figure 4 (left)", at=PAPER)
slower = partial(paper, label=LATER, at_least=1.0)
probed = partial(paper, source="Section 5, Figure 5")
outputs = partial(paper, source="Section 5, Figure 4 (center)")
fitted = partial(paper, source="Appendix E, Figure 6")
seen = partial(paper, source="Appendix E, Figure 7")

FEWER = slower(
    id="fewer-triggers",
    panel="arrivals",
    text="Fewer triggers slow the induction head down: with one random trigger it comes later "
    "than with five.",
    quote=SLOWED + "(i) a smaller number of triggers K",
)
RARE = slower(
    id="rare-triggers",
    panel="arrivals",
    text="Rare triggers slow it down: with five fixed, rare ones it comes later than with one "
    "fixed, frequent one.",
    quote=SLOWED + "(i) a smaller number of triggers K, (ii) using only rare fixed triggers",
)
RANDOM = slower(
    id="random-triggers",
    panel="arrivals",
    text="Random triggers slow it down: with one random trigger it comes later than with one "
    "fixed, frequent one.",
    quote=SLOWED + "(i) a smaller number of triggers K, (ii) using only rare fixed triggers, and "
    "(iii) using random triggers instead of fixed triggers",
)
GLOBAL_FIRST = paper(
    id="global-first-everywhere",
    label="steps by which the in-context loss halves later, least over the data",
    text="Whichever the triggers, the global loss goes half of its way down before the in-context "
    "loss does.",
    quote="the global bigram statistics tend to be learned more quickly than the induction head",
    at_least=1.0,
)
FEWER_OUTPUT = probed(
    id="fewer-triggers-output",
    panel="w_o2",
    label="recall of W_O² over the training, 5 random triggers less 1",
    text="With fewer triggers W_O² is learned more slowly: over the training it recalls less with "
    "one random trigger than with five.",
    quote=DUE,
    at_least=0.0,
)
RARE_OUTPUT = probed(
    id="rare-triggers-output",
    panel="w_o2",
    label="recall of W_O² over the training, frequent triggers less rare",
    text="With rare triggers W_O² is learned more slowly: over the training it recalls less with "
    "five fixed, rare triggers than with one fixed, frequent one.",
    quote=DUE,
    at_least=0.0,
)
RANDOM_KEYS = probed(
    id="random-triggers-keys",
    panel="fits",
    label="recall over the training lost by W_K¹ early, less that lost by W_O²",
    text="Random triggers slow the key-query matrices more than W_O²: from one fixed, frequent "
    "trigger to one random, early W_K¹ loses more of its recall over the training than W_O² does. "
    "(W_K² has one pair to choose with a single fixed trigger, so it cannot be compared.)",
    quote=DUE,
    at_least=0.0,
)
BIGRAM_FAILS = outputs(
    id="bigram-fails-elsewhere",
    panel="generalise",
    label="accuracy on uniform outputs: trained on uniform less trained on bigram ones",
    text="Tested on uniform outputs, the model trained on bigram outputs is worse than the one "
    "trained on uniform ones.",
    quote="reduces the in-context accuracy when using out-of-distribution output tokens",
    at_least=0.1,
)
UNIFORM_FITS_BOTH = outputs(
    id="uniform-fits-both",
    label="accuracy on bigram outputs: trained on uniform less trained on bigram ones",
    text="Tested on bigram outputs, the model trained on uniform outputs is about as good as the "
    "one trained on them.",
    quote="training on uniform outputs performs well on both distributions",
    at_least=0.0,
    tolerance=0.1,
)
BETTER_OUTPUT = fitted(
    id="uniform-fits-output",
    panel="w_o2",
    label="recall of W_O² at the end, uniform less bigram outputs",
    text="Uniform outputs fit W_O² better than bigram outputs do.",
    quote="using uniform output tokens can lead to better fitting of W_O² and W_K²",
    at_least=0.0,
)
BETTER_KEYS = fitted(
    id="uniform-fits-keys",
    panel="w_k2",
    label="recall of W_K² at the end, uniform less bigram outputs",
    text="Uniform outputs fit W_K² better than bigram outputs do.",
    quote="using uniform output tokens can lead to better fitting of W_O² and W_K²",
    at_least=0.0,
)
SAME_PREVIOUS = fitted(
    id="same-previous",
    panel="w_k1",
    label="recall of W_K¹ early at the end, uniform less bigram outputs",
    text="W_K¹ is fitted alike with uniform and with bigram outputs. The paper names no level; "
    "here, within 10 points.",
    quote="the recall accuracy for W_K¹ is comparable for both settings",
    near=0.0,
    tolerance=0.1,
)
LATE_POSITIONS = seen(
    id="late-positions-weak",
    label="W_K¹: mean stored reading of the last half of positions over that of the early ones",
    text="W_K¹ stores late positions more weakly than early ones, with three random triggers. The "
    "paper names no level; here, less than half as strongly.",
    quote="some of the diagonal elements are weaker than others, particularly for late positions "
    "in W_K¹",
    at_most=0.5,
)
RARE_WEAK = seen(
    id="rare-triggers-weak",
    label="W_K²: mean stored reading of capital letters over that of lowercase letters",
    text="W_K² stores rare triggers more weakly: capital letters, which are rarer, less than half "
    "as strongly as lowercase ones. The paper names no level.",
    quote="seem related to frequencies of appearance of triggers, whereby capital letters appear "
    "less frequently",
    at_most=0.5,
)
EVEN_OUTPUT = seen(
    id="even-output",
    label="W_O²: standard deviation of stored readings over their mean",
    text="W_O² stores its pairs about evenly, trained beside W_F on all positions. The paper names "
    "no level; here, a standard deviation of at most a third of the mean. Nor does it say how the "
    "model of Figure 7 was trained: in context alone, without W_F, W_O² is even (see the induction "
    "head).",
    quote="the diagonal for W_O² seems to be roughly uniform",
    at_most=1 / 3,
)
MILD = paper(
    id="mild-improvement",
    label="accuracy when W_O² has three quarters of its recall, as a share of that at the end",
    text="W_O² improves quickly, but alone it helps little: when it has three quarters of the "
    "recall that it has at the end, less than half of the accuracy at the end is there.",
    quote="also seems to improve quickly initially, but only leads to mild improvements to "
    "in-context predictions",
    at_most=0.5,
)
DIAGONALS = seen(
    id="diagonals-dominate",
    panel="fits",
    label="least recall of W_O², W_K², W_K¹ early at the end",
    text="Each matrix gets most of its pairs right at the end, with three random triggers.",
    quote="diagonal elements dominate in the plots, which corresponds to correct associations "
    "lead to high ‘memory recall’",
    at_least=0.5,
)
EVENER = Claim(
    id="output-evener-than-keys",
    label="unevenness of W_O², less that of W_K²",
    kind="ours",
    text="W_O² stores its pairs more evenly than W_K² does.",
    source="not in the paper",
    at=PAPER,
    at_most=0.0,
)

ALL = (
    FEWER,
    RARE,
    RANDOM,
    GLOBAL_FIRST,
    FEWER_OUTPUT,
    RARE_OUTPUT,
    RANDOM_KEYS,
    BIGRAM_FAILS,
    UNIFORM_FITS_BOTH,
    BETTER_OUTPUT,
    BETTER_KEYS,
    SAME_PREVIOUS,
    LATE_POSITIONS,
    RARE_WEAK,
    EVEN_OUTPUT,
    MILD,
    DIAGONALS,
    EVENER,
)


def measure(run: Run) -> list[Metric]:
    """Return the measured claims, the means over seeds. What never arrives counts as arriving at
    the training's end, though it is later still."""
    return [*_speed(run), *_probes(run), *_outputs(run), *_stored(run)]


def _later(run: Run, measure: str, slow: str, quick: str) -> np.ndarray:
    """Return the steps by which a measure arrives later on one kind of data than on another,
    [seeds]."""
    end = float(run["curve/step"][-1])
    slow_steps = np.minimum(times(run, measure, slow), end)  # (seeds,)
    quick_steps = np.minimum(times(run, measure, quick), end)  # (seeds,)
    return slow_steps - quick_steps


def _speed(run: Run) -> list[Metric]:
    """Return the claims on how soon the head forms, and on the global loss before it."""
    uniform = [name for name in run.names("data") if name != BIGRAM]
    leads = [
        halved(run, "in_context_loss", name) - halved(run, "global_loss", name) for name in uniform
    ]  # (seeds,) for each kind of data
    return [
        Metric.over_seeds(FEWER, _later(run, "accuracy", "random_1", "random_5")),
        Metric.over_seeds(RARE, _later(run, "accuracy", "rare", "frequent")),
        Metric.over_seeds(RANDOM, _later(run, "accuracy", "random_1", "frequent")),
        Metric.over_seeds(GLOBAL_FIRST, np.min(leads, axis=0)),
    ]


def _lost(run: Run, measure: str, slow: str, quick: str) -> np.ndarray:
    """Return how much less a measure is over the training on one kind of data than on another,
    [seeds]."""
    return over_training(run, measure, quick) - over_training(run, measure, slow)


def _probes(run: Run) -> list[Metric]:
    """Return how much lower the probes are on the slower data, as means over the training: some
    memories never come to any one level in it, so the step at which they do is not known."""
    keys = _lost(run, "recall_W_K1_early", "random_1", "frequent")
    output = _lost(run, "recall_W_O2", "random_1", "frequent")
    fewer = _lost(run, "recall_W_O2", "random_1", "random_5")
    rare = _lost(run, "recall_W_O2", "rare", "frequent")
    return [
        Metric.over_seeds(FEWER_OUTPUT, fewer),
        Metric.over_seeds(RARE_OUTPUT, rare),
        Metric.over_seeds(RANDOM_KEYS, keys - output),
        Metric.over_seeds(MILD, _accuracy_of_output_alone(run)),
    ]


def _accuracy_of_output_alone(run: Run) -> np.ndarray:
    """Return the accuracy when W_O2 first has three quarters of its last recall, as a share of the
    last accuracy, [seeds]."""
    recalls = of(run, "curve/recall_W_O2", UNIFORM)  # (seeds, evaluations)
    accuracies = of(run, "curve/accuracy", UNIFORM)  # (seeds, evaluations)
    shares = []
    for recall, accuracy in zip(recalls, accuracies, strict=True):
        evaluation = int(np.argmax(recall >= 0.75 * recall[-1]))  # the first such one
        shares.append(accuracy[evaluation] / accuracy[-1])
    return np.array(shares)


def _outputs(run: Run) -> list[Metric]:
    """Return the claims on uniform beside bigram outputs."""

    def gained(tensor: str) -> np.ndarray:
        """Return what uniform outputs gain over bigram ones, [seeds, …]."""
        return of(run, tensor, UNIFORM) - of(run, tensor, BIGRAM)

    ends = {
        BETTER_OUTPUT: "W_O2",
        BETTER_KEYS: "W_K2",
        SAME_PREVIOUS: "W_K1_early",
    }
    return [
        Metric.over_seeds(BIGRAM_FAILS, gained("evaluated/accuracy_uniform")),
        Metric.over_seeds(UNIFORM_FITS_BOTH, gained("evaluated/accuracy_bigram")),
        *(
            Metric.over_seeds(claim, gained(f"curve/recall_{name}")[:, -1])
            for claim, name in ends.items()
        ),
    ]


def _stored(run: Run) -> list[Metric]:
    """Return the claims on the stored readings of each matrix, trained on uniform outputs."""
    K1 = of(run, "diagonal/W_K1", UNIFORM)  # (seeds, T - 1)
    K2 = of(run, "diagonal/W_K2", UNIFORM)  # (seeds, characters)
    O2 = of(run, "diagonal/W_O2", UNIFORM)  # (seeds, characters)
    early, late = by_position(K1, run.config.T)  # (seeds,) each
    capital, lower = by_case(K2, run.names("characters"))  # (seeds,) each
    recalls = [of(run, f"curve/{name}", UNIFORM)[:, -1] for name in MATRICES]  # (seeds,) each
    return [
        Metric.over_seeds(DIAGONALS, min(recalls, key=np.mean)),
        Metric.over_seeds(LATE_POSITIONS, late / early),
        Metric.over_seeds(RARE_WEAK, capital / lower),
        Metric.over_seeds(EVEN_OUTPUT, unevenness(O2), reason=_uneven(run, O2)),
        Metric.over_seeds(EVENER, unevenness(O2) - unevenness(K2)),
    ]


def _uneven(run: Run, diagonal: np.ndarray) -> str:
    """Return a sentence on how W_O2's stored readings [seeds, characters] depend on frequency;
    empty if they are as even as claimed."""
    if EVEN_OUTPUT.slack(float(unevenness(diagonal).mean())) >= 0:
        return ""
    coefficient = number_text(correlation(run["task/often"], diagonal.mean(0)), 2)
    return (
        "Here the loss counts all positions. The stored readings and the characters' frequency "
        f"have a rank correlation of {coefficient}."
    )
