"""The file of a run, and writing that survives."""

import errno
import hashlib
import json
import os
import stat
import subprocess
import sys
from contextlib import nullcontext

import numpy as np
import pytest
from house import ROOT, TOY
from test_store import INFO, TENSORS

from icl_core.runs.disk import delete_drafts, private_folder, write_note, write_whole
from icl_core.runs.file import Damaged, digest, pack, read, read_record

RECORD = {"experiment": TOY, "version": 1, "config": {"d": 1.0, "rate": 0.5}, **INFO}


def test_equal_runs_give_equal_bytes_and_the_digest_ignores_time():
    one = pack(TENSORS, RECORD)
    assert one == pack(dict(reversed(TENSORS.items())), dict(reversed(RECORD.items())))
    later = {**RECORD, "seconds": 2, "config": {"rate": 0.5, "d": 1}}
    assert digest(TENSORS, RECORD) == digest(TENSORS, later)
    for name, other in (("experiment", "x"), ("version", 2), ("config", {"d": 2})):
        assert digest(TENSORS, RECORD) != digest(TENSORS, {**RECORD, name: other})
    rows = np.zeros((2, 3), np.float32)
    assert digest({"a": rows}, RECORD) != digest({"a": rows.reshape(3, 2)}, RECORD)  # equal bytes


def test_another_process_writes_the_same_bytes(tmp_path):
    np.savez(tmp_path / "tensors.npz", **TENSORS)
    code = (
        "import hashlib, json, sys, numpy as np; from icl_core.runs.file import pack\n"
        "packed = pack(dict(np.load(sys.argv[1])), json.loads(sys.argv[2]))\n"
        "print(hashlib.sha256(packed).hexdigest())"
    )
    printed = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "tensors.npz"), json.dumps(RECORD)],
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": "1"},
        check=True,
        capture_output=True,
    ).stdout.decode()
    assert printed == hashlib.sha256(pack(TENSORS, RECORD)).hexdigest() + "\n"


def test_what_is_not_contiguous_is_written_as_it_is(tmp_path):
    array = np.arange(12, dtype=np.float32).reshape(3, 4).T[::2]
    (tmp_path / "x").write_bytes(pack({"x": array}, RECORD))
    np.testing.assert_array_equal(read(tmp_path / "x")[1]["x"], array)


@pytest.mark.parametrize(
    "array", [np.array([1j]), np.array(["a"]), np.array([None]), np.arange(3, dtype=">i4")], ids=str
)
def test_a_dtype_that_the_file_cannot_hold_is_refused(array):
    with pytest.raises(TypeError, match=r"'x' must be of one of the dtypes .*, got "):
        pack({"x": array}, RECORD)


def test_every_flipped_bit_and_every_cut_is_seen(tmp_path):
    whole = pack(TENSORS, RECORD)
    path = tmp_path / "x.safetensors"
    header = 8 + int.from_bytes(whole[:8], "little")
    for position in {*range(0, len(whole), 7), *range(header, len(whole))}:
        path.write_bytes(whole[:position] + bytes([whole[position] ^ 1]) + whole[position + 1 :])
        try:
            record, tensors = read(path)
        except Damaged:
            continue
        # What gets through is a header written otherwise that says the same, if anything.
        assert position < header and digest(tensors, record) == record["digest"]
    for length in (0, 7, 8, 100, header, len(whole) - 1):
        path.write_bytes(whole[:length])
        for reader in (read, read_record):
            with pytest.raises(Damaged, match="expected"):
                reader(path)


def test_a_file_is_synced_then_named_then_its_folder_is_synced(tmp_path, monkeypatch):
    private_folder(tmp_path / "a")
    done = []
    fsync = os.fsync
    replace = os.replace

    def synced(descriptor):
        done.append("folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file")
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", lambda *names: (done.append("name"), replace(*names)))
    write_whole(tmp_path / "a" / "x", b"content")
    assert done == ["file", "name", "folder"] and (tmp_path / "a" / "x").read_bytes() == b"content"
    done.clear()
    write_whole(tmp_path / "b" / "c" / "x", b"content")
    # the new folders' own names first
    assert done == ["folder", "folder", "file", "name", "folder"]


def test_files_and_folders_are_for_their_owner_alone(tmp_path):
    write_whole(tmp_path / "b" / "c" / "x", b"content")
    write_note(tmp_path / "b" / "y", "some characters")
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.rglob("*")}
    assert modes == {"b": 0o700, "c": 0o700, "x": 0o600, "y": 0o600}


def test_drafts_of_writers_that_are_gone_are_swept(tmp_path):
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    left, old, fresh = (
        tmp_path / f".run.safetensors.{pid}-7" for pid in (gone.pid, os.getpid(), os.getppid())
    )
    for path in (left, old, fresh, tmp_path / ".hidden", tmp_path / "run.safetensors"):
        path.write_bytes(b"half")
    os.utime(old, (0, 0))
    delete_drafts(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {fresh.name, ".hidden", "run.safetensors"}


def test_a_run_without_tensors_is_a_run(tmp_path):
    path = tmp_path / "run.safetensors"
    path.write_bytes(pack({}, RECORD))
    assert read_record(path)["experiment"] == TOY and read(path)[1] == {}


@pytest.mark.parametrize(
    ("error", "is_raised"),
    [(errno.EINVAL, False), (errno.ENOTSUP, False), (errno.EOPNOTSUPP, False), (errno.EIO, True)],
)
def test_a_folder_that_cannot_be_synced_is_written_to_unless_its_disk_fails(
    error, is_raised, tmp_path, monkeypatch
):
    fsync = os.fsync

    def refused(descriptor):
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(error, os.strerror(error))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", refused)
    expected = pytest.raises(OSError, match=os.strerror(error)) if is_raised else nullcontext()
    with expected:
        write_whole(tmp_path / "a" / "x", b"content")
    if not is_raised:
        assert (tmp_path / "a" / "x").read_bytes() == b"content"
