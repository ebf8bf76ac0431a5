"""Measures a language model on random tokens, in five draws, and records three texts; of a series
of checkpoints, measures every one on the same tokens."""

from pathlib import Path

import numpy as np
import torch

from icl_core.contract.experiment import Progress, names
from icl_core.papers.birth.pretrained import checkpoints, distances, recall, sizes, texts
from icl_core.papers.birth.pretrained.readers.checks import BadModel
from icl_core.papers.birth.pretrained.readers.model import Pass, Reader, forward
from icl_core.papers.birth.pretrained.readers.tokens import Tokens
from icl_core.papers.birth.pretrained.recall import Head
from icl_core.papers.birth.pretrained.settings import MODELS, SERIES, Config
from icl_core.papers.birth.pretrained.sources import open_model, path_of, read
from icl_core.papers.birth.pretrained.texts import CHOOSING, DRAWS, generator_of
from icl_core.papers.birth.shared import probes

# heads of either kind among which pairs are asked for
PREVIOUS = 12
INDUCTION = 24
GROUP = 12  # the strongest heads that are taken away together
COUNTS = (1, 2, 4, 8, 12, 24)  # heads that are taken away
ALONE = 4  # heads whose attention is moved one at a time
SETS = 4  # of random heads in each draw: twenty over all draws
SEQUENCES, TOKENS, TEXTS, OTHERS, PLACES, AT_DISTANCE = range(6)  # what generators draw


def compute(config: Config, progress: Progress) -> dict[str, np.ndarray]:
    """Return, draws first,

    repeated/loss                   [draws, 2 L], what each token costs, in nats
    heads/scores                    [draws, measures, layers, H], `names/measures`
    ablation/strongest              [draws, counts, halves], the loss of both halves without so many
                                    heads, by their mean; `ablation/heads` has the counts
    ablation/random                 [draws, sets, counts, halves], without random ones that are of
                                    neither kind
    ablation/zero, …/random_zero    [draws, halves], [draws, sets, halves], with zero for heads,
                                    `ablation/group` of them
    alone/losses, …/whole           [draws, layers, H, halves], [draws, halves], without each head
                                    alone, by its mean, and with all, in the draw's first sequence
    distance/loss, …/followers      [draws, distances], [draws, distances, layers, H], what a repeat
                                    costs `distance/tokens` later, and attention on what followed
    patch/followers                 [draws, previous, readers], the attention of `names/readers` on
                                    what followed, each previous-token head replaced by its mean
    pairs/recall                    [draws, previous, induction], at `pairs/offset`
    best/recall                     [draws, offsets], of the best pair, `best/offset`, if there is
    best/constructed, …/whitened    [draws], of the constructed memory for the same tokens
    copy/directly                   [draws, group], of the strongest heads
    copy/says, copy/gains           [draws, names/moved], see `copying.moved`
    text/…                          see `texts.record`

    Of a model without heads, only the losses and the texts. `snapshot/step` has the layers;
    `layers/without_map`, if some have no attention to read, which those are, counted from 1; and
    `layers/window`, where heads do not look back on all positions, on how many in each layer (0 on
    all). Heads are chosen on a draw of their own: `names/strongest`, `names/previous`,
    `names/needed` and `names/best`. Of a series of checkpoints see `compute_series`.
    """
    if config.model == SERIES:
        return compute_series(config, path_of(SERIES), progress)
    progress.enter("reading the model")
    if config.is_local:
        _check_content(config, checkpoints.all_of(sizes.path_of(config.named)))
    model, tokens = open_model(config.source)
    if 2 * config.length + 1 > model.shape.T:
        raise BadModel(
            f"L must be at most {(model.shape.T - 1) // 2} for a model of {model.shape.T} "
            f"positions, got {config.length}"
        )
    if len(model.shape.without_maps) == model.shape.layers:
        return _without_heads(config, model, tokens, progress)
    progress.enter("choosing heads")
    chosen = Chosen(model, tokens, config)
    draws = []
    for draw in range(DRAWS):
        progress.enter(f"draw {draw + 1} of {DRAWS}")
        draws.append(_draw(config, model, tokens, chosen, draw))
    progress.enter("recording texts")
    stacked = {
        name: np.stack([arrays[name] for arrays in draws]).astype(np.float32) for name in draws[0]
    }
    return {
        **stacked,
        **chosen.arrays,
        "distance/tokens": np.array(chosen.distances, np.int32),
        **_of_layers(model),
        **texts.record(model, tokens, generator_of(config.seed, CHOOSING, TEXTS), config.own),
    }


