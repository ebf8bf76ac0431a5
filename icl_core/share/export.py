"""Panels as a file of their own: a page that works offline, or plotly's JSON."""

import html
import json
from collections.abc import Mapping

from icl_core.contract.experiment import Panel

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
