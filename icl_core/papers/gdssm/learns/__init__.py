"""What decides who learns the step: how wide a model is, and how many tasks it has seen.

Every model is trained at several widths, as its authors build it but for the bias of its read-in,
which is a switch. The unit of width is 2f + N + 1, about what is needed: 2f numbers for x and y,
and N + 1 for the positions of the pairs and the query. (A linear transformer that copies each x to
its y exactly needs 2f + 2N.) One panel shows where all trainings end against width, the other their
curves against the tasks seen. What looks like a verdict on an architecture may be one on its width,
or on its training. A transformer with no room for positions ends above one step; with more room it
does not.

All models share one learning rate and one number of steps, which do not suit all alike: the GD-SSM
in particular may end above one step here, and reaches it with its own rate under "Beside other
models of sequences".

The paper gives no widths of the other models. Its own layer has 20 at f = N = 10, where 2f + N + 1
is 31.
"""

from icl_core.contract.experiment import Drawing, Experiment, Run
from icl_core.papers.gdssm.learns import claims, draw
from icl_core.papers.gdssm.learns.load_run import ratios, widths
from icl_core.papers.gdssm.learns.metrics import measure
from icl_core.papers.gdssm.learns.run import OWN, compute, models_by_width
from icl_core.papers.gdssm.learns.settings import PRESETS, Config, View, settings_of
from icl_core.papers.gdssm.learns.story import STORY
from icl_core.papers.gdssm.shared.load_run import percent
from icl_core.papers.gdssm.shared.sequence_models import model
from icl_core.papers.gdssm.shared.sequence_models.training_end import NEAR

ROOM = 40  # characters of a headline for names


def headline(run: Run, view: View) -> str:
    """Return what you see: who reaches one step at which width."""
    x = widths(run)
    reached = {id: x[ratios(run, id).mean(0) <= NEAR] for id in run.names("models") if id != OWN}
    names = [f"{model(id).short} from {at[0]:.2g}" for id, at in reached.items() if len(at)]
    after = f"after {run.config.steps * run.config.batch:,} tasks"
    if not names:
        return f"No other model reaches one step of gradient descent at any width {after}."
    count = len(names)
    listing = ", ".join(names)
    which = f": {listing}" if len(listing) <= ROOM else ""
    return (
        f"Wide enough, {count} of {len(reached)} other models match one step of gradient "
        f"descent (within {percent(NEAR - 1)}) {after}{which}."
    )


def cost(config: Config) -> float:
    """Return the giga-operations, forward and back; a step of so small a model costs at least a
    twentieth of one."""
    total = 0.0
    for setting, row in zip(settings_of(config), models_by_width(config), strict=True):
        costs_per_token = [3 * learner.size.parameters + setting.positions * 40 for learner in row]
        step_cost = 6 * config.batch * setting.positions * config.seeds * sum(costs_per_token) / 1e9
        total += config.steps * (0.05 * len(row) + step_cost)
    return total


EXPERIMENT = Experiment(
    name="learns",
    title="What decides who learns it",
    about=__doc__ or "",
    config=Config,
    view=View,
    run=compute,
    claims=claims.ALL,
    metrics=measure,
    drawings=(
        Drawing("width", draw.by_width, moving=False),
        Drawing("tasks", draw.by_tasks, ("shown",), live=True, moving=False),
    ),
    presets=PRESETS,
    headline=headline,
    cost=cost,
    story=STORY,
)
