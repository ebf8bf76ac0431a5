"""Runs beside each other: which ones, their clock, the films of their differences, their metrics,
and the page that plays them."""

import json
import zlib
from dataclasses import replace

import numpy as np
import pytest
from test_links import at, clock_data, open_page, titles

from icl_core import registry
from icl_core.comparison import chosen_runs, films, joint_figures, table_rows
from icl_core.comparison.films import Compared, aligned, thinned_clock
from icl_core.contract import knobs
from icl_core.contract.experiment import CannotDraw
from icl_core.contract.knobs import BadSetting
from icl_core.contract.statistics import error_of_difference, is_certain
from icl_core.figures import small_map
from icl_core.figures.stage_seat import KEY
from icl_core.runs import store
from icl_core.runs.header import typed_config
from pages.ui.compare import packed
from pages.ui.look.style import Theme

INDUCTION = "birth.induction"
LIGHT = Theme(dark=False, projector=False)


def compared(names: str, milestone: str = "") -> Compared:
    """What the page compares for these runs of the induction head."""
    experiment = registry.experiment(INDUCTION)
    headers = chosen_runs.read(store.default(), INDUCTION, names).headers
    runs = tuple(run for header in headers if (run := store.default().load(header)))
    short = table_rows.short_names([run.config for run in runs])
    clock = films.clock_of(experiment, runs, milestone)
    is_other = bool(films.other_sizes(runs))
    return Compared(experiment, runs, tuple(short), clock, is_other)


def drawing(name: str):
    drawings = {drawing.name: drawing for drawing in registry.experiment(INDUCTION).drawings}
    return drawings[name]


# ---- the clock


def test_each_run_shows_its_latest_snapshot_not_beyond_the_clock():
    clock = aligned([[0, 10, 30], [0, 20]], [0, 0])
    assert clock.places == (0, 10, 20, 30)
    assert clock.shown == ((0, 1, 1, 2), (0, 0, 1, 1))


def test_by_a_milestone_all_runs_reach_it_at_zero():
    clock = aligned([[0, 10, 30], [0, 20]], [12, 20], "half")
    assert clock.places == (-20, -12, -2, 0, 18)
    # before its beginning a run shows its first snapshot
    assert clock.shown == ((0, 0, 1, 1, 2), (0, 0, 0, 1, 1))


def test_the_clock_of_shipped_runs_agrees_with_a_search():
    both = compared("random 1;random 5", "W_K¹ early")
    steps = films.common_milestones(both.experiment, both.runs)["W_K¹ early"]
    assert both.clock.starts == steps and 0 in both.clock.places
    for run, start, indices in zip(both.runs, steps, both.clock.shown, strict=True):
        for place, index in zip(both.clock.places, indices, strict=True):
            past = [step for step in run.snapshot_steps if step <= place + start]
            assert run.snapshot_steps[index] == max(past, default=run.snapshot_steps[0])


def test_a_thinned_clock_keeps_both_ends_and_the_milestone():
    steps = list(range(0, 1000, 7))
    clock = aligned([steps, steps], [301, 400], "half")
    few = thinned_clock(clock, 10)
    assert len(few.places) <= 10 and 0 in few.places
    assert (few.places[0], few.places[-1]) == (clock.places[0], clock.places[-1])
    index = clock.places.index(few.places[4])
    assert [row[4] for row in few.shown] == [row[index] for row in clock.shown]
    assert thinned_clock(clock, 10**6) == clock


def test_a_milestone_that_one_run_has_not_reached_is_not_offered():
    both = compared("random 1;random 5")
    reached = [set(both.experiment.milestones(run)) for run in both.runs]
    names = films.common_milestones(both.experiment, both.runs)
    assert set(names) == reached[0] & reached[1] != reached[0] | reached[1]
    assert films.clock_of(both.experiment, both.runs, "W_O²").milestone == ""


# ---- the maps of differences


