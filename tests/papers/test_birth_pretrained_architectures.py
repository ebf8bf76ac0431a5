"""Sixteen families of language models, built small: what the reader computes against eager
attention of `transformers`, and a planted head that is found, and no other. Skipped without
tests/requirements-pretrained.txt."""

import numpy as np
import pytest
import torch

transformers = pytest.importorskip("transformers")

from papers import planted_networks as networks  # noqa: E402

from icl_core.contract.experiment import CannotDraw, Run  # noqa: E402
from icl_core.contract.story import resolve_beats  # noqa: E402
from icl_core.papers.birth.pretrained import EXPERIMENT, recall, texts  # noqa: E402
from icl_core.papers.birth.pretrained.planted import LetterTokens  # noqa: E402
from icl_core.papers.birth.pretrained.readers import any_model  # noqa: E402
from icl_core.papers.birth.pretrained.readers.any_model import AnyModel  # noqa: E402
from icl_core.papers.birth.pretrained.readers.checks import BadModel  # noqa: E402
from icl_core.papers.birth.pretrained.readers.model import Change, forward  # noqa: E402
from icl_core.papers.birth.pretrained.run import compute  # noqa: E402
from icl_core.papers.birth.pretrained.settings import Config, View  # noqa: E402
from icl_core.papers.birth.shared.behaviour import INDUCTION, PREVIOUS, role  # noqa: E402
from tests.recorder import Recorder  # noqa: E402

TOKENS = LetterTokens()
FAMILIES = list(networks.FAMILIES)
HEADS = [(layer, head) for layer in (1, 2, 3) for head in range(1, 5)]


def read(network) -> AnyModel:
    any_model.register()
    network.set_attn_implementation(any_model.NAME)
    return AnyModel(network)


def louder(name: str, **settings):
    """A random model of a family whose scores, biases and sinks are large enough to matter."""
    network = networks.network(name)
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.add_(0.1 * torch.randn(parameter.shape, generator=generator))
    for setting, value in settings.items():
        setattr(network.config, setting, value)
    return network


