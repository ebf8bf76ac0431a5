"""A model that learns to learn predicts zero for a while, and then falls from that plateau at once.
How many tasks does that take, and what shortens it?

Every model is trained on f = N features and pairs in four ways: as the paper trains; with a
curriculum; with a loss at every x; with both. A curriculum makes all features zero but the first
two, then four, six, …, in equal stages over the first quarter of the steps. A loss at every x takes
every beginning of a prompt, from one pair on, as a prompt. Both are Garg et al.'s (2022), who also
lengthen their prompts. A training ends as soon as its last seed has gained a tenth of the loss of
predicting zero on whole tasks, so that what is counted is the tasks until then.

The learning rate is constant after a warm-up of 50 steps, so that the number does not depend on how
long a training may last; the curriculum's stages do. The paper says nothing of either.
"""

from icl_core.contract.experiment import Drawing, Experiment, Run
from icl_core.papers.gdssm.plateau import claims, draw
from icl_core.papers.gdssm.plateau.load_run import budget, in_words, middle
from icl_core.papers.gdssm.plateau.metrics import measure
from icl_core.papers.gdssm.plateau.run import EVALUATIONS, compute
from icl_core.papers.gdssm.plateau.settings import (
    PRESETS,
    RECIPES,
    Config,
    View,
    chosen_models,
    setting_of,
    sizes,
)
from icl_core.papers.gdssm.plateau.story import STORY
from icl_core.papers.gdssm.shared.sequence_models import model
from icl_core.papers.gdssm.shared.sequence_models.all_models import learners
from icl_core.papers.gdssm.shared.sequence_models.train import WATCHED


def headline(run: Run, view: View) -> str:
    """Return what you see: after how many tasks the first model leaves, with and without help."""
    id = run.names("models")[0]
    f = sizes(run.config)[-1]
    paper, both = (float(middle(run, id, each)[-1]) for each in ("paper", "both"))
    most = budget(run)
    return (
        f"{model(id).label}, f = {f}: leaves zero {in_words(both, most)} tasks with both helps, "
        f"{in_words(paper, most)} without."
    )


def cost(config: Config) -> float:
    """Return the giga-operations, forward and back, of trainings that all last to the end; a step
    of so small a model costs at least a twentieth of one."""
    total = 0.0
    for f in sizes(config):
        setting = setting_of(config, f, "both")
        trained = [each for each in learners(setting) if each.model.id in chosen_models(config)]
        for each in trained:
            operations = 3 * each.size.parameters + setting.positions * 40
            seen = 6 * config.batch * setting.positions * config.seeds * operations / 1e9
            watched = EVALUATIONS * WATCHED[1] / config.batch / 3
            total += len(RECIPES) * (config.steps * (0.05 + seen) + watched * seen)
    return total


EXPERIMENT = Experiment(
    name="plateau",
    title="Leaving the plateau",
    about=__doc__ or "",
    config=Config,
    view=View,
    run=compute,
    claims=claims.ALL,
    metrics=measure,
    drawings=(
        Drawing("until", draw.until_left, moving=False),
        Drawing("curves", draw.curves_of_one_size, ("shown",), live=True, moving=False),
    ),
    presets=PRESETS,
    headline=headline,
    cost=cost,
    story=STORY,
)
