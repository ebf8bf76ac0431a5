"""The sampler against the distributions it is to follow, and the masks against a loop that reads
like the text."""

import pytest
import torch

from icl_core.papers.birth.shared.task import count_text, make_task, masks, sample


def generator(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def chi_square_per_degree(observed: torch.Tensor, expected: torch.Tensor) -> float:
    """About 1 if `observed` counts follow `expected` ones; cells expected less than 5 times are
    left out."""
    frequent = expected >= 5
    return float(
        ((observed - expected)[frequent].square() / expected[frequent]).sum() / frequent.sum()
    )


def counts(tokens: torch.Tensor, N: int) -> torch.Tensor:
    return torch.bincount(tokens.flatten(), minlength=N).double()


def test_first_token_and_transitions_follow_pi_u_and_pi_b():
    task = make_task(N=20, K=2, T=64)
    batch = sample(task, 4000, generator(0))
    assert chi_square_per_degree(counts(batch.tokens[:, 0], 20), 4000 * task.unigram) < 2
    plain = batch.global_  # no trigger: the bigram law holds
    pairs = counts(batch.inputs[plain] * 20 + batch.targets[plain], 400).view(20, 20)
    assert chi_square_per_degree(pairs, pairs.sum(1, keepdim=True) * task.bigram) < 1.3
    assert (pairs[task.bigram == 0] == 0).all()


def test_triggers_are_always_followed_by_their_output():
    task = make_task(K=5, T=64)
    batch = sample(task, 200, generator(1))
    outputs = torch.full((200, task.N), -1).scatter_(1, batch.triggers, batch.outputs)
    output = outputs.gather(1, batch.inputs)
    assert (batch.targets == output)[~batch.global_].all()
    assert (output[batch.global_] == -1).all()


@pytest.mark.parametrize("triggers, first", [("fixed", 0), ("fixed rare", 5)])
def test_fixed_triggers_are_the_most_frequent(triggers, first):
    task = make_task(K=3, triggers=triggers)
    assert task.unigram.argsort(descending=True)[first : first + 3].equal(
        sample(task, 4, generator(0)).triggers[2]
    )


def test_random_triggers_are_drawn_from_pi_u_without_replacement():
    task = make_task(N=30, K=3, T=2)
    batch = sample(task, 20000, generator(2))
    assert (batch.triggers.sort(1).values.diff(dim=1) > 0).all()
    assert chi_square_per_degree(counts(batch.triggers[:, 0], 30), 20000 * task.unigram) < 2


@pytest.mark.parametrize("outputs", ["uniform", "bigram"])
@pytest.mark.parametrize("no_repeat", [False, True])
def test_outputs_follow_their_law(outputs, no_repeat):
    task = make_task(N=10, K=1, T=2, triggers="fixed", outputs=outputs, no_repeat=no_repeat)
    batch = sample(task, 10000, generator(3))
    trigger = int(task.fixed_triggers[0])
    law = torch.full((10,), 0.1).double() if outputs == "uniform" else task.bigram[trigger].clone()
    if no_repeat:
        law[trigger] = 0
    assert chi_square_per_degree(counts(batch.outputs, 10), 10000 * law / law.sum()) < 2.2
    assert not no_repeat or (batch.outputs != trigger).all()


def naive_masks(inputs: list[int], triggers: set[int]) -> tuple[list[bool], list[bool]]:
    in_context = [token in triggers and token in inputs[:t] for t, token in enumerate(inputs)]
    return in_context, [token not in triggers for token in inputs]


def test_masks_equal_the_loop():
    batch = sample(make_task(K=5, T=96), 30, generator(4))
    for row in range(30):
        inputs = batch.inputs[row].tolist()
        in_context, global_ = naive_masks(inputs, set(batch.triggers[row].tolist()))
        assert batch.in_context[row].tolist() == in_context
        assert batch.global_[row].tolist() == global_


def test_masks_of_a_typed_sequence():
    a, b, c = range(3)
    in_context, global_ = masks(torch.tensor([[a, b, c, a, a, b]]), torch.tensor([[a, c]]), 3)
    # from the second occurrence on; c's first occurrence is neither
    assert in_context.tolist() == [[False, False, False, True, True, False]]
    assert global_.tolist() == [[False, True, False, False, False, True]]


def test_same_seed_same_batch():
    first, second = (sample(make_task(T=32), 8, generator(5)).tokens for _ in range(2))
    assert first.equal(second)
    assert first.shape == (8, 33)


def test_vocabulary_keeps_the_most_frequent_characters():
    task = make_task(N=3, K=1, counts=count_text("aaaabbbbccd" * 3))
    assert task.characters == ("a", "b", "c")
    torch.testing.assert_close(task.unigram, torch.tensor([4.0, 4.0, 2.0]).double() / 10)
    torch.testing.assert_close(task.bigram.sum(1), torch.ones(3).double())
    assert task.bigram[0, 2] == 0


def test_a_character_that_nothing_follows_is_followed_by_pi_u():
    task = make_task(K=1, counts=count_text("abcabcx"))
    torch.testing.assert_close(task.bigram[3], task.unigram)


@pytest.mark.parametrize(
    "wrong",
    [
        {"triggers": "rare"},
        {"outputs": "x"},
        {"K": 0},
        {"K": 66},
        {"N": 8, "K": 4, "triggers": "fixed rare"},
        {"T": 1},
    ],
)
def test_settings_out_of_range_are_refused(wrong):
    with pytest.raises(ValueError, match="must be"):
        make_task(**wrong)


def test_text_of_one_character_is_refused():
    with pytest.raises(ValueError, match="different characters"):
        count_text("aaa")
