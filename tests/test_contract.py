"""What every experiment obeys, run on all that the registry finds: shipped papers and the
throw-away one."""

import dataclasses
import json
import os
from pathlib import Path

import pytest

EXTRA = str(Path(__file__).parent / "papers_extra")
os.environ.setdefault("ICL_PAPERS", EXTRA)

from icl_core import build, registry  # noqa: E402
from icl_core.contract.experiment import GROUPS, STAGE, CannotDraw  # noqa: E402
from icl_core.contract.knobs import BadSetting, knobs_of, values  # noqa: E402
from icl_core.figures.frames import clock_frames  # noqa: E402
from icl_core.findings import findings  # noqa: E402
from icl_core.runs import store  # noqa: E402
from icl_core.sweeps import atlas  # noqa: E402

IDS = registry.experiment_ids()
SHIPPED = [header for header in store.default().headers() if header.origin == "shipped"]


def name(header) -> str:
    return f"{header.experiment}-{header.key[:8]}"


@pytest.fixture(params=IDS)
def experiment(request):
    return registry.experiment(request.param)


def test_papers_describe_themselves():
    for paper in registry.papers().values():
        assert paper.title and paper.authors and paper.found and paper.introduction
        assert all(len(row) == 3 for row in paper.glossary)


def test_settings_are_declared_and_have_valid_defaults(experiment):
    for settings_class in (experiment.config, experiment.view):
        made = settings_class()
        assert json.loads(json.dumps(values(made))) == values(made)
        for field, knob in knobs_of(settings_class).items():
            assert knob.label
            with pytest.raises(BadSetting, match=field):
                dataclasses.replace(made, **{field: object()})


def test_config_and_view_share_no_name_and_take_none_of_the_address(experiment):
    config, view = set(knobs_of(experiment.config)), set(knobs_of(experiment.view))
    assert not config & view
    assert not (config | view) & {
        "experiment",
        "preset",
        "version",
        "projector",
        "step",
        "drawer",
        "beat",
        "tour",
        "marks",
        "lesson",
        "cell",
        "kept",
        "sweep",
        "sweep_seeds",
        "metric",
    }


@pytest.mark.parametrize(
    "typed", ["", "?", "0", "1, 2, x", "1/0", "1:2:3", "-1e400:nan", "9" * 30, "\x00"]
)
def test_what_a_visitor_types_is_taken_or_refused_with_a_sentence(experiment, typed):
    """A view may only find when it draws that it cannot show this: that is `CannotDraw`, asked
    elsewhere."""
    for settings_class in (experiment.config, experiment.view):
        for field, knob in knobs_of(settings_class).items():
            if knob.kind == "text":
                try:
                    settings_class(**{field: typed})
                except BadSetting as problem:
                    assert str(problem)


def test_sliders_refuse_what_lies_beyond_their_range(experiment):
    for field, knob in knobs_of(experiment.config).items():
        if knob.kind == "slider":
            for value in (knob.low - 1, knob.high + 1):
                with pytest.raises(BadSetting, match=f"^{field} must be"):
                    experiment.config(**{field: type(knob.default)(value)})


def test_a_views_knob_depends_on_what_the_config_has(experiment):
    own = knobs_of(experiment.config).values()
    for knob in [*knobs_of(experiment.view).values(), *own]:
        if knob.at_most and knob in own:
            assert knob.default <= getattr(experiment.config(), knob.at_most) <= knob.high, (
                knob.label
            )
        elif knob.at_most:
            bound = knobs_of(experiment.config)[knob.at_most]
            assert isinstance(bound.default, int) and bound.high <= knob.high, knob.label
        assert not knob.shown_if or isinstance(getattr(experiment.config(), knob.shown_if), bool), (
            knob.label
        )


def test_it_explains_itself(experiment):
    assert len(experiment.about) > 100
    assert experiment.title


def test_presets_are_valid_and_distinct(experiment):
    names = [preset.name for preset in experiment.presets]
    assert len(set(names)) == len(names) > 0
    for preset in experiment.presets:
        assert isinstance(preset.config, experiment.config)
        assert preset.group in GROUPS
        experiment.view(**preset.view)
        assert experiment.cost(preset.config) > 0


