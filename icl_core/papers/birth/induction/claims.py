"""What the paper claims of the trained model, each claim once, and what the classroom's presets
must reach."""

from functools import partial

from icl_core.contract.experiment import Claim

# Section 5 and Appendix E: batches of 512 sequences of 256 tokens, d = 128, SGD with momentum, a
# rate for each figure.
SEVERAL = range(3, 6)  # seeds: one decides nothing
LONG = range(300, 2001)  # Figure 3 thaws at 300; fewer steps decide nothing
SECTION_5 = {
    "outputs": "uniform",
    "N": 65,
    "T": 256,
    "no_repeat": False,
    "d": 128,
    "optimiser": "sgd",
    "batch": 512,
    "steps": LONG,
    "seeds": SEVERAL,
}
FIGURE_3 = {
    **SECTION_5,
    "positions": "in_context",
    "feed_forward": False,
    "triggers": "random",
    "K": 5,
    "learning_rate": 0.2,
}
ALL_LEARN = {**FIGURE_3, "freeze_until": 0}  # the same with nothing frozen
FIGURE_4 = {
    **SECTION_5,
    "positions": "all",
    "feed_forward": True,
    "triggers": "random",
    "K": 3,
    "learning_rate": 1.0,
}
SECTION_3 = "a transformer with ReLU MLPs, all of it trained, K = 3, T = 256"

vanilla = partial(Claim, kind="paper", source="Section 3, Figure 2", at=None, setting=SECTION_3)
accurate = partial(
    vanilla,
    quote="with fixed (resp. random) triggers and uniform outputs, the model achieves over 99% "
    "accuracy (resp. 95%) on output tokens after the first occurrence",
)
classroom = partial(
    Claim, kind="ours", label="accuracy of the worst seed", source="not in the paper"
)
alone = partial(Claim, kind="paper", source="Section 5, Figure 3", at=FIGURE_3)
recalled = partial(Claim, kind="ours", source="not in the paper", at=FIGURE_3)
initial = partial(
    Claim,
    kind="paper",
    source="Section 4.1",
    quote="attention scores at initialization are near-uniform",
)
together = partial(Claim, kind="paper", source="Section 5, Figure 4 (center)", at=FIGURE_4)


def frozen(*names: str) -> dict:
    """Return the settings of Figure 3 with the matrices `names` frozen until iteration 300, and no
    others."""
    return {
        **FIGURE_3,
        "freeze_W_K1": "W_K1" in names,
        "freeze_W_K2": "W_K2" in names,
        "freeze_W_O2": "W_O2" in names,
        "freeze_until": 300,
    }