def _without_heads(
    config: Config, model: Reader, tokens: Tokens, progress: Progress
) -> dict[str, np.ndarray]:
    """Return what is measured of a model that has no heads to read."""
    losses = []
    for draw in range(DRAWS):
        progress.enter(f"draw {draw + 1} of {DRAWS}")
        inputs = _repeated(config, tokens, draw)
        losses.append(texts.losses(forward(model, inputs).logits, inputs).each.numpy())
    progress.enter("recording texts")
    return {
        "repeated/loss": np.stack(losses).astype(np.float32),
        **_of_layers(model),
        **texts.record(model, tokens, generator_of(config.seed, CHOOSING, TEXTS), config.own),
    }


def _of_layers(model: Reader) -> dict[str, np.ndarray]:
    """Return the layers, those without maps, and how many positions the heads of each look back on,
    if any layer's are few."""
    shape = model.shape
    arrays: dict[str, np.ndarray] = {"snapshot/step": np.arange(shape.layers + 1, dtype=np.float32)}
    if shape.without_maps:
        arrays["layers/without_map"] = np.array(shape.without_maps, np.int32)
    if any(shape.windows):
        arrays["layers/window"] = np.array(shape.windows, np.int32)
    return arrays


class Chosen:
    """The heads that are measured further, chosen on a draw that is not measured.

    strongest  those that look at what followed, the most first
    previous   those that look at the previous token, the most first
    others     all heads that are of neither kind
    needed     the one without which alone a repeat costs most
    best       the pair of which W_K² recalls most; empty where no head that looks at the previous
               token is in a layer before one that looks at what followed
    offset     positions between the key and the query of pairs
    """

    def __init__(self, model: Reader, tokens: Tokens, config: Config) -> None:
        inputs = _repeated(config, tokens, CHOOSING)
        outcome = forward(model, inputs, keep=True)
        measures = texts.head_scores(outcome.attention, inputs)
        scores = dict(zip(texts.MEASURES, measures, strict=True))
        with_maps = {*range(1, model.shape.layers + 1)} - {*model.shape.without_maps}
        ranked = texts.ranked(scores["followers"] - scores["even"])
        every = [head for head in ranked if head[0] in with_maps]
        count = len(every)
        self.strongest = every[: min(INDUCTION, max(1, count // 3))]
        looking_back = [head for head in texts.ranked(scores["previous"]) if head in every]
        self.previous = looking_back[: min(PREVIOUS, max(1, count // 3))]
        self.others = [head for head in every if head not in {*self.strongest, *self.previous}]
        self.distances = distances.possible(tokens, model.shape.T)
        alone = texts.losses_alone(model, inputs, outcome, texts.mean_outputs(outcome))
        by_cost = texts.ranked(alone[..., 1])
        self.needed = next(head for head in by_cost if head in every)
        self.offsets = [offset for offset in recall.OFFSETS if offset < model.shape.T]
        self.offset = min(recall.AT, self.offsets[-1])
        self.group = self.strongest[:GROUP]
        self.counts = [number for number in COUNTS if number <= len(self.strongest)]
        asked = _asked(config, model, tokens, CHOOSING)
        pairs = recall.of_pairs(model, self.previous, self.strongest, asked, self.offset)
        self.best: tuple[Head, ...] = ()
        if not np.isnan(pairs).all():
            row, column = np.unravel_index(np.nanargmax(pairs), pairs.shape)
            self.best = (self.previous[row], self.strongest[column])

    @property
    def readers(self) -> list[Head]:
        """The strongest heads, and the induction head of the best pair."""
        return list(dict.fromkeys([*self.group, *self.best[1:]]))

    @property
    def moved(self) -> dict[str, list[Head]]:
        """The heads whose attention is moved together, by the name of the set."""
        sets = {name_of(head): [head] for head in self.strongest[:ALONE]}
        return sets | {"strongest": self.group}

    @property
    def arrays(self) -> dict[str, np.ndarray]:
        """The names of what was chosen, for the run."""
        return {
            "names/measures": names(texts.MEASURES),
            "names/strongest": names(map(name_of, self.strongest)),
            "names/previous": names(map(name_of, self.previous)),
            "names/readers": names(map(name_of, self.readers)),
            "names/needed": names([name_of(self.needed)]),
            "names/best": names(map(name_of, self.best)),
            "names/moved": names([*self.moved, "random"]),
            "ablation/heads": np.array(self.counts, np.int32),
            "ablation/group": np.array(len(self.group), np.int32),
            "pairs/offset": np.array(self.offset, np.int32),
            "best/offset": np.array(self.offsets, np.int32),
        }


def name_of(head: Head) -> str:
    """Return a head's id, layer.head."""
    return f"{head[0]}.{head[1]}"


def _repeated(config: Config, tokens: Tokens, draw: int) -> torch.Tensor:
    generator = generator_of(config.seed, draw, SEQUENCES)
    return texts.sequences(tokens, config.sequences, config.length, generator)


def _asked(config: Config, model: Reader, tokens: Tokens, draw: int) -> recall.Asked:
    generator = generator_of(config.seed, draw, TOKENS)
    return recall.asked(model, tokens.start, texts.drawn_tokens(tokens, config.asked, generator))


def _draw(
    config: Config, model: Reader, tokens: Tokens, chosen: Chosen, draw: int
) -> dict[str, np.ndarray]:
    """Return everything that is measured in one draw."""
    inputs = _repeated(config, tokens, draw)
    outcome = forward(model, inputs, keep=True)
    random = _random_sets(config, chosen, draw)
    return {
        "repeated/loss": texts.losses(outcome.logits, inputs).each.numpy(),
        "heads/scores": texts.head_scores(outcome.attention, inputs),
        **_without(model, inputs, outcome, chosen, random),
        **_alone(model, inputs, outcome),
        **_by_distance(config, model, tokens, chosen, draw),
        **_pairs(config, model, tokens, chosen, draw),
        **_moved(config, model, inputs, outcome, chosen, random[0], draw),
    }


def _random_sets(config: Config, chosen: Chosen, draw: int) -> list[list[Head]]:
    """Return the heads that are of neither kind, shuffled anew for every set."""
    generator = generator_of(config.seed, draw, OTHERS)
    orders = [torch.randperm(len(chosen.others), generator=generator) for _ in range(SETS)]
    return [[chosen.others[index] for index in order.tolist()] for order in orders]


def _without(
    model: Reader,
    inputs: torch.Tensor,
    outcome: Pass,
    chosen: Chosen,
    random: list[list[Head]],
) -> dict[str, np.ndarray]:
    """Return the losses of both halves without heads, and the attention of the strongest heads on
    what followed without each previous-token head."""

    def halves(heads: list[Head], by: list[torch.Tensor] | None) -> list[float]:
        losses = texts.losses_without(model, inputs, outcome, heads, by)
        return [losses.first, losses.second]

    mean = texts.mean_outputs(outcome)
    size = len(chosen.group)
    patched = [
        texts.followers_without(model, inputs, outcome, head, mean, chosen.readers)
        for head in chosen.previous
    ]
    return {
        "patch/followers": np.stack(patched),
        "ablation/strongest": np.array(
            [halves(chosen.strongest[:count], mean) for count in chosen.counts]
        ),
        "ablation/random": np.array(
            [[halves(heads[:count], mean) for count in chosen.counts] for heads in random]
        ),
        "ablation/zero": np.array(halves(chosen.group, None)),
        "ablation/random_zero": np.array([halves(heads[:size], None) for heads in random]),
    }


def _alone(model: Reader, inputs: torch.Tensor, outcome: Pass) -> dict[str, np.ndarray]:
    """Return the losses of both halves without each head alone."""
    whole = texts.losses(outcome.logits[:1], inputs[:1])
    return {
        "alone/losses": texts.losses_alone(model, inputs, outcome, texts.mean_outputs(outcome)),
        "alone/whole": np.array([whole.first, whole.second]),
    }


def _by_distance(
    config: Config, model: Reader, tokens: Tokens, chosen: Chosen, draw: int
) -> dict[str, np.ndarray]:
    """Return what a repeat costs, and where heads look, by its distance."""
    generator = generator_of(config.seed, draw, AT_DISTANCE)
    losses = np.zeros(len(chosen.distances))
    followers = np.zeros((len(chosen.distances), model.shape.layers, model.shape.heads))
    for at, distance in enumerate(chosen.distances):
        text = distances.sequence(tokens, distance, generator)
        losses[at], followers[at] = distances.measure(model, text, distance)
    return {"distance/loss": losses, "distance/followers": followers}


def _pairs(
    config: Config, model: Reader, tokens: Tokens, chosen: Chosen, draw: int
) -> dict[str, np.ndarray]:
    """Return the recall of all pairs of heads; if there is one, of the best pair by offset, and of
    what is constructed for it; and what the strongest heads copy directly."""
    asked = _asked(config, model, tokens, draw)
    recalls = recall.of_pairs(model, chosen.previous, chosen.strongest, asked, chosen.offset)
    arrays = {
        "pairs/recall": recalls,
        "copy/directly": np.array([recall.directly(model, head, asked) for head in chosen.group]),
    }
    if chosen.best:
        previous, induction = chosen.best
        every = [
            recall.scores(model, previous, induction, asked, offset) for offset in chosen.offsets
        ]
        arrays["best/recall"] = np.array([probes.recall(scores, "keys") for scores in every])
        for name, whiten in (("constructed", False), ("whitened", True)):
            scores = recall.constructed(model, previous, induction, asked, whiten)
            arrays[f"best/{name}"] = np.array(probes.recall(scores, "keys"))
    return arrays


def _moved(
    config: Config,
    model: Reader,
    inputs: torch.Tensor,
    outcome: Pass,
    chosen: Chosen,
    random: list[Head],
    draw: int,
) -> dict[str, np.ndarray]:
    """Return what the model says where heads look elsewhere."""
    generator = generator_of(config.seed, draw, PLACES)
    places = recall.places(inputs, generator)
    sets = [*chosen.moved.values(), random[: len(chosen.group)]]
    rows = [recall.moved(model, inputs, outcome, heads, places) for heads in sets]
    return {
        "copy/says": np.array([row.says for row in rows]),
        "copy/gains": np.array([row.gains for row in rows]),
    }


def compute_series(config: Config, folder: Path, progress: Progress) -> dict[str, np.ndarray]:
    """Return, checkpoints first,

    snapshot/step   the training steps
    series/scores   [checkpoints, draws, measures, layers, H], `names/measures`
    series/halves   [checkpoints, draws, 2], the loss of both halves in nats

    and by checkpoint `names/files`, `names/digests` and `names/remarks`, what is wrong with it.
    """
    _check_content(config, checkpoints.content_of(folder))
    every = checkpoints.listed(folder)
    scores = []
    halves = []
    digests = []
    tensors = []
    stated = []
    for number, (step, path) in enumerate(every, 1):
        progress.enter(f"step {step:,}, {number} of {len(every)}")
        model, tokens = read(path)
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
    steps = [checkpoint.step for checkpoint in every]
    return {
        "snapshot/step": np.array(steps),
        "series/scores": np.stack(scores).astype(np.float32),
        "series/halves": np.stack(halves).astype(np.float32),
        "names/measures": names(texts.MEASURES),
        "names/files": names(checkpoint.path.name for checkpoint in every),
        "names/digests": names(digests),
        "names/remarks": names(checkpoints.remarks(steps, digests, tensors, stated)),
    }


def _check_content(config: Config, here: str) -> None:
    """Refuse to measure another model than the settings name by its digest."""
    if config.content and config.content != here:
        raise BadModel(
            f"{MODELS[config.model]} must be the one with the digest {config.content}, and the "
            f"folder holds others: {here}"
        )


def _measured(config: Config, model: Reader, tokens: Tokens) -> tuple[np.ndarray, np.ndarray]:
    """Return the scores of all heads and the losses of both halves, draws first. Tokens are as many
    as the config asks for, or as the model has room for."""
    length = min(config.length, (model.shape.T - 1) // 2, len(tokens.ordinary))
    scores = []
    halves = []
    for draw in range(DRAWS):
        generator = generator_of(config.seed, draw, 0)
        inputs = texts.sequences(tokens, config.sequences, length, generator)
        outcome = forward(model, inputs, keep=True)
        losses = texts.losses(outcome.logits, inputs)
        scores.append(texts.head_scores(outcome.attention, inputs))
        halves.append([losses.first, losses.second])
    return np.stack(scores), np.array(halves)
