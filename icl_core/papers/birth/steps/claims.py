"""What the paper claims of three gradient steps, and what is claimed here; how a run is measured
against it: the mean over seeds."""

from functools import partial

from icl_core.contract.experiment import Claim, Metric, Run
from icl_core.papers.birth.steps.load_run import after, placed, tau
from icl_core.papers.birth.steps.settings import THEN, THEOREM

# what must have learned, for a gradient
NEEDS = {
    "W_O2": set(),
    "W_K2": {"W_O2"},
    "W_K1": {"W_O2", "W_K2"},
}

ANY = {"setup": "proof"}
SIZE = {**ANY, "N": 65, "T": 16}
PROOF = {
    **SIZE,
    "d": 512,
    "order": THEOREM,
    "eta_O2": 2e3,
    "eta_K2": 3e7,
    "eta_K1": 1e6,
    "batch": range(10_000, 40_001),
}
paper = partial(Claim, kind="paper", at=PROOF)
theorem = partial(
    paper,
    source="Theorem 3",
    quote="can be learned via sequential gradient steps on the population loss",
)
ours = partial(Claim, kind="ours", source="not in the paper")

W_O2 = theorem(
    id="W_O2",
    panel="recalls",
    label="W_O² recall",
    text="One gradient step stores the pairs of W_O².",
    at_least=0.95,
)
W_K2 = theorem(
    id="W_K2",
    label="W_K² recall",
    text="A second step, on W_K², stores its pairs.",
    at_least=0.95,
    panel="beside",
)
W_K1 = theorem(
    id="W_K1",
    panel="recalls",
    label="W_K¹ recall, without its last pair",
    text="A third step, on W_K¹, stores its pairs. One is left out: the trigger is next to never "
    "at T − 1, so no sequence needs to find it from T.",
    at_least=0.95,
)
ATTENTION = paper(
    id="attention",
    panel="recalls",
    label="attention on the output",
    text="With large steps, layer 2 puts most of its attention on what followed the trigger.",
    source="Appendix B.3.2",
    quote="the attention more sparse and focused on correct associations",
    at_least=0.5,
)
NEAR_RANDOM = paper(
    id="near-random",
    panel="recalls",
    label="right answers after the step on W_O²",
    text="With W_O² alone the answers are near random: at most twice as many are right as by "
    "naming one of the T characters at random.",
    source="Appendix B.3.1",
    quote="despite the recovery of these useful associations after one gradient step, the "
    "predictions with this estimate W_O² are still near-random",
    at_most=0.125,
)
TRIGGER = paper(
    id="trigger",
    panel="recalls",
    label="answers that are the trigger, after W_K²",
    text="With W_O² and W_K², and without W_K¹, most answers are the trigger itself.",
    source="Appendix B.3.3",
    quote="Then the output is likely to predict the trigger itself",
    at_least=0.5,
)
SPURIOUS = paper(
    id="spurious",
    panel="spurious",
    label="spurious pairs over eq. 16's τ",
    text="W_O² also stores pairs with what layer 1 has made of a character, τ times as strongly.",
    source="Appendix B.3.1, eq. 16",
    quote="additional spurious associations that are stored",
    near=1.0,
    tolerance=0.1,
)
FILTERED = paper(
    id="filtered",
    panel="accuracy",
    label="accuracy at d = 512",
    text="One step on x = w_E(y) + p_t gives a classifier that ignores the position.",
    source="Section 6",
    quote="we obtain a near-perfect classifier that ignores the positional embedding, after just "
    "one gradient step",
    at=SIZE,
    at_least=0.99,
)
FORMULAS = Claim(
    id="formulas",
    panel="first",
    label="largest difference, formula and autograd",
    kind="theory",
    text="The gradients are those of Lemmas 1, 2, 4 and 5, entry by entry (as a share of the "
    "largest).",
    source="Lemmas 1, 2, 4, 5",
    at=ANY,
    at_most=1e-9,
)
NOTHING = Claim(
    id="nothing",
    label="largest entry learned too early",
    kind="theory",
    text="W_K² learns exactly nothing before W_O², and W_K¹ nothing before both: their gradients "
    "are zero.",
    source="Lemmas 4, 5",
    at=ANY,
    at_most=0.0,
)
POSITIONS = ours(
    id="positions",
    panel="positions",
    label="right answers, positions in the stream",
    text="In the end the proof leaves positions out of the stream. Put back, they drown what the "
    "three steps have learned.",
    at=PROOF,
    at_most=0.3,
)
WHOLE = ours(
    id="whole-model",
    panel="recalls",
    label="W_K² recall, whole model",
    text="In the whole model, on Shakespeare, three such steps make no induction head: W_K² "
    "stores next to nothing.",
    at={"setup": "whole", "T": 64, "d": 128, "order": THEOREM},
    at_most=0.3,
)

ALL = (
    W_O2,
    W_K2,
    W_K1,
    ATTENTION,
    NEAR_RANDOM,
    TRIGGER,
    SPURIOUS,
    FILTERED,
    FORMULAS,
    NOTHING,
    POSITIONS,
    WHOLE,
)

RECALLS = {W_O2: "recall_W_O2", W_K2: "recall_W_K2", W_K1: "recall_W_K1_asked"}


def measure(run: Run) -> list[Metric]:
    """Return the measured claims that this run's setting can bear out."""
    if run.config.setup == "whole":
        return [Metric.over_seeds(WHOLE, after(run, "recall_W_K2"))]
    metrics = [Metric.over_seeds(claim, after(run, name)) for claim, name in RECALLS.items()]
    metrics.append(Metric.over_seeds(ATTENTION, after(run, "on_output")))
    metrics.append(Metric.over_seeds(NEAR_RANDOM, after(run, "accuracy", 1)))
    metrics.append(Metric.over_seeds(TRIGGER, after(run, "trigger", 2)))
    metrics += [
        Metric.over_seeds(SPURIOUS, run["spurious/ratio"] / tau(run)),
        Metric.over_seeds(FILTERED, run["toy/accuracy_exact"][:, -1]),
    ]
    worst = max(float(run[f"lemma/{name}"].max()) for name in run.names("lemmas"))
    metrics += [Metric(FORMULAS, worst), Metric(NOTHING, too_early(run))]
    return [
        *metrics,
        Metric.over_seeds(POSITIONS, placed(run)["all"], reason=_which_positions(run)),
    ]


def too_early(run: Run) -> float:
    """Return the Euclidean norm of the largest matrix, over seeds and orders, that had its turn
    before those that it needs had learned; 0 if there is none."""
    names = run.names("matrices")
    norms = [0.0]
    for index, order in enumerate(run.names("orders")):
        for name in set(names) - set(learned_in(order)):
            norms.append(float(run["orders/size"][:, index, names.index(name)].max()))
    return max(norms)


def learned_in(order: str) -> list[str]:
    """Return the names of the matrices that find a gradient when their turn comes."""
    learned: list[str] = []
    for name in order.split(THEN):
        if set(learned) >= NEEDS[name]:
            learned.append(name)
    return learned


def _which_positions(run: Run) -> str:
    """Return why positions in the stream do harm, by which part holds them; empty if they do
    none."""
    shares = {name: float(values.mean()) for name, values in placed(run).items()}
    if shares["none"] - shares["all"] < 0.3:
        return ""
    return (
        f"Characters alone: {shares['none']:.0%} right. With positions in the values "
        f"{shares['values']:.0%}, in the keys {shares['keys']:.0%}, in the query "
        f"{shares['query']:.0%}: W_K² has matched the position T with every character."
    )
