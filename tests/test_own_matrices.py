"""A visitor's own matrices: which are taken, which are refused and why, and what becomes of them as
a run."""

import io
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch
from house import house
from recorder import Recorder
from safetensors.numpy import save
from safetensors.torch import save as save_torch
from test_links import labelled, open_page

from icl_core import registry
from icl_core.contract.claims import ELSEWHERE
from icl_core.contract.experiment import CannotDraw, Run
from icl_core.contract.knobs import BadSetting, NotHere, knobs_of
from icl_core.contract.settings_io import to_stored
from icl_core.papers.birth.induction.draw import behaviour, matrices
from icl_core.papers.birth.shared import own_matrices
from icl_core.papers.birth.shared.own_matrices import LARGEST, describe, load, read
from icl_core.runs import documents, header, store
from icl_core.runs.header import key_of

ID = "birth.induction"
N = 10
T = 32
d = 16
SIZES = {"N": N, "T": T, "d": d}


def arrays(**changed):
    """Random matrices by name, with some changed; None leaves one out."""
    draw = partial(np.random.default_rng(0).normal, 0, d**-0.5)
    shapes = {
        name: [SIZES[letter] for letter in letters] for name, letters in own_matrices.SHAPES.items()
    }
    matrices = {name: draw(size=shape).astype(np.float32) for name, shape in shapes.items()}
    return {name: array for name, array in {**matrices, **changed}.items() if array is not None}


