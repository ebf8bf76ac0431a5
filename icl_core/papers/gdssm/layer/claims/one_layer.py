"""What the paper says of one trained layer, and what is known beyond it, each written once."""

from functools import partial

from icl_core.contract.experiment import Claim

# The paper's size (Appendices A.5 and A.6) and its several seeds; x of the text, or of its figures'
# runs.
SIZE = {"f": 10, "N": 10, "r": (1.0, 0.5), "skip": False, "seeds": range(3, 6)}
ONE_ND = {"model": "N-D", "layers": 1, **SIZE}
ONE_1D = {"model": "1-D", "layers": 1, **SIZE}
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
    panel="state",
    label="loss differs from one step of gradient descent by",
    text="One trained N-D layer is as good as one step of gradient descent with the best rate: L* "
    "in closed form, measured as trained over constructed on the same tasks, at the worst seed.",
    source="Section 4.2, Figure 2 A",
    at=ONE_ND,
    tolerance=0.002,
)
REACHES_1D = like_one_step(
    id="1d-reaches-gd",
    panel="state",
    label="1-D: loss differs from one step of gradient descent by",
    text="One trained 1-D layer is as good as one step of gradient descent with the best rate, at "
    "the worst seed.",
    source="Section 4.1, Figure 1 A",
    at=ONE_1D,
)
WEIGHTS = same_weights(
    id="weights-match",
    panel="state",
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
    panel="state",
    label="1-D: weights differ from the construction by",
    kind="paper",
    quote="a randomly initialized model trained on regression tasks learns parameters that match "
    "our construction",
    source="Section 1, contributions",
    at=ONE_1D,
    tolerance=0.1,
)
DECAYS = Claim(
    id="decays-are-one",
    panel="state",
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
    panel="alignment",
    label="cosine of the sensitivities",
    quote=MATCH,
    source="Section 4.2, Figure 2 B",
    at=ONE_ND,
    at_least=0.999,
)
COSINE_1D = aligned(  # noisier, as the weights are
    id="1d-sensitivities-align",
    panel="alignment",
    label="1-D: cosine of the sensitivities",
    quote=AGREE,
    source="Section 4.1, Figure 1 B",
    at=ONE_1D,
    at_least=0.998,
)
SCALES = Claim(
    id="test-scale",
    panel="state",
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
    panel="state",
    label="worse than predicting zero from α =",
    kind="theory",
    text="From √2 times the training scale on the layer is worse than predicting zero, because "
    "its one rate is too large.",
    source="not in the paper; exact",
    at={"layers": 1},
    near=2**0.5,
    tolerance=0.03,
)
PADDED = like_floor(
    id="padded-labels",
    panel="state",
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
    panel="population",
    label="f = 1: the best weights differ from the construction by",
    kind="theory",
    text="With one feature the weights of least expected loss are the construction's, up to a "
    "hundredth.",
    source="not in the paper; the expected loss is exact, its minimum by L-BFGS",
    at=ONE_FEATURE,
    at_most=0.0,
    tolerance=0.01,
)
