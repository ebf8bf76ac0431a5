"""A run's model as a folder that other tools read."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from safetensors.numpy import save_file

from icl_core import registry
from icl_core.contract.experiment import Run
from icl_core.contract.knobs import BadSetting
from icl_core.contract.organism import ModelExport


def exporter(experiment_id: str, config: Any) -> ModelExport:
    """Return how the runs of a config are exported. Raises `BadSetting` if they cannot be."""
    export = registry.experiment(experiment_id).export
    if export is None:
        able = [each for each in registry.experiment_ids() if registry.experiment(each).export]
        raise BadSetting(
            f"the experiment must be one whose model can be exported, {', '.join(able)}, got "
            f"{experiment_id!r}"
        )
    export.check(config)
    return export


def write(experiment_id: str, run: Run, folder: Path) -> Path:
    """Write `model.safetensors`, `config.json`, `tokenizer.json` and `organism.json` into a folder,
    which is made, and return it.

    Raises `BadSetting` for a run that cannot be exported, `OSError` where nothing can be written.
    """
    model = exporter(experiment_id, run.config).organism(run)
    folder.mkdir(parents=True, exist_ok=True)
    save_file(dict(model.tensors), folder / "model.safetensors", metadata={"format": "pt"})
    _write_json(folder / "config.json", model.config)
    _write_json(folder / "tokenizer.json", model.tokenizer)
    _write_json(folder / "organism.json", model.known)
    return folder


def _write_json(path: Path, value: Mapping[str, Any]) -> None:
    text = json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False)
    path.write_text(text, encoding="utf-8")
