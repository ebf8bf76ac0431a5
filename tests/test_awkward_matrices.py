"""Own matrices of every awkward form: each number that is measured, drawn or said is finite, or a
sentence stands in its place; and what each file of `tests/inputs/matrices` must give."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from fuzz import tries
from hypothesis import given
from hypothesis import strategies as st
from recorder import Recorder
from safetensors.numpy import load as load_arrays
from safetensors.numpy import save

from icl_core import figures, registry
from icl_core.command import cli
from icl_core.contract.experiment import CannotDraw, Metric, Panel, Run
from icl_core.contract.figure import is_finite
from icl_core.contract.knobs import BadSetting, knobs_of
from icl_core.contract.message import printable
from icl_core.papers.birth.induction import attention_scores, beside_construction, grafted
from icl_core.papers.birth.induction import train as induction
from icl_core.papers.birth.shared import own_matrices, train
from icl_core.papers.birth.shared.accuracy import hits
from icl_core.papers.birth.shared.gradient import evaluate, loss_and_gradient
from icl_core.papers.birth.shared.model import Weights
from icl_core.papers.birth.shared.own_matrices import OPTIONAL, SHAPES, describe, other_task, read
from icl_core.papers.birth.shared.task import make_task, sample
from icl_core.runs import documents, file
from tests.inputs.matrices import make

INPUTS = Path(make.__file__).parent
EXPERIMENT = registry.experiment("birth.induction")
REFUSED = "what a model computes must stay below 10³⁴"
# right in context; recall of W_O2, of W_K2, of W_K1
EXPECTED = {
    "ordinary": (0.403, 1 / 4, 1 / 4, 1 / 31),
    "zero_W_U": (1 / 4, 1 / 4, 1 / 4, 1 / 31),
    "equal_rows_W_U": (1 / 4, 1 / 4, 1 / 4, 1 / 31),
    "zero_P": (0.486, 1 / 4, 1 / 4, 1 / 31),
    "zero_R1": (0.470, 1 / 4, 1 / 4, 1 / 31),
    "zero_V2": (0.359, 1 / 4, 1 / 4, 1 / 31),
    "two_equal_rows_W_E": (0.413, 1 / 4, 1 / 4, 1 / 31),
    "times_1e4": (0.229, 1 / 4, 1 / 4, 1 / 31),
    "times_1e-9": (0.435, 1 / 4, 1 / 4, 1 / 31),
    "subnormal": (1 / 4, 1 / 4, 1 / 4, 1 / 31),
    "escape_in_name": (0.403, 1 / 4, 1 / 4, 1 / 31),
    "of_a_run": (0.027, 1 / 4, 1.0, 1 / 31),
}


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """An empty cache."""
    monkeypatch.setenv("ICL_CACHE_DIR", str(tmp_path))


def config_of(content: bytes, K: int = 2) -> Any:
    """The config that choosing the matrices of a file gives."""
    digest = documents.keep("matrices", read(content))
    chosen = {**vars(EXPERIMENT.config(K=K)), "matrices": digest}
    fit = knobs_of(EXPERIMENT.config)["matrices"].fit
    assert fit
    return EXPERIMENT.config(**{**chosen, **fit(chosen)})


def measured(config: Any) -> Run:
    """The run of a config, computed here."""
    return Run(config, EXPERIMENT.run(config, Recorder()), digest=config.matrices)


def content_of(name: str) -> bytes:
    return (INPUTS / f"{name}.safetensors").read_bytes()


@pytest.mark.parametrize("name", EXPECTED)
def test_each_file_gives_what_its_folder_says(name):
    run = measured(config_of(content_of(name)))
    recalls = [float(run[f"curve/recall_{memory}"][0, 0]) for memory in ("W_O2", "W_K2", "W_K1")]
    computed = [float(run["evaluated/accuracy"][0]), *recalls]
    assert computed == pytest.approx(EXPECTED[name], abs=1e-3)
    hold_finite(run, EXPERIMENT.view())


def test_what_single_precision_cannot_hold_is_refused_before_anything_is_shown():
    with pytest.raises(BadSetting, match=f"{REFUSED} to be measured in single precision, got"):
        read(content_of("times_1e7"))


def test_the_files_are_those_that_the_script_writes_and_the_folder_names():
    assert {path.stem: path.read_bytes() for path in INPUTS.glob("*.safetensors")} == {
        name: bytes(content) for name, content in make.contents().items()
    }
    assert make.contents().keys() == {*EXPECTED, "times_1e7"}
    text = (INPUTS / "README.md").read_text(encoding="utf-8")
    assert set(re.findall(r"`(\w[\w-]*)`", text)) >= make.contents().keys()


# --- one rule of what is right


@pytest.mark.parametrize("count", [2, 4, 65])
def test_equal_scores_are_right_one_time_in_n(count):
    scores = torch.full((3, 5, count), -1.5)
    assert torch.equal(hits(scores, torch.arange(5) % count), torch.full((3, 5), 1 / count))


def test_a_score_above_all_others_is_right_and_one_of_several_is_right_as_often_as_it_is_guessed():
    scores = torch.tensor([[2.0, 1, 0, 2], [2, 1, 0, 2], [2, 1, 0, 2], [0, 3, 0, 0]])
    assert hits(scores, torch.tensor([0, 1, 3, 1])).tolist() == [0.5, 0, 0.5, 1]
    random = torch.randn(50, 7, generator=torch.Generator().manual_seed(0))
    targets = torch.arange(50) % 7
    assert torch.equal(hits(random, targets), (random.argmax(-1) == targets).float())
    assert hits(torch.full((1, 3), torch.nan), torch.zeros(1).long()).tolist() == [0]


def test_how_much_is_right_does_not_depend_on_the_scale_of_the_logits():
    matrices = read(content_of("ordinary")).named
    weights = Weights(**{name: torch.from_numpy(array) for name, array in matrices.items()})
    batch = sample(make_task(N=4, K=2, T=32), 256, torch.Generator().manual_seed(0))
    small = weights.with_(W_U=weights.W_U * 2.0**-30)  # exactly, in single precision
    for positions in ("in_context", "all"):
        right = loss_and_gradient(weights, batch, positions)[1]["in_context_accuracy"]
        assert loss_and_gradient(small, batch, positions)[1]["in_context_accuracy"] == right
    assert evaluate(small, batch)["accuracy"] == evaluate(weights, batch)["accuracy"]


# --- finite, or a sentence


def texts_in(value: Any) -> Iterator[str]:
    """Every text in a figure."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from texts_in(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from texts_in(inner)


