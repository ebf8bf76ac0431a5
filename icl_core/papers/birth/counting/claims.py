"""What Edelman et al. find, each claim once, and what stands beside it here."""

from functools import partial

from icl_core.contract.experiment import Claim

OTHERS = "Edelman et al. 2024"
LONG = range(200, 2001)  # fewer steps decide nothing
THREE = {"k": 3, "chains": "dirichlet", "layers": 2, "steps": LONG}
two = partial(Claim, kind="ours", source=OTHERS, at=THREE)

STAGES = two(
    id="stages",
    label="share of seeds that pass all three stages in order",
    text="Edelman et al. find that predictions are first uniform, then those of unigrams in "
    "context, then those of bigrams in context. Here every seed is nearest to each of the three "
    "in turn.",
    at_least=1.0,
)
LOOKS_BACK = two(
    id="looks-back",
    label="layer 1's attention on the position before",
    text="Edelman et al. find a statistical induction head, whose first layer looks at the "
    "previous token. Here layer 1 puts most of its attention on the position before.",
    at_least=0.5,
)
TOWARDS_BAYES = two(
    id="towards-bayes",
    label="share of what pairs gain over single states",
    text="Edelman et al. find accurate probabilities from bigrams in context. Here the trained "
    "loss has gone most of the way from that of unigrams to that of bigrams, the best possible.",
    at_least=0.5,
)
ONE_LAYER = Claim(
    id="one-layer",
    label="one layer: KL to bigrams less KL to unigrams",
    kind="ours",
    text="A model of one layer stays nearer to unigrams than to bigrams.",
    source="not in a paper",
    at={"layers": 1, "steps": LONG},
    at_least=0.0,
)
BAYES = Claim(
    id="bayes",
    label="loss of the model less that of bigrams",
    kind="theory",
    text="Counting pairs, plus one of each, is Bayes' rule: no predictor has a smaller expected "
    "loss.",
    source="exact",
    at={"chains": "dirichlet"},
    at_least=0.0,
)

ALL = (STAGES, LOOKS_BACK, TOWARDS_BAYES, ONE_LAYER, BAYES)
