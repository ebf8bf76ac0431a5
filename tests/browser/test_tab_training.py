"""Trainings in the browser's tab: what their JavaScript computes beside torch, on equal prompts and
from equal weights; how they end; and the part of a page in which they grow."""

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect
from torch import Tensor

import icl_core as icl
from icl_core import registry
from icl_core.contract.knobs import values
from icl_core.in_context_regression import evaluate as evaluate_polynomial
from icl_core.in_context_regression import exact_floors
from icl_core.papers.birth.shared import model, probes
from icl_core.papers.birth.shared import train as birth
from icl_core.papers.birth.shared.gradient import evaluate
from icl_core.papers.birth.shared.task import sample
from icl_core.papers.gdssm.shared import any_layer, closed_forms, gradient_descent, layer_nd
from icl_core.papers.gdssm.shared import train as gdssm
from icl_core.papers.gdssm.shared.layer_nd import LayerND
from icl_core.papers.gdssm.shared.task import Tasks, loss
from icl_core.papers.memformers.shared import task as prompts
from icl_core.papers.memformers.shared import test_set, variants
from icl_core.papers.memformers.shared import train as memformers
from icl_core.papers.memformers.shared.draw import preconditioner
from icl_core.papers.memformers.shared.model import errors as model_errors
from icl_core.share.stage_page import script_json
from icl_core.site import training
from icl_core.training import loop
from tests.recorder import Recorder

STEPS = 10
CONVERGENCE = "memformers.convergence"
LAYER = "gdssm.layer"
HEAD = "birth.induction"
TRAINED = dict(training.trained_in_tab())
BROWSER = Path(training.__file__).parent / "browser"
TAB = BROWSER / "training"
PLOTLY = BROWSER / "plotly-cartesian.min.js"  # the site's own
PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Tab</title>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; worker-src blob:;
  script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:">
<style>body {{ background: {paper} }} {style}</style><script>{plotly}</script></head>
<body><main><h1 style="color: {ink}">Tab</h1><div id="root"></div></main><script>
window.iclWorkerSource = {worker};
{script}
window.part = new TabTraining(document.getElementById("root"), {options});
</script></body></html>"""
# Trains on given batches from given weights; returns of every step the loss and the gradients, and
# the weights in the end.
FOLLOW = """({{ setting, fixed, weights, batches }}) => {{
  const array = (value) => Array.isArray(value) ? Float64Array.from(value)
    : value instanceof Object ? arrays(value) : value;
  const arrays = (named) => Object.fromEntries(Object.entries(named).map(
    ([name, value]) => [name, array(value)]));
  const trainer = new {trainer}(setting, new Random(1));
  Object.assign(trainer, arrays(fixed));
  for (const [name, value] of Object.entries(weights)) trainer.weights[name].set(value);
  const plain = (named) => Object.fromEntries(Object.entries(named).map(
    ([name, value]) => [name, [...value]]));
  const steps = batches.map(arrays).map((batch) => {{
    const {{ loss, gradients }} = trainer.gradients(batch);
    const before = plain(gradients);
    return [loss, before, trainer.step(batch)];
  }});
  return {{ steps, weights: plain(trainer.weights) }};
}}"""
# Trains as the worker does; returns what it posts.
POSTED = """([experiment, setting, seed]) => {
  const posted = [];
  trainInTab({ experiment, setting, seed }, TRAINERS, (message) => posted.push(message));
  return posted.map(({ step, loss, diverged }) => ({ step, loss, diverged }));
}"""
# Trains from start to end without a look; returns the weights, and the loss that it then measures.
TRAIN = """([experiment, setting, seed]) => {
  const trainer = new TRAINERS[experiment](setting, new Random(seed));
  for (let step = 0; step < setting.steps; step++) trainer.step();
  const arrays = Object.entries({ ...trainer.weights, ...trainer.frozen });
  const weights = Object.fromEntries(arrays.map(([name, value]) => [name, [...value]]));
  return { weights, shapes: trainer.shapes, loss: trainer.evaluate().loss };
}"""


@pytest.fixture(scope="module")
def scripts(browser) -> Iterator[Callable[[str], Page]]:
    """Opens an empty page with the scripts of an experiment's training, whose names can be used."""
    pages: dict[str, Page] = {}

    def open_page(experiment_id: str) -> Page:
        if experiment_id not in pages:
            in_tab = TRAINED[experiment_id]
            files = [*(TAB / name for name in training.SHARED), in_tab.script]
            table = f"const TRAINERS = {{ '{experiment_id}': {in_tab.trainer} }};"
            pages[experiment_id] = browser.new_page()
            text = "\n".join([*(path.read_text(encoding="utf-8") for path in files), table])
            pages[experiment_id].add_script_tag(content=text)
        return pages[experiment_id]

    yield open_page
    for page in pages.values():
        page.close()


