"""One prompt of linear regression, read pair by pair by everything that can be written down."""

from icl_core.contract.experiment import Atlas, Drawing, Experiment
from icl_core.in_context_regression.learner_table import LEARNERS
from icl_core.papers.learners.prompt import claims, draw, stage
from icl_core.papers.learners.prompt.run import compute
from icl_core.papers.learners.prompt.settings import PRESETS, TUNED_ON, Config, View
from icl_core.papers.learners.prompt.words import WORDS

PROMPT = ("prompt", "scale", "points", "group")
AVERAGE, WHO, SYMMETRIES = "On average", "Who is who", "Symmetries"
TUNINGS = 300  # evaluations of a rule's error
OF_RECENT_RULES = 12  # learners that the recent ones cost as much as
HOME = PRESETS[0].config
# learners tuned for the homes that the main sliders lead to, so that these answer at once
ATLAS = Atlas(
    (
        (HOME, ("d=1,2,3,4,5,6,8", "n=5,10,20")),
        (HOME, ("n=2,40",)),
        (HOME, ("noise=0,0.1,0.2,0.5,1,2",)),
        (HOME, ("steps=1,2,4,8,16",)),
        (HOME, ("condition=16,64,256",)),
        (HOME, ("covariance=isotropic,uneven",)),
        (HOME, ("rotated=true",)),
        (HOME, ("target=inverse",)),
    )
)


def cost(config: Config) -> float:
    """Return the giga-operations: of every rule the weights after all pairs for as many sets of
    labels as there are pairs, for every setting that is tried."""
    sets = config.n if config.noise else config.d
    a_rule = 10 * TUNED_ON * config.n * sets * config.d * TUNINGS
    learners = len(LEARNERS) + (OF_RECENT_RULES if config.recent else 0)
    return (learners * a_rule + 2e9) / 1e9


def _has_recent(config: Config) -> bool:
    return config.recent


EXPERIMENT = Experiment(
    name="prompt",
    words=WORDS,
    config=Config,
    view=View,
    run=compute,
    claims=claims.ALL,
    metrics=claims.measure,
    drawings=(
        Drawing("plane", stage.weights, PROMPT),
        Drawing("errors", stage.errors, PROMPT, wide=True),
        Drawing("pairs", stage.pairs_drawn, ("prompt", "scale", "points")),
        Drawing("states", stage.states, PROMPT),
        Drawing("filter", stage.kept, PROMPT),
        Drawing("table", draw.table, PROMPT, "This prompt", moving=False, wide=True),
        Drawing("average", draw.on_average, ("group",), AVERAGE, moving=False),
        Drawing("solver", draw.solver, (), AVERAGE, moving=False, applies=_has_recent),
        Drawing("held", draw.held, (), AVERAGE, moving=False, wide=True, applies=_has_recent),
        Drawing("nearest", draw.nearest, (), WHO, moving=False, wide=True),
        Drawing("distances", draw.distances, (), WHO, moving=False),
        Drawing("symmetries", draw.symmetries, (), SYMMETRIES, moving=False, wide=True),
        Drawing("broken", draw.broken, ("group", "changed"), "Break it", moving=False),
    ),
    presets=PRESETS,
    cost=cost,
    picture=("plane",),
    atlas=ATLAS,
)
