"""The page that compares up to four runs of one experiment under one clock, with tables of their
settings and of what they measured."""

from bisect import bisect_right
from collections.abc import Sequence
from html import escape
from pathlib import Path
from urllib.parse import urlencode

import streamlit as st

from icl_core import registry
from icl_core.comparison import films, table_rows
from icl_core.comparison.films import CommonClock, Compared
from icl_core.comparison.joint_figures import run_colour
from icl_core.comparison.table_rows import Number
from icl_core.contract import number_text
from icl_core.contract.experiment import Run
from icl_core.runs.header import Header, typed_config
from icl_core.runs.request import run_fields
from pages.ui.compare import choice, packed
from pages.ui.compare.packed import Packed, PackedFilm, PackedScene
from pages.ui.controls import cache, compare_links
from pages.ui.link import address, pending_address, same_tab_links
from pages.ui.look import formats, menu
from pages.ui.look.chart import seat_chart
from pages.ui.look.escape import escape_markdown
from pages.ui.look.memory_fault import say_if_memory_ends
from pages.ui.look.style import is_dark, page_css, theme
from pages.ui.stage import playback
from pages.ui.stage.playback import ClockOptions

_CSS = (Path(__file__).parents[1] / "browser" / "compare.css").read_text(encoding="utf-8")
_CLOCK = "clock of a comparison"
_WHAT = (
    "Up to four runs of one experiment beside each other, under one clock: their panels, the maps "
    "of their differences, their curves in one figure, and their metrics. Choose an experiment and "
    "two runs, or open “Compare …” above any stage."
)


@say_if_memory_ends
def show() -> None:
    """Draw the page."""
    menu.frame("Compare")
    st.html(f"<style>{page_css(_CSS)}</style>")
    st.title("Compare", anchor=False)
    experiment_id, headers = choice.read()
    choice.draw(experiment_id, headers)
    if len(headers) < 2:
        _too_few(headers)
    else:
        runs = [(header, cache.load_run(header)) for header in headers]
        here = [(header, run) for header, run in runs if run is not None]
        if len(here) < len(runs):
            st.warning("The file of one of these runs is damaged or gone. It is left out.")
        if len(here) < 2:
            _too_few([header for header, _ in here])
        else:
            _comparison([header for header, _ in here], [run for _, run in here])
    same_tab_links.listen()


def _too_few(headers: Sequence[Header]) -> None:
    """Draw what the page is for and, beside a single run, the runs nearest to it."""
    if not headers:
        st.markdown(_WHAT)
        return
    st.markdown("**Compare it with**")
    compare_links.links(headers[0], headers)


def _comparison(headers: Sequence[Header], runs: Sequence[Run]) -> None:
    """Draw everything of two or more runs."""
    experiment = registry.experiment(headers[0].experiment)
    names = table_rows.short_names([run.config for run in runs])
    _settings_table(headers, names)
    why = films.other_sizes(runs)
    if why:
        st.info(escape_markdown(why))
    milestones = films.common_milestones(experiment, runs)
    milestone = choice.milestone(milestones, films.unit_of(experiment))
    clock = films.clock_of(experiment, runs, milestone)
    compared = Compared(experiment, tuple(runs), tuple(names), clock, bool(why))
    _played(compared, " ".join(run.digest for run in runs))
    _metrics_table(headers, names)


@st.fragment
def _played(compared: Compared, digests: str) -> None:
    """Draw the clock and the panels that it moves."""
    name = f"{digests} {compared.clock.milestone} {theme()}"
    places = len(compared.clock.places)
    compared = packed.with_fitting_clock(name, compared)
    drawings = films.stage_drawings(compared)
    with st.container(key="compare-clock"):
        _clock(compared, packed.run_name(name))
    place = st.container(key="films")
    beside = st.container()
    curves = st.container()
    grid = None  # of the curves, once there are some
    size = 0  # bytes of frames
    # each scene is drawn as soon as it is packed: the browser draws one while the next is packed
    for scene, drawing in zip(
        packed.scenes(name, compared, drawings, theme()), drawings, strict=True
    ):
        size += scene.size
        if size > packed.MOST_BYTES:
            break  # it is packed with fewer places, and drawn anew
        if len(scene.runs) > 1:
            with beside:
                _beside(scene, drawing.name)
        elif scene.runs:
            grid = grid or curves.container(key="stage-compare-stage-x2")
            with grid:
                _seat(scene.runs[0])
    content = packed.pack(name, compared, drawings, theme())
    if content.clock != compared.clock:
        st.rerun()  # the frames were too many: with fewer places
    caption = st.container()
    more = _more_curves(name, compared)
    packs = [content, more] if more else [content]
    with caption:
        _caption(compared, packs, places)
    with place:
        for film in [film for pack in packs for film in pack.films]:
            if film.states:
                playback.send_states(film.name, film.states)