def test_claims_are_distinct_and_say_whose_they_are_and_of_which_setting(experiment):
    ids = [claim.id for claim in experiment.claims]
    assert len(set(ids)) == len(ids) > 0
    for claim in experiment.claims:
        assert claim.label and claim.text and claim.source
        assert bool(claim.quote) == (claim.kind == "paper"), claim.id
        assert claim.at is not None or claim.setting, claim.id
        assert set(claim.at or ()) <= set(knobs_of(experiment.config)), claim.id


def test_drawings_name_view_fields(experiment):
    known = set(knobs_of(experiment.view))
    assert len({drawing.name for drawing in experiment.drawings}) == len(experiment.drawings)
    for drawing in experiment.drawings:
        assert set(drawing.knobs) <= known


def test_there_are_shipped_runs_to_test():
    assert SHIPPED


def test_every_shipped_preset_has_its_run():
    missing = []
    for experiment_id in IDS:
        if Path(EXTRA, experiment_id.split(".")[0]).exists():
            continue
        for item in build.wanted_runs(experiment_id):
            header = store.default().exact(experiment_id, item.key)
            if header is None or header.origin != "shipped":
                missing.append(str(item))
    assert not missing, "run `python -m icl_core build` for " + ", ".join(missing)


@pytest.mark.parametrize("header", SHIPPED, ids=name)
def test_shipped_metrics_are_those_recomputed(header):
    run = store.default().load(header)
    experiment = registry.experiment(header.experiment)
    recomputed = {
        record["claim"]: record for record in findings.measure(experiment, run)
    }  # declared claims only
    kept = {record["claim"]: record for record in run.info["metrics"]}
    assert kept.keys() == recomputed.keys()
    for claim, record in recomputed.items():
        assert kept[claim]["value"] == pytest.approx(record["value"], rel=0.01, abs=2e-5)
        error = record["error"]
        assert kept[claim]["error"] == (
            error if error is None else pytest.approx(error, rel=0.01, abs=2e-5)
        )
        for told in ("kind", "unfinished", "verdict"):
            assert kept[claim][told] == record[told], (claim, told)
        assert bool(kept[claim]["reason"]) == bool(record["reason"]), claim  # in today's words


@pytest.mark.parametrize("header", SHIPPED, ids=name)
def test_every_drawing_of_a_shipped_run_draws(header):
    run = store.default().load(header)
    experiment = registry.experiment(header.experiment)
    view = experiment.view()
    assert experiment.headline(run, view).endswith(".")
    for drawing in experiment.drawings:
        if not drawing.applies(run.config):
            continue
        panel = drawing.draw(run, view)
        assert panel.title and len(panel.caption) > 40
        assert panel.table is not None or panel.figure is not None
        if panel.figure is not None:
            panel.figure.plotly()  # refuses what plotly does not know


def of_first(id: str):
    """An experiment with its first shipped run, and the default view at any snapshot."""
    experiment = registry.experiment(id)
    header = next(header for header in SHIPPED if header.experiment == id)
    fields = knobs_of(experiment.view)

    def view(snapshot: int | None = None, **more):
        at = {"snapshot": snapshot} if snapshot is not None and "snapshot" in fields else {}
        return experiment.view(**at, **more)

    return experiment, store.default().load(header), view


SHOWN = [id for id in IDS if any(header.experiment == id for header in SHIPPED)]


@pytest.mark.parametrize("id", SHOWN)
def test_a_stage_has_two_to_six_seats_and_few_drawers(id):
    experiment = registry.experiment(id)
    for preset in experiment.presets:
        shown = [each for each in experiment.drawings if each.applies(preset.config)]
        stage = [each for each in shown if each.place == STAGE]
        assert 2 <= sum(2 if each.wide else 1 for each in stage) <= 6, preset.name
        assert len({each.place for each in shown} - {STAGE}) <= 5, (
            "with View, Numbers, Evidence and Why there are 9"
        )
    if "snapshot" in knobs_of(experiment.view):
        assert any(each.moving and each.place == STAGE for each in experiment.drawings)


@pytest.mark.parametrize("id", SHOWN)
def test_the_clock_moves_a_figure_but_not_its_axes_and_colours(id):
    """What the browser is sent is the difference between snapshots: `frames` refuses
    other traces."""
    experiment, run, view = of_first(id)
    for drawing in experiment.drawings:
        if drawing.place == STAGE and drawing.applies(run.config):
            steps = range(len(run.snapshot_steps)) if drawing.moving and run.snapshot_steps else [0]
            shown = [drawing.draw(run, view(index)).figure for index in steps]
            if shown[0] is not None:
                clock_frames([figure.to_dict() for figure in shown])
                assert len({json.dumps(_scales(figure), default=str) for figure in shown}) == 1, (
                    drawing.name
                )


