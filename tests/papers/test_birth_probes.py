"""Every recall is that of its definition, counted pair by pair, and a memory's map names what it
shows."""

import pytest
import torch

from icl_core.figures import visible_characters
from icl_core.papers.birth.shared import probes
from icl_core.papers.birth.shared.construction import construct
from icl_core.papers.birth.shared.model import initialise
from icl_core.papers.birth.shared.probes import FLOOR, log_bigram, memory, memory_tokens
from icl_core.papers.birth.shared.task import make_task

T = 32


def half_learned(**task):
    """Weights whose memories recall some of their pairs, and their task."""
    generator = torch.Generator().manual_seed(1)
    weights = initialise(65, 48, T, generator, "paper", True, "random")
    task = make_task(T=T, **task)
    built = construct(weights, task, logit=1.0, output_scale=1.0)
    noise = {name: torch.randn(48, 48, generator=generator) for name in ("W_K1", "W_K2", "W_O2")}
    share = {"W_K1": 3.0, "W_K2": 0.2, "W_O2": 0.03}
    return built.with_(**{name: built[name] + share[name] * noise[name] for name in noise}), task


def counted(S: torch.Tensor, over: str, weight=None) -> float:
    """The recall, pair by pair."""
    total = reached = 0.0
    for i in range(len(S)):
        rivals = S[i] if over == "keys" else S[:, i]
        share = 1.0 if weight is None else float(weight[i])
        total += share
        reached += share * bool(S[i, i] >= rivals.max())
    return reached / total


@pytest.mark.parametrize("triggers", ["random", "fixed"])
def test_every_recall_is_that_of_its_definition(triggers):
    weights, task = half_learned(triggers=triggers, K=5)
    tokens = memory_tokens(task)
    often = task.unigram
    early = 7  # of 8 early positions, a quarter of 32
    P = weights.P
    W_E = weights.W_E
    K1 = P[1:] @ weights.W_K1 @ P[:-1].T
    K2 = W_E[tokens] @ weights.W_K2 @ (W_E[tokens] @ weights.R1.T).T
    O2 = weights.W_U @ weights.W_O2 @ (W_E @ weights.V2.T).T
    first = [1.0] * early + [0.0] * (len(K1) - early)
    expected = {
        "W_O2": counted(O2, "queries"),
        "W_O2_weighted": counted(O2, "queries", often),
        "W_O2_met": counted(O2, "queries", task.written),
        "W_K2": counted(K2, "keys"),
        "W_K2_weighted": counted(K2, "keys", often[tokens]),
        "W_K2_paper": counted(K2, "queries"),
        "W_K2_paper_weighted": counted(K2, "queries", often[tokens]),
        "W_K1": counted(K1, "keys"),
        "W_K1_paper": counted(K1, "queries"),
        "W_K1_early": counted(K1[:early, :early], "keys"),
        "W_K1_early_paper": counted(K1[:early, :early], "queries"),
        "W_K1_early_rows": counted(K1, "keys", first),
        "W_K1_late_rows": counted(K1, "keys", [1 - weight for weight in first]),
        "kl_W_F": probes.kl_W_F(weights, task),
    }
    computed = probes.recalls(weights, task)
    assert computed.keys() == expected.keys() and computed == pytest.approx(expected, abs=1e-6)
    assert "kl_W_F" not in probes.recalls(weights.with_(W_F=None), task)
    if triggers == "random":  # the weights tell the definitions apart
        assert expected["W_K1_early"] < 1 > expected["W_K1_early_rows"]
        assert len({round(recall, 6) for recall in expected.values()}) > 9


def test_the_divergence_is_the_mean_over_tokens_of_kl():
    weights, task = half_learned(triggers="fixed", K=5)
    logits = torch.randn(65, 65, generator=torch.Generator().manual_seed(0))
    kl = []
    for k in range(65):
        if k not in task.fixed_triggers.tolist():
            p = task.bigram[k]
            log_q = logits[k].double().log_softmax(0)
            kl.append(sum(float(p[j] * (p[j].log() - log_q[j])) for j in range(65) if p[j] > 0))
    assert probes.divergence(logits, task) == pytest.approx(sum(kl) / len(kl), rel=1e-9)
    logits = weights.W_E @ weights.W_F.T @ weights.W_U.T  # [input, output]
    assert probes.kl_W_F(weights, task) == pytest.approx(probes.divergence(logits, task), rel=1e-6)


def test_the_margin_is_the_right_reading_less_the_best_wrong_one():
    S = torch.tensor([[2.0, 1.0, -1.0], [3.0, 2.5, 0.0], [0.0, 0.5, 4.0]])
    assert probes.margin(S, "keys") == pytest.approx((1.0 - 0.5 + 3.5) / 3)
    assert probes.margin(S, "queries") == pytest.approx((-1.0 + 1.5 + 4.0) / 3)


@pytest.mark.parametrize("triggers", ["random", "fixed"])
def test_a_map_holds_the_readings_and_names_its_rows_and_columns(triggers):
    weights, task = half_learned(triggers=triggers, K=5)
    tokens = memory_tokens(task).tolist()
    letters = visible_characters(list(task.characters))
    few = [letters[i] for i in tokens]
    expected = {
        "W_K1": (
            [str(t) for t in range(2, T + 1)], [str(t) for t in range(1, T)],
            "position of the query", "position of the key",
        ),
        "W_K2": (few, few, "query", "key, after layer 1"),
        "W_O2": (letters, letters, "output", "input"),
        "W_F": (letters, letters, "output", "input"),
    }  # fmt: skip
    for name, labels in expected.items():
        scores = probes.memory_scores(name, weights, task)
        stored = memory(name, weights, task)
        assert (scores.rows, scores.columns, scores.row_kind, scores.column_kind) == labels
        torch.testing.assert_close(scores.matrix, stored.V @ weights[name] @ stored.U.T)


def test_what_a_memory_is_to_store():
    weights, task = half_learned(triggers="fixed", K=5)
    k = task.fixed_triggers
    pairs = {
        "W_K1": (weights.P[1:], weights.P[:-1], torch.full((T - 1,), 1 / T)),
        "W_K2": (weights.W_E[k], weights.W_E[k] @ weights.R1.T, task.unigram[k].to(weights.W_E)),
        "W_O2": (weights.W_U, weights.W_E @ weights.V2.T, task.unigram.to(weights.W_E)),
        "W_F": (weights.W_U, weights.W_E, task.unigram.to(weights.W_E)),
    }
    for name, expected in pairs.items():
        stored = memory(name, weights, task)
        torch.testing.assert_close((stored.V, stored.U, stored.weight), expected)
        V = stored.V
        target = log_bigram(task).to(V) if name == "W_F" else torch.eye(len(V))
        torch.testing.assert_close(stored.target, target)
    log = log_bigram(task)
    for i in (i for i in range(65) if i not in k.tolist()):
        floored = task.bigram[i].clamp(min=FLOOR).log()
        torch.testing.assert_close(log[:, i], floored - floored.mean())
    assert (log[:, k] == 0).all()
