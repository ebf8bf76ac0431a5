"""The front page: it draws without torch what a paper's page draws with it, and works without a
single run."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from house import ROOT, house
from streamlit.testing.v1 import AppTest

from icl_core import registry
from icl_core.contract.experiment import CannotDraw, Run, names
from icl_core.evidence import verdicts
from icl_core.figures.frames import clock_frames
from icl_core.papers.birth.shared.head_maps import at_snapshot, first_map, second_map
from icl_core.runs import store

OPENINGS = [paper for paper in registry.papers().values() if paper.opening]
WITHOUT_TORCH = """
import sys
import pages.ui.front.front
import pages.ui.front.gallery
from icl_core import registry
from icl_core.runs import store
for paper in registry.papers().values():
    for where, draws in ((paper.picture, 1), (paper.opening and paper.opening.run, 0)):
        header = store.default().preset(*where[:2]) if where else None
        run = header and store.default().load(header, typed=False)
        if run and draws:
            where[2](run)
        elif run:
            [draw(run, 0) for draw in paper.opening.panels.values()]
            paper.opening.headline(run, 0)
assert "torch._C" not in sys.modules
"""


def example(**more: np.ndarray) -> Run:
    """A run that holds two snapshots of what a model makes of "abab"."""
    uniform = np.tril(np.ones((4, 4))) / np.arange(1, 5)[:, None]
    maps = np.stack([uniform, np.eye(4, k=-1)]).astype(np.float16)
    return Run(
        None,
        {
            "names/sequence": names("abab"),
            "names/characters": names("xab"),
            "snapshot/step": np.array([0, 9]),
            "reading/attention1": maps,
            "reading/attention2": maps,
            "reading/predicted": np.array([[0] * 4, [0, 0, 2, 1]]),
            "reading/probability": np.full((2, 4), 0.5, np.float16),
            "example/in_context": np.array([False, False, True, True]),
            "example/truth": np.array([-1, -1, 2, 1]),
            **more,
        },
    )


def test_the_front_page_draws_without_torch():
    subprocess.run([sys.executable, "-c", WITHOUT_TORCH], cwd=ROOT, check=True)


def test_what_a_run_holds_of_its_example_is_read_as_it_was_kept():
    before, after = (at_snapshot(example(), index) for index in (0, 1))
    assert before.right == (0, 2) and after.right == (2, 2)
    assert before.where == after.where == [(2, 1, "correct output"), (3, 2, "correct output")]
    assert first_map(before).title.endswith("36%") and first_map(after).title.endswith("100%")
    assert second_map(after).title == "Layer 2 finds what followed: 2 of 2"


def test_a_run_made_before_runs_held_their_example_cannot_be_drawn():
    with pytest.raises(CannotDraw, match="train it again"):
        at_snapshot(Run(None, {"snapshot/step": np.array([0])}), 0)


@pytest.mark.parametrize("paper", OPENINGS, ids=lambda paper: paper.name)
def test_an_opening_shows_what_the_page_of_its_experiment_shows(paper):
    header = store.default().preset(*paper.opening.run)
    assert header is not None
    run = store.default().load(header)
    experiment = registry.experiment(header.experiment)
    assert run is not None
    drawings = {drawing.name: drawing for drawing in experiment.drawings}
    snapshots = range(len(run.snapshot_steps))
    for name, draw in paper.opening.panels.items():
        panels = [draw(run, index) for index in snapshots]
        # the same traces in all
        assert len(clock_frames([panel.figure.to_dict() for panel in panels])) == len(snapshots)
        for index in (0, len(snapshots) - 1):
            view = experiment.view(snapshot=index)
            if experiment.typed is not None:  # the page begins with a word
                example = {experiment.typed.field: "".join(run.names("sequence"))}
                view = replace(view, **example)
            page = drawings[name].draw(run, view).figure.data[0]["z"]
            # kept in half precision
            np.testing.assert_allclose(panels[index].figure.data[0]["z"], page, atol=0.03)
    assert len({paper.opening.headline(run, index) for index in snapshots}) > len(snapshots) / 2


@pytest.mark.parametrize("state", ["empty", "damaged"])
def test_the_front_page_works_without_its_runs(tmp_path, monkeypatch, state):
    with house(tmp_path, monkeypatch):
        if state == "damaged":
            shipped = store.Store(store.ARTIFACTS, tmp_path / "other")
            for header in shipped.headers(OPENINGS[0].opening.run[0]):
                target = tmp_path / "artifacts" / header.path.relative_to(store.ARTIFACTS)
                target.parent.mkdir(parents=True, exist_ok=True)
                content = header.path.read_bytes()
                target.write_bytes(content[:-8] + bytes(8))
        page = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60).run()
        assert not page.exception
        captions = [caption.value for caption in page.caption]
        assert any(text.startswith("The film appears once") for text in captions), captions
        pictures = [text for text in captions if text.startswith("The picture appears once")]
        assert len(pictures) == len(registry.papers()) - 1
        assert page.header[-1].value == "What the papers claim, and what comes out here"


def test_a_bar_counts_the_papers_own_claims_alone():
    bar = verdicts.bar(
        "A paper", {"paper": {"reproduced": 3, "not reproduced": 1}, "ours": {"found here": 9}}, 8
    )
    assert "width: 50%" in bar and "flex: 3" in bar and "flex: 9" not in bar
    assert bar.index("✓ 3") < bar.index("✗ 1")
    assert "4 claims: 3 reproduced, 1 not reproduced · 9 claims of our own: 9 confirmed" in bar
