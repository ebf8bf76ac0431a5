"""The numbers in words.md, and which answers are right."""

import numpy as np

from icl_core.contract.experiment import Run
from icl_core.contract.words import Reading, Words
from icl_core.papers.birth.constructed.evaluation import at_d, shares_closed, trained_accuracy
from icl_core.papers.birth.constructed.settings import Config, View
from icl_core.papers.birth.shared.captions import MATRICES, example_of
from icl_core.papers.birth.shared.draw import NAMES


def _at_d(measure: str) -> Reading:
    """Return the reading of a measure at the setting's width, the mean over embeddings."""
    return lambda run, view: float(at_d(run, measure).mean())


def _least_recall(run: Run) -> float:
    return min(float(at_d(run, f"recall_{name}_kept").mean()) for name in MATRICES)


def _closed_alone(run: Run) -> dict[str, float]:
    """Return the share of the gap that each matrix closes, cleaned alone."""
    shares = shares_closed(run)
    return {name: float(shares[name].mean()) for name in MATRICES}


def _quieter(run: Run, view: View) -> str:
    """Return the memories that have less cross-talk after training, with how much there is."""
    memories = []
    for name in MATRICES:
        trained = float(run[f"beside/talk_{name}"].mean())
        constructed = float(at_d(run, f"talk_{name}_kept").mean())
        if trained < constructed:
            memories.append(f"{NAMES[name]} {trained:.0%} (written down, {constructed:.0%})")
    return ", ".join(memories)


def _exact_pairs(run: Run, view: View) -> int:
    """Return whether exact pairs make the model better, 0, or worse, 2."""
    gain = float(at_d(run, "accuracy_within").mean()) - float(at_d(run, "accuracy_kept").mean())
    return 1 - int(np.sign(np.fix(gain / 0.02)))


WORDS = Words(
    __file__,
    Config,
    View,
    readings={
        "finished": lambda run, view: run.finished,
        "several_embeddings": lambda run, view: run.config.seeds > 1,
        # accuracies at the setting's width: as written down, cleaned, with exact pairs, trained
        "right": _at_d("accuracy_kept"),
        "right_cleaned": _at_d("accuracy_stream"),
        "right_exact": _at_d("accuracy_within"),
        "right_trained": lambda run, view: trained_accuracy(run),
        "has_trained": lambda run, view: trained_accuracy(run) is not None,
        # and at the greatest width
        "right_at_widest": lambda run, view: run["sweep/accuracy_kept"][:, -1].mean(),
        "widest": lambda run, view: run["sweep/width"][-1],
        # the gap to the trained model, and what closes it
        "has_gap": lambda run, view: bool(shares_closed(run)),
        "gap_closed": lambda run, view: float(shares_closed(run)["stream"].mean()),
        "closed_alone": lambda run, view: ", ".join(
            f"{NAMES[name]} {share:.0%}" for name, share in _closed_alone(run).items()
        ),
        # the memories: cross-talk and recall as shares, the global loss in nats
        "W_K2_talk": _at_d("talk_W_K2_kept"),
        "W_K2_talk_exact": _at_d("talk_W_K2_within"),
        "quieter": _quieter,
        "least_recall": lambda run, view: _least_recall(run),
        "all_recalled": lambda run, view: _least_recall(run) == 1,
        "global_loss": _at_d("global_loss_kept"),
    },
    right={
        "pairs": _exact_pairs,
        "which": lambda run, view: int(np.argmin(list(_closed_alone(run).values()))),
    },
    done={"clean": lambda view: view.cross_talk == "stream"},
    example=example_of,
)
