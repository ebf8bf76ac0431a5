"""What is measured of a language model, on the planted ones: each number against the same computed
another way, or against what the construction must give."""

import numpy as np
import pytest
import torch

from icl_core.contract.experiment import CannotDraw, Run, names
from icl_core.contract.knobs import BadSetting
from icl_core.papers.birth.pretrained import distances, recall, sources, texts
from icl_core.papers.birth.pretrained.draw import single_heads, stage
from icl_core.papers.birth.pretrained.load_run import (
    attention,
    half_losses,
    halves_by_layer,
    roles,
    said_again,
    token_labels,
    unpacked,
)
from icl_core.papers.birth.pretrained.planted import (
    INDUCTION_HEAD,
    PREVIOUS_HEAD,
    LetterTokens,
    planted,
)
from icl_core.papers.birth.pretrained.readers.model import Change, forward
from icl_core.papers.birth.pretrained.run import compute, name_of
from icl_core.papers.birth.pretrained.settings import MODELS, Config, View
from icl_core.papers.birth.shared import probes
from tests.recorder import Recorder

TOKENS = LetterTokens()


@pytest.fixture(scope="module")
def run() -> Run:
    """The planted model, measured on few tokens."""
    config = Config(length=16, sequences=2, asked=40)
    return Run(config, compute(config, Recorder()))


def probe_of(model, count: int = 40) -> recall.Asked:
    generator = torch.Generator().manual_seed(0)
    return recall.asked(model, TOKENS.start, texts.drawn_tokens(TOKENS, count, generator))


def test_the_planted_pair_recalls_and_copies_and_no_other():
    model = planted()
    probe = probe_of(model)
    heads = [(layer, head) for layer in (1, 2, 3) for head in range(1, 5)]
    recalls = recall.of_pairs(model, heads, heads, probe, 20)
    pair = heads.index(PREVIOUS_HEAD), heads.index(INDUCTION_HEAD)
    assert recalls[pair] > 0.95
    recalls[pair] = np.nan
    assert np.nanmax(recalls) < 0.2
    copies = {head: recall.directly(model, head, probe) for head in heads}
    assert copies.pop(INDUCTION_HEAD) > 0.95
    assert max(copies.values()) < 0.2


def test_a_score_is_what_attention_computes():
    """A previous-token head that looks at one token alone, and the score of the induction head at
    that place, but for the rest of the stream and the norm's scale."""
    model = planted()
    probe = probe_of(model, 10)
    # only the copy in the stream, at unit scale: the norm of a part is then the norm's gain
    written = recall.written(model, PREVIOUS_HEAD, probe)
    scores = recall.scores(model, PREVIOUS_HEAD, INDUCTION_HEAD, probe, 7)
    layer, head = INDUCTION_HEAD
    for k in (0, 3):
        r = model.read(layer, probe.streams[layer - 1][k][None])
        query = model.attend(layer, r, 12)[0][0, head - 1]
        for j in (2, 9):
            key = model.attend(layer, written[j][None], 5)[1][0, head - 1]
            assert float(scores[k, j]) == pytest.approx(float(query @ key), rel=1e-4)


def test_values_are_what_a_head_gives_that_looks_at_one_token():
    model = planted()
    probe = probe_of(model, 6)
    inputs = torch.stack([torch.full_like(probe.tokens, TOKENS.start), probe.tokens], 1)
    outcome = forward(model, inputs, keep=True)

    def looks_at_itself(layer, maps):
        return torch.eye(2).expand_as(maps) if layer == 2 else maps

    change = Change(attention=looks_at_itself)
    computed = model.onward(outcome.streams[1], 2, change, keep=True).outputs[0][:, 2, 1]
    expected = recall.values(model, (2, 3), probe)
    torch.testing.assert_close(computed, expected, atol=1e-5, rtol=1e-4)


def test_the_model_says_what_its_planted_head_is_made_to_look_at():
    model = planted()
    generator = torch.Generator().manual_seed(0)
    inputs = texts.sequences(TOKENS, 3, 20, generator)
    where = recall.places(inputs, generator)
    outcome = forward(model, inputs, keep=True)
    moved = recall.moved(model, inputs, outcome, [INDUCTION_HEAD], where)
    assert moved.says > 0.9 and moved.gains > 1
    assert recall.moved(model, inputs, outcome, [(2, 1)], where).says < 0.2


