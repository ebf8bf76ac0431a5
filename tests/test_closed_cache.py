"""A cache that belongs to another user and may not even be looked into: pages say so in a sentence,
and show what comes with the project."""

import errno
import os

import pytest
from house import ROOT, TOY, house
from streamlit.testing.v1 import AppTest

from icl_core import registry
from icl_core.jobs import estimate, job_progress, phase_helper, queue, spawn, starts
from icl_core.machine import folders
from icl_core.runs import database, documents, owners, store
from icl_core.runs.header import key_of
from icl_core.runs.request import Request

SENTENCE = "must be a folder that this user may write to"


@pytest.fixture
def closed(tmp_path, monkeypatch):
    """The path of the cache; every call of the system below it is refused, as for a folder with the
    mode 0700 of another user. (A superuser, who runs tests in containers, may look into any.)"""
    with house(tmp_path, monkeypatch):
        cache = tmp_path / "cache"
        cache.mkdir()
        monkeypatch.setenv("ICL_ARTIFACTS", str(folders.ARTIFACTS))
        store.default.cache_clear()

        def guarded(name, is_refused):
            call = getattr(os, name)

            def guard(path, *arguments, **options):
                if isinstance(path, str | os.PathLike) and is_refused(os.path.abspath(path)):
                    raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
                return call(path, *arguments, **options)

            monkeypatch.setattr(os, name, guard)

        def is_inside(path):
            return path.startswith(f"{cache}{os.sep}")

        def is_or_inside(path):
            return path == str(cache) or is_inside(path)

        for name in ("stat", "lstat", "open", "mkdir", "unlink", "rename", "replace", "readlink"):
            guarded(name, is_inside)
        for name in ("scandir", "listdir"):
            guarded(name, is_or_inside)
        access = os.access
        monkeypatch.setattr(
            os, "access", lambda path, mode: not is_or_inside(str(path)) and access(path, mode)
        )
        yield cache


def test_a_look_finds_nothing_and_a_request_says_why(closed):
    config = registry.experiment(TOY).config()
    (message,) = store.default().messages()
    assert message == (
        f"Nothing can be trained or kept here: {closed} {SENTENCE}. Runs that come with the "
        "project are shown all the same; ICL_CACHE_DIR names another folder."
    )
    key = key_of(TOY, config)
    assert queue.states() == documents.all_documents() == []
    assert queue.state(key) is None and database.refusal() == ""
    assert store.default().find(Request(TOY, config)) is None
    assert not phase_helper.has_end(Request(TOY, config))
    assert job_progress.preview_stamp(key) == 0 and job_progress.read_preview(key) is None
    assert starts.look().failures == 0 and estimate.machine_pace() is None
    assert documents.name_of("text", "0" * 16) == "" and owners.owners_of(key) == set()
    assert spawn.ensure_workers(1) == 0 and spawn.warm() is None
    with pytest.raises(OSError, match=r"Permission denied|must be"):
        queue.submit(Request(TOY, config))
    assert store.default().headers("birth.induction")


@pytest.mark.parametrize("page", ["runs", "front", "gdssm"])
def test_every_page_says_it_and_shows_what_comes_with_the_project(closed, page):
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=120)
    if page != "front":
        app.run()
        app.switch_page(f"pages/{page}.py")
    app.run()
    assert not app.exception
    assert any(SENTENCE in warning.value for warning in app.warning)
