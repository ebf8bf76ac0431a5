"""The circuit: paths add up to the logits, blocks hold the stage's maps, a constructed head has the
paper's arrows."""

import numpy as np
import pytest
import torch

from icl_core import registry
from icl_core.papers.birth.induction.draw import sequence as drawn
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
    weights, tokens = random(with_F=with_F, scale="code"), torch.arange(12) % 5
    found = contributions(simplified(weights, tokens, layers))
    double = type(weights)(**{name: each.double() for name, each in weights.tensors().items()})
    logits = forward(double, tokens[None], layers)[0][0]
    torch.testing.assert_close(
        torch.stack(list(found.values())).sum(0), logits, rtol=1e-12, atol=1e-11
    )
    assert len(found) == 2 * 2**layers * (
        1 + with_F
    )  # from a character and from a position, past or through each part
    torch.testing.assert_close(
        torch.stack(list(merged(found).values())).sum(0), logits, rtol=1e-12, atol=1e-11
    )


def test_a_path_is_what_its_matrices_make_of_the_embedding():
    weights, tokens = random(with_F=False), torch.arange(9) % 4
    found, (_, first, second) = (
        contributions(simplified(weights, tokens)),
        forward(weights, tokens[None]),
    )
    assert first is not None
    mixed = second[0] @ first[0] @ weights.W_E[tokens]
    through_both = mixed @ weights.R1.T @ weights.V2.T @ weights.W_O2.T @ weights.W_U.T
    torch.testing.assert_close(
        found[Path("w_E", (1, 2))].float(), through_both, rtol=1e-4, atol=1e-5
    )


def test_the_bars_are_the_models_logits():
    run = shipped("birth.induction", "both")
    panel, (_, weights, sequence) = drawn.paths(run, VIEW()), reading(run, VIEW())
    at = circuit.followed(sequence, 0)
    logits = forward(weights, sequence.inputs[None])[0][0, at]
    letters = [each for each in panel.data.columns if each.startswith("'")]
    told = [
        sequence.task.characters.index(each[1:-1].replace("␣", " ").replace("↵", "\n"))
        for each in letters
    ]
    np.testing.assert_allclose(panel.data[letters].sum(), logits[told], rtol=1e-4, atol=1e-3)
    for trace, index in zip(panel.figure.data, told, strict=True):
        *paths, total = trace["x"]
        assert (
            sum(paths)
            == pytest.approx(total)
            == pytest.approx(float(logits[index]), rel=1e-4, abs=1e-3)
        )


@pytest.mark.parametrize("triggers", ["random", "fixed"])
@pytest.mark.parametrize("name", ["W_K1", "W_K2", "W_O2", "W_F"])
def test_the_outlined_block_is_the_map_of_the_stage(name, triggers):
    task, weights = make_task(20, 3, 32, triggers), random()
    found, shown = blocks_of(name, weights, task), memory_scores(name, weights, task)
    block = found.block(*STORED[name])
    if name == "W_K1":
        block = block[1:, :-1]
    if name == "W_K2":
        block = block[memory_tokens(task)][:, memory_tokens(task)]
    np.testing.assert_allclose(block, shown.matrix, rtol=1e-5, atol=1e-6)
    assert found.matrix.shape == tuple(
        sum(map(len, side.values())) for side in (found.rows, found.columns)
    )


def test_the_map_drawn_holds_the_most_frequent_characters_and_the_first_positions():
    run = shipped("birth.induction", "fastest")
    figure, (_, weights, sequence) = drawn.blocks(run, VIEW()).figure, reading(run, VIEW())
    few, whole = (blocks_of("W_K2", weights, sequence.task, most) for most in (32, None))
    np.testing.assert_allclose(figure.data[0]["z"], few.matrix)
    rows = [whole.rows["w_E"].index(each) for each in few.rows["w_E"]]
    assert set(rows) == set(
        sequence.task.unigram.argsort(descending=True, stable=True)[:32].tolist()
    )
    np.testing.assert_allclose(
        few.block("w_E", "R¹ w_E"), whole.block("w_E", "R¹ w_E")[np.ix_(rows, rows)], rtol=1e-4
    )
    where = span(few.rows, "w_E"), span(few.columns, "R¹ w_E")
    box = figure.layout["shapes"][-1]
    assert (box["y0"], box["x0"]) == (where[0].start - 0.5, where[1].start - 0.5)


def test_eq_7_matches_positions_with_their_copies_too():
    """The sum over N characters is N / d times the identity, on average: so much does a position
    read of its copy."""
    task, weights = make_task(20, 3, 32), random(d=256)
    (found,) = spurious(
        readings(blocks_of("W_K2", construct(weights, task), task), "W_K2", task), "W_K2"
    )
    assert (found.row, found.column) == ("p", "R¹ p")
    assert found.diagonal == pytest.approx(15 * 256**0.5 * 20 / 256, rel=0.2)