def test_the_memory_that_is_constructed_recalls_orthogonal_vectors():
    """And correlated ones only once they are made uncorrelated."""
    generator = torch.Generator().manual_seed(0)
    shift = 3 * torch.randn(1, 256, generator=generator)
    few = torch.randn(30, 4, generator=generator) @ torch.randn(4, 256, generator=generator)
    vectors = torch.linalg.qr(torch.randn(256, 30, generator=generator))[0].T
    model = planted()
    probe = recall.Asked(torch.arange(30), [vectors + shift + few] * 4)
    plain = recall.constructed(model, (1, 1), (2, 1), probe, whiten=False)
    whitened = recall.constructed(model, (1, 1), (2, 1), probe, whiten=True)
    assert probes.recall(whitened, "keys") > probes.recall(plain, "keys")
    sizes = torch.linalg.svdvals(recall.whitened(vectors - vectors.mean(0)))
    assert torch.allclose(sizes[sizes > 0.5], torch.ones(29), atol=1e-4)


def test_the_lens_after_the_last_layer_is_the_model():
    model = planted()
    arrays = texts.record(model, TOKENS, torch.Generator().manual_seed(0))
    text = texts.recorded(TOKENS, torch.Generator().manual_seed(0))["pattern"]
    logits = forward(model, text[None]).logits[0]
    losses = -logits[:-1].log_softmax(-1).gather(1, text[1:, None])[:, 0]
    np.testing.assert_allclose(arrays["text/pattern/loss"][-1], losses.numpy(), atol=1e-2)
    assert "".join(TOKENS.decode(token) for token in text.tolist()) == "▸abcXabcXab"


def test_the_planted_head_needs_its_previous_token_head_and_no_other(run):
    row = run.names("previous").index(name_of(PREVIOUS_HEAD))
    column = run.names("readers").index(name_of(INDUCTION_HEAD))
    shares = run["patch/followers"][:, :, column]  # (draws, previous)
    assert shares[:, row].max() < 0.2
    assert np.delete(shares, row, axis=1).min() > 0.9


def test_a_run_holds_what_its_drawings_say(run):
    first, second = half_losses(run)
    assert (first - second).min() > 3
    heads = {head for head, role in roles(run).items() if role == "induction"}
    assert heads == {name_of(INDUCTION_HEAD)} == {run.names("strongest")[0]}
    assert run.names("best") == [name_of(PREVIOUS_HEAD), name_of(INDUCTION_HEAD)]
    maps = attention(run, View(shown=name_of(PREVIOUS_HEAD), passage="sentence"))
    np.testing.assert_allclose(maps.sum(1), 1, atol=0.03)
    assert maps.diagonal(-1).mean() > 0.95
    before, after = halves_by_layer(run, View(passage="pattern"))
    assert after[-1] < 1 < after[0] and before[-1] > 3


@pytest.mark.parametrize("head", ["4.1", "1.5", "0.1", "x", "1", "1.1.1", "¹.1", "-1.1"])
def test_a_head_that_there_is_not_is_refused(run, head):
    with pytest.raises(CannotDraw, match="head"):
        stage.one(run, View(shown=head))


def test_a_model_whose_weights_are_missing_says_how_to_get_them(tmp_path, monkeypatch):
    monkeypatch.setenv("ICL_MODELS", str(tmp_path))
    monkeypatch.setattr(sources.importlib.util, "find_spec", lambda name: None)
    for key in MODELS:
        if key not in ("planted", "given"):
            with pytest.raises(BadSetting, match=r"are not on this computer\. .*ICL_MODELS"):
                compute(Config(model=key), Recorder())


def test_what_is_said_again_follows_the_same_token():
    assert said_again(list("▸abcabd")).tolist() == [False] * 4 + [True, False]


def test_a_text_of_ones_own_is_recorded_beside_the_others(run):
    config = Config(length=8, sequences=1, asked=20, own="the cat the cat the dog")
    own = Run(config, compute(config, Recorder()))
    assert "".join(own.names("text/own")) == "▸the cat the cat the dog"
    panel = stage.losses(own, View(passage="own"))
    assert panel.data is not None and len(panel.data) == 23
    with pytest.raises(CannotDraw, match="no text of your own"):
        stage.losses(run, View(passage="own"))
    once = {**own.tensors, "names/text/own": names("▸abcdefghijklmnopqrstuvw")}
    with pytest.raises(CannotDraw, match="no token is said again"):
        stage.losses(Run(config, once), View(passage="own"))