def _more_curves(name: str, compared: Compared) -> Packed | None:
    """Draw the curves of the drawers, once they are asked for, and return them."""
    drawings = films.drawer_curves(compared)
    if not drawings:
        return None
    box = st.expander(
        "More curves", compared.curves_only, key="compare: more curves", on_change="rerun"
    )
    if not box.open:
        return None
    more = packed.pack_more(name, compared, drawings, theme())
    with box, st.container(key="stage-compare-more-x2"):
        for scene in more.scenes:
            for film in scene.runs:
                _seat(film)
    return more


def _clock(compared: Compared, run: str) -> None:
    clock = compared.clock
    headlines = [_headline(compared, place) for place in range(len(clock.places))]
    labels = (
        tuple(f"{step:+d} steps" if step else "0 steps" for step in clock.places)
        if clock.milestone
        else ()
    )
    playback.show_clock(
        _CLOCK,
        run,
        clock.places,
        headlines,
        _place(clock),
        _on_rest,
        ClockOptions(labels=labels),
        {clock.milestone: 0} if clock.milestone else {},
    )


def _place(clock: CommonClock) -> int:
    """Return the place of the clock that the address asks for; else the milestone, or the end."""
    text = st.query_params.get(choice.STEP, "")
    digits = text.removeprefix("-")
    if digits.isdecimal() and len(digits) < address.STEP_DIGITS:
        step = int(text)
    else:
        step = 0 if clock.milestone else clock.places[-1]
    return max(0, bisect_right(clock.places, step) - 1)


def _on_rest() -> None:
    """Write the step at which the clock has come to rest into the address."""
    step = playback.resting_step(_CLOCK)
    if step is not None:
        pending_address.change({choice.STEP: str(step)})


def _headline(compared: Compared, place: int) -> str:
    """Return which snapshot each run shows at a place of the clock."""
    clock = compared.clock
    unit = films.unit_of(compared.experiment)
    unit_of_run = f"{unit} " if clock.milestone else ""  # else the sentence begins with it
    parts = []
    for name, run, snapshots in zip(compared.names, compared.runs, clock.shown, strict=True):
        if run.snapshot_steps:
            parts.append(f"{name} at {unit_of_run}{run.snapshot_steps[snapshots[place]]}")
    if not parts:
        return "These runs have no snapshots: you see their ends."
    step = clock.places[place]
    if not clock.milestone:
        return f"{unit[:1].upper()}{unit[1:]} {step}: {'; '.join(parts)}"
    side = "before" if step < 0 else "after"
    when = f"{abs(step)} steps {side} {clock.milestone}" if step else f"All reach {clock.milestone}"
    return f"{when}: {'; '.join(parts)}"


def _beside(scene: PackedScene, name: str) -> None:
    """Draw a panel of each run, and their differences: of two runs in the same row, of more in the
    next one, each under its run."""
    count = len(scene.runs)
    columns = 3 if count == 2 and scene.differences else count
    with st.container(key=f"stage-compare-{name}-x{columns}"):
        for film in scene.runs:
            _seat(film)
        if scene.differences and count > 2:
            with st.container(key=f"seat-none-{name}"):
                st.caption("Under each run: its difference from this one.")
        for film in scene.differences:
            _seat(film)
    if scene.note:
        st.caption(escape_markdown(scene.note))


def _seat(film: PackedFilm) -> None:
    with st.container(key=f"seat-{film.name}"), st.container():
        seat_chart(film.panel, film.name)


