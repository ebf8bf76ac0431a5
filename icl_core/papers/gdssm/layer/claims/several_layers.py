"""What the paper says of several trained layers, and what is known beyond it, each written once."""

from icl_core.contract.experiment import Claim
from icl_core.papers.gdssm.layer.claims.one_layer import SIZE, like_floor, same_weights

TWO = {"layers": 2, "penalty": 0.0, **SIZE}

TWO_RATES = like_floor(
    id="two-layers-two-rates",
    panel="state",
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
    panel="state",
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
    panel="state",
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
    panel="training",
    label="loss differs from the best steps by",
    kind="ours",
    text="Three trained layers are as good as three steps of gradient descent, each at its best "
    "rate: fitted by least squares on the test set, at the worst seed.",
    source="Section 4.3, there for two layers",
    at={"layers": 3, "penalty": 0.0, **SIZE},
)
UNDOES = like_floor(
    id="undoes-penalty",
    panel="state",
    label="loss differs from the floor without penalty by",
    kind="ours",
    text="Training undoes a penalty that is built into the layers: the loss is that of the best "
    "steps without one.",
    source="against Appendix A.4",
    at={"layers": 2, "penalty": 0.1, **SIZE},
)
WEIGHTS_TWO = same_weights(
    id="two-layers-weights-match",
    panel="state",
    label="two layers: weights differ from the construction by",
    kind="ours",
    source="Figure 5 shows the trained ones alone",
    at=TWO,
    tolerance=0.05,
)
FROM_CONSTRUCTION = like_floor(
    id="construction-trained-on",
    panel="state",
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
    panel="state",
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
    panel="training",
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
    panel="training",
    label="three loops: loss above the best three steps by",
    kind="ours",
    text="From three loops on sharing costs: a loop has two numbers, a rate and a share, where "
    "three steps with a rate each have three. Three loops stay 5% or more above the best three "
    "steps, at the best seed.",
    source="not in the paper",
    at={"tied": True, "layers": 3, "penalty": 0.0, **SIZE},
    at_least=0.05,
)
