"""What is on the disk never makes the store raise: headers of shared tensors and of atlases that
were damaged, and records of another form."""

import numpy as np
import pytest
from house import TOY
from test_runs_kept import config
from test_store import INFO

from icl_core.jobs import queue
from icl_core.runs.atlas import Mapped, pack_atlas
from icl_core.runs.file import pack
from icl_core.runs.header import key_of_record, new_record, stored_settings
from icl_core.runs.request import Request

LARGE = np.arange(10_000.0)
RECORD = {"experiment": TOY, "version": 1, "config": {"d": 1}, **INFO}
CELL = {**RECORD, "digest": "", "at": {"x": "0"}}
HEADERS = [
    "",
    "{}",
    "[]",
    '{"tensor": 1}',
    '{"tensor": {"shape": "x", "data_offsets": [0, 0]}}',
    '{"tensor": {"shape": [2.5], "data_offsets": [0, 0]}}',
    '{"tensor": {"shape": [1], "data_offsets": [-9e999, 0]}}',
    '{"tensor": {"shape": [1], "data_offsets": [0, 0, 0]}}',
    '{"tensor": {"shape": [1], "data_offsets": []}}',
]
DAMAGES = {
    "empty": lambda content: b"",
    "cut short": lambda content: content[:-1],
    "another name": lambda content: content.replace(b'"0":{', b'"z":{').replace(
        b'"tensor":{', b'"sensor":{'
    ),
    **{
        header: lambda content, header=header: len(header).to_bytes(8, "little") + header.encode()
        for header in HEADERS
    },
}


def shared_file(runs):
    """The file of a tensor that two shipped runs share."""
    for seed in (1, 2):
        runs.ship(TOY, config(seed=seed), {"frozen/P": LARGE, "x": np.zeros(seed)}, INFO)
    runs.share_tensors([TOY])
    (path,) = (runs.shipped / "toy" / "shared").iterdir()
    return path


def atlas_file(runs):
    """The file of an atlas of one run."""
    path = runs.atlases.path(TOY)
    path.parent.mkdir(parents=True)
    run = Mapped(stored_settings(config(seed=1)), INFO, {"frozen/P": LARGE})
    path.write_bytes(pack_atlas(TOY, {}, [run], []))
    return path


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES.keys())
@pytest.mark.parametrize("file", [shared_file, atlas_file])
def test_a_damaged_header_says_nothing_of_sizes_and_keeps_no_run_from_being_asked_for(
    runs, file, damage
):
    path = file(runs)
    headers = runs.every(TOY)
    path.write_bytes(damage(path.read_bytes()))
    assert runs.least_size(Request(TOY, config(seed=3))) < LARGE.nbytes
    queue.submit(Request(TOY, config(seed=3)))
    for header in headers:
        assert runs.load(header) is None
    assert any("is ignored: expected" in message for message in runs.messages())


@pytest.mark.parametrize(
    "changes",
    [
        {"cells": None},
        {"cells": 3},
        {"cells": [3]},
        {"cells": [{"config": {}}]},
        {"cells": [{**CELL, "config": 3}]},
        {"cells": [{**CELL, "at": ["0"]}]},
        {"cells": [{**CELL, "at": {"x": ["0"]}}]},
        {"cells": [{**CELL, "at": {"x": "1"}}]},
        {"cells": [{**CELL, "config": {"seeds": "2"}}]},
    ],
)
def test_an_atlas_of_another_form_counts_as_absent(runs, changes):
    """A run's own file in the place of an atlas, for example, has no cells."""
    path = runs.atlases.path(TOY)
    path.parent.mkdir(parents=True)
    path.write_bytes(pack({"0": LARGE}, {**RECORD, **changes}))
    assert runs.least_size(Request(TOY, config())) == 0
    for header in runs.every(TOY):
        assert runs.load(header) is None
    assert f"{path} is ignored: expected" in runs.messages()[-1]


@pytest.mark.parametrize("changes", [{"shared": ["x"]}, {"shared": {"x": 1}}, {"experiment": 3}])
def test_a_shipped_run_of_another_form_counts_as_absent(runs, changes):
    record = {**new_record(TOY, config(), INFO), **changes}
    path = runs.shipped / "toy" / "walk" / f"{key_of_record(record)}.safetensors"
    path.parent.mkdir(parents=True)
    path.write_bytes(pack({"x": LARGE}, record))
    assert runs.every(TOY) == [] and runs.least_size(Request(TOY, config())) == 0
    assert f"{path} is ignored: expected a run's" in runs.messages()[-1]
