"""The reproduction study: every claim with its protocol, figure, verdict, reason and command, as
one page to print or as a folder of Markdown with a file for each claim."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from icl_core import registry
from icl_core.contract.claims import VERDICTS
from icl_core.contract.experiment import CannotDraw, Experiment, Panel
from icl_core.contract.knobs import BadSetting
from icl_core.contract.message import printable
from icl_core.contract.run import Run
from icl_core.evidence import claim_rows
from icl_core.evidence.claim_rows import ClaimRow
from icl_core.evidence.measurements import bound_text
from icl_core.figures import frames
from icl_core.runs.atlas import ORIGIN as ATLAS
from icl_core.runs.header import Header
from icl_core.runs.store import Store
from icl_core.share.stage_page import script_json
from icl_core.verification import records
from icl_core.verification.front import Table
from icl_core.verification.records import Record

TITLE = "Reproduction study"
_KINDS = {"paper": "The paper's claim", "theory": "Exact theory", "ours": "Our own claim"}
_STYLE = """body { font: 11pt/1.4 sans-serif; max-width: 50rem; margin: 2rem auto; padding: 0 1rem;
  color: #1d2126; background: #fff }
h2 { margin-top: 2.5rem; break-before: page } h3 { margin: 1.6rem 0 .3rem }
section { break-inside: avoid; border-top: 1px solid #ccc; padding-bottom: .6rem }
blockquote { margin: .3rem 0; padding-left: .8rem; border-left: 3px solid #ccc }
table { border-collapse: collapse } th, td { padding: .15rem .8rem .15rem 0; text-align: left;
  vertical-align: top } th { font-weight: 600; white-space: nowrap }
figure { margin: .6rem 0 } figure img { max-width: 100%; height: auto }
figcaption { color: #5c6470; font-size: .9em } code { overflow-wrap: anywhere }
.verdict { font-weight: 600 }
.front { font-size: .8em } .front td { overflow-wrap: anywhere; min-width: 3rem }
.front td:first-child { min-width: 7rem }"""
WIDTH, HEIGHT = 560, 300  # pixels of a figure, if it needs no more
FIGURES = "figures.html"  # of a folder: the study as a page, in which its claims' figures are
# The characters with a meaning in Markdown that may stand in a sentence.
_MARKUP = re.compile(r"([\\`*_\[\]<>|#])")


@dataclass(frozen=True)
class Entry:
    """A claim in the study.

    row       the claim
    protocol  what was done and what came out, as names with texts
    panel     the panel that shows the claim; None if there is none that can be drawn
    panel_id  the panel's name with its run's; claims that share both share the figure
    commands  which commands repeat it
    """

    row: ClaimRow
    protocol: tuple[tuple[str, str], ...]
    panel: Panel | None
    panel_id: str
    commands: tuple[str, ...]

    @property
    def caption(self) -> str:
        """The panel's title and caption; empty without a panel."""
        return f"{self.panel.title}. {self.panel.caption}" if self.panel else ""


def entries(store: Store, on_claim: Callable[[str], object] = lambda name: None) -> Iterator[Entry]:
    """Yield an entry for every claim, in the order of the pages; `on_claim` is called with the name
    of each."""
    rows = claim_rows.all_rows(store)
    last = records.all_records(rows)
    panels = _Panels(store)
    for row in rows:
        on_claim(row.name)
        panel, panel_id = panels.of(row)
        protocol = _protocol(row, last.get(row.name))
        yield Entry(row, tuple(protocol), panel, panel_id, tuple(_commands(row)))


def _protocol(row: ClaimRow, record: Record | None) -> Iterator[tuple[str, str]]:
    """Yield what was done for a claim and what came out."""
    header = row.deciding.header if row.deciding else None
    yield "Measured is", row.claim.text
    yield "Experiment", registry.experiment(row.experiment).title
    yield "Setting of the claim", row.summary.first.setting
    if row.deciding is not None and header is not None:
        yield from _run_lines(row, header)
        finding = row.deciding.row()
        error = f" ± {finding['error']:.2g}" if finding["error"] else ""
        yield "Measured", f"{finding['value']:.5g}{error}" if finding["value"] is not None else "–"
        yield "Expected", bound_text(finding)
    yield "Verdict", row.summary.verdict
    if row.deciding is not None and row.deciding.why:
        yield "Reason", row.deciding.why
    if row.deciding is not None and row.deciding.to_decide:
        yield "What would decide it", row.deciding.to_decide
    if record is not None:
        yield "Last verified", f"{record.outcome}, {record.date} UTC"


def _run_lines(row: ClaimRow, header: Header) -> Iterator[tuple[str, str]]:
    """Yield what is known of the run that decides."""
    yield "Run", row.size
    seconds = header.waited
    if header.origin != ATLAS and isinstance(seconds, (int, float)):
        device = printable(str(header.info.get("device") or ""))
        yield "Training", f"{seconds:,.0f} s on {device}".removesuffix(" on ")
        yield "Digest", header.digest[:16]


def _commands(row: ClaimRow) -> Iterator[str]:
    """Yield the commands that repeat a claim."""
    yield f"python -m icl_core verify {row.name}"
    header = row.deciding.header if row.deciding else None
    presets = (header.info.get("presets") or ()) if header is not None else ()
    if header is not None and presets:
        seeds = header.config.get("seeds", 1)
        more = f" --set seeds={seeds}" if seeds != 1 else ""
        name = f"'{presets[0]}'" if " " in presets[0] else presets[0]
        yield f"python -m icl_core run {row.experiment} --preset {name}{more}"


class _Panels:
    """The panels of claims; of one panel of one run there is one, which claims share."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._run: tuple[str, Run | None] = ("", None)  # the last run that was loaded, by its key
        self._drawn: dict[str, Panel | None] = {}

    def of(self, row: ClaimRow) -> tuple[Panel | None, str]:
        """Return the panel of a claim, None where there is none with a figure, and its id."""
        header = row.deciding.header if row.deciding else None
        name = row.claim.panel
        if header is None or header.origin == ATLAS or not name:
            return None, ""
        panel_id = f"{header.key}.{name}"
        if panel_id not in self._drawn:
            self._drawn[panel_id] = self._draw(row.experiment, header, name)
        return self._drawn[panel_id], panel_id

    def _draw(self, experiment_id: str, header: Header, name: str) -> Panel | None:
        if self._run[0] != header.key:
            self._run = header.key, self._store.load(header)
        run = self._run[1]
        if run is None:
            return None
        try:
            panel = _panel(registry.experiment(experiment_id), run, header, name)
        except (CannotDraw, BadSetting):
            return None
        return panel if panel.figure is not None else None


def _panel(experiment: Experiment, run: Run, header: Header, name: str) -> Panel:
    """Return the panel called `name` in the view of the run's first preset."""
    drawing = next(drawing for drawing in experiment.drawings if drawing.name == name)
    presets = {preset.name: preset for preset in experiment.presets}
    names = [name for name in header.info.get("presets") or () if name in presets]
    view = presets[names[0]].view if names else {}
    return drawing.panel(run, experiment.view(**view))


def html_page(study: Iterable[Entry], front: Sequence[Table] = ()) -> str:
    """Return the study as one page that needs nothing else and can be printed: Plotly and the
    figures are within it; `front` stands before the claims."""
    from plotly.offline import get_plotlyjs

    study = list(study)
    parts = [f'<h1>{TITLE}</h1><p id="state"></p>', _counts_html(study), *map(_table_html, front)]
    paper = ""
    for entry in study:
        if entry.row.paper != paper:
            paper = entry.row.paper
            parts.append(f"<h2>{escape(registry.papers()[paper].title)}</h2>")
        parts.append(_html(entry))
    body = "\n".join(parts)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{TITLE}</title>'
        f"<style>{_STYLE}</style><script>{get_plotlyjs()}</script></head>\n<body>\n{body}\n"
        f'<script type="application/json" id="figures">{script_json(_figures(study))}</script>\n'
        f'<script type="module">{frames.browser_file("study.js")}</script>\n</body></html>\n'
    )


def _table_html(table: Table) -> str:
    lines = [f"<h2>{escape(table.title)}</h2>", f"<p>{escape(table.text)}</p>" * bool(table.text)]
    if table.rows:
        head = "".join(f"<th>{escape(name)}</th>" for name in table.head)
        rows = "".join(
            f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in table.rows
        )
        lines.append(f'<table class="front"><tr>{head}</tr>{rows}</table>')
    return "".join(lines)


def _figures(study: Sequence[Entry]) -> dict[str, Any]:
    """Return the figures of a study with their sizes in pixels, as JSON by the panel's id."""
    figures: dict[str, Any] = {}
    for entry in study:
        figure = entry.panel.figure if entry.panel else None
        if figure is None or entry.panel_id in figures:
            continue
        width, height = figure.needed
        height = max(height, figure.layout.get("height", HEIGHT))
        size = {"width": max(width, WIDTH), "height": height}
        figures[entry.panel_id] = {**figure.to_dict(), **size}
    return figures


def _html(entry: Entry) -> str:
    claim = entry.row.claim
    quote = f"<blockquote>“{escape(claim.quote)}”</blockquote>" if claim.quote else ""
    lines = "".join(
        f'<tr><th>{escape(name)}</th><td class="{name.lower()}">{escape(text)}</td></tr>'
        for name, text in entry.protocol
    )
    figure = ""
    if entry.panel:
        image = f'<img data-figure="{escape(entry.panel_id)}" alt="{escape(entry.panel.title)}">'
        figure = f"<figure>{image}<figcaption>{escape(entry.caption)}</figcaption></figure>"
    commands = "".join(f"<br><code>{escape(command)}</code>" for command in entry.commands)
    return (
        f'<section id="{escape(entry.row.name)}"><h3>{escape(claim.label)}</h3>{quote}'
        f"<p>{escape(_origin(entry.row))}</p><table>{lines}</table>{figure}"
        f"<p>To repeat it:{commands}</p></section>"
    )


def _origin(row: ClaimRow) -> str:
    return f"{_KINDS[row.claim.kind]}: {row.place}."


def _counts(study: Sequence[Entry]) -> list[tuple[str, str]]:
    """Return each paper's title with the number of its claims by verdict, in words."""
    lines = []
    counts = claim_rows.counted(entry.row for entry in study)
    for paper, kinds in counts.items():
        words = []
        for kind in VERDICTS:
            verdicts = kinds.get(kind, {})
            if verdicts:
                parts = ", ".join(f"{count} {verdict}" for verdict, count in verdicts.items())
                words.append(f"{_KINDS[kind].lower()}: {parts}")
        lines.append((registry.papers()[paper].title, "; ".join(words)))
    return lines


def _counts_html(study: Sequence[Entry]) -> str:
    rows = "".join(
        f"<tr><th>{escape(title)}</th><td>{escape(words)}</td></tr>"
        for title, words in _counts(study)
    )
    return f"<table>{rows}</table>"


def write_folder(study: Iterable[Entry], folder: Path, front: Sequence[Table] = ()) -> int:
    """Write the study as Markdown into a folder: an index, which `front` stands in, a file for each
    claim, and the page that has their figures. Return the number of claims. Raises `OSError`."""
    study = list(study)
    folder.mkdir(exist_ok=True)
    index = [f"# {TITLE}", ""]
    index += [f"- {markdown(title)}: {markdown(words)}" for title, words in _counts(study)]
    for table in front:
        index += ["", f"## {table.title}", "", markdown(table.text), ""]
        for row in (table.head, ("---",) * len(table.head), *table.rows) if table.rows else ():
            index.append(f"| {' | '.join(map(markdown, row))} |")
    index += ["", "## Claims", "", "| claim | measured | verdict |", "|---|---|---|"]
    for entry in study:
        name = entry.row.name
        measured = dict(entry.protocol).get("Measured", "–")
        index.append(
            f"| [{markdown(entry.row.claim.label)}]({name}.md) | {measured} | "
            f"{entry.row.summary.verdict} |"
        )
        (folder / f"{name}.md").write_text(_markdown(entry), encoding="utf-8")
    (folder / FIGURES).write_text(html_page(study, front), encoding="utf-8")
    (folder / "README.md").write_text("\n".join([*index, ""]), encoding="utf-8")
    return len(study)


def _markdown(entry: Entry) -> str:
    claim = entry.row.claim
    lines = [f"# {markdown(claim.label)}", ""]
    if claim.quote:
        lines += [f"> “{markdown(claim.quote)}”", ""]
    lines += [markdown(_origin(entry.row)), "", "| | |", "|---|---|"]
    lines += [f"| {name} | {markdown(text)} |" for name, text in entry.protocol]
    if entry.panel:
        lines += ["", f"[Its figure]({FIGURES}#{entry.row.name}): {markdown(entry.caption)}"]
    lines += ["", "To repeat it:", "", "```sh", *entry.commands, "```", ""]
    return "\n".join(lines)


def markdown(text: str) -> str:
    """Return Markdown that shows a text as it is, in one line."""
    return _MARKUP.sub(r"\\\1", " ".join(text.split()))
