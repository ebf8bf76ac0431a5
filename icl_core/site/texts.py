"""The texts of the site's other pages as JSON: papers, lessons, claims, the gallery and the front
page. Links in them are addresses of the dashboard, "birth?experiment=…", which the browser reads as
its own."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from icl_core import registry
from icl_core.contract.experiment import Opening, Paper, Run
from icl_core.contract.lesson import Exercise, Lesson
from icl_core.contract.paper_words import HEADS
from icl_core.contract.settings_io import value_text
from icl_core.evidence import claim_rows, claim_table, measurements, verdicts
from icl_core.evidence.claim_rows import ClaimRow
from icl_core.evidence.evidence_html import evidence_html
from icl_core.figures import style
from icl_core.figures.frames import round_maps, tag_figure
from icl_core.share import gallery, glossary
from icl_core.share.stage_films import figure_message, states_message
from icl_core.site.markup import html_of
from icl_core.site.scenes import Scenes, shipped_runs, try_query


def paper_texts(paper: Paper) -> dict[str, Any]:
    """Return the texts of a paper's drawer "Why", and the meaning of each of its symbols."""
    parts = [f"{paper.title}. {paper.authors}, {paper.year}. {paper.found}"]
    if paper.publication:
        publication = paper.publication
        date = f"{publication.date.day} {publication.date:%B %Y}"
        quoted = f"[arXiv {publication.arxiv}, version {publication.version}]({publication.url})"
        parts.append(f"Quoted is {quoted} of {date}. {publication.later}")
    parts += [paper.introduction, paper.mathematics]
    if paper.errata:
        parts.append("### Errata\n\n" + "\n".join(f"- {sentence}" for sentence in paper.errata))
    if paper.follow_ups:
        lines = [
            f"- {later.authors} ({later.year}), [{later.title}]({later.url}), arXiv "
            f"{later.arxiv}. {later.here}"
            for later in paper.follow_ups
        ]
        parts.append("### What came after\n\n" + "\n".join(lines))
    deviations = ""
    if paper.deviations:
        deviations = "<h3>Where a protocol here is not the paper's</h3>"
        deviations += _table(HEADS["deviations"], paper.deviations)
    return {
        "why": html_of("\n\n".join(parts)) + deviations + _table(HEADS["glossary"], paper.glossary),
        "meanings": list(glossary.meanings(paper.name).items()),
        "bridge": paper.bridge,
    }


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table as HTML."""
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in heads)
    lines = ""
    for row in rows:
        lines += "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>"
    return f'<table class="plain-table"><tr>{head}</tr>{lines}</table>'


def lesson_texts(paper: Paper, lesson: Lesson) -> dict[str, Any]:
    """Return a lesson with its exercises, their answers and the lecturer's notes."""
    scenes = Scenes(f"{paper.name}.{lesson.experiment}")
    shown = scenes.run_of(lesson.preset)
    run = shipped_runs().load(shown.header) if shown else None
    exercises = [_exercise(exercise, run) for exercise in lesson.exercises] if run else []
    notes = [
        {
            "minutes": note.minutes,
            "ask": note.ask,
            "they_say": note.they_say,
            "tell": note.tell,
            "show": {
                "say": note.show.say,
                "query": try_query(scenes, note.show, lesson.preset),
                "here": scenes.is_shown(note.show.preset or lesson.preset, note.show.fields),
            },
        }
        for note in lesson.notes
    ]
    return {
        "name": lesson.name,
        "title": lesson.title,
        "paper": paper.name,
        "of": paper.title,
        "experiment": lesson.experiment,
        "preset": lesson.preset,
        "able": lesson.able,
        "minutes": lesson.minutes,
        "fixed": {name: value_text(value) for name, value in lesson.fixed.items()},
        "fixes": lesson.fixes_config,
        "hidden": lesson.hidden,
        "predict": lesson.predict,
        "exercises": exercises,
        "notes": notes,
    }


def _exercise(exercise: Exercise, run: Run) -> dict[str, Any]:
    return {
        "name": exercise.name,
        "ask": exercise.ask,
        "unit": exercise.unit,
        "right": exercise.right(run),
        "within": exercise.within,
        "answer": exercise.answer(run),
        "hint": exercise.hint,
    }


def claims_texts() -> dict[str, Any]:
    """Return the page of claims: a bar a paper, and of each paper the table of its claims, each row
    with its kind and verdict to filter by."""
    rows = claim_rows.all_rows(shipped_runs())
    counts = claim_rows.counted(rows)
    titles = {name: paper.title.split(":")[0] for name, paper in registry.papers().items()}
    present = dict.fromkeys(row.summary.verdict for row in rows)
    return {
        "bars": verdicts.bars({titles[name]: counts.get(name, {}) for name in titles}),
        "rule": claim_rows.RULE,
        "kinds": verdicts.KINDS,
        "verdicts": {verdict: verdicts.mark_verdict(verdict) for verdict in present},
        "papers": [
            {
                "name": name,
                "title": titles[name],
                "table": claim_table.table([row for row in rows if row.paper == name], _link, {}),
                "rows": [
                    [row.experiment, row.claim.kind, row.summary.verdict]
                    for row in rows
                    if row.paper == name
                ],
            }
            for name in titles
        ],
    }


def _link(row: ClaimRow) -> str:
    experiment = row.experiment.partition(".")[2]
    return f'<a href="{row.paper}?experiment={experiment}&amp;drawer=Evidence">Evidence</a>'


