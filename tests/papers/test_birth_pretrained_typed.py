"""A text of the visitor's own, read by a planted model: what is shown of it against the same
computed another way, grafts against what they must do, and one model in memory at a time."""

import sys
from contextlib import nullcontext
from dataclasses import replace

import numpy as np
import pytest
import torch

from icl_core import registry
from icl_core.contract.experiment import CannotDraw, Run
from icl_core.contract.knobs import knobs_of
from icl_core.papers.birth.pretrained import sources, texts
from icl_core.papers.birth.pretrained.draw import own_text
from icl_core.papers.birth.pretrained.load_run import half_losses, scores
from icl_core.papers.birth.pretrained.own_text import (
    constructed_map,
    grafted,
    looking,
    losses_after,
    of_view,
    random_sets,
    read_now,
)
from icl_core.papers.birth.pretrained.planted import LetterTokens, planted
from icl_core.papers.birth.pretrained.readers.checks import BadModel
from icl_core.papers.birth.pretrained.readers.model import Change, forward
from icl_core.papers.birth.pretrained.run import compute
from icl_core.papers.birth.pretrained.settings import SMOLLM2, Config, View
from icl_core.papers.birth.pretrained.sources import Busy, Resident
from icl_core.papers.birth.shared.behaviour import INDUCTION, PREVIOUS
from icl_core.runs import store
from pages.ui.stage.one_number import chosen_fields
from tests.recorder import Recorder

TOKENS = LetterTokens()
TEXT = "mXk7 bQzmXk7 bQz"  # eight different characters, twice


@pytest.fixture(scope="module")
def run() -> Run:
    """The planted model, measured on few tokens."""
    config = Config(length=16, sequences=2, asked=40, own=TEXT)
    return Run(config, compute(config, Recorder()))


def test_a_text_read_now_is_what_a_run_records_of_it(run):
    reading = of_view(run, View(typed=TEXT))
    assert reading.tokens == run.names("text/own")
    np.testing.assert_allclose(reading.losses, run["text/own/loss"][-1], atol=1e-2)
    np.testing.assert_array_equal(reading.packed, run["text/own/attention"])
    for layer in range(4):
        view = View(typed=TEXT, snapshot=layer)
        expected = run["text/own/loss"][layer]
        np.testing.assert_allclose(losses_after(run, view), expected, rtol=1e-2, atol=1e-2)


def test_scores_on_a_text_said_twice_are_those_of_repeated_tokens(run):
    ids = torch.tensor([[TOKENS.start, *TOKENS.encode(TEXT)]])
    maps = forward(planted(), ids, keep=True).attention
    measures = dict(zip(texts.MEASURES, texts.head_scores(maps, ids), strict=True))
    reading = of_view(run, View(typed=TEXT))
    np.testing.assert_allclose(reading.scores("previous"), measures["previous"], atol=0.01)
    beyond = (measures["followers"] - measures["even"]) / (1 - measures["even"])
    np.testing.assert_allclose(reading.scores("followers"), beyond, atol=0.01)


def test_without_a_text_the_recorded_sentence_is_shown_and_no_model_is_read(run, monkeypatch):
    monkeypatch.setattr(own_text, "losses_after", losses_after)
    monkeypatch.setattr(Resident, "borrow", lambda *_: pytest.fail("a model was read"))
    for draw in (own_text.losses, own_text.heads, own_text.one, own_text.grafts):
        assert "Your own text" not in draw(run, View()).caption
    assert of_view(run, View()).tokens == run.names("text/sentence")
    with pytest.raises(CannotDraw, match="a graft needs the weights"):
        own_text.grafts(run, View(graft="zero"))


@pytest.mark.parametrize(
    ("text", "match"),
    [("a", "2 to 511 tokens, got 1"), ("€" * 3000, "8192 bytes, got 9000"), ("ab" * 256, "512")],
)
def test_texts_that_are_too_long_or_short_are_refused(run, text, match):
    with pytest.raises(CannotDraw, match=match):
        of_view(run, View(typed=text))


def test_a_text_in_which_nothing_comes_twice_has_no_induction(run):
    view = View(typed="abcdefg")
    with pytest.raises(CannotDraw, match="no token comes twice"):
        own_text.heads(run, view)
    assert own_text.heads(run, replace(view, typed_score="previous")).figure is not None
    table = own_text.grafts(run, replace(view, graft="mean")).table
    assert table is not None and table["said again"].isna().all()


def test_where_constructed_heads_look():
    ids = torch.tensor([0, 3, 5, 3, 5, 3])
    back = constructed_map(ids, PREVIOUS)
    assert back.argmax(1).tolist() == [0, 0, 1, 2, 3, 4] and back.max(1).values.eq(1).all()
    copies = constructed_map(ids, INDUCTION)
    assert copies[:3].argmax(1).tolist() == [0, 0, 0]  # nothing has come before
    assert copies[3].tolist() == [0, 0, 1, 0, 0, 0]
    assert copies[4].tolist() == [0, 0, 0, 1, 0, 0]
    assert copies[5].tolist() == [0, 0, 0.5, 0, 0.5, 0]


def test_the_construction_does_what_planted_heads_do_and_zero_does_not(run):
    again = slice(9, None)
    whole = of_view(run, View(typed=TEXT)).losses[again].mean()
    view = View(typed=TEXT, grafted="pair")
    constructed = grafted(run, replace(view, graft="constructed"))
    assert abs(constructed.losses[again].mean() - whole) < 0.2
    zero = grafted(run, replace(view, graft="zero"))
    assert zero.losses[again].mean() > whole + 2 > zero.random[:, again].mean() + 1


