"""What every experiment obeys, checked on all that the registry finds: the three papers and the
throw-away one. A failure names the experiment."""

import dataclasses
import itertools
import json
import re
from functools import cache
from pathlib import Path

import pytest

from icl_core import build, registry
from icl_core.contract import drawers
from icl_core.contract.experiment import GROUPS, STAGE
from icl_core.contract.knobs import BadSetting, fields_that_matter, knobs_of, main_knobs, values
from icl_core.contract.seeds import HELD
from icl_core.evidence import measurements
from icl_core.figures.frames import clock_frames
from icl_core.runs import store
from icl_core.runs.header import key_of
from icl_core.sweeps import atlas
from tests.drawn import checked
from tests.house import EXTRA
from tests.seats import check_seats

IDS = registry.experiment_ids()
SHIPPED = [header for header in store.default().headers() if header.origin == "shipped"]
EXPERIMENTS = {id: registry.experiment(id) for id in IDS}
# Names in an address that are no setting.
RESERVED = {
    *("experiment", "preset", "version", "projector", "step", "drawer", "beat", "tour", "marks"),
    *("lesson", "cell", "kept", "sweep", "sweep_seeds", "metric"),
}
TYPED = ["", "?", "0", "1, 2, x", "1/0", "1:2:3", "-1e400:nan", "9" * 30, "\x00"]


def test_papers_describe_themselves():
    for paper in registry.papers().values():
        assert paper.title and paper.authors and paper.found and paper.introduction
        assert all(len(row) == 3 for row in paper.glossary)
        _, *others = paper.experiments
        assert set(paper.beyond) <= set(others), paper.name


def test_experiments_explain_themselves():
    for id, experiment in EXPERIMENTS.items():
        assert len(experiment.about) > 100, id
        assert experiment.title, id


def test_settings_are_declared_and_have_valid_defaults():
    for id, experiment in EXPERIMENTS.items():
        for settings_class in (experiment.config, experiment.view):
            settings = settings_class()
            assert json.loads(json.dumps(values(settings))) == values(settings), id
            for field, knob in knobs_of(settings_class).items():
                assert knob.label, (id, field)
                with pytest.raises(BadSetting, match=field):
                    dataclasses.replace(settings, **{field: object()})


def test_config_and_view_share_no_name_and_take_none_of_the_address():
    for id, experiment in EXPERIMENTS.items():
        config = set(knobs_of(experiment.config))
        view = set(knobs_of(experiment.view))
        assert not config & view, id
        assert not (config | view) & RESERVED, id


def test_what_a_visitor_types_is_taken_or_refused_with_a_sentence():
    """A view may find only when it draws that it cannot show this: that is `CannotDraw`, tested
    elsewhere."""
    for id, experiment in EXPERIMENTS.items():
        for settings_class in (experiment.config, experiment.view):
            fields = [f for f, knob in knobs_of(settings_class).items() if knob.kind == "text"]
            for field, typed in itertools.product(fields, TYPED):
                try:
                    text = getattr(settings_class(**{field: typed}), field)
                    assert text in (typed, knobs_of(settings_class)[field].default), (id, field)
                except BadSetting as problem:
                    assert str(problem), (id, field)


def test_sliders_refuse_what_lies_beyond_their_range():
    for experiment in EXPERIMENTS.values():
        for field, knob in knobs_of(experiment.config).items():
            if knob.kind == "slider":
                for value in (knob.low - 1, knob.high + 1):
                    with pytest.raises(BadSetting, match=f"^{field} must be"):
                        experiment.config(**{field: type(knob.default)(value)})


def test_a_knob_that_depends_on_the_config_names_a_field_of_it():
    for id, experiment in EXPERIMENTS.items():
        config = experiment.config()
        for knob in knobs_of(experiment.config).values():
            if knob.at_most:
                assert knob.default <= getattr(config, knob.at_most) <= knob.high, (id, knob.label)
        for knob in knobs_of(experiment.view).values():
            if knob.at_most and knob.at_most != HELD:  # a run says how many seeds it holds
                bound = knobs_of(experiment.config)[knob.at_most]
                assert isinstance(bound.default, int), (id, knob.label)
                assert bound.high <= knob.high, (id, knob.label)
        for knob in [*knobs_of(experiment.config).values(), *knobs_of(experiment.view).values()]:
            if knob.shown_if:
                assert isinstance(getattr(config, knob.shown_if), bool), (id, knob.label)