def evidence_texts(id: str) -> dict[str, str]:
    """Return the evidence for an experiment's claims as HTML, and how they fared in a line."""
    preset = registry.experiment(id).presets[0].name
    header = shipped_runs().preset(id, preset)
    summaries = measurements.summaries_led_by(header, id, shipped_runs())
    return {"html": evidence_html(summaries), "line": verdicts.short_line(summaries)}


def gallery_texts() -> list[dict[str, Any]]:
    """Return the cards of the gallery by paper."""
    papers: list[dict[str, Any]] = []
    for paper in registry.papers().values():
        cards: list[dict[str, str]] = []
        for name in paper.experiments:
            card = gallery.card(f"{paper.name}.{name}")
            texts = {"title": card.title, "says": card.says, "shows": card.shows} if card else {}
            cards.append({"name": name, "title": name, **texts})
        title = paper.title.split(":")[0]
        papers.append(
            {
                "name": paper.name,
                "title": title,
                "found": paper.found,
                "cards": cards,
                "beyond": list(paper.beyond),
            }
        )
    return papers


def front_texts() -> dict[str, Any]:
    """Return the film of the first paper's opening, and a picture of each paper."""
    papers = registry.papers()
    opening = next((paper.opening for paper in papers.values() if paper.opening), None)
    cards: list[dict[str, Any]] = []
    for paper in papers.values():
        card: dict[str, Any] = {"name": paper.name, "title": paper.title.split(":")[0]}
        card["found"] = paper.found
        run = _run(*paper.picture[:2]) if paper.picture else None
        if paper.picture and run:
            panel = paper.picture[2](run)
            card["alt"] = f"{panel.title.rstrip('.')}. {panel.caption}"
            card["figure"] = panel.figure.to_dict() if panel.figure else None
        cards.append(card)
    counts = measurements.counts(shipped_runs())
    bars = verdicts.bars({card["title"]: counts.get(card["name"], {}) for card in cards})
    return {"opening": _film(opening) if opening else None, "cards": cards, "bars": bars}


def _run(id: str, preset: str) -> Run | None:
    header = shipped_runs().preset(id, preset)
    return shipped_runs().load(header, typed=False) if header else None


def _film(opening: Opening) -> dict[str, Any] | None:
    run = _run(*opening.run)
    if run is None:
        return None
    indices = range(len(run.snapshot_steps))
    panels: list[dict[str, Any]] = []
    for name, draw in opening.panels.items():
        shown = [tag_figure(round_maps(draw(run, index)), name, index) for index in indices]
        message = (name, run.digest[:16], name)
        panels.append(
            {
                **figure_message(*message, shown[-1]),
                **states_message(*message, shown, without_last=True),
                **{"wide": False, "whose": "", "low": False, "note": ""},
            }
        )
    return {
        "title": opening.title,
        "say": html_of(opening.say),
        "experiment": opening.run[0],
        "preset": opening.run[1],
        "run": run.digest[:16],
        "steps": run.snapshot_steps,
        "headlines": [opening.headline(run, index) for index in indices],
        "at": len(run.snapshot_steps) - 1,
        "ticks": [],
        "seating": f"stage-1x{len(panels)}",
        "panels": panels,
    }


def tours() -> dict[str, list[tuple[str, str, str, dict[str, str]]]]:
    """Return the stops of each tour, "all" and each paper's: the names of paper, experiment and
    beat, and what the beat sets in the address."""
    papers = registry.papers()
    names: dict[str, list[tuple[str, str, str]]] = {
        "all": [
            (paper.name, experiment, beat)
            for paper in papers.values()
            for experiment, beat in paper.highlights
        ]
    }
    for paper in papers.values():
        names[paper.name] = []
        for name in paper.tour or tuple(paper.experiments):
            story = registry.experiment(f"{paper.name}.{name}").story
            beats = story.beats if story else ()
            names[paper.name] += [(paper.name, name, beat.name) for beat in beats]
    return {tour: [(*stop, _beat_query(*stop)) for stop in stops] for tour, stops in names.items()}


def _beat_query(paper: str, name: str, beat_name: str) -> dict[str, str]:
    """Return what a beat sets in the address: view fields that differ from the first preset's, and
    a drawer."""
    experiment = registry.experiment(f"{paper}.{name}")
    assert experiment.story is not None
    beat = next(beat for beat in experiment.story.beats if beat.name == beat_name)
    base = experiment.view(**experiment.presets[0].view)
    query = {
        field: value_text(value)
        for field, value in beat.view.items()
        if value != getattr(base, field)
    }
    return query | {"drawer": beat.drawer} if beat.drawer else query


def site_texts() -> Mapping[str, Any]:
    """Return what every page needs: the papers with their experiments, the colours of the dark
    theme, Plotly's settings, and what there is of lessons and tours."""
    return {
        "papers": [
            {
                "name": paper.name,
                "title": paper.title.split(":")[0],
                "short": paper.title.split(":")[0].partition(" of ")[0],
                "experiments": [
                    {"name": name, "title": gallery.title(f"{paper.name}.{name}")}
                    for name in paper.experiments
                ],
                "beyond": list(paper.beyond),
            }
            for paper in registry.papers().values()
        ],
        "lessons": [
            {"name": lesson.name, "title": lesson.title, "paper": paper.name}
            for paper, lesson in registry.lessons().values()
        ],
        "tours": tours(),
        "colours": style.TO_DARK,
        "plotly": style.CONFIG,
        "larger": {
            "factor": style.LARGER,
            "text": style.LEAST,
            "line": style.LEAST_LINE,
        },
    }