def _scales(figure):
    """The ranges of a figure's axes and colours."""
    scales = {
        name: part
        for name, part in figure.layout.items()
        if name.startswith(("xaxis", "yaxis", "coloraxis"))
    }
    kept = ("range", "type", "cmin", "cmax", "colorscale")
    return {name: {key: part.get(key) for key in kept} for name, part in sorted(scales.items())}


@pytest.mark.parametrize("id", SHOWN)
def test_a_drawing_names_the_knobs_that_it_depends_on(id):
    """A field that some drawing names and this one does not changes nothing here: else a kept
    figure would be wrong."""
    experiment, run, view = of_first(id)
    named = {field for drawing in experiment.drawings for field in drawing.knobs}
    for drawing in (each for each in experiment.drawings if each.applies(run.config)):
        before = _drawn(drawing, run, view())
        for field in sorted(named - set(drawing.knobs)):
            for value in _others(knobs_of(experiment.view)[field]):
                try:
                    changed = view(**{field: value})
                except BadSetting:  # a combination that cannot be
                    continue
                assert _drawn(drawing, run, changed) == before, f"{drawing.name} depends on {field}"


def _others(knob) -> list:
    if knob.kind == "choice":
        return [value for value in knob.options if value != knob.default][:1]
    if knob.kind == "toggle":
        return [not knob.default]
    return [knob.low] if knob.kind == "slider" and knob.low != knob.default else []


def _drawn(drawing, run, view) -> str:
    try:
        panel = drawing.draw(run, view)
    except CannotDraw as problem:
        return str(problem)
    figure = panel.figure.to_dict() if panel.figure is not None else None
    return json.dumps([panel.title, panel.caption, panel.note, figure], default=str)


def test_artifacts_stay_small():
    root = Path(__file__).parents[1] / "artifacts"
    sizes = {path: path.stat().st_size for path in root.rglob("*.safetensors")}
    sizes = {
        path: size for path, size in sizes.items() if "cache" not in path.relative_to(root).parts
    }
    assert sum(sizes.values()) < 56 * 2**20
    assert sum(size for path, size in sizes.items() if path.parent.name == "atlas") < 9 * 2**20


MAPPED = [id for id in IDS if registry.experiment(id).atlas]


@pytest.mark.parametrize("id", MAPPED)
def test_a_shipped_atlas_has_all_its_runs_and_only_declared_claims(id):
    experiment, kept = registry.experiment(id), store.default()
    headers, declared = kept.atlases.headers(id), {claim.id for claim in experiment.claims}
    assert headers.keys() == {store.key_of(id, config) for config in atlas.configs(id)}
    for header in (*headers.values(), kept.atlases.whole(id)):
        assert {record["claim"] for record in header.info["metrics"]} <= declared


@pytest.mark.parametrize("id", MAPPED)
def test_runs_of_an_atlas_draw_on_the_stage_and_measure_what_the_whole_ones_did(id):
    """Of all its runs four, far apart; half precision may move a metric by a hundredth."""
    experiment = registry.experiment(id)
    for header in list(store.default().atlases.headers(id).values())[
        :: len(atlas.configs(id)) // 4
    ]:
        run = store.default().load(header)
        for snapshot in range(len(run.snapshot_steps)):
            view = experiment.view(snapshot=snapshot)
            assert experiment.headline(run, view).endswith(".")
            for drawing in experiment.drawings:
                if drawing.place == STAGE and drawing.applies(run.config):
                    assert drawing.draw(run, view).title
        kept = {record["claim"]: record["value"] for record in run.info["metrics"]}
        for record in findings.measure(experiment, run):
            assert kept[record["claim"]] == pytest.approx(record["value"], rel=0.01, abs=0.01), (
                record["claim"]
            )


@pytest.mark.parametrize("paper", registry.papers().values(), ids=lambda paper: paper.name)
def test_formulas_on_lines_of_their_own_are_fenced(paper):
    """Markdown takes "$$" at the start of a line for a block that only a line of its own ends."""
    lines = paper.mathematics.splitlines()
    assert all(line.strip() == "$$" for line in lines if line.lstrip().startswith("$$"))
    assert sum(line.strip() == "$$" for line in lines) % 2 == 0 and "$$" not in "".join(
        line for line in lines if line.strip() != "$$"
    )
