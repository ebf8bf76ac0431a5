"""What Edelman et al. find, each claim once, and what stands beside it here."""

from functools import partial

import numpy as np

from icl_core.contract.experiment import Claim, Metric, Run
from icl_core.contract.statistics import still_falling
from icl_core.papers.birth.counting.load_run import in_order, share_of_gain

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
    panel="next",
    label="layer 1's attention on the position before",
    text="Edelman et al. find a statistical induction head, whose first layer looks at the "
    "previous token. Here layer 1 puts most of its attention on the position before.",
    at_least=0.5,
)
TOWARDS_BAYES = two(
    id="towards-bayes",
    panel="positions",
    label="share of what pairs gain over single states",
    text="Edelman et al. find accurate probabilities from bigrams in context. Here the trained "
    "loss has gone most of the way from that of unigrams to that of bigrams, the best possible.",
    at_least=0.5,
)
ONE_LAYER = Claim(
    id="one-layer",
    panel="next",
    label="one layer: KL to bigrams less KL to unigrams",
    kind="ours",
    text="A model of one layer stays nearer to unigrams than to bigrams.",
    source="not in a paper",
    at={"layers": 1, "steps": LONG},
    at_least=0.0,
)
BAYES = Claim(
    id="bayes",
    panel="losses",
    label="loss of the model less that of bigrams",
    kind="theory",
    text="Counting pairs, plus one of each, is Bayes' rule: no predictor has a smaller expected "
    "loss.",
    source="exact",
    at={"chains": "dirichlet"},
    at_least=0.0,
)

ALL = (STAGES, LOOKS_BACK, TOWARDS_BAYES, ONE_LAYER, BAYES)


def measure(run: Run) -> list[Metric]:
    """Return the measured claims that this run's setting can bear out, the mean over its seeds."""
    excess = run["evaluated/loss"] - run["baseline/loss_bigram_at"].mean()
    exact = Metric.over_seeds(BAYES, excess)
    if run.config.layers == 1:
        apart = run["evaluated/kl_bigram"] - run["evaluated/kl_unigram"]
        return [Metric.over_seeds(ONE_LAYER, apart), exact]
    ordered = np.mean([in_order(run, seed) for seed in range(len(run["curve/loss"]))])
    metrics = [
        Metric(
            STAGES, float(ordered), None, still_falling(run["batch/loss"]) if ordered < 1 else ""
        )
    ]
    for claim, values in (
        (LOOKS_BACK, run["evaluated/previous"]),
        (TOWARDS_BAYES, share_of_gain(run)),
    ):
        is_short = claim.slack(float(values.mean())) < 0
        unfinished = still_falling(run["batch/loss"]) if is_short else ""
        metrics.append(Metric.over_seeds(claim, values, unfinished=unfinished))
    return [*metrics, exact]
