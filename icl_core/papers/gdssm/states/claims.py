"""What the paper says of states that correct what they hold, what is exact, and what is found
here."""

from functools import partial

import numpy as np

from icl_core.contract.experiment import Claim, Metric, Run
from icl_core.in_context_regression import rules
from icl_core.papers.gdssm.states import expected
from icl_core.papers.gdssm.states.load_run import (
    channels_over_gated,
    farthest,
    found_both_pairs,
    layer_loss,
    place,
    recent_over,
    trained_channels,
    trained_decay,
    trained_over_one_step,
    tuned_of,
)

EITHER = {"train_recent": (False, True)}  # what is claimed of the rules does not depend on it
SIZE = {"f": 10, "N": 10, "drift": 0.0, **EITHER}
LONG = {"f": 10, "N": 20, "drift": 0.3}
SEEDS = {"seeds": range(3, 6)}
ONE_MATRIX = tuple(id for id, rule in rules.RULES.items() if len(rule.matrices) == 1)
ours = partial(Claim, kind="ours", source="not in the paper")
exact = partial(Claim, kind="theory", source="derived here")

BATCH = Claim(
    id="one-pair-is-no-batch",
    panel="table",
    label="delta rule, any rate: farthest it stays from a step on all pairs",
    kind="paper",
    text=(
        "A layer of the delta rule, read as the rule is written, takes no step of gradient descent "
        "on all pairs at its best rate: at every rate its prediction stays away from that step, as "
        "a share of it. (The paper gives no number; 5% is away.)"
    ),
    quote="One layer of their model is not capable of performing larger minibatch updates.",
    source="Section 5, of Liu et al. (2024) and Sun et al. (2024)",
    at=SIZE,
    at_least=0.05,
)
SCALED = ours(
    id="a-small-rate-is-a-batch",
    panel="table",
    label="delta rule, small rate and a gain: differs from a step on all pairs by",
    text=(
        "If the output may have a factor, a layer of the delta rule with a hundredth of its best "
        "rate is that step, to within 2%: what it corrects is then next to nothing."
    ),
    at=SIZE,
    at_most=0.02,
)
BETTER = ours(
    id="delta-beats-one-step",
    panel="batches",
    label="trained delta rule, loss over one step",
    text=(
        "Trained in the GD-SSM's window, the delta rule with one rate loses at most 0.8 of what "
        "one step of gradient descent on all pairs loses."
    ),
    at={**SIZE, **SEEDS},
    at_most=0.8,
)
CLOSED = exact(
    id="delta-in-closed-form",
    label="delta rule: loss differs from (1 − 1 / (f − 1 + κ))ᴺ by",
    text=(
        "After N pairs the delta rule at its best rate leaves (1 − 1 / (f − 1 + κ))ᴺ of the loss "
        "of predicting zero; the rule, run over prompts, does."
    ),
    at={"drift": 0.0, **EITHER},
    at_most=0.0,
    tolerance=0.02,
)
REACHED = ours(
    id="trained-rules-reach",
    panel="losses",
    label="trained rules of one matrix: farthest loss above the rule as written",
    text=(
        "Trained in the window from small random weights, each of the six rules of one matrix "
        "comes within 2% of its loss as written, at the worst seed."
    ),
    at={**SIZE, **SEEDS},
    at_most=0.0,
    tolerance=0.02,
)
WINDOWS = ours(
    id="trained-windows-match",
    label="trained rules: farthest coefficient from the rule as written",
    text=(
        "The nine coefficients of key, value and query of every trained rule, normalised, are "
        "those of the rule as written, at the worst rule and seed."
    ),
    at={**SIZE, **SEEDS},
    at_most=0.0,
    tolerance=0.05,
)
GATE = exact(
    id="best-gate-under-drift",
    panel="symmetries",
    label="gated delta rule: best decay differs from √(1 − ρ²) by",
    text=(
        "Where W keeps √(1 − ρ²) of itself after each pair, the best decay of the gated delta rule "
        "is √(1 − ρ²)."
    ),
    at_most=0.0,
    tolerance=0.005,
)
GATES_WIN = ours(
    id="gates-win-under-drift",
    panel="drift",
    label="drift of 0.3: loss of the gated delta rule over the same without a gate",
    text="Where W drifts by 0.3 a pair, a gate saves the delta rule 3% of its loss or more.",
    at=LONG,
    at_most=0.97,
)
FORGETS = ours(
    id="training-finds-the-decay",
    panel="decays",
    label="drift of 0.3: trained decay of the decayed sum differs from the best one by",
    text="Trained where W drifts by 0.3 a pair, the decayed sum forgets as fast as is best.",
    at={**LONG, **SEEDS},
    near=0.0,
    tolerance=0.02,
)
WHERE_SOME_DRIFT = {"recent": True, "f": 6, "N": 20}
MOMENTUM = ours(
    id="momentum-is-idle-under-drift",
    panel="variants",
    label="the most that momentum saves the delta rule, with a decay or without",
    text="Momentum saves the delta rule nothing at any drift, with a decay or without.",
    at=WHERE_SOME_DRIFT,
    at_most=0.0,
    tolerance=0.005,
)
STAY = ours(
    id="channels-that-stay-are-kept",
    panel="recent",
    label="KDA, half drifts: 1 less the least decay of columns that stay",
    text=(
        "Where the columns of half the features drift, KDA keeps the others: their decays are 1 to "
        "within 0.01."
    ),
    at=WHERE_SOME_DRIFT,
    at_most=0.0,
    tolerance=0.01,
)
SAVES = ours(
    id="a-decay-a-channel-saves",
    panel="recent",
    label="half drifts by 0.5: KDA over the gated delta rule",
    text="Where half drifts by 0.5, a decay a channel loses at most 0.95 of what one decay loses.",
    at=WHERE_SOME_DRIFT,
    at_most=0.95,
)
# of the trained layers; the bounds of LAYERS_REACH to CHANNELS_SAVE were set before any training
LAYERS_AT = {**SIZE, **SEEDS, "train_recent": True}
of_layers = partial(ours, panel="layers", at=LAYERS_AT)
ONE_PAIR = exact(
    id="two-pairs-at-one-rate",
    panel="layers",
    label="DeltaProduct as written, two steps: loss differs from (1 − 1 / f)ᴺ by",
    text=(
        "With steps on the last two pairs in turn, the older first, at one rate for both, "
        "DeltaProduct takes both steps on a pair next to each other, and leaves what the delta "
        "rule with unit keys leaves, (1 − 1 / f)ᴺ."
    ),
    at=LAYERS_AT,
    at_most=0.0,
    tolerance=0.03,
)
LAYERS_REACH = of_layers(
    id="recent-layers-reach",
    label="KDA and DeltaProduct, trained: farthest loss above the construction",
    text=(
        "Trained in the window from random weights, KDA and DeltaProduct come within 2% of the "
        "loss of their constructions at the best rates and decays, on all their tasks, at the "
        "worst seed."
    ),
    at_most=0.0,
    tolerance=0.02,
)
NOTHING_TO_FORGET = of_layers(
    id="kda-has-nothing-to-forget",
    label="nothing drifts: trained KDA over the trained delta rule with unit keys",
    text="Where nothing drifts, trained KDA loses what the delta rule with unit keys loses.",
    near=1.0,
    tolerance=0.02,
)
SAME_PAIR = of_layers(
    id="a-second-step-on-a-pair",
    label="window of one pair: trained DeltaProduct over the delta rule with unit keys",
    text=(
        "In a window of one pair a second step is worth nothing: trained DeltaProduct loses what "
        "the delta rule with unit keys loses."
    ),
    near=1.0,
    tolerance=0.02,
)
PAIR_BEFORE = of_layers(
    id="a-second-step-on-the-pair-before",
    label="window of two pairs: trained DeltaProduct over the delta rule with unit keys",
    text=(
        "With a window of two pairs, trained DeltaProduct loses at most 0.95 of what the delta "
        "rule with unit keys loses."
    ),
    at_most=0.95,
)
CHANNELS_FORGET = of_layers(
    id="training-tells-channels-apart",
    panel="channels",
    label="half drifts by 0.5: trained decays of columns that stay, less those that drift",
    text=(
        "Trained where the columns of half the features drift by 0.5, KDA's decays of the others "
        "are larger by 0.05 or more, on average."
    ),
    at_least=0.05,
)
CHANNELS_SAVE = of_layers(
    id="trained-channels-save",
    label="half drifts by 0.5: trained KDA over the trained gated delta rule",
    text=(
        "Trained where the columns of half the features drift by 0.5, KDA loses at most 0.97 of "
        "what the gated delta rule loses, with one decay for all."
    ),
    at_most=0.97,
)