def test_the_main_knobs_are_two_to_five_the_number_of_seeds_among_them():
    for id, experiment in EXPERIMENTS.items():
        main = main_knobs(experiment.config)
        assert 2 <= len(set(main)) == len(main) <= 5, id
        fields = knobs_of(experiment.config)
        assert all(fields[field].kind in ("slider", "choice", "text") for field in main), id
        assert ("seeds" in main) == ("seeds" in fields), id


def test_presets_are_valid_and_distinct():
    for id, experiment in EXPERIMENTS.items():
        names = [preset.name for preset in experiment.presets]
        assert len(set(names)) == len(names) > 0, id
        for preset in experiment.presets:
            assert isinstance(preset.config, experiment.config), (id, preset.name)
            assert preset.group in GROUPS, (id, preset.name)
            experiment.view(**preset.view)
            assert experiment.cost(preset.config) > 0, (id, preset.name)


def test_claims_are_distinct_and_say_whose_they_are_and_of_which_setting():
    for id, experiment in EXPERIMENTS.items():
        ids = [claim.id for claim in experiment.claims]
        assert len(set(ids)) == len(ids) > 0, id
        for claim in experiment.claims:
            assert claim.label and claim.text and claim.source, (id, claim.id)
            assert bool(claim.quote) == (claim.kind == "paper"), (id, claim.id)
            assert claim.at is not None or claim.setting, (id, claim.id)
            assert set(claim.at or ()) <= set(knobs_of(experiment.config)), (id, claim.id)


def test_drawings_name_view_fields():
    for id, experiment in EXPERIMENTS.items():
        fields = set(knobs_of(experiment.view))
        names = {drawing.name for drawing in experiment.drawings}
        assert len(names) == len(experiment.drawings), id
        for drawing in experiment.drawings:
            assert set(drawing.knobs) <= fields, (id, drawing.name)


def test_there_are_shipped_runs_to_test():
    assert SHIPPED


def test_every_shipped_preset_has_its_run():
    missing = []
    for experiment_id in IDS:
        if (EXTRA / experiment_id.split(".")[0]).exists():
            continue
        for item in build.wanted_runs(experiment_id):
            header = store.default().exact(experiment_id, item.key)
            if header is None or header.origin != "shipped":
                missing.append(str(item))
    assert not missing, "run `python -m icl_core build` for " + ", ".join(missing)


WITH_RUNS = [id for id in IDS if any(header.experiment == id for header in SHIPPED)]


@pytest.fixture(scope="module", params=WITH_RUNS)
def first(request):
    """An experiment, the run of its first preset, and its `panels`."""
    experiment = EXPERIMENTS[request.param]
    header = store.default().preset(request.param, experiment.presets[0].name)
    run = store.default().load(header)
    return experiment, run, panels(experiment, run)


def panels(experiment, run):
    """What takes the name of a drawing and returns its panel in the default view, drawn once."""
    drawings = {drawing.name: drawing for drawing in experiment.drawings}
    return cache(lambda name: drawings[name].draw(run, experiment.view()))


def test_the_first_shipped_run_draws_and_measures_what_its_file_says(first):
    experiment, run, panel_of = first
    _check_metrics(experiment, run)
    _check_drawings(experiment, run, panel_of)


@pytest.mark.long
@pytest.mark.parametrize("id", WITH_RUNS)
def test_shipped_runs_draw_and_measure_what_their_files_say(id):
    """The metrics of all runs; the drawings of as many as show every choice, every switch on and
    off, and every set of drawings that apply: they differ with these, and not with numbers."""
    experiment = EXPERIMENTS[id]
    kinds_drawn = set()
    for header in (header for header in SHIPPED if header.experiment == id):
        run = store.default().load(header)
        _check_metrics(experiment, run)
        kinds = _kinds_of(experiment, run)
        if not kinds <= kinds_drawn:
            _check_drawings(experiment, run, panels(experiment, run))
            kinds_drawn |= kinds


def _kinds_of(experiment, run):
    """The choices and switches of a run's config, each by itself, and which drawings apply."""
    fields = [field for field, knob in knobs_of(experiment.config).items() if knob.kind != "slider"]
    applies = tuple(drawing.applies(run.config) for drawing in experiment.drawings)
    return {*((field, getattr(run.config, field)) for field in fields), ("drawings", applies)}


