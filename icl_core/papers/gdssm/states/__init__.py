"""What else the state of a layer may hold: seven update rules, recent ones where W drifts, and
KDA and DeltaProduct trained."""

from icl_core.contract.experiment import MEAN_OF_SEEDS, Drawing, Experiment
from icl_core.in_context_regression.rules import RULES
from icl_core.papers.gdssm.states import claims, draw
from icl_core.papers.gdssm.states.recent_layers import LAYERS
from icl_core.papers.gdssm.states.settings import PRESETS, Config, View
from icl_core.papers.gdssm.states.train import TEST_SET, WATCHED, compute
from icl_core.papers.gdssm.states.words import WORDS
from icl_core.training.loop import evaluations

FORGETTING = "Forgetting"
RECENT = 0.045  # giga-operations of the search for the settings of recent rules, over (f N)²


def cost(config: Config) -> float:
    """Return the giga-operations, forward and back: per pair and seed some ten products of the
    state's size, for every rule; a step of so small a training costs at least a twentieth of
    one."""
    state = config.N * config.seeds * config.f**2 * 10 / 1e9
    evaluated = len(evaluations(config.steps, 5, 30)) * WATCHED + TEST_SET
    a_rule = config.steps * 0.03 + 6 * state * (config.steps * config.batch + evaluated / 3)
    recent = RECENT * config.f**2 * config.N**2 * config.recent
    trained = len(RULES) + 1.5 * len(LAYERS) * config.train_recent
    return trained * a_rule + 2e-6 * config.f**2 * config.N * 2**9 + recent


def _has_recent(config: Config) -> bool:
    return config.recent


def _has_layers(config: Config) -> bool:
    return config.train_recent


EXPERIMENT = Experiment(
    name="states",
    words=WORDS,
    config=Config,
    view=View,
    run=compute,
    claims=claims.ALL,
    metrics=claims.measure,
    drawings=(
        Drawing("losses", draw.losses, seeds=MEAN_OF_SEEDS),
        Drawing("window", draw.window, ("rule", "seed_shown"), wide=True),
        Drawing("tokens", draw.tokens, (), "All curves", moving=False),
        Drawing("batches", draw.batches, ("pairs_a_batch",), moving=False),
        Drawing("drift", draw.drift, moving=False, wide=True),
        Drawing("table", draw.table, (), "Every rule", moving=False, wide=True),
        Drawing(
            "layers", draw.layers, (), "Every rule", moving=False, wide=True, applies=_has_layers
        ),
        Drawing("decays", draw.decays, (), FORGETTING, moving=False),
        Drawing(
            "recent", draw.recent, ("drifting",), FORGETTING, moving=False, applies=_has_recent
        ),
        Drawing("variants", draw.variants, (), FORGETTING, moving=False, applies=_has_recent),
        Drawing("channels", draw.channels, (), FORGETTING, moving=False, applies=_has_layers),
        Drawing("symmetries", draw.symmetries, (), "Symmetries", moving=False, wide=True),
        Drawing("training", draw.training, (), "All curves", live=True, moving=False),
    ),
    presets=PRESETS,
    cost=cost,
)
