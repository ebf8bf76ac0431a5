"""Probes and readings with planted answers: rows of W_K1, what W_O2 must write, where a model looks
and errs."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from icl_core.contract.experiment import CannotDraw
from icl_core.papers.birth.constructed import evaluation
from icl_core.papers.birth.induction import attention_scores
from icl_core.papers.birth.induction.draw import schedules
from icl_core.papers.birth.induction.settings import View
from icl_core.papers.birth.shared import probes
from icl_core.papers.birth.shared.accuracy import LIKELIER, copied_the_unlikely
from icl_core.papers.birth.shared.behaviour import following
from icl_core.papers.birth.shared.construction import construct
from icl_core.papers.birth.shared.gradient import evaluate
from icl_core.papers.birth.shared.model import forward, initialise
from icl_core.papers.birth.shared.task import Batch, make_task, masks, sample
from icl_core.papers.birth.shared.train import POOL, held_out
from tests.cells import shipped
from tests.papers.test_birth_construction import setting


def test_early_and_late_rows_choose_among_all_keys():
    weights, task = setting(embeddings="orthonormal")
    P = weights.P
    planted = P[1:10].T @ P[:9]  # positions 2 to 10 find the one before
    elsewhere = 1e-3 * P[10:].T @ P[30:31].repeat(54, 1)
    recalls = probes.recalls(weights.with_(W_K1=planted + elsewhere), task)
    # of 16 positions all but the first have one before
    assert recalls["W_K1_early_rows"] == pytest.approx(9 / 15)
    assert recalls["W_K1_late_rows"] == pytest.approx(1 / 48)  # that of position 32
    assert recalls["W_K1"] == pytest.approx(10 / 63)
    later = 2 * P[1:10].T @ P[40:41].repeat(9, 1)
    recalls = probes.recalls(weights.with_(W_K1=planted + later), task)
    assert recalls["W_K1_early_rows"] == 0  # a later key wins
    assert recalls["W_K1_early"] == pytest.approx(9 / 15)


def test_what_the_output_memory_must_write_is_counted_as_often():
    weights, task = setting(embeddings="orthonormal", outputs="bigram")
    stored = torch.tensor([1, 39, 43])  # what W_O2 answers rightly
    inputs = weights.W_E @ weights.V2.T
    W = weights.W_U[stored].T @ inputs[stored]
    weights = weights.with_(W_O2=W - 0.01 * weights.W_U[0][:, None] * inputs.sum(0))
    recalls = probes.recalls(weights, task)
    outputs = sample(task, 5_000, torch.Generator().manual_seed(0)).outputs
    share = float(torch.isin(outputs, stored).double().mean())
    assert recalls["W_O2_met"] == pytest.approx(share, abs=0.02)
    assert recalls["W_O2_met"] > 2 * recalls["W_O2"] > 0
    uniform = probes.recalls(weights, make_task())
    assert uniform["W_O2_met"] == pytest.approx(uniform["W_O2"])


@pytest.mark.parametrize("T", [64, 256])
def test_held_out_sequences_repeat_as_often_as_the_task_does(T):
    task = make_task(T=T)

    def repeated(batch: Batch) -> float:
        return float((batch.in_context & (batch.targets == batch.inputs)).double().sum(1).mean())

    batch = held_out(task, 256, "cpu")
    many = sample(task, POOL * 256, torch.Generator().manual_seed(2**31 + 17))
    assert len(batch.tokens) == 256
    # 256 freely drawn ones are off by a quarter
    assert repeated(batch) == pytest.approx(repeated(many), rel=0.02)


def test_what_follows_is_what_stood_after_the_same_token():
    tokens = torch.tensor([[7, 3, 7, 7, 5]])
    follows = following(tokens)[0]
    assert {(t, s) for t, s in follows.nonzero().tolist()} == {(2, 1), (3, 1), (3, 3)}


def test_a_constructed_head_looks_at_what_followed_and_links_every_position():
    weights, task = setting(256, embeddings="orthonormal")
    readout = attention_scores.look(construct(weights, task), task, 2)
    masses = attention_scores.on_followers(readout)
    assert masses["triggers"][0] > 0.9 and masses["others"][0] > 0.9  # whatever comes again
    assert masses["triggers"][1] < 0.4
    assert min(attention_scores.on_previous(readout)) > 0.9
    random = attention_scores.look(weights, task, 2)
    share = attention_scores.on_followers(random)["triggers"][0]
    assert share == pytest.approx(masses["triggers"][1], abs=0.05)


def test_a_head_that_links_early_positions_alone_errs_where_triggers_stand_first_late():
    weights, task = setting(256, embeddings="orthonormal")
    built = construct(weights, task)
    P = weights.P[:24]
    built = built.with_(W_K1=built.W_K1 @ P.T @ P)  # no key after position 24 is found
    readout = attention_scores.look(built, task, 2)
    shares = attention_scores.errors_by_first(readout)
    assert list(shares) == ["1–16", "17–32", "33–64"]
    assert shares["1–16"][0] + 0.4 < shares["33–64"][0]
    first, last = attention_scores.on_previous(readout)
    assert first > 0.9 and last < 0.1
    batch = readout.batch
    inside = int(batch.in_context.sum())
    wrong = int((batch.in_context & (readout.guess != batch.targets)).sum())
    accuracy = evaluate(built, batch, positions="in_context")["accuracy"]
    assert accuracy == pytest.approx(1 - wrong / inside, abs=1e-3)


def test_errors_that_name_likely_bigrams_are_told_from_others():
    task = make_task(T=32, K=1, triggers="fixed")
    trigger = int(task.fixed_triggers[0])
    likely, unlikely = (int(task.bigram[trigger].argsort(descending=True)[i]) for i in (1, 60))
    inputs = torch.full((1, 32), 5)
    inputs[0, ::4] = trigger
    in_context, global_ = masks(inputs, torch.tensor([[trigger]]), task.N)
    tokens = torch.cat([inputs, inputs[:, :1]], 1)
    batch = Batch(tokens, in_context, global_, torch.tensor([[trigger]]), torch.tensor([[5]]))
    guess = torch.full((1, 32), 5)
    guess[0, [4, 8, 12]] = torch.tensor([likely, likely, unlikely])  # of three errors
    followers = torch.zeros(1, 32)
    followers[0, 8] = 0.9
    right = (guess == batch.targets).float()
    readout = attention_scores.Readout(batch, guess, right, followers, followers, followers)
    assert attention_scores.on_bigrams(readout, task) == pytest.approx((2 / 3, 1 / 3))


def test_even_attention_has_all_the_entropy_and_no_largest_weight():
    even = np.tril(np.ones((40, 40))) / np.arange(1, 41)[:, None]
    assert attention_scores.spread(even) == pytest.approx((1, 1))
    assert attention_scores.spread(np.eye(40)) == pytest.approx((0, np.mean(range(17, 41))))


@pytest.mark.parametrize("d", [64, 256])
def test_at_the_start_scores_have_the_variance_that_the_embeddings_give_them(d):
    task = make_task()
    generator = torch.Generator().manual_seed(0)
    of_the_code = initialise(task.N, d, task.T, generator, "code", with_F=False)
    measured = attention_scores.score_variances(of_the_code, task)
    assert measured == pytest.approx([4 / 3, 4 / 3], rel=0.15)
    of_the_paper = initialise(task.N, d, task.T, generator, "paper", with_F=False)
    measured = attention_scores.score_variances(of_the_paper, task)
    assert measured == pytest.approx([4 / d**2, 4 / d**2], rel=0.25)


def test_the_entropy_of_gaussian_scores_falls_short_by_half_their_variance():
    t = np.arange(17, 129)  # the rows that count
    small = 0.1
    expected = 1 - small / 2 * (1 - 1 / t) / np.log(t)
    assert attention_scores.evenness_of_gaussian(small, 128) == pytest.approx(
        expected.mean(), abs=5e-4
    )


def test_one_cleaned_matrix_leaves_the_others_as_they_are():
    weights, task = setting(128)
    noisy = construct(weights, task)
    clean = construct(weights, task, cross_talk="stream")
    mixed = construct(weights, task, cross_talk="stream", cleaned=("W_K2",))
    assert mixed.W_O2.equal(noisy.W_O2) and mixed.W_K1.equal(noisy.W_K1)
    assert mixed.W_K2.equal(clean.W_K2) and not mixed.W_K2.equal(noisy.W_K2)


def test_a_feed_forward_layer_that_reads_the_whole_stream_is_the_model():
    weights, task = setting(256, with_F=True, embeddings="orthonormal", triggers="fixed")
    built = construct(weights, task, output_scale=30.0)
    batch = held_out(task, 64, "cpu")
    readings = dict(zip(evaluation.READ, evaluation.readings(built, batch), strict=True))
    achieved = evaluate(built, batch)
    expected = [achieved["accuracy"], achieved["global_loss"]]
    assert readings["stream"] == pytest.approx(expected, abs=1e-3)
    bare = built.with_(**dict.fromkeys(("W_O2", "V2", "R1"), torch.zeros(256, 256)))
    alone = evaluation.readings(bare, batch)
    # nothing but the token and its place is there to read
    assert np.ptp(alone[:2], axis=0).max() < 1e-4
    assert evaluation.bigrams_loss(task, batch) < alone[2, 1] < math.log(65)


def test_what_the_heads_do_is_counted_as_in_a_loop():
    """On random weights, where no head does anything; and by the construction, where both do."""
    weights, task = setting(K=3)
    batch = sample(task, 6, torch.Generator().manual_seed(2))
    logits, first, second = forward(weights, batch.inputs)
    assert first is not None
    back = []
    finds = []
    says = []
    for b in range(6):
        for t in range(64):
            if not batch.in_context[b, t] or batch.targets[b, t] == batch.inputs[b, t]:
                continue
            place = int(second[b, t].argmax())
            if place > 0:
                back.append(int(first[b, place].argmax()) == place - 1)
            finds.append(place > 0 and bool(batch.inputs[b, place - 1] == batch.inputs[b, t]))
            says.append(int(logits[b, t].argmax()) == int(batch.inputs[b, place]))
    probed = attention_scores.head_probes(weights, batch)
    for values, measured in zip((back, finds, says), probed, strict=True):
        assert measured == pytest.approx(sum(values) / len(values))
    weights, _ = setting(embeddings="orthonormal")
    probed = attention_scores.head_probes(construct(weights, task).with_(W_F=None), batch)
    assert min(probed) > 0.95


@pytest.mark.long
@pytest.mark.parametrize("preset", ["order", "W_K1 frozen, paper size"])
def test_figure_3_stands_in_one_figure(preset):
    """Five schedules, each with its accuracy, its recalls and its heads; without them none."""
    run = shipped("birth.induction", preset)
    panel = schedules.schedules(run, View())
    assert panel.data is not None and list(panel.data["frozen"]) == list(schedules.SCHEDULES)
    together, output_alone, without_output, *_ = panel.data.iloc[:, 1]
    assert together > 0.9 > 0.5 > output_alone > 0.25 > without_output
    assert panel.title.startswith("At step 300: 9")
    with pytest.raises(CannotDraw, match="are not shipped here"):
        schedules.schedules(replace(run, shipped=lambda _: None), View())


def test_copying_against_the_bigrams_is_counted_as_in_a_loop():
    weights, task = setting(K=3)
    readout = attention_scores.look(weights, task, 2)
    batch = readout.batch
    copies = []
    for b, t in batch.in_context.nonzero().tolist():
        probabilities = task.bigram[batch.inputs[b, t]]
        if int((probabilities > probabilities[batch.targets[b, t]]).sum()) >= LIKELIER:
            copies.append(float(readout.right[b, t]))
    copied, error = copied_the_unlikely(readout.right, batch, task)
    assert copied == pytest.approx(sum(copies) / len(copies)) and 0 < error < 0.2