def map_of(cells: list[list[float]], rows: list[str]):
    return small_map(cells, (rows, ["x", "y"]), ("row", "column"), "score", 5.0)


def test_a_difference_is_exact_and_needs_the_same_rows_and_columns():
    first = map_of([[1.0, np.nan], [2.0, -4.0]], ["a", "b"])
    second = map_of([[1.5, 3.0], [-1.0, 4.0]], ["a", "b"])
    difference = joint_figures.difference_of(first, second)
    assert difference is not None
    np.testing.assert_array_equal(difference.cells[0], [[0.5, np.nan], [-3.0, 8.0]])
    assert difference.mean == pytest.approx((0.5 + 3 + 8) / 3)
    assert joint_figures.common_limit([difference]) == 8.0
    figure = difference.figure(9.0)
    axis = figure.layout["coloraxis"]
    assert (axis["cmin"], axis["cmax"]) == (-9.0, 9.0)
    other = map_of([[1.5, 3.0], [-1.0, 4.0]], ["a", "c"])
    assert joint_figures.difference_of(first, other) is None


def test_a_film_of_differences_subtracts_what_the_clock_shows_on_one_scale():
    both = compared("random 1;random 5")
    w_o2 = drawing("w_o2")
    scene = films.scene(both, w_o2)
    assert scene is not None and len(scene.runs) == 2 and len(scene.differences) == 1
    film = scene.differences[0]
    for place in (0, 3, 9, len(both.clock.places) - 1):
        maps = [
            w_o2.panel(run, both.experiment.view(snapshot=indices[place])).figure.data[0]["z"]
            for run, indices in zip(both.runs, both.clock.shown, strict=True)
        ]
        figure = film.states[film.order[place]].figure
        np.testing.assert_array_equal(figure.data[0]["z"], maps[1] - maps[0])
    largest = max(np.abs(panel.figure.data[0]["z"]).max() for panel in film.states)
    assert scales_of(film) == {float(largest)}
    assert len(set.union(*map(scales_of, scene.runs))) == 1


def scales_of(film) -> set[float]:
    """The upper ends of its panels' colours."""
    return {panel.figure.layout["coloraxis"]["cmax"] for panel in film.states}


def test_predictions_beside_a_map_have_no_difference():
    scene = films.scene(compared("random 1;random 5"), drawing("second"))
    assert scene is not None
    figure = scene.differences[0].states[-1].figure
    assert [trace["type"] for trace in figure.data] == ["heatmap"]
    assert len(figure.layout["xaxis"]["categoryarray"]) == figure.data[0]["z"].shape[1]


def test_runs_of_another_width_show_curves_and_say_why():
    headers = store.default().atlases.headers(INDUCTION).values()
    of_width = {header.config["d"]: header for header in headers}
    names = ";".join(of_width[d].key for d in (32, 64))
    both = compared(names)
    assert "d = 32 and d = 64" in films.other_sizes(both.runs)
    stage = films.stage_drawings(both)
    assert [d.name for d in stage if films.scene(both, d) is not None] == ["accuracy"]
    for names in ("random 1;random 5", "order;order, paper size"):  # another K, another T
        assert films.other_sizes(compared(names).runs) == ""


# ---- curves


def test_curves_have_a_colour_a_run_and_count_from_the_milestone():
    both = compared("random 1;random 5", "W_K¹ early")
    panels = [drawing("memories").panel(run, both.view).figure for run in both.runs]
    assert joint_figures.can_overlay(panels)
    starts = both.clock.starts
    figure = joint_figures.overlaid(panels, both.names, starts, both.clock.milestone)
    lines = [trace for trace in figure.data if trace.get("name", "").endswith(": W_O²")]
    assert [line["name"] for line in lines] == ["K = 1: W_O²", "K = 5: W_O²"]
    colours = [line["line"]["color"] for line in lines]
    assert colours == [joint_figures.run_colour(place) for place in (0, 1)]
    assert lines[0]["line"]["dash"] == lines[1]["line"]["dash"]
    own = [trace for trace in figure.data if trace.get("name", "").startswith("K = 1: ")]
    dashes = {trace["line"]["dash"] for trace in own}
    assert len(dashes) == 4  # one for each of W_O², W_K², W_K¹ early, W_K¹ all
    for line, run, start in zip(lines, both.runs, starts, strict=True):
        np.testing.assert_array_equal(line["x"], run["curve/step"] - start)
    assert figure.layout["xaxis"]["title"]["text"] == "steps since W_K¹ early"
    assert any(note.get("name") == KEY for note in figure.layout["annotations"])


