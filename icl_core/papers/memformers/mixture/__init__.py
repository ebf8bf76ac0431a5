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

import numpy as np

from icl_core.experiment import Claim, Drawing, Experiment, Metric, Preset, Progress, Run
from icl_core.papers.memformers.mixture import train as learning
from icl_core.papers.memformers.mixture.draw import losses as drawings
from icl_core.papers.memformers.mixture.draw import polynomials
from icl_core.papers.memformers.mixture.settings import Config, View, mixture_of
from icl_core.papers.memformers.mixture.test_time import references, tried
from icl_core.papers.memformers.shared.draw.losses import written
from icl_core.training import phases

LINEAR_WINS = Claim(
    "linear-beats-memformer",
    "Memformer above linear, gates",
    "With gates alone the linear transformer is better than the Memformer, whose Γ overfit to their components. (The "
    "paper shows it without a number; 0.1 in log-loss can be seen.)",
    "Section 4.2, Figures 9 and 10",
    0.1,
    0.0,
    "at least",
    reason="Both kinds of head leave a polynomial of degree L in S, and here either reaches the best one on its "
    "component, so Γ has nothing of its own to overfit with: one head and one scalar lose the same with Γ as without.",
)
OVERCOME = Claim(
    "gamma-at-test-time",
    "Γ learned too, above linear",
    "Where Γ is learned at test time as well, the Memformer is as good as the linear transformer with gates.",
    "Section 4.2, Figure 10",
    0.1,
    0.0,
    "at most",
)
SAME_HEADS = Claim(
    "heads-without-overfitting",
    "heads' Γ against none, one scalar",
    "Every head with one scalar loses on the mixture what the same head without memory loses: Γ overfits to nothing.",
    "not in the paper; against Figure 10's reading",
    0.0,
    0.2,
    reason="A component that hardly spreads S has a floor so low that a head with Γ is still on its way to it when the "
    "training ends: what differs is how far each has come.",
)


def run(config: Config, progress: Progress) -> dict[str, np.ndarray]:
    """Train both kinds of head at every depth K, then learn gates on prompts of the mixture.

    `judged/<kind>/<way>` [seeds, K] (for ways with one value a head [seeds, K, H]) and `error/…`, the standard error
    of its logarithm; `gate/<kind>/<way>` [seeds, K, H]; `learning/<kind>/<way>` [seeds, steps] of the deepest;
    `shape/<kind>/<way>` [seeds, points] over `shape/at`; `density/S` [H + 1, bins] over `density/at`;
    `baseline/*` [K]; `curve/*` [seeds, evaluations].
    """
    parts = [learning.training_phase(config, kind, depth) for depth in _depths(config)[::-1] for kind in learning.KINDS]

    def curves(made: phases.Made) -> dict[str, np.ndarray]:
        return _curves(config, made)

    made = phases.run(parts, progress, curves)
    found = [tried(config, made, depth) for depth in _depths(config)]
    deepest = {name: array for name, array in found[-1].items() if name.split("/")[0] in ("learning", "shape")}
    stacked = {name: np.stack([each[name] for each in found], 1) for name in found[0] if name not in deepest}
    return {"depth/layers": np.array(_depths(config)), **curves(made), **stacked, **deepest, **references(config)}


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


def metrics(run: Run) -> list[Metric]:
    """Both kinds of head with gates, with Γ learned, and with one scalar."""
    last = {name[7:]: np.log(run[name][:, -1]) for name in run.tensors if name.startswith("judged/")}
    gap = last["lfom/gated"] - last["linear/gated"]  # [seeds]: on the same prompts
    overcome = last["lfom/adapted"] - last["linear/gated"]
    heads = last["lfom/head_scalar"] - last["linear/head_scalar"]
    spread = float(gap.std(ddof=1) / len(gap) ** 0.5) if len(gap) > 1 else None
    return [
        Metric(LINEAR_WINS, float(gap.mean()), spread),
        Metric(OVERCOME, float(overcome.mean())),
        Metric(SAME_HEADS, float(np.abs(heads.mean(0)).max())),
    ]


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
    version=1,
    config=Config,
    view=View,
    run=run,
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
        Preset("figures 9 and 10", "The paper's mixture", Config(), "Three components, four layers.", "paper", seeds=5),
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