def _check_metrics(experiment, run):
    """The metrics in the run's file are what the experiment measures today."""
    measured = {record["claim"]: record for record in measurements.measure(experiment, run)}
    stored = {record["claim"]: record for record in run.info["metrics"]}
    assert stored.keys() == measured.keys(), run.config
    for claim, record in measured.items():
        where = (claim, run.config)
        assert stored[claim]["value"] == pytest.approx(record["value"], rel=0.01, abs=2e-5), where
        error = record["error"]
        if error is not None:
            error = pytest.approx(error, rel=0.01, abs=2e-5)
        assert stored[claim]["error"] == error, where
        for field in ("kind", "unfinished", "verdict"):
            assert stored[claim][field] == record[field], (field, *where)
        # its words are today's
        assert bool(stored[claim]["reason"]) == bool(record["reason"]), where


def _check_drawings(experiment, run, panel_of):
    """Every drawing of the run has a title, a caption and a figure, which plotly accepts, or a
    table."""
    assert experiment.headline(run, experiment.view()).endswith("."), run.config
    for drawing in experiment.drawings:
        if not drawing.applies(run.config):
            continue
        panel = panel_of(drawing.name)
        assert panel.title and len(panel.caption) > 40, (drawing.name, run.config)
        _check_title(panel.title, run.finished and drawing.place == STAGE)
        assert panel.table is not None or panel.figure is not None, (drawing.name, run.config)
        if panel.figure is not None:
            checked(panel.figure)


# Words by one of which a title on the stage that has a number says what is seen.
VERBS = re.compile(
    r"\b(add|agrees?|are|beat|comes|differs?|ends?|enter|fails|falls?|finds?|gains|gets|goes|has|"
    r"have|holds?|is|keeps?|leads?|learned|leaves?|match|needs|puts|reach(es)?|recalls?|says|shrinks|"
    r"stores?|sum|takes?|uses)\b"
)


def _check_title(title: str, states_finding: bool):
    """A title begins with a capital letter or a symbol; if it states a finding, it has a verb."""
    assert not re.match(r"[a-z]([a-z]|\W(?! ?=))", title), title
    if states_finding and ":" in title and re.search(r"\d", title):
        assert VERBS.search(title), title


@pytest.mark.parametrize("id", WITH_RUNS)
def test_a_stage_has_two_to_six_seats_and_few_drawers(id):
    experiment = registry.experiment(id)
    for preset in experiment.presets:
        drawings = [d for d in experiment.drawings if d.applies(preset.config)]
        seats = [2 if drawing.wide else 1 for drawing in drawings if drawing.place == STAGE]
        assert 2 <= sum(seats) <= 6, preset.name
        # with View, Numbers, Evidence and Why there are 9
        assert len({drawing.place for drawing in drawings} - {STAGE}) <= 5, preset.name
    if "snapshot" in knobs_of(experiment.view):
        assert any(drawing.moving and drawing.place == STAGE for drawing in experiment.drawings)


def test_each_drawer_of_a_group_is_one_of_an_experiment_or_of_every_page():
    drawings = itertools.chain(*(experiment.drawings for experiment in EXPERIMENTS.values()))
    places = {drawing.place for drawing in drawings} - {STAGE}
    named = {name for names in drawers._DRAWERS.values() for name in names}
    assert named - places == {"Sweep", drawers.EVIDENCE, drawers.WHY}
    assert {drawers.group_of(place) for place in places} == set(drawers.GROUPS[:3])


def test_the_clock_moves_a_figure_in_its_seat_but_not_its_axes_and_colours(first):
    """What the browser is sent is the difference between snapshots: `frames` refuses
    other traces."""
    experiment, run, panel_of = first
    views = [experiment.view(snapshot=index) for index in range(len(run.snapshot_steps))]
    seated = []
    for drawing in experiment.drawings:
        if drawing.place == STAGE and drawing.applies(run.config):
            if drawing.moving and views:
                figures = [drawing.draw(run, view).figure for view in views]
            else:
                figures = [panel_of(drawing.name).figure]
            if figures[0] is not None:
                clock_frames([figure.to_dict() for figure in figures])
                scales = {json.dumps(_scales(figure), default=str) for figure in figures}
                assert len(scales) == 1, drawing.name
                seated.append((drawing, figures[-1]))
    check_seats(seated)


