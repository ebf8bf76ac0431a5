"""A run for others: its panels as a page that works offline or as plotly's JSON, and its model as
a folder that other tools read."""

import html
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from safetensors.numpy import save_file

from icl_core import registry
from icl_core.contract.experiment import Panel, Run
from icl_core.contract.knobs import BadSetting
from icl_core.contract.organism import ModelExport

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<style>body {{ font-family: sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }}
table {{ border-collapse: collapse }}
th, td {{ padding: .2rem .6rem; text-align: left }}</style></head>
<body><h1>{title}</h1><p>{headline}</p>
{panels}
</body></html>
"""


def html_text(title: str, headline: str, panels: Mapping[str, Panel]) -> str:
    """Return a self-contained page with the panels, by name; plotly.js is inlined once."""
    parts = []
    plotly_is_inlined = False
    for name, panel in panels.items():
        parts.append(f"<h2>{html.escape(panel.title)}</h2><p>{html.escape(panel.caption)}</p>")
        if panel.figure is not None:
            figure = panel.figure.plotly()
            parts.append(
                figure.to_html(
                    full_html=False,
                    include_plotlyjs=not plotly_is_inlined,
                    div_id=f"drawing-{name}",
                )
            )
            plotly_is_inlined = True
        if panel.table is not None:
            parts.append(panel.table.to_html(index=False, border=0, na_rep="–"))
        if panel.note:
            parts.append(f"<p>{html.escape(panel.note)}</p>")
    return _PAGE.format(
        title=html.escape(title),
        headline=html.escape(headline),
        panels="\n".join(filter(None, parts)),
    )


def json_text(title: str, headline: str, panels: Mapping[str, Panel]) -> str:
    """Return the panels, by name, as a JSON list of one object a panel.

    An object has the panel's name as `drawing`, title, caption, note, figure (plotly's JSON or
    null) and table (rows or null).
    """
    objects = []
    for name, panel in panels.items():
        figure = None
        if panel.figure is not None:
            figure = json.loads(panel.figure.plotly().to_json() or "null")
        table = None
        if panel.table is not None:
            table = json.loads(panel.table.to_json(orient="records") or "null")
        objects.append(
            {
                "drawing": name,
                "title": panel.title,
                "caption": panel.caption,
                "note": panel.note,
                "figure": figure,
                "table": table,
            }
        )
    return json.dumps(objects, ensure_ascii=False)


def model_export(experiment_id: str, config: Any) -> ModelExport:
    """Return how the runs of a config are exported. Raises `BadSetting` if they cannot be."""
    export = registry.experiment(experiment_id).export
    if export is None:
        able = [id for id in registry.experiment_ids() if registry.experiment(id).export]
        raise BadSetting(
            f"the experiment must be one whose model can be exported, {', '.join(able)}, got "
            f"{experiment_id!r}"
        )
    export.check(config)
    return export


def write_organism(experiment_id: str, run: Run, folder: Path) -> Path:
    """Write `model.safetensors`, `config.json`, `tokenizer.json` and `organism.json` into a folder,
    which is made, and return it.

    Raises `BadSetting` for a run that cannot be exported, `OSError` where nothing can be written.
    """
    model = model_export(experiment_id, run.config).organism(run)
    folder.mkdir(parents=True, exist_ok=True)
    save_file(dict(model.tensors), folder / "model.safetensors", metadata={"format": "pt"})
    _write_json(folder / "config.json", model.config)
    _write_json(folder / "tokenizer.json", model.tokenizer)
    _write_json(folder / "organism.json", model.known)
    return folder


def _write_json(path: Path, value: Mapping[str, Any]) -> None:
    text = json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False)
    path.write_text(text, encoding="utf-8")
