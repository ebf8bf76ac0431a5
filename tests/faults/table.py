"""Runs the cases, each in a process group of its own with a deadline, and prints a row of figures a
fault."""

import multiprocessing
import os
import shutil
import signal
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Any

import torch

from icl_core.runs import store
from tests.faults import audit
from tests.faults.bed import ASKED, FINISHED, Bed, NotHere, Wrong, key, prepare, submit, work
from tests.house import TOY

LONGEST = 4000  # characters of what the processes of a lost case said
DEADLINE = 240.0  # seconds of one case
LOST = "lost"
NOT_HERE = "not here"
_CONTEXT = multiprocessing.get_context("fork")


def names() -> list[str]:
    """What can be asked for."""
    return sorted(
        path.stem.removeprefix("fault_") for path in Path(__file__).parent.glob("fault_*.py")
    )


def show(wanted: list[str], times: int, seed: int) -> int:
    """Print the table; 1 if anything was lost."""
    torch.set_num_threads(1)
    prepare()
    outcomes = Counter()
    with tempfile.TemporaryDirectory(prefix="icl-faults-") as folder:
        Path(folder).chmod(0o755)  # some processes are another user's
        original = _original(Path(folder))
        head = "| fault | tried | survived | given up | lost |\n|---|---|---|---|---|"
        print(f"seed {seed}\n\n{head}", flush=True)
        for name in wanted:
            for fault, inject in import_module(f"tests.faults.fault_{name}").FAULTS.items():
                outcomes += _row(fault, inject, times, seed, original)
    return 1 if outcomes[LOST] else 0


def _row(
    fault: str, inject: Callable[[Bed], str], times: int, seed: int, original: Path
) -> Counter:
    outcomes = Counter()
    messages = []
    for case in range(times):
        outcome, reason = _case(inject, Random(f"{seed} {fault} {case}"), original)
        outcomes[outcome] += 1
        if outcome == LOST:
            messages.append(f"{fault}, case {case}: {reason}")
        if outcome == NOT_HERE:
            print(f"| {fault} | 0: {reason} | | | |", flush=True)
            return Counter()
    counts = (outcomes[outcome] for outcome in (audit.SURVIVED, audit.GIVEN_UP, LOST))
    print(f"| {fault} | {times} | {' | '.join(map(str, counts))} |", flush=True)
    print("\n".join(messages), end="\n" if messages else "", flush=True)
    return outcomes


def _case(inject: Callable[[Bed], str], chance: Random, original: Path) -> tuple[str, str]:
    receiver, sender = _CONTEXT.Pipe(duplex=False)
    case = _CONTEXT.Process(target=_live, args=(inject, chance, original, sender))
    case.start()
    sender.close()
    try:
        outcome = receiver.recv() if receiver.poll(DEADLINE) else (LOST, "the case hangs")
    except EOFError:
        outcome = LOST, "the case died"
    if case.pid:
        with suppress(ProcessLookupError):
            os.killpg(case.pid, signal.SIGKILL)  # whatever is left of it
    case.join()
    return outcome


def _live(inject: Callable[[Bed], str], chance: Random, original: Path, sender: Any) -> None:
    os.setpgid(0, 0)
    bed = Bed(Path(tempfile.mkdtemp(dir=original.parent)), chance)
    try:
        bed.lay(bed.cache, original)
        outcome = inject(bed), ""
    except NotHere as needed:
        outcome = NOT_HERE, str(needed)
    except Wrong as problem:
        outcome = LOST, str(problem)
    except Exception:
        outcome = LOST, traceback.format_exc()
    if outcome[0] == LOST:
        output = bed.log.read_text(errors="replace") if bed.log.exists() else ""
        outcome = LOST, f"{outcome[1]}\n{output[-LONGEST:]}"
    shutil.rmtree(bed.folder, ignore_errors=True)
    sender.send(outcome)


def _original(folder: Path) -> Path:
    """A cache with the finished runs; what they and the others are is noted."""
    bed = Bed(folder, Random(0))
    for cache, seeds in ((folder / "untouched", ASKED), (folder / "original", FINISHED)):
        bed.lay(cache, None)
        for seed in seeds:
            bed.act(submit, seed)
            bed.begin(work).result()
        audit.reference |= bed.act(_measured, seeds)
    return bed.cache


def _measured(seeds: tuple[int, ...]) -> dict[str, tuple[str, Any]]:
    results = {}
    for seed in seeds:
        header = store.default().exact(TOY, key(seed))
        if header is None:
            raise Wrong("nothing can be trained here")
        results[header.key] = header.digest, header.info["metrics"]
    return results
