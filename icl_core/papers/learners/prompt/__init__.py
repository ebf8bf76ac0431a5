"""One prompt of linear regression is read pair by pair, and everything that can be written down for
it answers side by side: one step of gradient descent, which is the GD-SSM's state; several steps,
momentum, conjugate gradient, with and without Σ⁻¹; ridge, least squares, Bayes; and the rules by
which recurrent layers change their state, from the sum to recursive least squares.

Play the pairs, and watch the weights move. Each learner has the settings that are best for its
home, a distribution of prompts that you choose. Then leave home: make x larger, type pairs of your
own, turn every prompt. What a learner does then says more about it than its error at home.
"""

from icl_core.contract.experiment import Drawing, Experiment, Run
from icl_core.in_context_regression.learner_table import LEARNERS
from icl_core.papers.learners.prompt import claims
from icl_core.papers.learners.prompt.atlas import ATLAS
from icl_core.papers.learners.prompt.draw import drawers, filter, stage
from icl_core.papers.learners.prompt.draw.style import share_text
from icl_core.papers.learners.prompt.load_run import members, pairs_read, shown, where
from icl_core.papers.learners.prompt.metrics import measure
from icl_core.papers.learners.prompt.run import compute
from icl_core.papers.learners.prompt.settings import PRESETS, TUNED_ON, Config, View
from icl_core.papers.learners.prompt.story import STORY

PROMPT = ("prompt", "scale", "points", "group")
AVERAGE, WHO, SYMMETRIES = "On average", "Who is who", "Symmetries"
TUNINGS = 300  # evaluations of a rule's error


def headline(run: Run, view: View) -> str:
    """Return what you see: who leaves least and who most of this prompt after the pairs read."""
    prompt = shown(run, view)
    read = pairs_read(run, view)
    left = {learner.short: float(prompt.errors[learner.id][read]) for learner in members(run, view)}
    best = min(left, key=lambda name: left[name])
    worst = max(left, key=lambda name: left[name])
    if not read:
        return "Before the first pair every learner answers zero."
    if prompt.own:
        after = "Your own pairs, w* their best fit: after"
    else:
        after = "Off home: after" if where(run, view) else "After"
    pairs = "pair" if len(prompt.x) == 1 else "pairs"
    return (
        f"{after} {read} of {len(prompt.x)} {pairs} {best} leaves {share_text(left[best])} of the "
        f"error of predicting zero, {worst} {share_text(left[worst])}."
    )


def cost(config: Config) -> float:
    """Return the giga-operations: of every rule the weights after all pairs for as many sets of
    labels as there are pairs, for every setting that is tried."""
    sets = config.n if config.noise else config.d
    a_rule = 10 * TUNED_ON * config.n * sets * config.d * TUNINGS
    return (len(LEARNERS) * a_rule + 2e9) / 1e9


EXPERIMENT = Experiment(
    name="prompt",
    title="One prompt, every rule",
    about=__doc__ or "",
    config=Config,
    view=View,
    run=compute,
    claims=claims.ALL,
    metrics=measure,
    drawings=(
        Drawing("plane", stage.weights, PROMPT),
        Drawing("errors", stage.errors, PROMPT, wide=True),
        Drawing("pairs", stage.pairs_drawn, ("prompt", "scale", "points")),
        Drawing("states", stage.states, PROMPT),
        Drawing("filter", filter.draw, PROMPT),
        Drawing("table", drawers.table, PROMPT, "This prompt", moving=False, wide=True),
        Drawing("average", drawers.on_average, ("group",), AVERAGE, moving=False),
        Drawing("nearest", drawers.nearest, (), WHO, moving=False, wide=True),
        Drawing("distances", drawers.distances, (), WHO, moving=False),
        Drawing("symmetries", drawers.symmetries, (), SYMMETRIES, moving=False, wide=True),
        Drawing("broken", drawers.broken, ("group", "changed"), "Break it", moving=False),
    ),
    presets=PRESETS,
    headline=headline,
    cost=cost,
    story=STORY,
    picture=("plane",),
    atlas=ATLAS,
)