def hold_panel(name: str, panel: Panel) -> None:
    texts = panel.texts
    if panel.figure is not None:
        bars = list(texts_in(panel.figure.layout.get("coloraxis", {})))
        assert all(len(text) <= 11 for text in bars if re.search(r"\d", text) and " " not in text)
        texts += [*texts_in(panel.figure.data), *texts_in(panel.figure.layout)]
        for trace in panel.figure.data:
            if trace["type"] == "heatmap":
                assert np.isfinite(trace["z"]).any(), name
                assert not np.isinf(trace["z"]).any(), name
    assert all(is_finite(text) for text in texts), name
    if panel.data is not None:
        numbers = panel.data.select_dtypes("number").to_numpy(float)
        assert not np.isinf(numbers).any(), name


def hold_metric(metric: Metric) -> None:
    assert metric.value is not None and np.isfinite(metric.value), metric
    assert metric.error is None or np.isfinite(metric.error), metric


def hold_finite(run: Run, view: Any) -> None:
    """All that a page or a command says of a run is finite, or `CannotDraw` with a sentence."""
    for name, array in run.tensors.items():
        assert array.dtype.kind != "f" or not np.isinf(array).any(), name
    for metric in EXPERIMENT.metrics(run):
        hold_metric(metric)
    assert is_finite(EXPERIMENT.headline(run, view))
    for drawing in EXPERIMENT.drawings:
        if not drawing.applies(run.config):
            continue
        try:
            panel = drawing.panel(run, view)
            maps = drawing.explained(run, view)
        except CannotDraw as problem:
            assert len(str(problem)) > 20
            continue
        hold_panel(drawing.name, panel)
        for cell_map in maps:
            explained = cell_map.explain(*cell_map.strongest)
            numbers = [explained.value, explained.total, *(term.value for term in explained.beside)]
            assert np.isfinite(numbers).all(), drawing.name


