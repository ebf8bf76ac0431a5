"""The matrices of the model: trained here, or a visitor's own, by their digest."""

from collections.abc import Mapping
from typing import Any

from icl_core.contract.knobs import BadSetting, document
from icl_core.papers.birth.shared import own_matrices, own_text


def matrices_field(group: str) -> Any:
    """Return the field `matrices` of a config, in a group of settings."""
    return document(
        "matrices", "trained ones", of="matrices", group=group, fit=_fit, about=_about, added=True,
        help="or your own, from a safetensors file: they open like those of a trained run",
    )  # fmt: skip


def check(config: Any) -> None:
    """Raise `BadSetting` for settings that are not those of the config's matrices, and `NotHere`
    where the matrices are not kept on this computer."""
    if not config.matrices:
        return
    for name, value in own_matrices.load(config.matrices).fields.items():
        if getattr(config, name) != value:
            raise BadSetting(
                f"{name} must be {value}, as your matrices have it, got {getattr(config, name)}"
            )


def _fit(chosen: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields to set where matrices are chosen: the sizes that they have, the loss with
    which such matrices are trained, the task that they were trained on if it is known, and no more
    triggers than the sizes allow."""
    fields = {name: chosen[name] for name in own_matrices.DECIDED}
    if chosen["matrices"]:
        matrices = own_matrices.load(chosen["matrices"])
        fields = {**matrices.fields, **matrices.task}
        if not own_text.is_here(fields.get("text", "")):
            del fields["text"]
    # only the loss on all positions trains W_F's bigrams
    positions = "all" if fields["feed_forward"] else "in_context"
    return {**fields, "positions": positions, "K": own_text.fitting_K({**chosen, **fields})}


def _about(chosen: Mapping[str, Any]) -> str:
    """Say which matrices a visitor has chosen, and whether the task is what they were trained
    on."""
    matrices = own_matrices.load(chosen["matrices"])
    sentence = own_matrices.describe(matrices)[0]
    return f"{sentence} {own_matrices.other_task(matrices, chosen)}".rstrip()