def _scales(figure):
    """The ranges of a figure's axes and colours."""
    scales = {
        name: part
        for name, part in figure.layout.items()
        if name.startswith(("xaxis", "yaxis", "coloraxis"))
    }
    keys = ("range", "type", "cmin", "cmax", "colorscale")
    return {name: {key: part.get(key) for key in keys} for name, part in sorted(scales.items())}


def test_a_drawing_names_the_knobs_that_it_depends_on(first):
    """A field that some drawing names and this one does not changes nothing here: else a kept
    figure would be wrong."""
    experiment, run, panel_of = first
    named = {field for drawing in experiment.drawings for field in drawing.knobs}
    for drawing in (d for d in experiment.drawings if d.applies(run.config)):
        # all other fields at once: a single drawing shows that none of them matters
        others = experiment.view()
        changed = []
        for field in sorted(named - fields_that_matter(others, drawing.knobs)):
            for value in _others(knobs_of(experiment.view)[field]):
                try:
                    others = dataclasses.replace(others, **{field: value})
                except BadSetting:  # a combination that cannot be
                    continue
                changed.append(field)
        same = not changed or _text(drawing.draw(run, others)) == _text(panel_of(drawing.name))
        assert same, f"{drawing.name} depends on one of {', '.join(changed)}"


def _others(knob) -> list:
    if knob.kind == "choice":
        return [value for value in knob.options if value != knob.default][:1]
    if knob.kind == "toggle":
        return [not knob.default]
    return [knob.low] if knob.kind == "slider" and knob.low != knob.default else []


def _text(panel) -> str:
    figure = panel.figure.to_dict() if panel.figure is not None else None
    return json.dumps([panel.title, panel.caption, panel.note, figure], default=str, sort_keys=True)


def test_artifacts_stay_small():
    root = Path(__file__).parents[1] / "artifacts"
    paths = [p for p in root.rglob("*.safetensors") if "cache" not in p.relative_to(root).parts]
    sizes = {path: path.stat().st_size for path in paths}
    assert sum(sizes.values()) < 56 * 2**20
    assert sum(size for path, size in sizes.items() if path.parent.name == "atlas") < 10 * 2**20


MAPPED = [id for id in IDS if registry.experiment(id).atlas]


@pytest.mark.parametrize("id", MAPPED)
def test_a_shipped_atlas_has_all_its_runs_and_only_declared_claims(id):
    atlases = store.default().atlases
    headers = atlases.headers(id)
    declared = {claim.id for claim in registry.experiment(id).claims}
    assert headers.keys() == {key_of(id, config) for config in atlas.configs(id)}
    for header in (*headers.values(), atlases.whole(id)):
        assert {record["claim"] for record in header.info["metrics"]} <= declared


@pytest.mark.parametrize("id", MAPPED)
def test_runs_of_an_atlas_draw_on_the_stage_and_measure_what_the_whole_ones_did(id):
    """Of all its runs four, far apart; half precision may move a metric by a hundredth."""
    experiment = registry.experiment(id)
    headers = list(store.default().atlases.headers(id).values())
    for header in headers[:: len(headers) // 4]:
        run = store.default().load(header)
        for snapshot in range(len(run.snapshot_steps)):
            view = experiment.view(snapshot=snapshot)
            assert experiment.headline(run, view).endswith(".")
            for drawing in experiment.drawings:
                if drawing.place == STAGE and drawing.applies(run.config):
                    assert drawing.draw(run, view).title
        stored = {record["claim"]: record["value"] for record in run.info["metrics"]}
        for record in measurements.measure(experiment, run):
            claim = record["claim"]
            assert stored[claim] == pytest.approx(record["value"], rel=0.01, abs=0.01), claim


@pytest.mark.parametrize("paper", registry.papers().values(), ids=lambda paper: paper.name)
def test_formulas_on_lines_of_their_own_are_fenced(paper):
    """Markdown takes "$$" at the start of a line for a block that only a line of its own ends."""
    lines = paper.mathematics.splitlines()
    assert all(line.strip() == "$$" for line in lines if line.lstrip().startswith("$$"))
    others = [line for line in lines if line.strip() != "$$"]
    assert (len(lines) - len(others)) % 2 == 0 and "$$" not in "".join(others)
