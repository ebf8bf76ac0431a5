"""The limits of containers, read from a folder that looks like theirs."""

import os
import resource
import subprocess
import sys

import pytest
from house import ROOT

from icl_core.contract.knobs import TooLarge
from icl_core.machine import containers, device

GIB = 2**30
V2 = "29 23 0:26 {root} /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate"
V1 = (
    "35 31 0:32 {root} /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"
    "32 31 0:29 {root} /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct"
)
OTHER = "22 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw\n31 23 0:28 / /run rw - tmpfs tmpfs rw\n"


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """Returns a function that writes such a folder: the process's groups, what is mounted, and the
    files of groups by their path."""
    monkeypatch.setattr(containers, "ROOT", tmp_path)
    device._installed.cache_clear()

    def write(groups: str, mounts: str, files: dict[str, str]) -> None:
        for name, text in {
            "proc/self/cgroup": groups,
            "proc/self/mountinfo": OTHER + mounts,
            **{f"sys/fs/cgroup/{path}": text for path, text in files.items()},
        }.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{text}\n")

    yield write
    device._installed.cache_clear()


def test_nothing_is_bounded_where_there_are_no_groups(machine):
    assert containers.memory_limit() is containers.core_limit() is containers.memory_left() is None


def test_of_version_2_the_least_limit_up_the_tree_holds(machine):
    machine(
        "0::/pods/one/app",
        V2.format(root="/"),
        {
            "memory.max": "max",
            "pods/memory.max": str(4 * GIB),
            "pods/one/memory.max": str(GIB),
            "pods/one/app/memory.max": "max",
            "pods/cpu.max": "300000 100000",
            "pods/one/app/cpu.max": "max 100000",
            "pods/one/cpu.max": "150000 100000",
            "pods/one/memory.current": str(GIB // 2),
            "pods/one/memory.stat": f"anon 5\ninactive_file {GIB // 4}\nactive_file 7",
        },
    )
    assert containers.memory_limit() == GIB
    assert containers.core_limit() == 1.5
    assert containers.memory_left() == 3 * GIB // 4


def test_of_version_1_too(machine):
    machine(
        "9:name=systemd:/\n4:memory:/docker/a\n2:cpuacct,cpu:/docker/a\n0::/",
        V1.format(root="/"),
        {
            "memory/memory.limit_in_bytes": "9223372036854771712",
            "memory/docker/memory.limit_in_bytes": str(2 * GIB),
            "memory/docker/a/memory.limit_in_bytes": str(3 * GIB),
            "memory/docker/memory.usage_in_bytes": str(GIB),
            "cpu,cpuacct/docker/a/cpu.cfs_quota_us": "75000",
            "cpu,cpuacct/docker/a/cpu.cfs_period_us": "100000",
            "cpu,cpuacct/docker/cpu.cfs_quota_us": "-1",
            "cpu,cpuacct/docker/cpu.cfs_period_us": "100000",
        },
    )
    assert (containers.memory_limit(), containers.core_limit()) == (2 * GIB, 0.75)
    assert containers.memory_left() == GIB


@pytest.mark.parametrize(
    ("group", "root"),
    [("/docker/a", "/docker/a"), ("/", "/../../.."), ("/../../x", "/"), ("/", "/")],
)
def test_a_container_that_sees_its_own_group_alone_finds_it_where_it_is_mounted(
    machine, group, root
):
    machine(
        f"0::{group}", V2.format(root=root), {"memory.max": str(GIB), "cpu.max": "50000 100000"}
    )
    assert (containers.memory_limit(), containers.core_limit()) == (GIB, 0.5)


@pytest.mark.parametrize("text", ["", "max", "-1", "many", "0x10", "1e9", "½", "9" * 30])
def test_what_is_no_limit_bounds_nothing(machine, text):
    files = {"memory.max": text, "cpu.max": f"{text} 100000", "memory.current": text}
    machine("0::/", V2.format(root="/"), files)
    assert containers.memory_limit() is containers.memory_left() is None
    assert containers.core_limit() == (float(text) / 100_000 if text.isdecimal() else None)


def test_what_cannot_be_read_bounds_nothing_and_hides_nothing_else(machine, tmp_path):
    machine("0::/a", V2.format(root="/"), {"memory.max": str(GIB), "cpu.max": "100000 0"})
    (tmp_path / "sys/fs/cgroup/a/memory.max").mkdir(parents=True)
    assert containers.memory_limit() == GIB and containers.core_limit() is None
    (tmp_path / "proc/self/mountinfo").unlink()
    assert containers.memory_limit() is None


@pytest.mark.parametrize("groups", ["", "nonsense", "0:", "::::", "0::"])
def test_groups_that_are_not_written_as_expected_bound_nothing(machine, groups):
    machine(groups, "1 2 - cgroup2\n - cgroup\n" + V2.format(root="/"), {})
    assert containers.memory_limit() is None


def test_a_run_may_take_what_the_container_leaves_it(machine):
    machine("0::/", V2.format(root="/"), {"memory.max": str(GIB)})
    assert device.memory() == int(0.9 * GIB) - containers.HELD
    with pytest.raises(TooLarge, match=r"0\.4 GiB; got an estimated 2\.0 GiB"):
        device.check_memory(2 * GIB, "batch 512")


@pytest.mark.parametrize(
    ("limit", "cores", "expected"),
    [(8 * GIB, "max", 4), (8 * GIB, "200000", 2), (8 * GIB, "50000", 1), (GIB, "max", 1)],
)
def test_no_second_worker_is_started_where_two_do_not_fit(
    machine, monkeypatch, limit, cores, expected
):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: range(4), raising=False)
    monkeypatch.setattr(device.psutil, "virtual_memory", lambda: type("M", (), {"total": 64 * GIB}))
    machine("0::/", V2.format(root="/"), {"memory.max": str(limit), "cpu.max": f"{cores} 100000"})
    assert device.workers() == expected


def test_the_memory_that_is_free_is_what_the_container_leaves(machine):
    files = {"memory.max": str(GIB), "memory.current": str(GIB - 2**20)}
    machine("0::/", V2.format(root="/"), files)
    assert device.release() == 2**20


def test_an_address_space_bounds_a_process():
    code = "from icl_core.machine import containers; print(containers.address_space())"

    def bounded():
        resource.setrlimit(resource.RLIMIT_AS, (GIB, GIB))

    process = subprocess.run([sys.executable, "-c", code], preexec_fn=bounded, capture_output=True)
    assert process.stdout.split() == [str(GIB).encode()]


SMALL = """
from icl_core import registry
from icl_core.contract.knobs import TooLarge
from icl_core.jobs import queue
from icl_core.machine import containers
from icl_core.runs import store
from icl_core.runs.header import typed_config
from icl_core.runs.request import Request
containers.memory_limit = lambda: 2**30
for name in ("birth.dimension", "gdssm.comparison"):
    for preset in registry.experiment(name).presets:
        header = store.default().find(Request(name, preset.config))
        assert header is None or typed_config(header).seed == preset.config.seed
        try:
            queue.submit(Request(name, preset.config))
        except TooLarge:
            print("shown" if header else "not shown", name)
"""


def test_a_small_machine_shows_what_it_cannot_train(tmp_path):
    """Experiments can be imported and shipped runs are found, also those of presets that are too
    large; to train such a one is refused."""
    variables = {**os.environ, "ICL_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-c", SMALL]
    process = subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True)
    assert process.returncode == 0, process.stderr
    assert {"shown birth.dimension", "shown gdssm.comparison"} <= set(process.stdout.splitlines())
