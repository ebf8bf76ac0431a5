"""The circuit: paths add up to the logits, blocks hold the stage's maps, a constructed head has the
paper's arrows."""

import numpy as np
import pytest
import torch

from icl_core import registry
from icl_core.papers.birth.induction.draw import sequence as draw
from icl_core.papers.birth.induction.draw.sequence import reading
from icl_core.papers.birth.shared import circuit
from icl_core.papers.birth.shared.blocks import STORED, blocks_of, readings, span, spurious
from icl_core.papers.birth.shared.circuit import Path, contributions, merged, simplified
from icl_core.papers.birth.shared.construction import construct
from icl_core.papers.birth.shared.full import model as full
from icl_core.papers.birth.shared.full import probes
from icl_core.papers.birth.shared.model import forward, initialise
from icl_core.papers.birth.shared.probes import memory_scores, memory_tokens
from icl_core.papers.birth.shared.sequence import example, read, typed
from icl_core.papers.birth.shared.superposition import WRITTEN, streams
from icl_core.papers.birth.shared.task import make_task
from icl_core.papers.birth.transformer.draw.circuit import full_circuit, read_with
from tests.cells import shipped

VIEW = registry.experiment("birth.induction").view


def random(N=20, d=32, T=32, **more):
    return initialise(N, d, T, torch.Generator().manual_seed(0), **more)


@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("with_F", [False, True])
def test_paths_add_up_to_the_logits(layers, with_F):
    weights = random(with_F=with_F, scale="code")
    tokens = torch.arange(12) % 5
    paths = contributions(simplified(weights, tokens, layers))
    double = type(weights)(**{name: W.double() for name, W in weights.tensors().items()})
    logits = forward(double, tokens[None], layers)[0][0]
    # from a character and from a position, past or through each part
    assert len(paths) == 2 * 2**layers * (1 + with_F)
    for parts in (paths, merged(paths)):
        torch.testing.assert_close(sum(parts.values()), logits, rtol=1e-12, atol=1e-11)


def test_a_path_is_what_its_matrices_make_of_the_embedding():
    weights = random(with_F=False)
    tokens = torch.arange(9) % 4
    computed = contributions(simplified(weights, tokens))[Path("w_E", (1, 2))]
    _, first, second = forward(weights, tokens[None])
    assert first is not None
    mixed = second[0] @ first[0] @ weights.W_E[tokens]
    expected = mixed @ weights.R1.T @ weights.V2.T @ weights.W_O2.T @ weights.W_U.T
    torch.testing.assert_close(computed.float(), expected, rtol=1e-4, atol=1e-5)


def test_the_bars_are_the_models_logits():
    run = shipped("birth.induction", "both")
    panel = draw.paths(run, VIEW())
    _, weights, sequence = reading(run, VIEW())
    at = circuit.followed(sequence, 0)
    logits = forward(weights, sequence.inputs[None])[0][0, at]
    columns = [column for column in panel.data.columns if column.startswith("'")]
    letters = [column[1:-1].replace("␣", " ").replace("↵", "\n") for column in columns]
    tokens = [sequence.task.characters.index(letter) for letter in letters]
    np.testing.assert_allclose(panel.data[columns].sum(), logits[tokens], rtol=1e-4, atol=1e-3)
    for trace, index in zip(panel.figure.data, tokens, strict=True):
        *paths, total = trace["x"]
        assert sum(paths) == pytest.approx(total)
        assert total == pytest.approx(float(logits[index]), rel=1e-4, abs=1e-3)


@pytest.mark.parametrize("triggers", ["random", "fixed"])
@pytest.mark.parametrize("name", ["W_K1", "W_K2", "W_O2", "W_F"])
def test_the_outlined_block_is_the_map_of_the_stage(name, triggers):
    task = make_task(20, 3, 32, triggers)
    weights = random()
    blocks = blocks_of(name, weights, task)
    block = blocks.block(*STORED[name])
    if name == "W_K1":
        block = block[1:, :-1]
    if name == "W_K2":
        block = block[memory_tokens(task)][:, memory_tokens(task)]
    expected = memory_scores(name, weights, task).matrix
    np.testing.assert_allclose(block, expected, rtol=1e-5, atol=1e-6)
    sizes = [sum(map(len, side.values())) for side in (blocks.rows, blocks.columns)]
    assert list(blocks.matrix.shape) == sizes


def test_the_map_drawn_holds_the_most_frequent_characters_and_the_first_positions():
    run = shipped("birth.induction", "fastest")
    figure = draw.blocks(run, VIEW()).figure
    _, weights, sequence = reading(run, VIEW())
    few, whole = (blocks_of("W_K2", weights, sequence.task, most) for most in (32, None))
    np.testing.assert_allclose(figure.data[0]["z"], few.matrix)
    rows = [whole.rows["w_E"].index(character) for character in few.rows["w_E"]]
    by_frequency = sequence.task.unigram.argsort(descending=True, stable=True)
    assert set(rows) == set(by_frequency[:32].tolist())
    np.testing.assert_allclose(
        few.block("w_E", "R¹ w_E"), whole.block("w_E", "R¹ w_E")[np.ix_(rows, rows)], rtol=1e-4
    )
    box = figure.layout["shapes"][-1]
    assert box["y0"] == span(few.rows, "w_E").start - 0.5
    assert box["x0"] == span(few.columns, "R¹ w_E").start - 0.5


def spurious_of(name, weights, task):
    return spurious(readings(blocks_of(name, weights, task), name, task), name)


def test_eq_7_matches_positions_with_their_copies_too():
    """The sum over N characters is N / d times the identity, on average: so much does a position
    read of its copy."""
    task = make_task(20, 3, 32)
    (memory,) = spurious_of("W_K2", construct(random(d=256), task), task)
    assert (memory.row, memory.column) == ("p", "R¹ p")
    assert memory.diagonal == pytest.approx(15 * 256**0.5 * 20 / 256, rel=0.2)


