"""Any causal language model of `transformers` whose attention it lets one replace.

Every such model calls one function with queries, keys and values after their norms and rotations,
with the mask and the scale. The function registered here computes what eager attention does, and
keeps what it is asked to keep or puts something else in its place. What a head reads of the stream
and what its layer adds to it are taken from the layer itself, by hooks: scaled embeddings, norms of
queries and keys, norms behind a block and factors of a residual are in it, whatever the family
calls its weights.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")  # nothing is ever fetched

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from icl_core.papers.birth.pretrained.readers.checks import BadModel
from icl_core.papers.birth.pretrained.readers.hooks import (
    Reached,
    end_here,
    first_of,
    forward_of,
    hook_removed,
    replaced,
    silent,
)
from icl_core.papers.birth.pretrained.readers.model import (
    NO_CHANGE,
    Change,
    HeadVectors,
    Pass,
    Shape,
    Stream,
    Weights,
)

NAME = "recorded"  # of the attention function
# what models hand to attention beside, which the mask holds already or which changes nothing
BESIDE = (
    "dropout", "sliding_window", "is_causal", "position_ids", "use_cache", "cache_position",
    "output_attentions", "output_hidden_states", "output_router_logits", "return_dict",
    "logits_to_keep",
)  # fmt: skip
LARGE = 1e4  # times the size of a part: its norm then has no use for epsilon


class _Visit:
    """What a pass keeps and changes of its layers' heads. With `ask`, a layer, it ends at what that
    layer's heads are given."""

    def __init__(
        self,
        layers: dict[int, int],
        change: Change = NO_CHANGE,
        ask: int = 0,
        keep: bool = True,
    ) -> None:
        self.layers = layers  # by the id of the module that attends
        self.change = change
        self.ask = ask
        self.keep = keep
        self.modules: list[Any] = []
        self.sizes: set[tuple[int, int]] = set()  # heads, and numbers that each gives
        # by layer
        self.maps: dict[int, Tensor] = {}
        self.outputs: dict[int, Tensor] = {}


_visit: ContextVar[_Visit] = ContextVar("visit")