def test_a_caption_that_differs_says_whose_it_is():
    both = compared("random 1;random 5")
    memories = drawing("memories")

    def captioned(run, view):
        return replace(memories.draw(run, view), caption=f"K is {run.config.K}.")

    scene = films.scene(both, replace(memories, draw=captioned))
    assert scene is not None
    assert scene.runs[0].states[0].caption.endswith("style each. Of K = 1: K is 1.")
    same = replace(
        memories, draw=lambda run, view: replace(memories.draw(run, view), caption="Look.")
    )
    scene = films.scene(both, same)
    assert scene is not None and scene.runs[0].states[0].caption.endswith("style each. Look.")


# ---- which runs


def test_an_address_names_runs_by_preset_or_key_and_is_read_back():
    headers = chosen_runs.read(store.default(), INDUCTION, "random 3, paper size; random 5").headers
    assert [chosen_runs.name_of(h) for h in headers] == ["random 3, paper size", "random 5"]
    text = chosen_runs.to_text(headers)
    by_key = ";".join(header.key for header in headers)
    for again in (text, by_key):
        assert chosen_runs.read(store.default(), INDUCTION, again) == (
            chosen_runs.ChosenRuns(headers, ())
        )


def test_what_cannot_be_compared_is_said():
    other = store.default().headers("gdssm.layer")[0]
    cases = {
        "random 1;nowhere": "There is no run 'nowhere' of “The induction head” here",
        f"random 1;{other.key}": "Only runs of one experiment are compared.",
        "random 1;random 1": "A run that is named several times is shown once.",
    }
    for text, warning in cases.items():
        chosen = chosen_runs.read(store.default(), INDUCTION, text)
        assert len(chosen.headers) == 1 and len(chosen.warnings) == 1
        assert warning in chosen.warnings[0]
    many = "random 1;random 3;random 5;fastest;order"
    chosen = chosen_runs.read(store.default(), INDUCTION, many)
    assert len(chosen.headers) == 4
    assert chosen.warnings == ("At most 4 runs are compared, got 5. The last ones are left out.",)
    with pytest.raises(BadSetting):
        chosen_runs.read(store.default(), "birth.nothing", "random 1")


def test_a_long_link_looks_through_the_runs_once_and_says_what_is_left_out_once(monkeypatch):
    headers = store.default().headers()
    calls = []

    def counted(experiment_id=None):
        calls.append(experiment_id)
        return [header for header in headers if experiment_id in (None, header.experiment)]

    monkeypatch.setattr(store.default(), "headers", counted)
    names = [f"nowhere {number}" for number in range(50)]
    chosen = chosen_runs.read(store.default(), INDUCTION, ";".join(["random 1", *names, *names]))
    assert [chosen_runs.name_of(header) for header in chosen.headers] == ["random 1"]
    assert calls.count(None) == 1
    assert chosen.warnings[-2:] == (
        "A run that is named several times is shown once.",
        "At most 4 runs are compared, got 51. The last ones are left out.",
    )
    assert len(chosen.warnings) == 6  # four of them for the missing names that were looked for