ALL = (
    *(BATCH, SCALED, BETTER, CLOSED, REACHED, WINDOWS, GATE, GATES_WIN, FORGETS),
    *(MOMENTUM, STAY, SAVES),
    *(ONE_PAIR, LAYERS_REACH, NOTHING_TO_FORGET, SAME_PAIR, PAIR_BEFORE),
    *(CHANNELS_FORGET, CHANNELS_SAVE),
)


def measure(run: Run) -> list[Metric]:
    """Measure the claims: of the rules as written, exact or over prompts; of the trained ones, the
    worst seed, or a mean over seeds."""
    trained = trained_over_one_step(run)
    config = run.config
    ratio = run["evaluated/trained"] / run["evaluated/constructed"][:, None] - 1
    single = [place(run, id) for id in ONE_MATRIX]
    share = run["drift/share"][:, run["drift/at"].tolist().index(config.drift)]
    metrics = [
        Metric(BATCH, float(run["imitation/fixed"].min())),
        Metric(SCALED, float(run["imitation/scaled"][-1])),
        Metric(REACHED, float(ratio[single].max())),
        Metric(WINDOWS, max(float(farthest(run, id).max()) for id in run.names("rules"))),
        Metric(GATE, abs(tuned_of(run, "gated")["decay"] - expected.kept(config.drift))),
        Metric(GATES_WIN, float(share[place(run, "gated")] / share[place(run, "unit")])),
        Metric.over_seeds(BETTER, trained[place(run, "delta")]),
    ]
    if config.drift == 0:
        metrics.append(Metric(CLOSED, expected.closed_form_error(config.f, config.N)))
    away = trained_decay(run, "decayed") - tuned_of(run, "decayed")["decay"]
    metrics.append(Metric.over_seeds(FORGETS, away))
    return [
        *metrics,
        *(_of_recent(run) if config.recent else ()),
        *(_of_layers(run) if config.train_recent else ()),
    ]