def test_a_memory_planted_beside_the_stored_one_is_named():
    task = make_task(20, 3, 32)
    weights = random(d=256)
    built = construct(weights, task)
    assert spurious_of("W_O2", built, task) == []
    copies = weights.W_E @ weights.R1.T @ weights.V2.T
    planted = built.with_(W_O2=built.W_O2 + 5 * weights.W_U.T @ copies)
    (memory,) = spurious_of("W_O2", planted, task)
    assert (memory.row, memory.column) == ("w_U", "R¹ w_E")
    assert memory.diagonal == pytest.approx(5, rel=0.3)


def test_a_constructed_head_has_the_papers_arrows():
    """Figure 1: the position before is copied; the query goes to what carries its copy, and that is
    said."""
    task = make_task(20, 4, 32)
    weights = construct(random(d=512, with_F=False), task)
    sequence = typed(task, *example(task))
    at = circuit.followed(sequence, 0)
    best = read(weights, sequence, 2).probabilities.argmax(1).tolist()
    traced = circuit.traced(simplified(weights, sequence.inputs), best, sequence, at)
    tokens = sequence.inputs.tolist()
    before = [key for key in range(at) if tokens[key] == tokens[at]]
    assert traced.looked and set(traced.looked) <= {key + 1 for key in before}
    assert all(traced.copied(key)[0] == key - 1 for key in traced.looked)
    assert task.characters.index(traced.says[at]) == sequence.truth[tokens[at]] and traced.right[at]
    panel = circuit.arrows(traced, "Step 0")
    ends = {
        (arrow["ay"], arrow["y"])
        for arrow in panel.figure.layout["annotations"]
        if arrow.get("arrowcolor") in ("#56B4E9", "#009E73")
    }
    assert ends == {(key, at) for key in traced.looked} | {(key - 1, key) for key in traced.looked}
    assert "which carr" in panel.title and panel.title.endswith(f"says '{traced.says[at]}'")


def test_weights_of_a_stream_are_the_models_attention():
    run = shipped("birth.induction", "fastest")
    expected, weights, sequence = reading(run, VIEW())
    traced = circuit.traced(simplified(weights, sequence.inputs), [0] * 8, sequence, 7)
    np.testing.assert_allclose(traced.attention2, expected.attention2, atol=1e-5)
    for at in range(8):
        parts = [part for part in streams(traced) if part.at == at]
        sums = [sum(part.weight for part in parts if part.column == column) for column in range(3)]
        assert sums == pytest.approx([2, 4, 1], abs=1e-6)
        written = {part.vector: part.weight for part in parts if part.kind == WRITTEN}
        assert all(weight >= 0.1 for vector, weight in written.items() if vector.startswith("W_O"))


def test_a_position_beyond_the_sequence_is_its_last():
    run = shipped("birth.induction", "fastest")
    beyond, last = (draw.streams(run, VIEW(followed=at)).title for at in (24, 8))
    assert beyond == last
    assert "5 'h' looks at" in draw.streams(run, VIEW(followed=5)).title
    assert "nothing" not in draw.streams(run, VIEW(sequence="abcdef")).title


def whole(layers=2, **more):
    weights = full.initialise(20, 16, 32, layers, torch.Generator().manual_seed(1), **more)
    generator = torch.Generator().manual_seed(2)
    shifted = {
        name: tensor + 0.3 * torch.randn(tensor.shape, generator=generator)
        for name, tensor in weights.items()
    }
    return {
        name: shifted[name] if name.startswith(("gain", "bias")) else weights[name]
        for name in weights
    }


@pytest.mark.parametrize("layers", [1, 2, 3])
@pytest.mark.parametrize("mlp", [False, True])
@pytest.mark.parametrize("layer_norm", [False, True])
def test_paths_of_the_full_transformer_add_up_to_its_logits(layers, mlp, layer_norm):
    """Exactly: with attention, the units that are on and the scale of layer norm kept
    as they are."""
    weights = whole(layers, mlp=mlp, layer_norm=layer_norm)
    tokens = torch.arange(12) % 5
    paths = contributions(full_circuit(weights, tokens, 2))
    double = {name: tensor.double() for name, tensor in weights.items()}
    logits = full.forward(double, tokens[None], 2).logits[0]
    for parts in (paths, merged(paths)):
        torch.testing.assert_close(sum(parts.values()), logits, rtol=1e-10, atol=1e-10)
    assert ("biases" in merged(paths)) == layer_norm


def test_the_outlined_blocks_of_the_full_transformer_are_those_that_its_probes_ask():
    task = make_task(20, 3, 32)
    weights = whole()
    positions = weights["P"]
    characters = weights["W_E"]
    copies = characters @ (weights["W_O1"] @ weights["W_V1"]).T
    for head in range(2):
        back = read_with("W_K1", head, 2, weights, task).block(*STORED["W_K1"])[1:, :-1]
        find = read_with("W_K2", head, 2, weights, task).block(*STORED["W_K2"])
        np.testing.assert_allclose(
            back, probes.scores(weights, 1, positions[1:], positions[:-1], 2)[head], atol=1e-4
        )
        np.testing.assert_allclose(
            find, probes.scores(weights, 2, characters, copies, 2)[head], atol=1e-4
        )
    outputs = weights["W_U"] @ weights["W_O2"] @ weights["W_V2"] @ characters.T
    np.testing.assert_allclose(
        read_with("W_O2", 0, 2, weights, task).block(*STORED["W_O2"]), outputs, atol=1e-4
    )