either = partial(
    Claim,
    source="Section 5, Figure 3",
    at={**FIGURE_3, "freeze_W_O2": False, "freeze_until": 300},
    setting="one of W_K¹ and W_K² frozen, beside the reverse",
    at_least=0.05,
)
RANDOM = accurate(
    id="accuracy-random",
    label="in-context accuracy, worst seed",
    text="Two layers get over 95% of the outputs of random triggers right.",
    at_least=0.95,
)
FIXED = accurate(
    id="accuracy-fixed",
    label="in-context accuracy, worst seed",
    text="Two layers get over 99% of the outputs of fixed triggers right.",
    at_least=0.99,
)
ONE_LAYER = vanilla(
    id="one-layer",
    label="one layer's accuracy on the test set",
    text="A transformer of one layer stays at about 55%.",
    source="Section 3",
    quote="versus around 55% for one layer",
    near=0.55,
    tolerance=0.05,
)
CLASSROOM = classroom(
    id="classroom",
    text="Every seed of the classroom presets reaches an accuracy worth showing.",
    setting='the presets "fastest" and "both"',
    at_least=0.98,
)
CLASSROOM_ORDER = classroom(
    id="classroom-order",
    text="Every seed of the slow classroom training reaches an accuracy worth showing.",
    setting='the preset "order"',
    at_least=0.95,
)
NEAR_PERFECT = alone(
    id="near-perfect",
    label="in-context accuracy of the simplified model",
    text="The simplified model is right over 95% of the time. The paper names no level. Where the "
    "output is the trigger itself, repeating it is right; all positions in context count.",
    quote="leads to near-perfect accuracy",
    at_least=0.95,
)
RECALL = {
    name: recalled(
        id=f"recall-{name.replace('_early', '-early')}",
        label=f"{symbol} recall, worst seed",
        text=f"{symbol} stores most of its pairs{which}. The paper names no level.",
        at_least=0.5,
    )
    for name, symbol, which in (
        ("W_O2", "W_O²", ""),
        ("W_K2", "W_K²", ""),
        ("W_K1_early", "W_K¹ early", " of early positions"),
    )
}
FAITHFUL = alone(
    id="construction-is-faithful",
    label="least recall of W_O², W_K², W_K¹ early",
    text="Training finds the memories of the construction: W_O² and W_K² store at least half of "
    "the pairs that eq. 7 plants in them, and W_K¹ half of those of early positions, which are the "
    "ones that are used. The paper names no level.",
    source="Section 4.2",
    quote="we show in Section 5 that it is surprisingly faithful to the learned model",
    at=ALL_LEARN,
    at_least=0.5,
)
TOP_DOWN = alone(
    id="top-down",
    label="steps from W_O² to the earlier of W_K¹ early and W_K²",
    text="With nothing frozen, the output matrix is learned first: by the paper's recall probes it "
    "gets half of its pairs right before W_K¹ does, asked for early positions, and before W_K² "
    "does.",
    source="Section 1",
    quote="the model first finds the right output associations from the current token and from "
    "uniform attention patterns, then the attention heads learn to focus on the correct key-value "
    "pairs",
    at=ALL_LEARN,
    at_least=1.0,
)
TOP_DOWN_BY_FREQUENCY = recalled(
    id="top-down-by-frequency",
    label="steps from W_O² to the earlier of W_K¹ early and W_K² by frequency",
    text="The same with each character of W_K² counted as often as it occurs.",
    at=ALL_LEARN,
    at_least=1.0,
)
EARLY_FIRST = alone(
    id="early-positions-first",
    label="W_K¹ recall, early less late rows",
    text="W_K¹ learns early positions much faster than late ones: over the training, it gets more "
    "of its early rows right on average.",
    quote="fits previous token associations for early positions much faster than later positions",
    at_least=0.1,
)
NOTHING_WITHOUT_OUTPUT = alone(
    id="nothing-without-W_O2",
    label="recall gained by W_K¹ and W_K² with W_O² frozen, as a share of that with nothing frozen",
    text="The key-query matrices learn nothing unless W_O² is learned first: what W_K² and early "
    "W_K¹ gain while it is frozen is less than a tenth of what they gain in as many steps with "
    "nothing frozen.",
    quote="training key-query matrices does not lead to any learning unless W_O² is learned first",
    at=frozen("W_O2"),
    at_most=0.0,
    tolerance=0.1,
)
OUTPUT_ALONE = alone(
    id="W_O2-alone",
    label="W_O² recall, trained alone",
    text="W_O² learns the right associations even when trained by itself.",
    quote="can learn the correct associations even when trained by itself",
    at=frozen("W_K1", "W_K2"),
    at_least=1.0,
    tolerance=0.1,
)
OUTPUT_DOES_NOT_SUFFICE = alone(
    id="W_O2-does-not-suffice",
    label="accuracy at the thaw with W_O² alone, less a single layer's",
    text="W_O² alone does not suffice: just before the key-query matrices are released, the model "
    "is right less often than a trained single layer.",
    quote="While such a model has poor prediction accuracy, it is nevertheless sufficient to "
    "recover the correct associations",
    at=frozen("W_K1", "W_K2"),
    at_most=0.0,
)
TOGETHER = alone(
    id="together-is-beneficial",
    label="accuracy at the thaw with nothing frozen, less the better of W_K¹ or W_K² frozen",
    text="Learning W_K¹ and W_K² together is better than with one of them frozen: after as many "
    "steps more predictions are right.",
    quote="yet learning them together seems beneficial",
    at={**FIGURE_3, "freeze_W_O2": False, "freeze_until": 300},
    setting="one of W_K¹ and W_K² frozen, beside the reverse and beside nothing frozen",
    at_least=0.1,
)
EVEN_OUTPUT = alone(
    id="even-output-in-context",
    label="W_O²: standard deviation of stored readings over their mean",
    text="Trained in context alone, without W_F, W_O² stores its pairs about evenly: on the first "
    "seed with a standard deviation of at most a third of the mean. Neither the caption nor the "
    "text says how the model of Figure 7 was trained; beside W_F see the experiment on the data.",
    source="Appendix E, Figure 7",
    quote="the diagonal for W_O² seems to be roughly uniform",
    at=ALL_LEARN,
    at_most=1 / 3,
)
UNIFORM_START = initial(
    id="near-uniform-start",
    label="evenness of the attention before training",
    text="With embeddings and matrices N(0, 1/d), attention before training is nearly uniform: the "
    "entropy of its rows is at least 95% of the largest.",
    at={"scale": "paper", "d": 128},
    at_least=0.95,
)
UNIFORM_START_OF_THE_CODE = initial(
    id="near-uniform-start-of-the-code",
    label="evenness of the attention before training, embeddings N(0, 1)",
    text="The same in the trainings of Section 5. Their embeddings are N(0, 1), as in the authors' "
    "code, and scores √d times as large.",
    source="Section 5",
    quote="Recall that the attention weights are essentially uniform when W_K are at random "
    "initialization",
    at={"scale": "code", "d": 128},
    at_least=0.95,
)
SECOND_EASIER = either(
    id="W_K2-easier-than-W_K1",
    label="W_K² without W_K¹, less the reverse",
    kind="paper",
    text="W_K² is easier to learn without W_K¹ than the reverse: just before the thaw it gets "
    "more of its pairs right than early W_K¹ does in the run where W_K² was frozen.",
    quote="the second layer is learned before the first, in the sense that W_K² is easier to learn "
    "when W_K¹ is frozen compared to the reverse",
)
SECOND_EASIER_BY_FREQUENCY = either(
    id="W_K2-easier-by-frequency",
    label="W_K² by frequency without W_K¹, less the reverse",
    kind="ours",
    text="Counted by frequency, too, W_K² is easier to learn without W_K¹ than the reverse.",
    source="not in the paper",
)
GLOBAL_FIRST = together(
    id="global-first",
    label="steps by which the in-context loss is later",
    text="Trained together, the global bigrams are learned more quickly than the induction head.",
    source="Section 5, Figure 4",
    quote="the global bigram statistics tend to be learned more quickly than the induction head",
    at_least=1.0,
)
COMPETITION = together(
    id="competition",
    label="W_O² recall lost after its peak",
    text="W_O² and W_F eventually compete: W_O² loses pairs that it had stored.",
    source="Section 5, Figure 4 (right)",
    quote="eventually compete and deviate from our natural estimates",
    at_least=0.01,
)
COMPETITION_KL = together(
    id="competition-KL",
    label="rise of W_F's KL after its minimum, nats",
    text="W_O² and W_F eventually compete: W_F, asked alone, moves away from the bigrams again.",
    source="Section 5, Figure 4 (right)",
    quote="eventually compete and deviate from our natural estimates",
    at_least=0.01,
)
UNIFORM_GENERALISES = together(
    id="uniform-generalises",
    label="accuracy lost on bigram outputs",
    text="Trained on uniform outputs, the model does well on bigram outputs too.",
    quote="training on uniform outputs performs well on both distributions",
    at_most=0.0,
    tolerance=0.1,
)
COPIES_THE_UNLIKELY = together(
    id="copies-the-unlikely",
    label="outputs said where ten characters are likelier bigrams",
    text="The model prefers the induction head to W_F where the two differ: it says what the "
    "context tells in more than half of the cases in which at least ten characters follow the "
    "trigger more often in the text. Of the first seed; the paper names no level.",
    source="Section 4.2",
    quote="we observe that the model often prefers the induction head, unless its output agrees "
    "with one of the top predictions from the global bigram",
    at_least=0.5,
)
BIGRAM_DOES_NOT = together(
    id="bigram-does-not",
    label="accuracy lost on uniform outputs",
    text="Trained on bigram outputs, the model is worse on uniform ones.",
    quote="reduces the in-context accuracy when using out-of-distribution output tokens",
    at={**FIGURE_4, "outputs": "bigram"},
    at_least=0.1,
)

ALL = (
    RANDOM,
    FIXED,
    ONE_LAYER,
    CLASSROOM,
    CLASSROOM_ORDER,
    NEAR_PERFECT,
    UNIFORM_START,
    UNIFORM_START_OF_THE_CODE,
    FAITHFUL,
    TOP_DOWN,
    TOP_DOWN_BY_FREQUENCY,
    EARLY_FIRST,
    EVEN_OUTPUT,
    NOTHING_WITHOUT_OUTPUT,
    OUTPUT_ALONE,
    OUTPUT_DOES_NOT_SUFFICE,
    TOGETHER,
    SECOND_EASIER,
    SECOND_EASIER_BY_FREQUENCY,
    GLOBAL_FIRST,
    COMPETITION,
    COMPETITION_KL,
    UNIFORM_GENERALISES,
    COPIES_THE_UNLIKELY,
    BIGRAM_DOES_NOT,
    *RECALL.values(),
)
