"""What is learned where all positions count and W_F learns beside the induction head (Figure 4)."""

from functools import partial

from icl_core.contract.experiment import Claim, Metric, Run
from icl_core.papers.birth.induction import attention_scores
from icl_core.papers.birth.induction.claims.section_5 import FIGURE_4, over_seeds
from icl_core.papers.birth.induction.memory_formation import given_back, half_way, other_law
from icl_core.papers.birth.shared.accuracy import copied_the_unlikely
from icl_core.papers.birth.shared.train import task_of

together = partial(Claim, kind="paper", source="Section 5, Figure 4 (center)", at=FIGURE_4)
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


def measure(run: Run) -> list[Metric]:
    """Return the claims on joint training, in which all positions count and W_F learns beside the
    induction head."""
    later = half_way(run, "in_context_loss") - half_way(run, "global_loss")  # [seeds]
    metrics = [over_seeds(run, GLOBAL_FIRST, later, more=False)]
    if run.config.feed_forward:
        lost, error = given_back(run["curve/recall_W_O2"])
        metrics.append(over_seeds(run, COMPETITION, lost, alone=error))
        risen, error = given_back(-run["curve/recall_kl_W_F"])
        metrics.append(over_seeds(run, COMPETITION_KL, risen, alone=error))
    if run.config.triggers == "random":
        metrics.append(_elsewhere(run))
        metrics += _copies(run)
    return metrics


def _copies(run: Run) -> list[Metric]:
    """Return how often the model copies against the bigrams, by the weights that the run holds: the
    first seed's."""
    if not COPIES_THE_UNLIKELY.is_at(run.config):
        return []
    readout = attention_scores.at_snapshot(run, len(run.snapshot_steps) - 1)
    share, error = copied_the_unlikely(readout.right, readout.batch, task_of(run.config))
    return [Metric(COPIES_THE_UNLIKELY, share, error)]


def _elsewhere(run: Run) -> Metric:
    """Return the accuracy lost on outputs of the law that the model was not trained on."""
    own = run.config.outputs
    claim = UNIFORM_GENERALISES if own == "uniform" else BIGRAM_DOES_NOT
    lost = run["curve/accuracy"][:, -1] - run[f"curve/accuracy_{other_law(own)}"][:, -1]
    return over_seeds(run, claim, lost)