def test_labels_of_tokens_are_short_and_printable():
    labels = token_labels([" a", "\n", "averylongtoken", "\x1b"])
    assert labels == ["␣a", "↵", "avery…", "\\u001…"]


def test_without_each_head_alone_is_without_a_set_of_one():
    model = planted()
    inputs = texts.sequences(TOKENS, 2, 12, torch.Generator().manual_seed(1))
    outcome = forward(model, inputs, keep=True)
    mean = texts.mean_outputs(outcome)
    alone = texts.losses_alone(model, inputs, outcome, mean)
    first = forward(model, inputs[:1], keep=True)
    for layer in (1, 2, 3):
        for head in (1, 2, 3, 4):
            losses = texts.losses_without(model, inputs[:1], first, [(layer, head)], mean)
            expected = [losses.first, losses.second]
            np.testing.assert_allclose(alone[layer - 1, head - 1], expected, atol=1e-4)


def test_the_planted_heads_are_the_ones_that_cost_most_when_they_are_taken_away(run):
    panel = single_heads.alone(run, View())
    costs = panel.data.set_index("head")["loss without it"]
    planted_heads = {name_of(PREVIOUS_HEAD), name_of(INDUCTION_HEAD)}
    assert {*costs.nlargest(2).index} == planted_heads
    assert run.names("needed")[0] in planted_heads
    others = costs.drop(list(planted_heads))
    assert others.max() - float(run["alone/whole"][:, 1].mean()) < 0.3
    assert costs.nsmallest(1).iloc[0] < costs.nlargest(2).iloc[1] - 1


def test_a_repeat_is_found_where_it_is_and_only_there():
    model = planted()
    generator = torch.Generator().manual_seed(0)
    assert distances.possible(TOKENS, 512) == [8, 32]
    assert distances.possible(TOKENS, 64) == [8]
    text = distances.sequence(TOKENS, 32, generator)
    assert len(text) == 1 + 32 + 32 and text[1:33].tolist() == text[33:].tolist()
    assert len({*text.tolist()}) == 33
    loss, followers = distances.measure(model, text, 32)
    maps = forward(model, text[None], keep=True).attention
    layer, head = INDUCTION_HEAD
    looked = [float(maps[layer - 1][0, head - 1, at, at - 31]) for at in range(33, 65)]
    assert followers[layer - 1, head - 1] == pytest.approx(np.mean(looked), abs=1e-5)
    assert followers[layer - 1, head - 1] > 0.9
    followers[layer - 1, head - 1] = 0
    assert followers.max() < 0.2
    logits = forward(model, text[None]).logits[0, 33:-1].log_softmax(-1)
    expected = -logits.gather(1, text[34:, None]).mean()
    assert loss == pytest.approx(float(expected), abs=1e-4)


def test_twenty_random_sets_differ_and_hold_heads_of_neither_kind(run):
    assert run["ablation/random"].shape[:2] == (5, 4)
    assert len(np.unique(run["ablation/random"][..., -1, 0].round(6))) > 10
    whole = half_losses(run)[1].mean()
    assert np.abs(run["ablation/random"][..., 1] - whole).max() < 0.5  # no planted head in them


def test_maps_of_a_long_text_keep_their_rows():
    generator = torch.Generator().manual_seed(0)
    T = 600  # three positions a cell
    maps = torch.rand(2, T, T, generator=generator).tril()
    maps = (maps / maps.sum(-1, keepdim=True)).numpy()
    coarse = texts.coarse(maps)
    assert coarse.shape == (2, 200, 200)
    np.testing.assert_allclose(coarse.sum(-1), 1, atol=1e-5)
    assert coarse[1, 7, 3] == pytest.approx(maps[1, 21:24, 9:12].sum(1).mean(), rel=1e-5)
    assert np.triu(coarse[0], 1).max() == 0
    np.testing.assert_array_equal(texts.coarse(maps[:, :256, :256]), maps[:, :256, :256])
    packed = texts.packed([torch.from_numpy(maps)[None]])
    np.testing.assert_allclose(unpacked(packed[0, 1]), coarse[1], atol=0.5 / 255)
