"""What the paper claims of the trained model, each claim once, and what the classroom's presets
must reach; and which of the claims a run's setting can bear out."""

from icl_core.contract.experiment import Metric, Run
from icl_core.papers.birth.induction.claims import accuracy, memories
from icl_core.papers.birth.induction.claims.accuracy import (
    BIGRAM_DOES_NOT,
    CLASSROOM,
    CLASSROOM_ORDER,
    COMPETITION,
    COMPETITION_KL,
    COPIES_THE_UNLIKELY,
    FIXED,
    GLOBAL_FIRST,
    NEAR_PERFECT,
    ONE_LAYER,
    RANDOM,
    UNIFORM_GENERALISES,
)
from icl_core.papers.birth.induction.claims.memories import (
    EARLY_FIRST,
    EVEN_OUTPUT,
    FAITHFUL,
    NOTHING_WITHOUT_OUTPUT,
    OUTPUT_ALONE,
    OUTPUT_DOES_NOT_SUFFICE,
    RECALL,
    SECOND_EASIER,
    SECOND_EASIER_BY_FREQUENCY,
    TOGETHER,
    TOP_DOWN,
    TOP_DOWN_BY_FREQUENCY,
    UNIFORM_START,
    UNIFORM_START_OF_THE_CODE,
)
from icl_core.papers.birth.induction.claims.section_5 import over_seeds
from icl_core.papers.birth.induction.load_run import freezes

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


def measure(run: Run) -> list[Metric]:
    """Return the measured claims that this run's setting can bear out, by the mean over seeds
    where the claim does not name the worst."""
    config = run.config
    if not config.trains:
        return _uploaded(run)
    if config.layers == 1:
        error = float(run["evaluated/accuracy_error"][0])
        return [over_seeds(run, ONE_LAYER, run["evaluated/accuracy"], alone=error)]
    if freezes(config):
        return memories.measure_frozen(run)
    if config.positions == "all":
        return [*accuracy.measure_accuracy(run), *accuracy.measure_joint_training(run)]
    return [*accuracy.measure_accuracy(run), *memories.measure_memories(run)]


def _uploaded(run: Run) -> list[Metric]:
    """Return what matrices that were not trained here achieve: no claim speaks of them."""
    one_layer = run.config.layers == 1
    share = float(run["evaluated/accuracy"][0])
    error = float(run["evaluated/accuracy_error"][0])
    metrics = [Metric(ONE_LAYER if one_layer else RANDOM, share, error)]
    for name, claim in RECALL.items():
        if f"curve/recall_{name}" not in run.tensors or (one_layer and name == "W_K1_early"):
            continue
        metrics.append(Metric(claim, float(run[f"curve/recall_{name}"][0, 0])))
    return metrics
