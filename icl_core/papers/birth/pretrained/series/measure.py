"""Measures every checkpoint of a series on the same random tokens, said twice."""

from pathlib import Path

import numpy as np

from icl_core.contract.experiment import Progress, names
from icl_core.papers.birth.pretrained import repeated, sources
from icl_core.papers.birth.pretrained.readers.checks import BadModel
from icl_core.papers.birth.pretrained.readers.model import Reader, forward
from icl_core.papers.birth.pretrained.readers.tokens import Tokens
from icl_core.papers.birth.pretrained.repeated import DRAWS, generator_of
from icl_core.papers.birth.pretrained.series import checkpoints
from icl_core.papers.birth.pretrained.settings import Config


def compute_series(config: Config, folder: Path, progress: Progress) -> dict[str, np.ndarray]:
    """Return, checkpoints first,

    snapshot/step   the training steps
    series/scores   [checkpoints, draws, measures, layers, H], `names/measures`
    series/halves   [checkpoints, draws, 2], the loss of both halves in nats

    and by checkpoint `names/files`, `names/digests` and `names/remarks`, what is wrong with it.
    """
    here = checkpoints.content_of(folder)
    if config.content and config.content != here:
        raise BadModel(
            f"the checkpoints must be those with the digest {config.content}, and the folder "
            f"{folder.name:.60} holds others: {here}"
        )
    every = checkpoints.listed(folder)
    scores = []
    halves = []
    digests = []
    tensors = []
    stated = []
    for number, (step, path) in enumerate(every, 1):
        progress.enter(f"step {step:,}, {number} of {len(every)}")
        model, tokens = sources.read(path)
        measured = _measured(config, model, tokens)
        scores.append(measured[0])
        halves.append(measured[1])
        if scores[-1].shape != scores[0].shape:
            raise BadModel(
                f"all checkpoints must be of one model, got {path.name:.60} with "
                f"{model.shape.layers} layers of {model.shape.heads} heads"
            )
        digests.append(checkpoints.file_digest(path))
        tensors.append(checkpoints.tensor_digests(model.weights))
        stated.append(checkpoints.stated_step(path))
    steps = [each.step for each in every]
    return {
        "snapshot/step": np.array(steps),
        "series/scores": np.stack(scores).astype(np.float32),
        "series/halves": np.stack(halves).astype(np.float32),
        "names/measures": names(repeated.MEASURES),
        "names/files": names(each.path.name for each in every),
        "names/digests": names(digests),
        "names/remarks": names(checkpoints.remarks(steps, digests, tensors, stated)),
    }


def _measured(config: Config, model: Reader, tokens: Tokens) -> tuple[np.ndarray, np.ndarray]:
    """Return the scores of all heads and the losses of both halves, draws first. Tokens are as many
    as the config asks for, or as the model has room for."""
    length = min(config.length, (model.shape.T - 1) // 2, len(tokens.ordinary))
    scores = []
    halves = []
    for draw in range(DRAWS):
        generator = generator_of(config.seed, draw, 0)
        inputs = repeated.sequences(tokens, config.sequences, length, generator)
        outcome = forward(model, inputs, keep=True)
        losses = repeated.losses(outcome.logits, inputs)
        scores.append(repeated.head_scores(outcome.attention, inputs))
        halves.append([losses.first, losses.second])
    return np.stack(scores), np.array(halves)