def test_a_memory_planted_beside_the_stored_one_is_named():
    task, weights = make_task(20, 3, 32), random(d=256)
    built = construct(weights, task)
    assert spurious(readings(blocks_of("W_O2", built, task), "W_O2", task), "W_O2") == []
    copies = weights.W_E @ weights.R1.T @ weights.V2.T
    planted = built.with_(W_O2=built.W_O2 + 5 * weights.W_U.T @ copies)
    (found,) = spurious(readings(blocks_of("W_O2", planted, task), "W_O2", task), "W_O2")
    assert (found.row, found.column) == ("w_U", "R¹ w_E") and found.diagonal == pytest.approx(
        5, rel=0.3
    )


def test_a_constructed_head_has_the_papers_arrows():
    """Figure 1: the position before is copied; the query goes to what carries its copy, and that is
    said."""
    task = make_task(20, 4, 32)
    weights = construct(random(d=512, with_F=False), task)
    sequence = typed(task, *example(task))
    at, best = (
        circuit.followed(sequence, 0),
        read(weights, sequence, 2).probabilities.argmax(1).tolist(),
    )
    found = circuit.traced(simplified(weights, sequence.inputs), best, sequence, at)
    tokens = sequence.inputs.tolist()
    before = [key for key in range(at) if tokens[key] == tokens[at]]
    assert found.looked and set(found.looked) <= {key + 1 for key in before}
    assert all(found.copied(key)[0] == key - 1 for key in found.looked)
    assert task.characters.index(found.says[at]) == sequence.truth[tokens[at]] and found.right[at]
    panel = circuit.arrows(found, "Step 0")
    strong = [
        each
        for each in panel.figure.layout["annotations"]
        if each.get("arrowcolor") in ("#56B4E9", "#009E73")
    ]
    ends = {(each["ay"], each["y"]) for each in strong}
    assert ends == {(key, at) for key in found.looked} | {(key - 1, key) for key in found.looked}
    assert "which carr" in panel.title and panel.title.endswith(f"says '{found.says[at]}'")


def test_weights_of_a_stream_are_the_models_attention():
    run = shipped("birth.induction", "fastest")
    found, weights, sequence = reading(run, VIEW())
    traced = circuit.traced(simplified(weights, sequence.inputs), [0] * 8, sequence, 7)
    np.testing.assert_allclose(traced.attention2, found.attention2, atol=1e-5)
    held = streams(traced)
    for at in range(8):
        here = [each for each in held if each.at == at]
        assert [
            sum(each.weight for each in here if each.column == column) for column in (0, 1, 2)
        ] == pytest.approx([2, 4, 1], abs=1e-6)
        written = {each.vector: each.weight for each in here if each.kind == WRITTEN}
        assert all(weight >= 0.1 for vector, weight in written.items() if vector.startswith("W_O"))


def test_a_position_beyond_the_sequence_is_its_last():
    run = shipped("birth.induction", "fastest")
    assert drawn.streams(run, VIEW(followed=24)).title == drawn.streams(run, VIEW(followed=8)).title
    assert "5 'h' looks at" in drawn.streams(run, VIEW(followed=5)).title
    assert "nothing" not in drawn.streams(run, VIEW(sequence="abcdef")).title


def whole(layers=2, **more):
    weights = full.initialise(20, 16, 32, layers, torch.Generator().manual_seed(1), **more)
    generator = torch.Generator().manual_seed(2)
    shifted = {
        name: each + 0.3 * torch.randn(each.shape, generator=generator)
        for name, each in weights.items()
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
    weights, tokens = whole(layers, mlp=mlp, layer_norm=layer_norm), torch.arange(12) % 5
    found = contributions(full_circuit(weights, tokens, 2))
    logits = full.forward(
        {name: each.double() for name, each in weights.items()}, tokens[None], 2
    ).logits[0]
    torch.testing.assert_close(
        torch.stack(list(found.values())).sum(0), logits, rtol=1e-10, atol=1e-10
    )
    torch.testing.assert_close(
        torch.stack(list(merged(found).values())).sum(0), logits, rtol=1e-10, atol=1e-10
    )
    assert ("biases" in merged(found)) == layer_norm


def test_the_outlined_blocks_of_the_full_transformer_are_those_that_its_probes_ask():
    task, weights = make_task(20, 3, 32), whole()
    positions, characters = weights["P"], weights["W_E"]
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
    said = weights["W_U"] @ weights["W_O2"] @ weights["W_V2"] @ characters.T
    np.testing.assert_allclose(
        read_with("W_O2", 0, 2, weights, task).block(*STORED["W_O2"]), said, atol=1e-4
    )
