"""Prompts whose tokens come from a mixture of three Gaussians, and three heads that each know one of them. In one
dimension a prompt is a single number S, the mean of its x², and what a model of L layers leaves of w* is a polynomial
of degree L in S: you see all of it in one picture.

No prompt of the mixture looks like one of a component: its tokens come from all three. Heads that are off by a factor
fail by orders of magnitude; once gates have found that factor, a linear transformer and a Memformer are equally good,
and learning Γ as well adds little. The paper reports otherwise: what its Memformer lost is not in the power of Γ, for
both leave polynomials of one degree. A head whose own S is spread like the mixture's may even beat all that is learned
at test time: the loss is in rare prompts, of which a thousand hold too few.

Try:
- "Far apart": one component rules S. Which head do the gates use?
- Learn the gates from ten prompts: who overfits first, gates or Γ?
- One layer: why are all ways equal?
"""

from functools import partial

import numpy as np

from icl_core.experiment import Drawing, Experiment, Preset, Progress, Run
from icl_core.papers.memformers.mixture import claims
from icl_core.papers.memformers.mixture import train as learning
from icl_core.papers.memformers.mixture.draw import losses as drawings
from icl_core.papers.memformers.mixture.draw import polynomials
from icl_core.papers.memformers.mixture.metrics import metrics
from icl_core.papers.memformers.mixture.settings import Config, View, mixture_of
from icl_core.papers.memformers.mixture.test_time import references, tried
from icl_core.papers.memformers.shared.draw.losses import written
from icl_core.training import phases


def run(config: Config, progress: Progress) -> dict[str, np.ndarray]:
    """Train both kinds of head at every depth K, then learn gates on prompts of the mixture.

    `judged/<kind>/<way>` [seeds, K] (for ways with one value a head [seeds, K, H]) and `error/…`, the standard error
    of its logarithm; `gate/<kind>/<way>` [seeds, K, H]; `learning/<kind>/<way>` [seeds, steps] of the deepest;
    `shape/<kind>/<way>` [seeds, points] over `shape/at`; `density/S` [H + 1, bins] over `density/at`;
    `baseline/*` [K]; `curve/*` [seeds, evaluations].
    """
    parts = [learning.training_phase(config, kind, depth) for depth in _depths(config)[::-1] for kind in learning.KINDS]
    made = phases.run(parts, progress, partial(_curves, config))
    found = [tried(config, made, depth) for depth in _depths(config)]
    deepest = {name: array for name, array in found[-1].items() if name.split("/")[0] in ("learning", "shape")}
    stacked = {name: np.stack([each[name] for each in found], 1) for name in found[0] if name not in deepest}
    return {
        "depth/layers": np.array(_depths(config)),
        **_curves(config, made),
        **stacked,
        **deepest,
        **references(config),
    }


def _depths(config: Config) -> list[int]:
    return list(range(1, config.layers + 1))


def _curves(config: Config, made: phases.Made) -> dict[str, np.ndarray]:
    """`curve/<kind> <row>` of the deepest models, the mixture's row last."""
    found: dict[str, np.ndarray] = {}
    for kind in learning.KINDS:
        part = made.get(f"{kind} {config.layers}", {})
        if "curve/loss" in part:
            rows = {f"curve/{kind} {row}": part["curve/loss"][:, row] for row in range(part["curve/loss"].shape[1])}
            found |= {"curve/step": part["curve/step"], **rows}
    return found


def headline(run: Run, view: View) -> str:
    """What you see: the log-loss of the three ways of the figures, and the floor."""
    ways = {"linear transformer": "linear/gated", "Memformer": "lfom/gated", "Memformer with Γ learned": "lfom/adapted"}
    said = [f"{n} {written(float(np.log(run[f'judged/{w}'][:, -1]).mean()))}" for n, w in ways.items()]
    floor = written(float(np.log(run["baseline/floor"][-1])))
    return f"Gates learned on {run.config.gate_prompts} prompts: {', '.join(said)}; the floor is {floor} (log-loss)."


def cost(config: Config) -> float:
    """Giga-operations: so few numbers cost less than the steps' own overhead, counted as 0.0004 a layer."""
    rows = (len(mixture_of(config).means) + 1) * config.seeds
    trained = 2 * config.steps * sum(_depths(config)) * (rows * config.batch * 30 / 1e9 + 0.0004)
    return trained + 5 * config.gate_steps * config.layers * (config.seeds * config.gate_prompts * 200 / 1e9 + 0.001)


EXPERIMENT = Experiment(
    name="mixture",
    title="A mixture of Gaussians",
    about=__doc__ or "",
    config=Config,
    view=View,
    run=run,
    claims=claims.ALL,
    metrics=metrics,
    drawings=(
        Drawing("depth", drawings.depth, wide=True),
        Drawing("ways", drawings.methods, ("depth_shown",)),
        Drawing("gates", drawings.gates, ("depth_shown", "seed_shown")),
        Drawing("polynomials", polynomials.polynomials, ("seed_shown",)),
        Drawing("spread", polynomials.spread),
        Drawing("test time", drawings.test_time),
        Drawing("training", drawings.training, live=True),
    ),
    presets=(
        Preset(
            "figures 9 and 10", "The paper's mixture", Config(), "Three components, four layers.", "Figures", seeds=5
        ),
        Preset(
            "equal weights",
            "Equal weights",
            Config(weights="1/3, 1/3, 1/3"),
            "Fewer tokens with small x: S is spread less, and the floor is lower.",
        ),
        Preset(
            "far apart",
            "Far apart",
            Config(means="8, 0, -1", weights="0.1, 0.4, 0.5"),
            "A rare component with large x rules S: its spread is wide, and the floor rises.",
        ),
    ),
    headline=headline,
    cost=cost,
)
