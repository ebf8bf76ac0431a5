"""The matrices of the model: trained here, or a visitor's own, by their digest."""

from collections.abc import Mapping
from typing import Any

from icl_core.contract.knobs import BadSetting, document
from icl_core.papers.birth.shared import own_matrices, own_text


def matrices_field(group: str) -> Any:
    """Return the field `matrices` of a config."""
    return document(
        "matrices", "trained ones", of="matrices", group=group, fit=_fit, about=_about, added=True,
        help="or your own, from a safetensors file: they open like those of a trained run",
    )  # fmt: skip


def check(config: Any) -> None:
    """Refuse matrices that are not here, and settings that are not theirs."""
    if not config.matrices:
        return
    for name, theirs in own_matrices.load(config.matrices).fields.items():
        if getattr(config, name) != theirs:
            raise BadSetting(
                f"{name} must be {theirs}, as your matrices have it, got {getattr(config, name)}"
            )


def _fit(chosen: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields to set where matrices are chosen: the sizes that they have, the loss that
    trains such, the task that they were trained on if it is known, and no more triggers than the
    sizes allow."""
    fitted = {name: chosen[name] for name in own_matrices.DECIDED}
    if chosen["matrices"]:
        matrices = own_matrices.load(chosen["matrices"])
        fitted = {**matrices.fields, **matrices.task}
        if not own_text.is_here(fitted.get("text", "")):
            del fitted["text"]
    # only the first trains W_F's bigrams
    positions = "all" if fitted["feed_forward"] else "in_context"
    return {**fitted, "positions": positions, "K": own_text.fitting_K({**chosen, **fitted})}


def _about(chosen: Mapping[str, Any]) -> str:
    """Return what matrices of a visitor's there are, and whether they are asked what they were
    trained on."""
    matrices = own_matrices.load(chosen["matrices"])
    sentence = own_matrices.describe(matrices)[0]
    return f"{sentence} {own_matrices.other_task(matrices, chosen)}".rstrip()