FORMS = {
    "as it is": lambda array: array,
    "zero": lambda array: 0 * array,
    "equal rows": lambda array: np.ones_like(array) * array[0],
    "equal rows in pairs": lambda array: array[np.arange(len(array)) // 2],
    "rank one": lambda array: np.outer(array[:, 0], array[0]),
    "one row": lambda array: array * (np.arange(len(array)) == 1)[:, None],
    "mixed scales": lambda array: array * 10.0 ** (np.arange(len(array)) % 9 - 4)[:, None],
}
SCALES = st.sampled_from([0, 0, 0, -45, -39, -20, -9, -4, 4, 9, 18, 30])
SIZES = st.fixed_dictionaries(
    {"N": st.sampled_from([4, 5, 20]), "T": st.just(32), "d": st.sampled_from([16, 17])}
)
MEMORIES = ("W_K1", "W_K2", "W_O2", "W_F")
VIEWS = st.fixed_dictionaries(
    {},
    optional={
        "memory": st.sampled_from(MEMORIES),
        "read": st.sampled_from(MEMORIES),
        "raw": st.booleans(),
        "wrong": st.booleans(),
        **{f"graft_{name}": st.sampled_from(["zero", "constructed"]) for name in MEMORIES},
    },
)


RECIPES = st.fixed_dictionaries(
    {"sizes": SIZES, "overall": st.sampled_from([0, 0, -12, 3, 4]), "seed": st.integers(0, 9)},
    optional={name: st.tuples(st.sampled_from(list(FORMS)), SCALES) for name in SHAPES},
)


def matrices_of(recipe: dict[str, Any]) -> dict[str, np.ndarray]:
    """Matrices of which a recipe names the form and the scale, a power of ten; the others are
    Gaussian, or left out if they may be."""
    normal = np.random.default_rng(recipe["seed"]).normal
    result = {}
    for name, letters in SHAPES.items():
        if name in OPTIONAL and name not in recipe:
            continue
        form, scale = recipe.get(name, ("as it is", 0))
        sizes = [recipe["sizes"][letter] for letter in letters]
        array = FORMS[form](normal(0, recipe["sizes"]["d"] ** -0.5, sizes))
        result[name] = (array * 10.0 ** (scale + recipe["overall"])).astype(np.float32)
    return result


@pytest.fixture
def few_sequences(monkeypatch):
    """What is measured is measured on a few sequences, which take a tenth of the time."""
    for module, name, count in (
        (train, "EVALUATED", 32),
        (train, "WATCHED", 16),
        (induction, "EVALUATED", 32),
        (attention_scores, "SEQUENCES", 16),
        (grafted, "POSITIONS", 512),
        (beside_construction, "POSITIONS", 512),
    ):
        monkeypatch.setattr(module, name, count)


@tries(12)
@given(recipe=RECIPES, fields=VIEWS, K=st.integers(1, 2))
def test_all_that_is_said_of_any_matrices_is_finite_or_a_sentence(recipe, fields, K, few_sequences):
    try:
        config = config_of(save(matrices_of(recipe)), K)
    except BadSetting as problem:
        assert str(problem).startswith(REFUSED)
        return
    hold_finite(measured(config), EXPERIMENT.view(**fields))


def test_a_number_that_is_not_finite_is_a_sentence_wherever_it_is_written(monkeypatch):
    experiment = EXPERIMENT.__class__(
        **{**vars(EXPERIMENT), "headline": lambda run, view: f"{np.nan:.0%} are right."}
    )
    assert experiment.headline(Run(None, {}), None).startswith("Not every number here is finite")
    for text in ("nan% right", "a loss of -inf nats", "(inf)", "a → nan"):
        assert not is_finite(text)
    for text in ("inference", "a nanometre", "x.inf_", "banana", "infinite"):
        assert is_finite(text)


@pytest.mark.parametrize("limit", [10.0**exponent for exponent in range(-9, 10)])
def test_a_colour_bar_has_short_ticks_at_any_scale(limit):
    matrix = np.array([[limit, -limit], [0.0, limit / 3]])
    names = (["a", "b"], ["a", "b"])
    seat = figures.small_map(matrix, names, ("row", "column"), "score", limit)
    wide = figures.heatmap(matrix, *names, "score")
    for figure, longest in ((seat, 6), (wide, 7)):
        bar = figure.layout["coloraxis"]["colorbar"]
        assert all(len(text) <= longest for text in bar["ticktext"])
        assert len(set(bar["ticktext"])) == 3
    has_unit = seat.layout["coloraxis"]["colorbar"]["title"]["text"] != "score"
    assert has_unit == (limit < 0.01 or limit >= 1e4)


# --- names, tasks and order in memory


def test_no_name_out_of_a_file_reaches_a_terminal_raw(capsys):
    assert cli.main(["matrices", str(INPUTS / "escape_in_name.safetensors")]) == 0
    output = capsys.readouterr().out
    assert r"Not read: a\u001b]0;title\u0007\u000ab\u202ec." in output
    assert printable(output.replace("\n", "")) == output.replace("\n", "")
    assert cli.main(["matrices", str(INPUTS / "\x1b[31mnone")]) == 2
    assert "\x1b" not in capsys.readouterr().err


def test_the_file_of_a_run_brings_its_task_and_of_another_it_is_said_that_the_setting_decides():
    config = config_of(content_of("of_a_run"), K=2)
    assert {name: getattr(config, name) for name in make.TASK} == make.TASK
    matrices = read(content_of("of_a_run"))
    assert describe(matrices)[-1] == (
        "Trained with triggers = fixed, K = 1, outputs = bigram, no_repeat = True."
    )
    again = read(matrices.content)
    assert again.digest == matrices.digest and again.task == matrices.task
    assert not other_task(matrices, vars(config))
    assert other_task(matrices, {**vars(config), "K": 2}) == (
        "Trained with K = 1; here they are asked otherwise."
    )
    assert describe(read(content_of("ordinary")))[-1] == (
        "The file does not say on what task they were trained: K, triggers, outputs and text are "
        "those of the setting."
    )


@pytest.mark.parametrize(
    ("changed", "because"),
    [
        (
            {"triggers": "nonsense"},
            "triggers must be one of random, fixed, fixed rare, got 'nonsense'",
        ),
        ({"K": 11}, "K must be a whole number from 1 to 10, got 11"),
        ({"K": True}, "K must be a whole number from 1 to 10, got True"),
        ({"outputs": ["bigram"]}, "outputs must be one of uniform, bigram, got ['bigram']"),
        ({"no_repeat": 1}, "no_repeat must be true or false, got 1"),
        ({"text": "../x"}, "text must be a digest of 16 digits from 0 to f, or empty, got '../x'"),
        (
            {"triggers": "א"},
            "\u200e\u2068triggers must be one of random, fixed, fixed rare, got 'א'\u2069",
        ),
    ],
)
@pytest.mark.parametrize("form", ["run", "task"])
def test_a_task_that_cannot_be_asked_here_is_dropped_with_a_sentence(changed, because, form):
    task = {**make.TASK, "text": "", **changed}
    record = json.dumps({"config": task} if form == "run" else task)
    matrices = read(save(make.ordinary(), {form: record}))
    assert matrices.task == {} and matrices.digest == read(content_of("ordinary")).digest
    assert describe(matrices)[-1] == (
        f"The task that the file names cannot be asked here ({because}): K, triggers, outputs and "
        "text are those of the setting."
    )


def test_where_a_text_is_not_here_or_K_is_too_large_it_is_said_that_another_task_is_asked():
    task = {**make.TASK, "K": 10, "text": "0123456789abcdef"}
    content = save(make.ordinary(), {"task": json.dumps(task)})
    matrices = read(content)
    config = config_of(content)
    assert (config.K, config.text) == (2, "")
    assert describe(matrices)[-1] == (
        "Trained with text = 0123456789abcdef, triggers = fixed, K = 10, outputs = bigram, "
        "no_repeat = True."
    )
    assert other_task(matrices, vars(config)) == (
        "Trained with text = 0123456789abcdef, K = 10; here they are asked otherwise."
    )


def test_a_header_that_holds_no_task_is_passed_over():
    for record in ("", "[]", "{}", '{"config": {"K": "1"}}', '{"config": []}', "[" * 9999):
        assert read(save(make.ordinary(), {"run": record})).task == {}


def test_own_writes_are_in_c_order_whatever_the_order_in_memory(tmp_path):
    """safetensors 0.8.0 writes the buffer of an array in Fortran order as if it were in C order."""
    matrices = read(content_of("ordinary"))
    assert all(array.flags.c_contiguous for array in matrices.named.values())
    expected = np.arange(6.0).reshape(2, 3)
    record = {"experiment": "toy.walk", "version": 1, "config": {}}
    _, tensors = file.unpack(file.pack({"a": np.asfortranarray(expected)}, record))
    assert np.array_equal(tensors["a"], expected)
    assert np.array_equal(load_arrays(matrices.content)["P"], matrices.named["P"])
    assert "np.ascontiguousarray" in own_matrices.KIND.instructions
