"""What the paper says of the trained layer, and what is known beyond it, each written once."""

from functools import partial

from icl_core.contract.experiment import Claim

# The paper's size (Appendices A.5 and A.6) and its several seeds; x of the text, or of its figures'
# runs.
SIZE = {"f": 10, "N": 10, "r": (1.0, 0.5), "skip": False, "seeds": range(3, 6)}
ONE_ND = {"model": "N-D", "layers": 1, **SIZE}
ONE_1D = {"model": "1-D", "layers": 1, **SIZE}
TWO = {"layers": 2, "penalty": 0.0, **SIZE}
ONE_FEATURE = {"model": "N-D", "layers": 1, "skip": False, "f": 1, "N": 10}

IDENTICAL = (
    "Trained single layer GD-SSM loss and GD-SSM loss with the parameters from our construction "
    "are identical."
)
SAME = (
    "The trained weights are those of the construction, once the symmetries of the model are "
    "normalised away."
)
ALONG = (
    "The derivative of the prediction with respect to the query points where that of gradient "
    "descent does."
)
MATCH = (
    "the model trained from a random initialisation has an excellent match with the construction, "
    "both in the output/loss metrics (Figure 2) and in the parameters it ends up with (Figure 3)"
)
AGREE = (
    "these metrics show excellent agreement between the trained model and GD, over different "
    "hyperparameters"
)

like_floor = partial(Claim, near=0.0, tolerance=0.01)
like_one_step = partial(like_floor, kind="paper", quote=IDENTICAL)
same_weights = partial(Claim, text=SAME, at_most=0.0)
aligned = partial(Claim, kind="paper", text=ALONG)