def repeats(seed: int = 0) -> torch.Tensor:
    return texts.sequences(TOKENS, 4, 24, torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("name", FAMILIES)
def test_logits_and_maps_are_those_of_eager_attention(name):
    network = louder(name)
    inputs = torch.randint(networks.N, (2, 110), generator=torch.Generator().manual_seed(2))
    with torch.no_grad():  # 110 positions: beyond the window of families that have one
        expected = network(inputs, output_attentions=True, output_hidden_states=True)
    model = read(network)
    outcome = forward(model, inputs, keep=True)
    assert expected.logits.std() > 0.1
    torch.testing.assert_close(outcome.logits, expected.logits, atol=1e-6, rtol=1e-6)
    for ours, theirs in zip(outcome.attention, expected.attentions, strict=True):
        torch.testing.assert_close(ours, theirs, atol=1e-6, rtol=0)
    # theirs of the last layer is under the norm already
    for ours, theirs in zip(outcome.streams[:-1], expected.hidden_states[:-1], strict=True):
        torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(model.unembed(outcome.streams[-1]), outcome.logits)
    some = torch.tensor([3, 17])
    of_some = model.unembed(outcome.streams[-1], some)
    torch.testing.assert_close(of_some, outcome.logits[..., some], atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("name", FAMILIES)
def test_the_planted_head_is_found_and_no_other(name):
    model = read(networks.planted(name))
    inputs = repeats()
    outcome = forward(model, inputs, keep=True)
    scores = texts.head_scores(outcome.attention, inputs)
    roles = {head: role(*scores[:, head[0] - 1, head[1] - 1].tolist()) for head in HEADS}
    assert [head for head, does in roles.items() if does == PREVIOUS] == [networks.PREVIOUS_HEAD]
    assert [head for head, does in roles.items() if does == INDUCTION] == [networks.INDUCTION_HEAD]
    whole = texts.losses(outcome.logits, inputs)
    by = texts.losses_without(model, inputs, outcome, [networks.INDUCTION_HEAD], None)
    others = texts.losses_without(model, inputs, outcome, [(2, 1), (3, 1)], None)
    assert whole.second < whole.first - 1 and by.second > whole.second + 1
    assert abs(others.second - whole.second) < 0.5


@pytest.mark.parametrize("name", FAMILIES)
def test_the_planted_pair_recalls_and_copies_and_no_other(name):
    model = read(networks.planted(name))
    drawn = texts.drawn_tokens(TOKENS, 40, torch.Generator().manual_seed(0))
    probe = recall.asked(model, TOKENS.start, drawn)
    recalls = recall.of_pairs(model, HEADS, HEADS, probe, 20)
    pair = HEADS.index(networks.PREVIOUS_HEAD), HEADS.index(networks.INDUCTION_HEAD)
    assert recalls[pair] > 0.95
    recalls[pair] = np.nan
    assert np.nanmax(recalls) < 0.3
    copies = {head: recall.directly(model, head, probe) for head in HEADS}
    assert copies.pop(networks.INDUCTION_HEAD) > 0.95
    assert max(copies.values()) < 0.3


@pytest.mark.parametrize("name", FAMILIES)
def test_the_model_says_what_its_planted_head_is_made_to_look_at(name):
    model = read(networks.planted(name))
    generator = torch.Generator().manual_seed(0)
    inputs = texts.sequences(TOKENS, 3, 20, generator)
    where = recall.places(inputs, generator)
    outcome = forward(model, inputs, keep=True)
    moved = recall.moved(model, inputs, outcome, [networks.INDUCTION_HEAD], where)
    assert moved.says > 0.9 and moved.gains > 1
    assert recall.moved(model, inputs, outcome, [(2, 1)], where).says < 0.2


@pytest.mark.parametrize("name", FAMILIES)
def test_changes_reach_the_logits_and_only_those_layers(name):
    model = read(louder(name))
    inputs = repeats()
    plain = forward(model, inputs, keep=True)
    for same in (
        Change(attention=lambda layer, maps: plain.attention[layer - 1]),
        Change(outputs=lambda layer, z: plain.outputs[layer - 1]),
    ):
        torch.testing.assert_close(forward(model, inputs, same).logits, plain.logits)
    torch.testing.assert_close(model.onward(plain.streams[2], 3).logits, plain.logits)
    last = model.onward(plain.streams[0], last=5).logits
    torch.testing.assert_close(last, plain.logits[:, -5:])
    changed = forward(model, inputs, Change(outputs=lambda layer, z: z * (layer < 3)), keep=True)
    torch.testing.assert_close(changed.streams[2], plain.streams[2])
    assert not torch.allclose(changed.logits, plain.logits)


@pytest.mark.parametrize("name", FAMILIES)
def test_what_heads_are_given_and_write_is_what_the_layer_computes(name):
    """Scores of two tokens are those of the map, parts of the stream add up, and so does what heads
    write where no norm stands behind them."""
    model = read(louder(name))
    inputs = repeats()[:1]
    outcome = forward(model, inputs, keep=True)
    r = model.read(2, outcome.streams[1][0])  # (T, d)
    queries = model.attend(2, r[9:10], 9)[0]
    keys = torch.cat([model.attend(2, r[at : at + 1], at)[1] for at in range(10)])
    scores = torch.einsum("hd,shd->hs", queries[0], keys)
    maps = outcome.attention[1][0, :, 9, :10].log()
    capped = 50 * torch.tanh(scores / 50) if name == "gemma2" else scores
    differences = maps - capped
    torch.testing.assert_close(
        differences, differences[:, :1].expand_as(differences), atol=1e-4, rtol=1e-4
    )
    x, y = torch.randn(2, 5, networks.D, generator=torch.Generator().manual_seed(1))
    parts = model.read_part(2, x) + model.read_part(2, y)
    torch.testing.assert_close(parts, model.read_part(2, x + y), atol=1e-4, rtol=1e-3)
    z = torch.randn(3, networks.HEADS, networks.D_H, generator=torch.Generator().manual_seed(2))
    if name not in ("gemma2", "gemma3", "olmo2"):
        alone = torch.stack([z * (torch.arange(4) == head)[:, None] for head in range(4)])
        added = sum(model.write(2, part) for part in alone)
        torch.testing.assert_close(added, model.write(2, z), atol=1e-4, rtol=1e-3)


def drawn(model, length: int) -> tuple[set[str], str]:
    """Measure a model; the drawings that cannot be drawn, and why."""
    config = Config(length=length, sequences=1, asked=20)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("icl_core.papers.birth.pretrained.run.open_model", lambda _: (model, TOKENS))
        run = Run(config, compute(config, Recorder()))
    silent = set()
    reason = ""
    for drawing in EXPERIMENT.drawings:
        if drawing.applies(config) and not drawing.name.startswith("own_"):
            try:
                assert drawing.panel(run, View()).title
            except CannotDraw as problem:
                silent.add(drawing.name)
                reason = str(problem)
    assert EXPERIMENT.story is not None
    beats = {beat.name for beat in resolve_beats(EXPERIMENT.story, run)}
    assert ("heads" in beats) == ("heads" not in silent)
    return silent, reason


@torch.no_grad()
def test_of_a_model_without_attention_losses_and_the_lens_are_shown():
    config = transformers.MambaConfig(
        vocab_size=64, hidden_size=32, num_hidden_layers=2, state_size=4, intermediate_size=64
    )
    network = transformers.MambaForCausalLM(config).eval()
    model = read(network)
    assert model.shape.without_maps == (1, 2)
    inputs = repeats()
    expected = network(input_ids=inputs).logits
    outcome = forward(model, inputs, keep=True)
    torch.testing.assert_close(outcome.logits, expected)
    torch.testing.assert_close(model.unembed(outcome.streams[-1]), expected)
    silent, reason = drawn(model, 12)
    assert {"heads", "one", "without", "alone", "pairs"} <= silent
    assert not silent & {"losses", "lens", "tokens"}
    assert "no layer of this model attends through the interface" in reason


@torch.no_grad()
def test_of_a_hybrid_the_layers_that_attend_have_maps_and_the_others_say_so():
    config = transformers.Lfm2Config(
        vocab_size=64, hidden_size=32, intermediate_size=64, num_hidden_layers=4,
        num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=256,
        layer_types=["conv", "full_attention", "conv", "full_attention"],
    )  # fmt: skip
    network = transformers.Lfm2ForCausalLM(config).eval()
    network.set_attn_implementation("eager")
    inputs = repeats()
    expected = network(input_ids=inputs).logits
    model = read(network)
    assert model.shape.without_maps == (1, 3) and model.shape.heads == 4
    outcome = forward(model, inputs, keep=True)
    torch.testing.assert_close(outcome.logits, expected, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(model.onward(outcome.streams[2], 3).logits, outcome.logits)
    rows = [maps.sum(-1) for maps in outcome.attention]
    for layer in (1, 3):
        assert not rows[layer - 1].any()
        torch.testing.assert_close(rows[layer], torch.ones_like(rows[layer]))
    # two random layers may hold no pair
    assert drawn(model, 12)[0] <= {"pairs", "by_offset"}


def test_what_attention_is_given_and_does_not_compute_is_named():
    model = read(networks.network("llama"))
    visit = any_model._visiting(any_model._Visit({}))
    vectors = torch.zeros(1, 4, 3, 8)
    with visit, pytest.raises(BadModel, match="takes position_bias, which is not computed here"):
        any_model.attention(model.network, vectors, vectors, vectors, None, position_bias=vectors)