def with_number(number, name="W_O2"):
    array = arrays()[name].astype(np.float64)
    array[1, 2] = number
    return {name: array}


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty cache."""
    monkeypatch.setenv("ICL_CACHE_DIR", str(tmp_path))
    return tmp_path / "matrices"


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_numbers_of_any_precision_are_taken(dtype):
    expected = {name: torch.tensor(array).to(dtype) for name, array in arrays().items()}
    own = read(save_torch(expected))
    assert list(own.named) == list(own_matrices.SHAPES) and not own.left_out
    for name, array in own.named.items():
        assert array.dtype == np.float32 and np.array_equal(array, expected[name].float().numpy())
    assert own.fields == {**SIZES, "layers": 2, "feed_forward": True}


def test_what_may_be_left_out_and_what_is_not_read_is_said():
    own = read(save(arrays(W_K1=None, W_F=None, other=np.zeros(3))))
    assert own.fields == {**SIZES, "layers": 1, "feed_forward": False}
    description = " ".join(describe(own))
    assert (
        "one layer, as there is no W_K¹; no feed-forward layer, as there is no W_F. Not read: "
        "other." in description
    )
    run = {
        **{f"final/{name}": array for name, array in arrays().items()},
        "curve/a": np.zeros(3),
        "curve/b": np.zeros(3),
    }
    assert describe(read(save(run)))[1] == "Not read: the rest of the run's file."


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "a whole safetensors file, got an empty file"),
        (b"\x80\x04K\x01.", "a whole safetensors file, got 5 bytes that are none"),  # a pickle
        (save(arrays())[:-1], "a whole safetensors file, got"),
        (b"\0" * (LARGEST + 1), r"at most 67,108,864 bytes \(64 MB\), got 67,108,865 bytes"),
        (save({}), "missing: W_E, P, W_U, R1, V2, W_K2, W_O2; got none"),
        (save(arrays(W_O2=None)), "missing: W_O2; got P, R1, V2"),
        (save({**arrays(), "final/W_O2": np.zeros((d, d))}), "W_O2 must be there once, got W_O2 "
                                                             "and final/W_O2"),
        (save(arrays(W_K2=np.zeros((d, d + 1)))), r"W_K2 must have the shape \[d, d\] = \[16, "
                                                  r"16\], got \[16, 17\]"),
        (save(arrays(W_U=np.zeros((N + 1, d)))), r"W_U must have the shape \[N, d\] = \[10, "
                                                 r"16\], got \[11, 16\]"),
        (save(arrays(P=np.zeros(T))), r"P must be a matrix \[T, d\], got the shape \[32\]"),
        (save(arrays(P=np.zeros((T - 1, d)))), "T, the rows of P, must be from 32 to 256, got 31"),
        (save(arrays(W_E=np.zeros((257, d)))), "N, the rows of W_E, must be from 4 to 256, got "
                                               "257"),
        (save(arrays(W_E=np.zeros((N, 513)))), "d, the columns of W_E, must be from 16 to 512, got "
                                               "513"),
        (save(arrays(**with_number(np.nan))), "every number of W_O2 must be finite, got 1 that is "
                                              "NaN"),
        (save(arrays(**with_number(-np.inf, "P"))), "every number of P must be finite, got 1 that "
                                                    "is infinite"),
        (save(arrays(**with_number(1e300))), "W_O2 must be finite, got 1 that is infinite, or too "
                                             "large for float32"),
        (save(arrays(R1=np.zeros((d, d), np.int32))), "R1 must be float16, bfloat16, float32 or "
                                                      "float64, got I32"),
    ],
)  # fmt: skip
def test_what_is_no_such_file_is_refused_with_what_was_expected_and_what_came(content, message):
    with pytest.raises(BadSetting, match=message):
        read(content)


def test_matrices_are_kept_by_their_digest_and_damaged_ones_are_said_to_be(here):
    own = read(save(arrays()))
    digest = documents.keep("matrices", own)
    (file,) = here.iterdir()
    assert file.stem == digest and file.stat().st_mode & 0o077 == 0
    assert all(np.array_equal(array, own.named[name]) for name, array in load(digest).named.items())
    assert read(file.read_bytes()).digest == digest
    file.write_bytes(file.read_bytes()[:-1] + b"!")
    with pytest.raises(NotHere, match="must be as they were kept, got others: give the file again"):
        load(digest)
    documents.keep("matrices", own)
    assert load(digest).digest == digest


def test_where_nothing_can_be_written_a_sentence_says_so(here):
    here.write_text("a file in its place")
    with pytest.raises(OSError, match="must be a folder that this user may write to"):
        documents.keep("matrices", read(save(arrays())))


def of_file(content, K=3):
    """The config of matrices in a file."""
    experiment = registry.experiment(ID)
    digest = documents.keep("matrices", read(content))
    base = {**vars(experiment.config(K=K)), "matrices": digest}
    fit = knobs_of(experiment.config)["matrices"].fit
    assert fit
    return experiment.config(**{**base, **fit(base)})


def test_settings_must_be_theirs_and_those_of_a_training_tell_nothing_apart(here):
    config = of_file(save(arrays()))
    assert (config.N, config.T, config.d, config.layers, config.feed_forward) == (N, T, d, 2, True)
    assert config.positions == "all"
    assert of_file(save(arrays(W_F=None))).positions == "in_context"
    assert config.updates == 0
    assert to_stored(replace(config, seeds=3, steps=600, freeze_W_K1=True)) == to_stored(config)
    for change, message in (
        ({"d": 128}, "d must be 16, as your matrices have it, got 128"),
        ({"feed_forward": False}, "feed_forward must be True, as your matrices have it, got False"),
        ({"matrices": "0" * 16}, "must be ones that were given on this computer"),
        ({"matrices": "../../secret"}, "matrices must be a digest"),
    ):
        with pytest.raises(BadSetting, match=message):
            replace(config, **change)


def test_the_keys_of_shipped_runs_are_what_they_were():
    shipped = [run for run in store.default().headers(ID) if run.origin == "shipped"]
    for run in shipped:
        assert "matrices" not in run.config
        assert key_of(run.experiment, header.typed_config(run)) == run.path.stem
    assert len(shipped) > 10


def run_of(config):
    """The run of a config, computed here."""
    return Run(config, registry.experiment(ID).run(config, Recorder()), digest=str(hash(config)))


def measures(run):
    """The last evaluation of a run: recalls, losses, accuracies."""
    last = {
        name: array[0, -1]
        for name, array in run.tensors.items()
        if name.startswith("curve/") and array.ndim == 2
    }
    if run.config.layers == 1:  # it has no W_K1
        last = {name: value for name, value in last.items() if "W_K1" not in name}
    return last | {
        name: array[0] for name, array in run.tensors.items() if name.startswith("evaluated/")
    }


@pytest.mark.long
@pytest.mark.parametrize("layers", [1, 2])
def test_the_file_of_a_trained_run_shows_the_same_recalls(tmp_path, monkeypatch, layers):
    with house(tmp_path, monkeypatch) as runs:
        small = {"N": 12, "T": 32, "d": 16, "steps": 10, "batch": 16, "K": 2, "layers": layers}
        small |= {"feed_forward": True, "positions": "all"}
        trained = run_of(registry.experiment(ID).config(**small))
        run_header = runs.save(ID, trained.config, trained.tensors, {"metrics": []})
        config = of_file(run_header.path.read_bytes(), K=2)
        own = run_of(config)
        assert own.snapshot_steps == [0]
        assert not [name for name in own.tensors if name.startswith("batch/")]
        expected = measures(trained)
        computed = measures(own)
        assert expected.keys() == computed.keys()
        assert expected == pytest.approx(computed, abs=1e-6)
        for name in ("W_O2", "W_K2", *(["W_K1"] if layers == 2 else [])):
            assert np.array_equal(own[f"final/{name}"], trained[f"final/{name}"])
        run_header = runs.save(ID, config, own.tensors, {"metrics": []})
        assert run_of(of_file(run_header.path.read_bytes(), K=2))


@pytest.mark.parametrize("left_out", [{}, {"W_F": None}, {"W_K1": None, "W_F": None}])
def test_they_are_drawn_as_a_trained_run_is_and_no_claim_speaks_of_them(here, left_out):
    experiment = registry.experiment(ID)
    config = of_file(save(arrays(**left_out)))
    run = run_of(config)
    for drawing in experiment.drawings:
        if drawing.applies(config):
            panel = drawing.draw(run, experiment.view())
            assert panel.title, drawing.name
            assert panel.figure is not None or panel.table is not None, drawing.name
            text = f"{panel.title} {panel.note} {panel.caption}"
            assert "Step " not in text and " trained" not in text, drawing.name
    with pytest.raises(CannotDraw, match="have no initial value"):
        matrices.surgery(run, experiment.view(graft_W_O2="initial"))
    probes = behaviour.probes_panel(run, experiment.view())
    headline = experiment.headline(run, experiment.view())
    assert f", {probes.title.removeprefix('Right in context: ')} of the" in headline
    assert dict(probes.data.values)["W_O2"] == float(run["curve/recall_W_O2"][0, 0])
    kinds = {box.kind for box in experiment.diagram(config).boxes}
    assert kinds == {"given", "computed", "sum"}
    assert headline.startswith("With your matrices, which are not trained here, ")
    metrics = experiment.metrics(run)
    assert len(metrics) >= 3 and {metric.verdict(config) for metric in metrics} == {ELSEWHERE}
    assert not experiment.milestones(run)
    assert not experiment.goes_on(config)
    assert experiment.cost(config) > 0
    assert not any(claim.is_at(config) for claim in experiment.claims if claim.at)


def test_without_them_a_run_is_away_and_with_them_there_again(tmp_path, monkeypatch):
    with house(tmp_path, monkeypatch) as runs:
        own = read(save(arrays()))
        run_header = runs.save(
            ID, of_file(save(arrays())), {"curve/step": np.arange(1)}, {"metrics": []}
        )
        assert runs.headers(ID) == [run_header]
        own_matrices.path_of(own.digest).unlink()
        assert runs.headers(ID) == [] and runs.load(run_header) is None
        documents.keep("matrices", own)
        assert runs.headers(ID) == [run_header] and runs.load(run_header) is not None


def test_a_link_whose_matrices_are_not_here_says_so_and_offers_the_trained_ones(here):
    app = open_page("birth", "matrices=0123456789abcdef&d=64&at_once=false")
    assert not app.exception and not app.error
    (warning,) = app.warning
    assert "must be ones that were given on this computer" in warning.value
    labelled(app.button, "Take trained ones instead").click().run()
    assert not app.warning and not {"matrices", "d"} & set(app.query_params)


@pytest.mark.parametrize("write", [np.save, np.savez])
def test_of_a_file_of_numpy_the_refusal_says_how_to_save_it(write):
    file = io.BytesIO()
    write(file, np.ones((3, 3)))
    with pytest.raises(BadSetting, match=r"a NumPy file .*: save the arrays with safetensors"):
        read(file.getvalue())