def test_a_preset_names_its_run_made_here_and_every_preset_its_shipped_one(tmp_path):
    own = store.Store(tmp_path / "shipped", tmp_path / "local")
    one, other = registry.experiment(INDUCTION).presets[:2]
    tensors = {"curve/step": np.arange(2)}
    missing = chosen_runs.read(own, INDUCTION, one.name)
    assert not missing.headers and "has no run here yet" in missing.warnings[0]
    more_seeds = own.save(INDUCTION, replace(one.config, seeds=3), tensors, {})
    info = {"presets": [other.name, "its second name"]}
    shipped = own.ship(INDUCTION, other.config, tensors, info)
    chosen = chosen_runs.read(own, INDUCTION, f"{one.name};its second name")
    assert [header.key for header in chosen.headers] == [more_seeds.key, shipped.key]
    assert chosen.warnings == ()
    again = chosen_runs.read(own, INDUCTION, f"{other.name};its second name")
    assert len(again.headers) == 1 and len(again.warnings) == 1


def test_the_nearest_runs_differ_by_the_fewest_settings():
    header = store.default().preset(INDUCTION, "random 1")
    assert header is not None
    neighbours = chosen_runs.nearest(store.default(), header)
    counts = [neighbour.count for neighbour in neighbours]
    assert counts == sorted(counts)
    first = [chosen_runs.name_of(neighbour.header) for neighbour in neighbours[:2]]
    assert first == ["random 3", "random 5"]
    assert neighbours[1].differs == "K = 5 instead of 1"
    own = knobs.values(typed_config(header))
    for neighbour in neighbours:
        others = knobs.values(typed_config(neighbour.header))
        assert neighbour.count == sum(own[name] != others[name] for name in own if name != "seeds")


def test_settings_that_differ_come_first_and_name_the_runs():
    configs = [
        preset.config
        for preset in registry.experiment(INDUCTION).presets
        if preset.name in ("random 1", "random 5")
    ]
    rows = table_rows.setting_rows(configs)
    assert rows[0].texts == ("1", "5") and [row.differs for row in rows].count(True) == 1
    assert table_rows.short_names(configs) == ["K = 1", "K = 5"]
    assert table_rows.short_names([configs[0], configs[0]]) == ["run 1", "run 2"]


# ---- metrics


def test_the_error_of_a_difference_is_welchs():
    assert error_of_difference(3.0, 4.0) == 5.0
    assert error_of_difference(3.0, None) is None
    # equal errors of five seeds each have 8 degrees of freedom, Student's t 2.306
    edge = 2.306 * 2**0.5
    assert is_certain(edge + 0.01, (1.0, 1.0), (5, 5))
    assert not is_certain(edge - 0.01, (1.0, 1.0), (5, 5))
    # one error alone leaves its own 4 degrees of freedom, 2.776
    assert not is_certain(2.7, (1.0, 0.0), (5, 5)) and is_certain(2.8, (1.0, 0.0), (5, 5))
    assert is_certain(2.0, (1.0, 0.0), (None, None)) and not is_certain(9.0, (1.0, None), (5, 5))
    # without any spread only rounding is no difference
    assert not is_certain(1e-12, (0.0, 0.0), (5, 5)) and is_certain(1e-3, (0.0, 0.0), (5, 5))


def test_records_without_a_count_have_a_value_a_seed():
    header = store.default().preset(INDUCTION, "random 1")
    assert header is not None
    claim = registry.experiment(INDUCTION).claims[0].id

    def certain(value: float, seeds: int, more: dict[str, int | None]) -> bool:
        headers = [
            replace(
                header,
                config=header.config | {"seeds": seeds},
                info={"metrics": [{"claim": claim, "value": mean, "error": 1.0, **more}]},
            )
            for mean in (0.0, value)
        ]
        (row,) = table_rows.metric_rows(headers)
        (difference,) = row.differences
        return difference is not None and difference.certain

    # of three seeds each: 4 degrees of freedom, Student's t 2.776; of known spreads 1.960
    edge = 2.776 * 2**0.5
    known_edge = 1.960 * 2**0.5
    assert certain(edge + 0.01, 3, {}) and not certain(edge - 0.01, 3, {})
    assert certain(known_edge + 0.01, 3, {"count": None}) and certain(known_edge + 0.01, 1, {})
    assert not certain(edge - 0.01, 1, {"count": 3})