def attention(
    module: Any,
    query: Float[Tensor, "batch H T d_H"],
    key: Float[Tensor, "batch groups T d_H"],
    value: Float[Tensor, "batch groups T d_H"],
    attention_mask: Float[Tensor, "batch 1 T T"] | None,
    scaling: float | None = None,
    softcap: float | None = None,
    s_aux: Float[Tensor, "H"] | None = None,
    **beside: Any,
) -> tuple[Float[Tensor, "batch T H d_H"], Float[Tensor, "batch H T T"]]:
    """Return what the heads of a layer read, and where they look.

        A[t, s] = softmax over s of cap(q_t^T k_s scale) + mask[t, s]

    with cap(x) = softcap tanh(x / softcap) where there is a cap. A sink is one more score, for a
    place at which there is nothing to read.
    """
    unknown = [name for name, given in beside.items() if given is not None and name not in BESIDE]
    if unknown:
        raise BadModel(f"its attention takes {', '.join(unknown)}, which is not computed here")
    key = key.repeat_interleave(query.shape[1] // key.shape[1], 1)  # (batch, H, T, d_H)
    value = value.repeat_interleave(query.shape[1] // value.shape[1], 1)
    scale = query.shape[-1] ** -0.5 if scaling is None else scaling
    visit = _visit.get()
    layer = visit.layers.get(id(module), 0)
    if visit.ask and visit.ask == layer:
        raise Reached((query[:, :, 0] * scale, key[:, :, 0], value[:, :, 0]))
    scores = query @ key.mT * scale  # (batch, H, T, T)
    if softcap is not None:
        scores = softcap * torch.tanh(scores / softcap)
    if attention_mask is not None:
        scores = scores + attention_mask
    if s_aux is None:
        maps = scores.softmax(-1)
    else:
        sinks = s_aux.reshape(1, -1, 1, 1).expand(*scores.shape[:-1], 1)
        maps = torch.cat([scores, sinks], -1).softmax(-1)[..., :-1]
    if visit.change.attention:
        maps = visit.change.attention(layer, maps)
    z = maps @ value
    if visit.change.outputs:
        z = visit.change.outputs(layer, z)
    if visit.keep:
        visit.modules.append(module)
        visit.sizes.add((z.shape[1], z.shape[3]))
        visit.maps[layer] = maps
        visit.outputs[layer] = z
    return z.transpose(1, 2).contiguous(), maps


def register() -> None:
    """Make the function known to `transformers`, with the mask that eager attention takes."""
    from transformers import AttentionInterface, AttentionMaskInterface  # pyright: ignore
    from transformers.masking_utils import eager_mask  # pyright: ignore[reportMissingImports]
    from transformers.utils import logging  # pyright: ignore[reportMissingImports]

    logging.set_verbosity_error()  # what it warns of is checked, and said in a sentence
    logging.disable_progress_bar()
    AttentionInterface.register(NAME, attention)
    AttentionMaskInterface.register(NAME, eager_mask)


class AnyModel:
    """A model of `transformers`; see `model` for what its methods give. Raises `BadModel` for one
    whose heads cannot be read."""

    def __init__(self, network: Any) -> None:
        self.network = network.eval()
        self.weights: Weights = network.state_dict()
        config = network.config
        count = config.num_hidden_layers
        lists = (each for each in network.modules() if isinstance(each, torch.nn.ModuleList))
        layers = next((each for each in lists if len(each) == count), None)
        if layers is None:
            raise BadModel(f"a model of the family {config.model_type} has no list of its layers")
        self._layers = list(layers)
        self._in_tuples = False
        self._attending: dict[int, Any] = {}  # the modules that attend, by layer
        self._d_H = 1
        self._layer_of: dict[int, int] = {}
        self.shape = self._checked()

    @torch.no_grad()
    def _checked(self) -> Shape:
        """Return the size of the model, once a text has passed that tells which layers attend by
        the function above, and whether the stream alone goes from layer to layer."""
        config = self.network.config
        family = config.model_type
        N = self.network.get_output_embeddings().weight.shape[0]
        text = torch.arange(5)[None] % N
        returned: list[Any] = []
        hook = self._layers[0].register_forward_hook(lambda _m, _a, out: returned.append(out))
        with hook_removed(hook), _visiting(_Visit({})) as visit:
            logits = self.network(input_ids=text, use_cache=False).logits
        self._in_tuples = isinstance(returned[0], tuple)
        inside = [{id(module) for module in layer.modules()} for layer in self._layers]
        for layer, ids in enumerate(inside, 1):
            attending = [module for module in visit.modules if id(module) in ids]
            if len(attending) > 1:
                raise BadModel(
                    f"a layer must attend once at most, got {len(attending)} times in layer "
                    f"{layer} of the family {family}"
                )
            if attending:
                self._attending[layer] = attending[0]
                self._layer_of[id(attending[0])] = layer
        if len(visit.sizes) > 1:
            raise BadModel(
                "all layers must have as many heads of as many numbers, got "
                f"{sorted(visit.sizes)} in {family}"
            )
        heads, self._d_H = visit.sizes.pop() if visit.sizes else (1, 1)
        layers = range(1, len(inside) + 1)
        without_maps = tuple(layer for layer in layers if layer not in self._attending)
        x = self.embed(text)
        again = self.onward(x).logits
        if not torch.allclose(again, logits, atol=1e-4, rtol=1e-4):
            raise BadModel(f"layers of the family {family} read more than the stream before them")
        # a later token must not move what is said earlier
        other = self.onward(torch.cat([x[:, :-1], -x[:, -1:]], 1)).logits
        if not torch.allclose(other[:, :-1], logits[:, :-1], atol=1e-4, rtol=1e-4):
            raise BadModel(f"this model of the family {family} reads later tokens, too")
        T = getattr(config, "max_position_embeddings", None) or 10**6
        d = x.shape[-1]
        return Shape(family, len(inside), heads, d, N, T, windows(config), without_maps)

    @torch.no_grad()
    def embed(self, tokens: Int[Tensor, "batch T"]) -> Stream:
        """Return the stream before layer 1."""
        with self._stopped(self._layers[0]) as reached:
            self.network(input_ids=tokens, use_cache=False)
        return reached[0]

    @torch.no_grad()
    def onward(
        self,
        x: Stream,
        first: int = 1,
        change: Change = NO_CHANGE,
        keep: bool = False,
        last: int = 0,
    ) -> Pass:
        """Return what the layers from `first` on make of the stream before them; with `last`,
        logits of so many last positions alone."""
        streams = [x]
        hooks = []
        if keep:
            for layer in self._layers[first - 1 :]:
                hook = layer.register_forward_hook(
                    lambda _m, _a, out: streams.append(first_of(out))
                )
                hooks.append(hook)
        with _visiting(_Visit(self._layer_of, change, keep=keep)) as visit, hook_removed(*hooks):
            logits = self._run(x, first, last=last).logits[:, -last:]
        if not keep:
            return Pass(logits, [], [], [])
        batch, T, _ = x.shape
        heads = self.shape.heads
        # of layers that do not attend
        no_map = torch.zeros(batch, heads, T, T)
        no_output = torch.zeros(batch, heads, T, self._d_H)
        layers = range(first, len(self._layers) + 1)
        maps = [visit.maps.get(layer, no_map) for layer in layers]
        outputs = [visit.outputs.get(layer, no_output) for layer in layers]
        return Pass(logits, maps, outputs, streams)

    @torch.no_grad()
    def unembed(
        self, x: Float[Tensor, "*batch d"], tokens: Int[Tensor, "n"] | None = None
    ) -> Float[Tensor, "*batch logits"]:
        """Return the logits of the next token: of all, or of some `tokens`."""
        flat = x.reshape(-1, 1, x.shape[-1])
        head = self.network.get_output_embeddings()

        def of_some(hidden: Tensor) -> Tensor:
            return F.linear(
                hidden, head.weight[tokens], None if head.bias is None else head.bias[tokens]
            )

        with forward_of({} if tokens is None else {head: of_some}):
            logits = self._run(flat, len(self._layers) + 1).logits
        return logits.reshape(*x.shape[:-1], -1)

    @torch.no_grad()
    def read(self, layer: int, x: Float[Tensor, "n d"]) -> Float[Tensor, "n d"]:
        """Return what the heads of a layer are given of the stream."""
        with self._stopped(self._attending[layer]) as reached:
            self._run(x[:, None], layer)
        return reached[0][:, 0]

    def read_part(self, layer: int, part: Float[Tensor, "n d"]) -> Float[Tensor, "n d"]:
        """Return what the norm makes of a part of the stream, but for its scale and bias.

        A norm divides by the size of what it is given, after its mean where it takes that out; what
        it makes of a large vector of known size therefore tells its gains. Some families have no
        norm here.
        """
        d = part.shape[-1]
        one = torch.ones(1, d)
        bias = self.read(layer, torch.zeros(1, d))
        probes = torch.cat([LARGE * one, part[:1], 2 * part[:1]])
        level, once, twice = (self.read(layer, probes) - bias).split(1)
        if torch.allclose(twice, 2 * once, atol=1e-6, rtol=1e-3):
            return self.read(layer, part) - bias
        takes_mean = level.abs().max() < 1e-2
        centred = part - part.mean(-1, keepdim=True) if takes_mean else part
        size = centred.square().mean(-1, keepdim=True).sqrt()  # (n, 1)
        return (self.read(layer, LARGE * centred / size.clamp_min(1e-30)) - bias) * size

    @torch.no_grad()
    def attend(
        self, layer: int, r: Float[Tensor, "n d"], position: int
    ) -> tuple[HeadVectors, HeadVectors, HeadVectors]:
        """Return queries, keys and values of every head at a position."""

        def given(_module: Any, args: tuple, kwargs: dict) -> tuple[tuple, dict]:
            return replaced(args, kwargs, r[:, None])

        hook = self._attending[layer].register_forward_pre_hook(given, with_kwargs=True)
        with hook_removed(hook), _visiting(_Visit(self._layer_of, ask=layer)):
            try:
                self._run(torch.zeros(len(r), 1, self.shape.d), layer, position)
            except Reached as reached:
                return reached.value
        raise AssertionError("the layer did not attend")

    @torch.no_grad()
    def write(self, layer: int, z: Float[Tensor, "n H d_H"]) -> Float[Tensor, "n d"]:
        """Return what a layer adds to an empty stream where its heads give z, less what it adds
        where they give nothing. Its feed-forward layer is silent meanwhile: all its parts that hold
        matrices and do not attend."""
        both = torch.cat([z, torch.zeros_like(z[:1])])[:, :, None]  # (n + 1, H, 1, d_H)
        block = self._layers[layer - 1]
        hooks = []
        for child in block.children():
            attends = any(each is self._attending[layer] for each in child.modules())
            if not attends and any(weight.dim() > 1 for weight in child.parameters()):
                hooks.append(child.register_forward_hook(silent))
        hooks.append(block.register_forward_hook(end_here))
        change = Change(outputs=lambda _, __: both)
        with _visiting(_Visit(self._layer_of, change)), hook_removed(*hooks):
            try:
                self._run(torch.zeros(len(both), 1, self.shape.d), layer)
            except Reached as reached:
                added = first_of(reached.value)[:, 0]
                return added[:-1] - added[-1:]
        raise AssertionError("the layer was not reached")

    def _run(self, x: Stream, first: int, position: int | None = None, last: int = 0) -> Any:
        """Return what the network makes of the stream before a layer: those before it are passed
        over. A stream of one position may stand at another `position`."""
        tokens = torch.zeros(x.shape[:2], dtype=torch.long)
        options: dict[str, Any] = {"logits_to_keep": last} if last else {}
        if position is not None:
            options["position_ids"] = torch.full(x.shape[:2], position)

        def over(*_: Any, **__: Any) -> Any:
            return (x,) if self._in_tuples else x

        def given(_module: Any, args: tuple, kwargs: dict) -> tuple[tuple, dict]:
            return replaced(args, kwargs, x)

        hooks = []
        if first == 1:
            hooks.append(self._layers[0].register_forward_pre_hook(given, with_kwargs=True))
        with (
            forward_of(dict.fromkeys(self._layers[: first - 1], over)),
            hook_removed(*hooks),
        ):
            return self.network(input_ids=tokens, use_cache=False, **options)

    @contextmanager
    def _stopped(self, module: Any) -> Iterator[list[Tensor]]:
        """Give a list that is filled with what a module is given; there the pass ends."""
        reached: list[Tensor] = []

        def end(_module: Any, args: tuple, kwargs: dict) -> None:
            raise Reached(args[0] if args else kwargs["hidden_states"])

        hook = module.register_forward_pre_hook(end, with_kwargs=True)
        with hook_removed(hook), _visiting(_Visit(self._layer_of)):
            try:
                yield reached
            except Reached as problem:
                reached.append(problem.value)


def windows(config: Any) -> tuple[int, ...]:
    """Return of each layer how many positions its heads look back on; 0 where on all."""
    count = config.num_hidden_layers
    window = getattr(config, "sliding_window", None) or 0
    kinds = getattr(config, "layer_types", None) or ["sliding_attention"] * count
    return tuple(window if kind == "sliding_attention" else 0 for kind in kinds)


@contextmanager
def _visiting(visit: _Visit) -> Iterator[_Visit]:
    token = _visit.set(visit)
    try:
        yield visit
    finally:
        _visit.reset(token)