def _caption(compared: Compared, packs: Sequence[Packed], places: int) -> None:
    """Draw what holds for all panels of all packs; `places` is how many the clock had before some
    were left out."""
    sentences = [
        "Each run shows its latest snapshot not beyond the clock. Differences are taken from the "
        "first run, and all of a panel's have one scale over the whole film.",
        f"The frames take {formats.file_size(sum(pack.size for pack in packs))}.",
    ]
    remaining = len(compared.clock.places)
    if remaining < places:
        sentences.append(f"To keep them small the clock stops at {remaining} of {places} places.")
    count = films.left_out(compared) + sum(pack.left_out for pack in packs)
    if count:
        sentences.append(f"Panels left out, as not all of these runs have them: {count}.")
    st.caption(" ".join(sentences))


def _settings_table(headers: Sequence[Header], names: Sequence[str]) -> None:
    """Draw a row for each setting that differs, in bold, and a line of the main ones that do not.
    The name of a run is a link to its stage."""
    rows = table_rows.setting_rows([typed_config(header) for header in headers])
    body = ""
    for row in rows:
        if row.differs:
            cells = "".join(f"<td><strong>{escape(text)}</strong></td>" for text in row.texts)
            body += f"<tr><th scope='row'><strong>{escape(row.label)}</strong></th>{cells}</tr>"
    links = [_run_link(header, name) for header, name in zip(headers, names, strict=True)]
    _table("Settings in which the runs differ", _table_heads(links), body)
    same = [f"{row.label} {row.texts[0]}" for row in rows if not row.differs]
    if same:
        st.caption(escape_markdown(f"The same in all: {'; '.join(same)}."))


def _run_link(header: Header, name: str) -> str:
    """Return a link to the stage of a run."""
    paper, experiment = header.experiment.split(".")
    fields = {"experiment": experiment, **run_fields(header.experiment, header.config)}
    url = f"{paper}?{escape(urlencode(fields))}"
    return f"<a href='{url}' target='_self'>{escape(name)}</a>"


def _metrics_table(headers: Sequence[Header], names: Sequence[str]) -> None:
    """Draw a row for each metric: every run's number with its error, and its difference from the
    first run's."""
    rows = table_rows.metric_rows(headers)
    if not rows:
        return
    st.header("Metrics", anchor=False)
    heads = _table_heads([escape(name) for name in names])
    for name in names[1:]:
        heads += f"<th scope='col'>{escape(name)} minus {escape(names[0])}</th>"
    body = ""
    for row in rows:
        cells = "".join(_table_cell(number, "") for number in row.numbers)
        cells += "".join(_table_cell(number, "+") for number in row.differences)
        body += f"<tr><th scope='row'>{escape(row.label)}</th>{cells}</tr>"
    _table("Metrics, with their standard errors", heads, body)
    st.caption(
        "After ± stands the standard error, where it is known. With several seeds it is over "
        "seeds. With one seed it is over tasks or prompts alone: bold then says nothing about "
        "other seeds. A difference in bold is not zero with 95% confidence, by Welch's test, which "
        "takes the runs as independent."
    )


def _table_heads(names: Sequence[str]) -> str:
    """Return the heads of a table, the runs' `names` as HTML, each after its colour."""
    heads = "<td></td>"
    for place, name in enumerate(names):
        square = f"<span style='color:{run_colour(place, is_dark())}'>■</span>"
        heads += f"<th scope='col'>{square} {name}</th>"
    return heads


def _table_cell(number: Number | None, sign: str) -> str:
    if number is None:
        return "<td>–</td>"
    text = number_text.number(number.value)
    if sign and number.value > 0:
        text = sign + text
    if number.error is not None:
        text += f" ± {number_text.number(number.error, 2)}"
    text = f"<strong>{text}</strong>" if number.certain else text
    return f"<td class='numbers'>{text}</td>"


def _table(label: str, heads: str, body: str) -> None:
    st.html(
        f"<div class='compared' role='region' tabindex='0' aria-label='{escape(label)}'><table>"
        f"<thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table></div>"
    )