def _of_recent(run: Run) -> list[Metric]:
    """Measure what recent rules lose where W drifts."""
    losses = np.concatenate([run["recent/all"], run["recent/half"]], 1)
    delta, decay, momentum, both = (
        losses[run.names("recent").index(id)] for id in ("delta", "decay", "momentum", "titans")
    )
    saved = np.concatenate([1 - momentum / delta, 1 - both / decay])
    stay = run["recent/decays"][1][1:, (run.config.f + 1) // 2 :]  # at every drift but none
    return [
        Metric(MOMENTUM, float(saved.max())),
        Metric(STAY, float(1 - stay.min())),
        Metric(SAVES, recent_over(run, "kda", "gated", "half")),
    ]


def _of_layers(run: Run) -> list[Metric]:
    """Measure the trained layers."""
    f, N = run.config.f, run.config.N
    ratio = run["layers/trained"] / run["layers/constructed"][:, None] - 1
    others = np.delete(ratio, run.names("layers").index("product-two"), 0).max()
    reason = (
        f"Of {run.config.seeds} trainings of DeltaProduct with a window of two pairs "
        f"{found_both_pairs(run).sum()} come within 2% of the construction, where the second step "
        f"goes back to the pair before; all other layers do, with {others:.1%} at most."
    )
    metrics = [
        Metric(ONE_PAIR, abs(float(run["layers/oldest"][0]) / (1 - 1 / f) ** N - 1)),
        Metric(LAYERS_REACH, float(ratio.max()), reason=reason),
    ]
    unit = run["evaluated/trained"][place(run, "unit")]
    for claim, id, why in (
        (NOTHING_TO_FORGET, "kda", ""),
        (SAME_PAIR, "product", ""),
        (PAIR_BEFORE, "product-two", reason),
    ):
        metrics.append(Metric.over_seeds(claim, layer_loss(run, id) / unit, reason=why))
    apart = [float(stay.mean() - drift.mean()) for drift, stay in trained_channels(run)]
    return [
        *metrics,
        Metric.over_seeds(CHANNELS_FORGET, np.array(apart)),
        Metric.over_seeds(CHANNELS_SAVE, channels_over_gated(run)),
    ]