def flat(tensor: Tensor) -> list[float]:
    return tensor.double().flatten().tolist()


def assert_close(ours: Any, theirs: Tensor, tolerance: float) -> None:
    """Assert that numbers differ by no more than a share of the largest."""
    expected = np.array(flat(theirs))
    np.testing.assert_allclose(ours, expected, rtol=0, atol=tolerance * np.abs(expected).max())


def follow(
    page: Page,
    experiment_id: str,
    config: Any,
    weights: Mapping[str, Tensor],
    fixed: Mapping[str, Any],
    batches: list[dict[str, Any]],
    objective: Callable[[Mapping[str, Tensor], int], Tensor],
    optimiser: torch.optim.Optimizer,
    rate: Callable[[int], float],
    loss_of: Callable[[Tensor], Tensor] = lambda minimised: minimised,
) -> None:
    """Hold a trainer to torch's automatic differentiation and optimiser, step by step."""
    in_tab = TRAINED[experiment_id]
    data = {
        "setting": {**values(config), **in_tab.data(config)},
        "fixed": fixed,
        "weights": {name: flat(value) for name, value in weights.items()},
        "batches": batches,
    }
    followed = page.evaluate(FOLLOW.format(trainer=in_tab.trainer), data)
    for step, (ours, gradients, again) in enumerate(followed["steps"]):
        optimiser.zero_grad()
        minimised = objective(weights, step)
        minimised.backward()
        assert ours == again == pytest.approx(float(loss_of(minimised.detach())), rel=1e-5)
        assert gradients.keys() == weights.keys()
        for name, weight in weights.items():
            assert weight.grad is not None
            assert_close(gradients[name], weight.grad, 1e-5)
        for group in optimiser.param_groups:
            group["lr"] = rate(step)
        optimiser.step()
    for name, weight in weights.items():
        assert_close(followed["weights"][name], weight.detach(), 1e-5)