def test_metrics_stand_beside_each_other_with_their_difference():
    headers = chosen_runs.read(store.default(), INDUCTION, "random 1;random 5").headers
    records = [{record["claim"]: record for record in header.info["metrics"]} for header in headers]
    claims = {claim.label: claim.id for claim in registry.experiment(INDUCTION).claims}
    rows = table_rows.metric_rows(headers)
    assert rows
    for row in rows:
        one, other = (record.get(claims[row.label]) for record in records)
        (difference,) = row.differences
        if one and other and difference:
            assert difference.value == other["value"] - one["value"]


# ---- the page


def test_frames_beyond_the_limit_are_thinned(monkeypatch):
    both = compared("random 1;random 5")
    chosen = [drawing("w_o2")]
    whole = packed.pack("whole", both, chosen, LIGHT)
    for share in (2, 5, 9, 3):  # some of them are thinned twice
        monkeypatch.setattr(packed, "MOST_BYTES", whole.size // share)
        less = packed.pack(f"less {share}", both, chosen, LIGHT)
        fitting = packed.with_fitting_clock(f"less {share}", both)  # what the next visitor sees
        assert fitting.clock == less.clock
        (scene,) = packed.scenes(f"less {share}", fitting, chosen, LIGHT)
        assert scene is less.scenes[0]
    assert less.size <= whole.size // 3
    assert 2 <= len(less.clock.places) < len(whole.clock.places) == len(both.clock.places)
    film = less.scenes[0].differences[0]
    states = json.loads(zlib.decompress(film.states))
    assert len(states["order"]) == len(less.clock.places)
    assert len(states["frames"]) == max(states["order"]) + 1


def test_further_curves_keep_the_clock_and_what_cannot_be_drawn_is_counted(monkeypatch):
    both = compared("random 1;random 5")
    memories = drawing("memories")

    def of_the_first(run, view):
        if run is both.runs[1]:
            raise CannotDraw("nothing here")
        return memories.draw(run, view)

    monkeypatch.setattr(packed, "MOST_BYTES", 1)
    half = replace(memories, name="of the first", draw=of_the_first)
    stage = packed.pack("two places", both, [memories, half], LIGHT)
    assert len(stage.clock.places) == 2 and stage.left_out == 1
    assert [bool(scene.films) for scene in stage.scenes] == [True, False]
    # the next visitor's at once
    assert packed.with_fitting_clock("two places", both).clock == stage.clock
    thin = replace(both, clock=thinned_clock(both.clock, 5))
    more = packed.pack_more("five places", thin, [memories], LIGHT)
    assert more.clock is thin.clock and more.size > 1 and more.left_out == 0
    assert len(json.loads(zlib.decompress(more.films[0].states))["order"]) == 5


def test_the_clock_says_what_it_counts():
    app = open_page("compare", "experiment=learners.prompt&runs=short;two&step=3")
    assert not app.exception and not app.warning
    assert clock_data(app)["headlines"][at(app)].startswith("Pairs read 3: ")
    units = {id: films.unit_of(registry.experiment(id)) for id in (INDUCTION, "birth.data")}
    assert set(units.values()) == {"training step"}


def test_the_page_shows_every_run_and_difference_at_the_step_of_the_address():
    app = open_page("compare", f"experiment={INDUCTION}&runs=random 1;random 5&step=100")
    assert not app.exception and not app.warning
    assert sum(title.startswith("K = 5 minus K = 1") for title in titles(app)) == 5
    steps = compared("random 1;random 5").clock.places
    assert steps[at(app)] == max(step for step in steps if step <= 100)


def test_bad_addresses_are_said_once():
    for link in (f"experiment={INDUCTION}&runs=random 1;nowhere", "experiment=birth.inductoin"):
        app = open_page("compare", link)
        assert not app.exception and len(app.warning) == 1