REACHES = like_one_step(
    id="nd-reaches-gd",
    label="loss differs from one step of gradient descent by",
    text="One trained N-D layer is as good as one step of gradient descent with the best rate: L* "
    "in closed form, measured as trained over constructed on the same tasks, at the worst seed.",
    source="Section 4.2, Figure 2 A",
    at=ONE_ND,
    tolerance=0.002,
)
REACHES_1D = like_one_step(
    id="1d-reaches-gd",
    label="1-D: loss differs from one step of gradient descent by",
    text="One trained 1-D layer is as good as one step of gradient descent with the best rate, at "
    "the worst seed.",
    source="Section 4.1, Figure 1 A",
    at=ONE_1D,
)
TWO_RATES = like_floor(
    id="two-layers-two-rates",
    label="loss differs from the best two steps by",
    kind="paper",
    text="Two trained layers are as good as two steps of gradient descent with a rate for each, "
    "at the worst seed.",
    quote="trained network is able to reach the same loss as the multi-step GD",
    source="Section 4.3, Figure 4 A",
    at={"model": "N-D", **TWO},
)
TWO_RATES_1D = like_floor(
    id="1d-two-layers-two-rates",
    label="scalar labels: loss differs from the best two steps by",
    kind="ours",
    text="With scalar labels, too, two trained layers are as good as two steps with a rate for "
    "each, on the windows of the N-D model; the tokens of the 1-D layer do not hold what a second "
    "step needs.",
    source="Figure 4 C shows two layers in 1-D, without a number or their tokens",
    at={"model": "1-D", **TWO},
)
BEATS_SHARED = Claim(
    id="beats-shared-rate",
    label="loss beside steps of one rate",
    kind="paper",
    text="Trained layers are better than the construction with one rate for all steps, because "
    "each finds a rate of its own. (The paper gives no number; here 5% counts as better.)",
    quote="We observe the performance of two layer GD-SSM better than the GD-SSM initialised with "
    "the parameters from our construction",
    source="Appendix A.7, there without an explanation",
    at={"model": "N-D", **TWO},
    at_most=-0.05,
)
FLOOR = like_floor(
    id="reaches-floor",
    label="loss differs from the best steps by",
    kind="ours",
    text="Three trained layers are as good as three steps of gradient descent, each at its best "
    "rate: fitted by least squares on the test set, at the worst seed.",
    source="Section 4.3, there for two layers",
    at={"layers": 3, "penalty": 0.0, **SIZE},
)
UNDOES = like_floor(
    id="undoes-penalty",
    label="loss differs from the floor without penalty by",
    kind="ours",
    text="Training undoes a penalty that is built into the layers: the loss is that of the best "
    "steps without one.",
    source="against Appendix A.4",
    at={"layers": 2, "penalty": 0.1, **SIZE},
)
WEIGHTS = same_weights(
    id="weights-match",
    label="weights differ from the construction by",
    kind="paper",
    quote=MATCH,
    source="Section 4.2, Figure 3",
    at=ONE_ND,
    tolerance=0.05,
)
# the gradients of the 1-D layer are noisier by f, as it has one label a task
WEIGHTS_1D = same_weights(
    id="1d-weights-match",
    label="1-D: weights differ from the construction by",
    kind="paper",
    quote="a randomly initialized model trained on regression tasks learns parameters that match "
    "our construction",
    source="Section 1, contributions",
    at=ONE_1D,
    tolerance=0.1,
)
WEIGHTS_TWO = same_weights(
    id="two-layers-weights-match",
    label="two layers: weights differ from the construction by",
    kind="ours",
    source="Figure 5 shows the trained ones alone",
    at=TWO,
    tolerance=0.05,
)
DECAYS = Claim(
    id="decays-are-one",
    label="decays differ from 1 by",
    kind="paper",
    text="The recurrence forgets nothing: its decays, as the mean of a^(N - t) over the examples, "
    "are 1 as in the construction. Where a row of the state has many decays, their mean counts, "
    "as in the figure; at the worst row and seed.",
    quote=MATCH,
    source="Section 4.2, Figure 3 B",
    at=ONE_ND,
    at_most=0.0,
    tolerance=0.05,
)
COSINE = aligned(
    id="sensitivities-align",
    label="cosine of the sensitivities",
    quote=MATCH,
    source="Section 4.2, Figure 2 B",
    at=ONE_ND,
    at_least=0.999,
)
COSINE_1D = aligned(  # noisier, as the weights are
    id="1d-sensitivities-align",
    label="1-D: cosine of the sensitivities",
    quote=AGREE,
    source="Section 4.1, Figure 1 B",
    at=ONE_1D,
    at_least=0.998,
)
SCALES = Claim(
    id="test-scale",
    label="any α: differs from the closed form by",
    kind="paper",
    text="On tasks of another scale α the trained layer loses as much as a step of gradient "
    "descent. (The paper: “We see that our model generalises to both cases”. It does equal that "
    "step. It is no general-purpose learning rule: from √2 times the scale on, the step is worse "
    "than predicting zero.)",
    quote="gradient descent show identically loss (in log-scale) when provided input data "
    "different than during training",
    source="Sections 4.1 and 4.2, Figures 1 D and 2 D",
    at={"layers": 1, **SIZE},
    at_most=0.0,
    tolerance=0.05,
)
ROOT_TWO = Claim(
    id="worse-than-zero",
    label="worse than predicting zero from α =",
    kind="theory",
    text="From √2 times the training scale on the layer is worse than predicting zero, because "
    "its one rate is too large.",
    source="not in the paper; exact",
    at={"layers": 1},
    near=2**0.5,
    tolerance=0.03,
)
FROM_CONSTRUCTION = like_floor(
    id="construction-trained-on",
    label="two layers trained from the construction: loss differs from the best two steps by",
    kind="paper",
    text="Two layers that begin at the construction with one rate for both come to the loss of "
    "layers trained from random weights, that of the best two steps, in 1,000 steps at the "
    "authors' rates.",
    quote="so we train the GD-SSM model initialised with the parameters from our construction "
    "1000 steps to match the performance of a trained GD-SSM",
    source="Appendix A.7",
    at={
        "model": "N-D",
        "layers": 2,
        "penalty": 0.0,
        "f": 10,
        "N": 10,
        "r": (1.0, 0.5),
        "skip": False,
        "start": "construction",
        "optimiser": "authors",
        "batch": 64,
        "learning_rate": 2e-4,
        "steps": 1000,
    },
)
LOOP_BACK = (
    "Since each recurrent layer is performing the same operation, one could also loop the output "
    "of each layer back to do multiple steps of GD"
)
TWO_LOOPS = like_floor(
    id="two-loops-two-rates",
    label="two loops of one layer: loss differs from the best two steps by",
    kind="paper",
    text="One layer that is looped twice loses nothing: with Z = s G and Z̃ = c S two loops predict "
    "by A = 2 b s and B = b² s c, any pair, as two layers do. At the worst seed.",
    quote=LOOP_BACK,
    source="Appendix A.2",
    at={"model": "N-D", "tied": True, **TWO},
)
THREE_LOOPS = Claim(
    id="three-loops-one-rate",
    label="three loops: loss beside three steps of one rate",
    kind="paper",
    text="One layer that is looped three times is at least as good as three steps of gradient "
    "descent of one rate, at the worst seed.",
    quote=LOOP_BACK,
    source="Appendix A.2",
    at={"tied": True, "layers": 3, "penalty": 0.0, **SIZE},
    at_most=0.0,
)
LOOPS_COST = Claim(
    id="three-loops-cost",
    label="three loops: loss above the best three steps by",
    kind="ours",
    text="From three loops on sharing costs: a loop has two numbers, a rate and a share, where "
    "three steps with a rate each have three. Three loops stay 5% or more above the best three "
    "steps, at the best seed.",
    source="not in the paper",
    at={"tied": True, "layers": 3, "penalty": 0.0, **SIZE},
    at_least=0.05,
)
PADDED = like_floor(
    id="padded-labels",
    label="y of three entries, padded: loss differs from one step by",
    kind="paper",
    text="Where y has fewer entries than x and zeros pad it, one trained layer is as good as one "
    "step of gradient descent with the best rate, at the worst seed.",
    quote="the input and output dimensionality can be matched by defining appropriate embeddings",
    source="Section 3.2, footnote 3",
    at={**ONE_ND, "n_o": range(1, 10)},
    tolerance=0.002,
)
POPULATION = Claim(
    id="population-optimum",
    label="f = 1: the best weights differ from the construction by",
    kind="theory",
    text="With one feature the weights of least expected loss are the construction's, up to a "
    "hundredth.",
    source="not in the paper; the expected loss is exact, its minimum by L-BFGS",
    at=ONE_FEATURE,
    at_most=0.0,
    tolerance=0.01,
)

ALL = (
    REACHES,
    REACHES_1D,
    TWO_RATES,
    TWO_RATES_1D,
    BEATS_SHARED,
    FLOOR,
    UNDOES,
    WEIGHTS,
    WEIGHTS_1D,
    WEIGHTS_TWO,
    DECAYS,
    COSINE,
    COSINE_1D,
    SCALES,
    ROOT_TWO,
    POPULATION,
    FROM_CONSTRUCTION,
    TWO_LOOPS,
    THREE_LOOPS,
    LOOPS_COST,
    PADDED,
)