def test_random_heads_are_none_of_those_that_are_measured(run):
    heads = run.names("strongest")[:2]
    sets = random_sets(run, heads)
    assert len(sets) == 20 and sets == random_sets(run, heads)
    measured = {*run.names("strongest"), *run.names("previous")}
    for others in sets:
        assert len({*others}) == 2 and not {*others} & measured


def test_maps_of_a_long_text_are_coarse_and_its_scores_exact(run):
    text = TEXT * 25  # 400 characters
    reading = of_view(run, View(typed=text))
    assert reading.positions_per_cell == 2 and len(reading.tokens) == 401
    assert reading.attention(0, 0).shape == (201, 201)
    ids = torch.tensor([[TOKENS.start, *TOKENS.encode(text)]])
    maps = forward(planted(), ids, keep=True).attention
    before = maps[0][0].diagonal(offset=-1, dim1=-2, dim2=-1).mean(-1)  # (H,)
    np.testing.assert_allclose(reading.scores("previous")[0], before.numpy(), atol=1e-5)
    panel = own_text.one(run, View(typed=text))
    assert "2 tokens share a row" in panel.caption
    windowed = Run(run.config, run.tensors | {"layers/window": np.array([100, 0, 0], np.int32)})
    local = own_text.one(windowed, View(typed=text, typed_head="1.1"))
    edge = local.figure.layout["shapes"][-1]
    assert (edge["x0"], edge["y0"]) == (-0.5, 49.25)  # half a position less
    everywhere = own_text.one(windowed, View(typed=text, typed_head="2.1"))
    assert len(everywhere.figure.layout.get("shapes", [])) < len(local.figure.layout["shapes"])


def test_one_model_is_in_memory_for_one_visitor_and_is_freed():
    keys = []

    def open_model(key):
        keys.append(key)
        return planted(), TOKENS

    resident = Resident(open_model, idle=600, patience=0)
    with resident.borrow("a"), pytest.raises(Busy, match="another visitor"), resident.borrow("a"):
        pass
    with resident.borrow("a"):
        pass
    resident.free_if_idle()
    assert keys == ["a"] and resident.key == "a"
    with resident.borrow("b"):
        pass
    assert keys == ["a", "b"] and resident.key == "b"
    resident = Resident(open_model, idle=0, patience=0)
    with resident.borrow("a"):
        pass
    resident.free_if_idle()
    assert resident.key == ""


def test_a_click_on_a_map_of_heads_shows_the_head(run):
    experiment = registry.experiment("birth.pretrained")
    drawings = {drawing.name: drawing for drawing in experiment.drawings}
    wrong = ("heads", "heads:1", "heads:0:1", "heads:x:1", "heads:1:2:3", "pairs:1:99")
    expected = {
        "heads:3:2": {"shown": "3.2"},
        "own_heads:1:4": {"typed_head": "1.4"},
        "pairs:1:1": {"shown": run.names("strongest")[0]},
    }
    for cell, fields in (expected | {cell: {} for cell in wrong}).items():
        drawing = drawings[cell.partition(":")[0]]
        assert chosen_fields(drawing, run, View(), cell) == fields, cell
    for drawing in experiment.drawings:
        if drawing.clicked:
            fields = drawing.clicked(run, View(), 0, 0)
            assert fields.keys() <= knobs_of(View).keys()


def test_a_text_is_read_once_for_all_drawings(run):
    read_now.cache_clear()
    for draw in (own_text.losses, own_text.heads, own_text.one):
        draw(run, View(typed=TEXT))
    assert read_now.cache_info().misses == 1
    assert scores(run, "previous").shape == (3, 4) and texts.MOST == 256


@pytest.mark.by_hand
def test_the_construction_in_the_heads_of_a_real_model():
    """What the README says of it, on the draws of the shipped run: with the paper's attention in
    the place of the twelve strongest heads the second half costs less than with their own."""
    if sources._path(SMOLLM2) is None:
        pytest.skip("the weights of SmolLM2 are not here")
    pytest.importorskip("gguf")
    header = next(
        header
        for header in store.default().headers()
        if header.experiment == "birth.pretrained" and header.config["model"] == SMOLLM2
    )
    run = store.default().load(header)
    heads = {}
    for name in run.names("strongest")[:12]:
        layer, number = name.split(".")
        heads[int(layer), int(number)] = INDUCTION
    model, tokens = sources.open_model(SMOLLM2)
    constructed = []
    for draw in range(texts.DRAWS):
        generator = texts.generator_of(0, draw, 0)
        inputs = texts.sequences(tokens, 4, 32, generator)
        outcome = forward(model, inputs, keep=True)
        change = Change(attention=looking(heads, inputs[0]))  # all sequences repeat alike
        logits = texts.changed_logits(model, outcome, list(heads), change)
        constructed.append(texts.losses(logits, inputs).second)
    _, second = half_losses(run)
    assert np.mean(constructed) == pytest.approx(1.7, abs=0.05)
    assert second.mean() == pytest.approx(3.76, abs=0.05)


def test_more_tokens_than_the_model_has_positions_are_refused(monkeypatch):
    short = replace(planted(), T=20)
    module = sys.modules[compute.__module__]
    monkeypatch.setattr(module, "open_model", lambda _: (short, TOKENS))
    with pytest.raises(BadModel, match="L must be at most 9 for a model of 20 positions, got 16"):
        compute(Config(length=16), Recorder())
    reading = sys.modules[read_now.__module__]
    monkeypatch.setattr(reading.RESIDENT, "borrow", lambda _: nullcontext((short, TOKENS)))
    with pytest.raises(CannotDraw, match="must have 2 to 19 tokens, got 20"):
        read_now("short", "abcdefghijabcdefghij")
