"""The commands `verify`, which trains the runs of claims anew, and `report`, the whole study."""

import argparse
import math
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from icl_core.command.experiment_options import AddCommand, add_json
from icl_core.command.files import output_path
from icl_core.command.guard import DIFFER, DONE, NOT_VERIFIED
from icl_core.command.printing import print_json
from icl_core.contract.knobs import BadSetting
from icl_core.contract.message import printable_lines
from icl_core.jobs.faults import Failed

if TYPE_CHECKING:
    from icl_core.evidence.claim_rows import ClaimRow
    from icl_core.verification.verify import Outcome

_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}


def add_commands(add: AddCommand) -> None:
    """Add `verify` and `report`."""
    verify = add("verify", _verify, "train the runs of claims anew and compare what they measure")
    verify.add_argument("claim", nargs="*", help="paper.experiment.claim, or its last part")
    verify.add_argument("--all", action="store_true", help="all claims, shortest runs first")
    verify.add_argument(
        "--under",
        type=_seconds,
        default=math.inf,
        metavar="TIME",
        help="stop after this time, like 90s, 10m or 2h; with --all only what fits is begun",
    )
    verify.add_argument(
        "--wait",
        action="store_true",
        help="as the dashboard does: wait until a training has its place free, one at a time",
    )
    add_json(verify, "the outcomes")
    report = add("report", _report, "write the study of all claims: protocol, figure, verdict")
    report.add_argument(
        "--out",
        required=True,
        type=output_path,
        metavar="PATH",
        help="a file that ends in .html, or else a folder for Markdown, a file a claim",
    )


def _seconds(text: str) -> float:
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([smh])", text)
    if match is None:
        raise argparse.ArgumentTypeError(f"must be a time like 90s, 10m or 2h, got {text!r:.40}")
    return float(match[1]) * _UNITS[match[2]]


def _verify(options: argparse.Namespace) -> int:
    from icl_core.evidence import claim_rows
    from icl_core.jobs import queue
    from icl_core.runs import store
    from icl_core.verification import verify

    if options.all == bool(options.claim):
        raise BadSetting("verify takes the names of claims, or --all")
    queue.check_preconditions()
    runs = store.default()
    if options.all:
        rows = claim_rows.all_rows(runs)
        selection = verify.that_fit(rows, options.under)
        remaining = len(rows) - len(selection)
        print(f"{len(selection)} claims are verified, {remaining} do not fit.", file=sys.stderr)
    else:
        selection = [claim_rows.row_of(runs, name) for name in options.claim]
    if options.wait:
        from icl_core.verification import background

        with background.turn(selection):
            outcomes = _carry_out(selection, options)
    else:
        outcomes = _carry_out(selection, options)
    if options.json:
        print_json([outcome.row() for outcome in outcomes])
    return exit_code(outcomes)


def _report(options: argparse.Namespace) -> int:
    from tqdm import tqdm

    from icl_core.runs import store
    from icl_core.verification import front, report

    path = options.out
    is_page = path.suffix == ".html"
    _check_out(path, is_page)
    with tqdm(unit="claim", file=sys.stderr, disable=None) as bar:
        study = list(report.entries(store.default(), lambda name: bar.update(1)))
    before = front.tables(store.default(), [entry.row for entry in study])
    try:
        if is_page:
            path.write_text(report.html_page(study, before), encoding="utf-8")
        else:
            report.write_folder(study, path, before)
    except OSError as problem:
        raise Failed(f"{path} could not be written: {problem.strerror}") from problem
    print(f"{len(study)} claims are in {path}", file=sys.stderr)
    return DONE


def _check_out(path: Path, is_page: bool) -> None:
    """Raise `BadSetting` unless the report can be written there: before anything is drawn."""
    if is_page == path.is_dir() and path.exists():
        expected = "a file" if is_page else "a folder"
        raise BadSetting(f"--out must be {expected}, got {str(path)!r:.200}")
    if not path.parent.is_dir():
        raise BadSetting(f"--out must be in a folder that is there, got {str(path)!r:.200}")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise BadSetting(f"--out must be a path that can be written, got {str(path)!r:.200}")


def _carry_out(rows: "list[ClaimRow]", options: argparse.Namespace) -> "list[Outcome]":
    """Verify the claims, print a line for each and note it; return the outcomes."""
    from tqdm import tqdm

    from icl_core.runs import store
    from icl_core.verification import records, verify

    by_name = {row.name: row for row in rows}
    outcomes: list[Outcome] = []
    stream = sys.stderr if options.json else sys.stdout
    with tqdm(unit="step", file=sys.stderr, disable=None) as bar:
        for outcome in verify.verify(rows, store.default(), options.under, _shown_on(bar)):
            records.store_record(by_name[outcome.claim], outcome)
            outcomes.append(outcome)
            tqdm.write(printable_lines(line(outcome)), file=stream)
            stream.flush()
    return outcomes


def _shown_on(bar: Any) -> Callable[[str, int, int], None]:
    """Return what shows the progress of a run on a bar."""
    shown = [""]

    def on_step(name: str, done: int, total: int) -> None:
        if shown[0] != name:
            shown[0] = name
            bar.reset(total)
            bar.set_description(name, refresh=False)
        bar.update(done - bar.n)

    return on_step


def line(outcome: "Outcome") -> str:
    """Return an outcome in a line: the claim, agree or not, both numbers, seconds, the digest."""
    parts = [f"{outcome.claim}: {outcome.outcome}"]
    if outcome.reason:
        parts.append(outcome.reason)
    if outcome.run:
        parts.append(f"stored {_number(outcome.value, outcome.error)}, {outcome.verdict}")
    if outcome.verdict_anew:
        anew = _number(outcome.value_anew, outcome.error_anew)
        parts.append(f"anew {anew}, {outcome.verdict_anew}, in {outcome.seconds:.1f} s")
        digests = {True: "the digest is equal", False: "the digest is another", None: ""}
        parts.append(digests[outcome.same])
    return "; ".join(filter(None, parts))


def _number(value: float | None, error: float | None) -> str:
    if value is None:
        return "no number"
    return f"{value:.6g} ± {error:.2g}" if error else f"{value:.6g}"


def exit_code(outcomes: "list[Outcome]") -> int:
    """Return the code of a verification: that of the worst outcome."""
    from icl_core.verification import verify

    results = {outcome.outcome for outcome in outcomes}
    if verify.DIFFER in results:
        return DIFFER
    return NOT_VERIFIED if verify.NOT_VERIFIED in results else DONE