def doubled(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The first seed's tensors in double precision, to be trained."""
    return {name: value[0].double().requires_grad_() for name, value in tensors.items()}


@pytest.mark.parametrize("objective", ["log", "mean"])
def test_convergence_follows_torch(scripts, objective):
    config = replace(
        TRAINED[CONVERGENCE].config, d=3, layers=3, batch=100, steps=STEPS, objective=objective
    )
    generator = torch.Generator().manual_seed(3)
    weights = doubled({"A": variants.initial(config, generator)["A"][:, 0]})
    root = variants.start_root("original", prompts.roots(config))[0].double()
    drawn = [memformers.Batches(config).at(step) for step in range(STEPS)]
    batches = [
        {"S": flat(batch.S[0]), "target": flat(batch.target[0]), "prompts": config.batch}
        for batch in drawn
    ]

    def minimised(weights: Mapping[str, Tensor], step: int) -> Tensor:
        S = drawn[step].S[0].double()
        error = drawn[step].target[0, :, 0].double()  # [d, prompts]
        for matrix in weights["A"]:
            gradient = torch.einsum("ikp,kp->ip", S, error)
            error = error - root @ matrix @ root @ gradient
        loss = error.square().sum(0).mean()
        return loss.log() if objective == "log" else loss

    rule = torch.optim.Adam(list(weights.values()), betas=(config.beta_1, config.beta_2))
    follow(
        scripts(CONVERGENCE), CONVERGENCE, config, weights, {"root": flat(root)}, batches,
        minimised, rule,
        rate=lambda step: config.learning_rate * loop.cosine(STEPS)(step),
        loss_of=torch.exp if objective == "log" else lambda loss: loss,
    )  # fmt: skip


def test_long_gradients_are_clipped_matrix_by_matrix(scripts):
    config = replace(TRAINED[CONVERGENCE].config, d=2, layers=2, batch=10, steps=STEPS)
    batch = memformers.Batches(config).at(0)
    data = {"S": flat(batch.S[0]), "target": flat(batch.target[0]), "prompts": 10}

    def lengths(clip: float) -> np.ndarray:
        asked = {"setting": {**values(config), "clip": clip}, "batches": [data]}
        asked |= {"fixed": {}, "weights": {}}
        call = FOLLOW.format(trainer="Convergence")
        ((_, gradients, _),) = scripts(CONVERGENCE).evaluate(call, asked)["steps"]
        return np.linalg.norm(np.reshape(gradients["A"], (2, -1)), axis=1)

    whole = lengths(0.0)
    between = float(whole.mean())
    np.testing.assert_allclose(lengths(between), np.minimum(whole, between))


def test_convergence_is_read_as_in_the_dashboard(scripts):
    config = replace(TRAINED[CONVERGENCE].config, d=3, n=8, layers=2, batch=50, steps=100)
    read = scripts(CONVERGENCE).evaluate(
        """(setting) => {
          const trainer = new Convergence(setting, new Random(2));
          for (let step = 0; step < 40; step++) trainer.step();
          const { loss, panels } = trainer.evaluate();
          const firsts = [1, 2, 3].map(() => trainer.draw().first);
          const distances = Object.values(panels.distances.values);
          const maps = panels.identities.maps.map(({ values }) => [...values]);
          const { A } = trainer.weights;
          const [S, root] = [[...trainer.test.S], [...trainer.root]];
          return { loss, firsts, distances, maps, A: [...A], S, root };
        }""",
        values(config),
    )
    A, root, S = (
        torch.tensor(read[name], dtype=torch.float64).view(shape)
        for name, shape in (("A", (2, 3, 3)), ("root", (3, 3)), ("S", (3, 3, -1)))
    )
    M = root @ A @ root
    parameters = {"A": M[None, None]}
    white = replace(config, coordinates="whitened")
    losses = test_set.losses_of(
        model_errors(parameters, white, root[None], prompts.integrated(S))[0], S, None, 0.0
    )
    (best,) = exact_floors(3, 8, [2])
    sampled = test_set.losses_of(evaluate_polynomial(best, S), S, None, 0.0)
    assert read["loss"] == pytest.approx(float((losses - sampled).mean() + best.loss), rel=1e-6)
    assert_close(read["distances"], variants.distances(M), 1e-9)
    scaled = M / preconditioner.scales(M)[:, None, None]
    assert_close(np.ravel(read["maps"]), scaled, 1e-9)
    assert len(set(read["firsts"])) > 1  # each step has other prompts of the pool


@pytest.mark.parametrize("d, n, layers", [(5, 20, 3), (3, 2, 2), (10, 100, 5), (2, 5, 1)])
def test_the_floor_is_the_exact_one(scripts, d, n, layers):
    (best,) = exact_floors(d, n, [layers])
    floor = scripts(CONVERGENCE).evaluate(f"exactFloor({d}, {n}, {layers})")
    assert floor["loss"] == pytest.approx(best.loss, rel=1e-9)
    at = np.array([0.3, 1.7])
    ours = 1 - sum(b * at ** (power + 1) for power, b in enumerate(floor["coefficients"]))
    theirs = torch.special.chebyshev_polynomial_t(
        torch.tensor(2 * at / best.high - 1)[:, None], torch.arange(layers + 1)
    )
    np.testing.assert_allclose(ours, (theirs @ best.coefficients).numpy(), atol=1e-8)


def test_random_numbers_have_their_laws(scripts):
    numbers = scripts(CONVERGENCE).evaluate("""() => {
      const random = new Random(5);
      const drawn = (count, draw) => Array.from({ length: count }, draw);
      return {
        uniform: drawn(20000, () => random.uniform()),
        normal: drawn(20000, () => random.normal()),
        chi: drawn(20000, () => random.chi(3) ** 2),
        same: [new Random(5).word(), new Random(5).word(), new Random(6).word()],
        rotation: [...random.rotation(4)],
        wide: [...random.grams(3, 2, 4000)],
        long: [...random.grams(3, 9, 4000)],
      };
    }""")
    error = 4 / math.sqrt(20000)
    for name, mean, deviation in (
        ("uniform", 0.5, 12**-0.5), ("normal", 0, 1), ("chi", 3, math.sqrt(6))
    ):  # fmt: skip
        drawn = np.array(numbers[name])
        assert drawn.mean() == pytest.approx(mean, abs=error * deviation), name
        assert drawn.std() == pytest.approx(deviation, rel=2 * error), name
    assert abs(np.mean(np.power(numbers["normal"], 3))) < error * math.sqrt(15)
    first, again, other = numbers["same"]
    assert first == again != other
    U = np.reshape(numbers["rotation"], (4, 4))
    np.testing.assert_allclose(U @ U.T, np.eye(4), atol=1e-12)
    for name, n in (("wide", 2), ("long", 9)):  # E S = I, E tr S² = d (n + d + 1) / n
        S = np.reshape(numbers[name], (3, 3, 4000))
        np.testing.assert_allclose(S.mean(2), np.eye(3), atol=0.1)
        assert (S**2).sum((0, 1)).mean() == pytest.approx(3 * (n + 4) / n, rel=0.1)


@pytest.mark.parametrize("recurrence", ["row", "scalar"])
def test_a_gdssm_layer_follows_torch(scripts, recurrence):
    config = replace(TRAINED[LAYER].config, f=4, N=6, batch=64, steps=STEPS, recurrence=recurrence)
    weights = doubled(gdssm.initial(config).tensors())
    generator = torch.Generator().manual_seed(5)
    drawn = [gdssm.draw(config, config.batch, generator).to(torch.float64) for _ in range(STEPS)]
    batches = [{"x": flat(t.x.permute(2, 0, 1)), "y": flat(t.y.permute(2, 0, 1))} for t in drawn]

    def minimised(weights: Mapping[str, Tensor], step: int) -> Tensor:
        layer = LayerND(**{name: value[None] for name, value in weights.items()}, labels=4)
        predicted = any_layer.forward(layer, any_layer.read(layer, drawn[step]))
        return loss(predicted, drawn[step].y[-1])[0]

    rule = gdssm.optimiser(config, tuple(weights), list(weights.values()))
    follow(
        scripts(LAYER), LAYER, config, weights, {}, batches, minimised, rule,
        rate=lambda step: config.learning_rate * loop.cosine(STEPS)(step),
    )  # fmt: skip


def test_a_gdssm_layer_is_read_as_in_the_dashboard(scripts):
    config = replace(TRAINED[LAYER].config, f=3, N=4)
    read = scripts(LAYER).evaluate(
        """(setting) => {
          const layer = new GdssmLayer(setting, new Random(2));
          const { x, y } = layer.test;
          const arrays = { ...layer.weights, x, y, state: layer.state(1) };
          const plain = Object.entries(arrays).map(([name, value]) => [name, [...value]]);
          const { exact } = layer.stateBesideGradient();
          const { references } = layer.evaluate().panels.losses;
          const best = layer.oneStep;
          return { ...Object.fromEntries(plain), exact: [...exact], best, references };
        }""",
        values(config),
    )
    x, y = (torch.tensor(read[name]).view(-1, 5, 3).permute(1, 2, 0) for name in "xy")
    tasks = Tasks(x, y)
    names = {"a": (1, 3, 1), "Q": (1, 3, 3), "q": (1, 3), "beta": (1,)}
    layer = LayerND(**{name: torch.tensor(read[name]).view(shape) for name, shape in names.items()})
    states = layer_nd.recurrent(layer, any_layer.read(layer, tasks))[1]
    assert_close(read["state"], states[-1, 0, ..., 1], 1e-5)
    assert_close(read["exact"], gradient_descent.accumulated(tasks)[-1, ..., 16], 1e-5)
    constructed = any_layer.constructed(config, tasks)
    assert read["best"] == pytest.approx(any_layer.losses(constructed, tasks)[0], rel=1e-4)
    best, zero = (line["value"] for line in read["references"])
    assert best == pytest.approx(closed_forms.best_loss(3, 4))
    assert zero == pytest.approx(closed_forms.zero_loss(3))


@pytest.mark.parametrize("layers", [1, 2])
def test_an_induction_head_follows_torch(scripts, layers):
    config = replace(TRAINED[HEAD].config, d=16, T=32, batch=16, steps=STEPS, layers=layers)
    begun, generator = birth.begun(config)
    every = {name: value.double() for name, value in begun.tensors().items()}
    frozen = {name: every[name] for name in birth.FROZEN}
    names = birth.trained_names(config, 0)
    weights = {name: every[name].requires_grad_() for name in sorted(names)}
    others = {name: every[name] for name in {"W_K1"} - names}
    drawn = [sample(birth.task_of(config), config.batch, generator) for _ in range(STEPS)]
    batches = [{"tokens": flat(batch.tokens), "counted": flat(batch.in_context)} for batch in drawn]

    def minimised(weights: Mapping[str, Tensor], step: int) -> Tensor:
        batch = drawn[step]
        whole = model.Weights(**frozen, **others, **weights)
        logits, _, _ = model.forward(whole, batch.inputs, layers)
        counted = batch.in_context
        return torch.nn.functional.cross_entropy(logits[counted], batch.targets[counted])

    rule = birth.optimiser(config, list(weights.values()))
    fixed = {"frozen": {name: flat(value) for name, value in frozen.items()}}
    follow(
        scripts(HEAD), HEAD, config, weights, fixed, batches, minimised, rule,
        rate=lambda step: config.learning_rate,
    )  # fmt: skip


def test_an_induction_head_is_read_as_in_the_dashboard(scripts):
    config = replace(TRAINED[HEAD].config, d=32, T=32, batch=16, steps=40)
    setting = {**values(config), **TRAINED[HEAD].data(config)}
    read = scripts(HEAD).evaluate(
        """(setting) => {
          const head = new InductionHead(setting, new Random(2));
          for (let step = 0; step < setting.steps; step++) head.step();
          const { loss, panels } = head.evaluate();
          const { tokens, counted } = head.test;
          const arrays = { ...head.weights, ...head.frozen, tokens, counted };
          const plain = Object.entries(arrays).map(([name, value]) => [name, [...value]]);
          const { maps } = panels.attention;
          return {
            ...Object.fromEntries(plain), loss, recalls: panels.formation.values,
            looked: head.attention().looked, accuracy: panels.accuracy.values.trained,
            repeat: panels.accuracy.references[0].value,
            attention: maps.map(({ values }) => [...values].map((value) => value || 0)),
          };
        }""",
        setting,
    )
    task = birth.task_of(config)
    shapes = {"W_E": (65, 32), "P": (32, 32), "W_U": (65, 32)}
    names = (*birth.FROZEN, "W_K1", "W_K2", "W_O2")
    weights = model.Weights(
        **{name: torch.tensor(read[name]).view(shapes.get(name, (32, 32))) for name in names}
    )
    tokens = torch.tensor(read["tokens"]).view(-1, 33)
    counted = torch.tensor(read["counted"], dtype=torch.bool).view(-1, 32)
    assert 0.1 < counted.float().mean() < 0.6
    logits, _, _ = model.forward(weights, tokens[:, :-1])
    targets = tokens[:, 1:][counted]
    expected = torch.nn.functional.cross_entropy(logits[counted], targets)
    assert read["loss"] == pytest.approx(float(expected), rel=1e-4)
    assert read["accuracy"] == pytest.approx(
        float((logits[counted].argmax(-1) == targets).double().mean()), abs=0.002
    )
    repeated = (tokens[:, :-1][counted] == targets).double().mean()
    assert read["repeat"] == pytest.approx(float(repeated))
    recalls = probes.recalls(weights, task)
    for label, name in (("W_K¹", "W_K1"), ("W_K²", "W_K2"), ("W_O²", "W_O2")):
        assert read["recalls"][label] == pytest.approx(recalls[name], abs=0.04)
    word = torch.tensor([[task.characters.index(each) for each in "hotshots"]])
    _, *attention = model.forward(weights, word)
    looked = attention[1][0, range(4, 8), range(1, 5)].mean()  # "hotshots": the same four again
    assert read["looked"] == pytest.approx(float(looked), abs=1e-4)
    for ours, theirs in zip(read["attention"], attention, strict=True):
        np.testing.assert_allclose(ours, theirs.flatten().numpy(), atol=1e-4)


def test_models_begin_as_with_torch(scripts):
    """Every tensor has the mean and the deviation that it has in torch, over twelve seeds."""
    layer = replace(TRAINED[LAYER].config, f=5)
    linear = replace(TRAINED[CONVERGENCE].config, d=3, steps=10)
    head = replace(TRAINED[HEAD].config, d=16, T=32)
    seeds = range(12)

    def drawn(seed: int) -> torch.Generator:
        return torch.Generator().manual_seed(seed)

    theirs: dict[str, tuple[Any, list[Mapping[str, Tensor]]]] = {
        LAYER: (layer, [any_layer.initial(layer, [seed]).tensors() for seed in seeds]),
        CONVERGENCE: (linear, [variants.initial(linear, drawn(seed)) for seed in seeds]),
        HEAD: (head, [birth.begun(replace(head, seed=seed))[0].tensors() for seed in seeds]),
    }
    for experiment_id, (config, models) in theirs.items():
        setting = {**values(config), **TRAINED[experiment_id].data(config)}
        ours = scripts(experiment_id).evaluate(
            """([experiment, setting, seeds]) => {
              const all = {};
              for (let seed = 0; seed < seeds; seed++) {
                const trainer = new TRAINERS[experiment](setting, new Random(seed));
                const arrays = { ...trainer.weights, ...trainer.frozen };
                for (const name in arrays) (all[name] ??= []).push(...arrays[name]);
              }
              return all;
            }""",
            [experiment_id, setting, len(seeds)],
        )
        assert ours.keys() == models[0].keys()
        for name, numbers in ours.items():
            expected = torch.cat([model[name].flatten() for model in models])
            assert len(numbers) == len(expected), name
            deviation = float(expected.std())
            error = 5 * deviation / math.sqrt(len(numbers)) + 1e-6
            assert np.mean(numbers) == pytest.approx(float(expected.mean()), abs=2 * error), name
            assert np.std(numbers) == pytest.approx(deviation, abs=2 * error), name


def test_sequences_of_the_tab_have_the_law_of_the_task(scripts):
    config = replace(TRAINED[HEAD].config, T=32)
    setting = {**values(config), **TRAINED[HEAD].data(config)}
    tokens, counted = scripts(HEAD).evaluate(
        """(setting) => {
          const { tokens, counted } = new BigramTask(setting).sample(4000, new Random(3));
          return [[...tokens], [...counted]];
        }""",
        setting,
    )
    ours = np.reshape(tokens, (-1, 33))
    is_counted = np.reshape(counted, (-1, 32)) > 0
    theirs = sample(birth.task_of(config), 4000, torch.Generator().manual_seed(4))
    assert is_counted.mean() == pytest.approx(float(theirs.in_context.double().mean()), rel=0.04)
    shares = [
        np.bincount(np.ravel(each), minlength=65) / each.size
        for each in (ours, theirs.tokens.numpy())
    ]
    assert np.abs(shares[0] - shares[1]).sum() < 0.04
    for row, mask in zip(ours[:200], is_counted, strict=False):
        for t in np.flatnonzero(mask):  # what follows a trigger is what followed it before
            earlier = np.flatnonzero(row[:t] == row[t])
            assert len(earlier) and (row[earlier + 1] == row[t + 1]).all()


def test_a_training_that_diverges_says_so(scripts):
    setting = {**training.options(CONVERGENCE)["setting"], "initial": 1e300, "steps": 10}
    posted = scripts(CONVERGENCE).evaluate(POSTED, [CONVERGENCE, setting, 0])
    assert posted[-1]["diverged"] == 0


def trained(page: Page, experiment_id: str, seed: int) -> tuple[dict[str, Tensor], float]:
    """The weights of a whole training in the tab, one seed [1, …], and its loss on its test set."""
    setting = training.options(experiment_id)["setting"]
    result = page.evaluate(TRAIN, [experiment_id, setting, seed])
    shapes = result["shapes"]
    weights = {
        name: torch.tensor(value, dtype=torch.float32).view(1, *shapes[name])
        for name, value in result["weights"].items()
    }
    return weights, result["loss"]


def assert_among(loss: float, of_seeds: np.ndarray) -> None:
    """Assert that a loss is one of torch's seeds as far as three or more of them tell."""
    spread = float(np.ptp(of_seeds))
    assert len(of_seeds) >= 3
    assert of_seeds.min() - spread <= loss <= of_seeds.max() + spread


@pytest.mark.long
@pytest.mark.parametrize("seed", [0, 1])
def test_convergence_ends_as_with_torch(scripts, seed):
    _, loss = trained(
        scripts(CONVERGENCE), CONVERGENCE, seed
    )  # on prompts of its own, with a control variate
    assert_among(loss, icl.run(CONVERGENCE).run["curve/loss"][:, -1])


@pytest.mark.long
@pytest.mark.parametrize("seed", [0, 1])
def test_a_gdssm_layer_ends_as_with_torch(scripts, seed):
    weights, _ = trained(scripts(LAYER), LAYER, seed)
    config = TRAINED[LAYER].config
    (ours,) = any_layer.losses(LayerND(**weights, labels=config.f), gdssm.held_out(config))
    # the seeds of one run read the same tasks, and differ less
    runs = [gdssm.run(replace(config, seed=other), Recorder()) for other in range(6)]
    assert_among(ours, np.concatenate([run["evaluated/loss"] for run in runs]))


@pytest.mark.long
def test_an_induction_head_ends_as_with_torch(scripts):
    config = TRAINED[HEAD].config
    held_out = birth.held_out(birth.task_of(config), birth.EVALUATED)

    def measured(weights: model.Weights) -> float:
        return evaluate(weights, held_out, positions="in_context")["in_context_loss"]

    weights, _ = trained(scripts(HEAD), HEAD, 0)
    ours = measured(model.Weights(**{name: value[0] for name, value in weights.items()}))
    theirs = []
    for seed in range(4):
        begun, generator = birth.begun(replace(config, seed=seed))
        problem = birth.problem(config, begun, generator, lambda step: {})
        loop.train(problem, config.steps, [], {}, lambda state, save: None, keep=False)
        theirs.append(measured(begun))
    assert_among(ours, np.array(theirs))


@pytest.mark.long
@pytest.mark.parametrize("experiment_id", TRAINED)
def test_both_ends_of_every_slider_train(scripts, experiment_id):
    page = scripts(experiment_id)
    setting = {**training.options(experiment_id)["setting"], "steps": 2}
    for knob in training.knobs(experiment_id):
        for position in (min(knob["values"]), max(knob["values"])):
            posted = page.evaluate(POSTED, [experiment_id, {**setting, knob["name"]: position}, 0])
            assert [message["step"] for message in posted] == [0, 1, 2]
            assert all(math.isfinite(message["loss"]) for message in posted), knob["name"]


@pytest.mark.parametrize("experiment_id", TRAINED)
def test_every_position_of_a_slider_is_a_setting(experiment_id):
    config = TRAINED[experiment_id].config
    for knob in training.knobs(experiment_id):
        assert knob["value"] in knob["values"]
        for position in knob["values"]:
            assert getattr(replace(config, **{knob["name"]: position}), knob["name"]) == position


def test_other_experiments_have_no_training_in_the_tab():
    others = set(registry.experiment_ids()) - TRAINED.keys()
    with pytest.raises(ValueError, match="must be one that trains in a tab"):
        training.options(min(others))


@pytest.fixture
def opened(browser, tmp_path: Path):
    """Opens a page from a file, in which an experiment can be trained for a few steps."""
    with_errors: list[tuple[Page, list[str]]] = []

    @contextmanager
    def open_page(experiment_id: str, dark: bool = False, steps: int = 20, **context: Any):
        options = training.options(experiment_id, dark)
        options["setting"]["steps"] = steps
        paper, ink = (options["colours"][name] for name in ("paper", "ink"))
        text = PAGE.format(
            paper=paper, ink=ink, style=training.page_style(),
            plotly=PLOTLY.read_text(encoding="utf-8"),
            worker=script_json(training.worker_source()), script=training.page_script(),
            options=script_json(options),
        )  # fmt: skip
        path = tmp_path / "tab.html"
        path.write_text(text, encoding="utf-8")
        window = browser.new_context(**context)
        page = window.new_page()
        errors: list[str] = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", lambda message: errors.append(message.text))
        with_errors.append((page, errors))
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url.partition(":")[0]))
        page.goto(path.as_uri())
        yield page
        assert set(asked) <= {"file", "blob", "data"}
        window.close()

    yield open_page
    assert not [errors for _, errors in with_errors if errors]


@pytest.mark.parametrize(
    "experiment_id",
    [
        CONVERGENCE,
        *(pytest.param(id, marks=pytest.mark.long) for id in TRAINED if id != CONVERGENCE),
    ],
)
def test_charts_grow_while_it_trains(opened, experiment_id):
    size = {"viewport": {"width": 390, "height": 844}}
    with opened(experiment_id, dark=True, **size) as page:
        expect(page.locator(".chart")).to_have_count(0)
        page.get_by_role("button", name="Train here").press("Enter")
        expect(page.get_by_role("status")).to_contain_text("Trained: step 20 of 20", timeout=60_000)
        page.wait_for_selector("#root[data-step='20']")
        titles = page.locator("h3").all_inner_texts()
        assert all(titles) and page.locator(".chart .main-svg").count() >= len(titles) >= 2
        curves = page.evaluate("Object.values(part.curves).map((own) => Object.values(own)[0].x)")
        assert all(steps[0] == 0 and steps[-1] == 20 and len(steps) > 4 for steps in curves)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        report = Axe().run(page, options={"resultTypes": ["violations"]})
        assert report.violations_count == 0, report.generate_report()


def test_a_slider_starts_anew_and_the_button_stops(opened):
    with opened(CONVERGENCE, steps=1_000_000) as page:
        slider = page.get_by_label("layers L")
        page.get_by_role("button", name="Train here").click()
        page.wait_for_selector(".chart .main-svg")
        slider.press("ArrowRight")
        assert slider.get_attribute("aria-valuetext") == "4"
        expect(page.locator(".chart").first).to_contain_text("layer 4")
        assert page.evaluate("part.curves.losses.trained.x[0]") == 0
        page.get_by_role("button", name="Stop").click()
        expect(page.get_by_role("status")).to_contain_text("Stopped: step")
        assert page.evaluate("part.worker") is None
        page.evaluate("part.end()")
        expect(page.locator("#root > *")).to_have_count(0)


@pytest.mark.long
def test_who_asks_for_less_motion_sees_the_end_alone(opened):
    with opened(CONVERGENCE, reduced_motion="reduce") as page:
        page.evaluate("""() => {
          window.drawn = [];
          new MutationObserver(() => drawn.push(document.getElementById("root").dataset.step))
            .observe(document.getElementById("root"), { attributeFilter: ["data-step"] });
        }""")
        page.get_by_role("button", name="Train here").click()
        page.wait_for_selector("#root[data-step='20']")
        assert page.evaluate("drawn") == ["20"]
