"""Mutation testing: mutants of the code that numbers and files depend on, drawn by a fixed seed,
and the tests on them.

    python -m tests.mutants                     # all groups, some minutes each
    python -m tests.mutants runs --count 60 --seed 1

mutmut makes the mutants and runs on each the tests that reach it; this chooses files and tests,
draws, and counts. What it needs lies in `.mutants/<group>`, so that a second run of a group starts
sooner.
"""

import argparse
import json
import os
import random
import subprocess
import sys
from pathlib import Path

from mutmut.mutation.file_mutation import mutate_file_contents
from mutmut.utils.format_utils import get_mutant_name

from tests.mutants.groups import GROUPS, Group

ROOT = Path(__file__).parents[2]
MUTMUT = Path(sys.executable).with_name("mutmut")
# by tests, beside the code
NEEDED = ("artifacts", "pages", "app.py", "README.md", "requirements.txt", ".streamlit")
KILLED = (1, 3, 24, -24, 36, 152, 255)  # a test failed, or the time was up


def workplace(folder: Path, group: Group) -> Path:
    """Make and return the folder in which mutmut is run: the project by links, and what of it is
    mutated and tested."""
    (folder / "mutants").mkdir(parents=True, exist_ok=True)
    links = {folder / name: ROOT / name for name in ("icl_core", "tests")}
    links |= {folder / "mutants" / name: ROOT / name for name in NEEDED}
    for link, target in links.items():
        if not link.is_symlink():
            link.symlink_to(target)
    settings = {
        "only_mutate": [f"icl_core/{pattern}" for pattern in group.files],
        "pytest_add_cli_args_test_selection": [f"tests/{name}" for name in group.tests],
        # the long ones too, which the project's own settings leave out
        "pytest_add_cli_args": ["-m", "not by_hand"],
    }
    text = "".join(f"{name} = {json.dumps(value)}\n" for name, value in settings.items())
    (folder / "pyproject.toml").write_text(f"{(ROOT / 'pyproject.toml').read_text()}{text}")
    return folder


def sample(group: Group, count: int, seed: int) -> list[str]:
    """Return the names of that many mutants, the same for the same code and seed."""
    code = ROOT / "icl_core"
    files = sorted(
        {path.relative_to(ROOT) for pattern in group.files for path in code.glob(pattern)}
    )
    names = [
        get_mutant_name(file, mutant)
        for file in files
        for mutant in mutate_file_contents(str(file), (ROOT / file).read_text()).mutant_names
    ]
    return sorted(random.Random(seed).sample(names, min(count, len(names))))


def exit_codes(folder: Path, names: list[str]) -> dict[str, int | None]:
    """Return by mutant how its tests ended; None if they did not."""
    environment = {**os.environ, "PYTHONPATH": ""}
    command = [MUTMUT, "run", "--max-children", "1", *names]
    ended = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    codes: dict[str, int | None] = {}
    for path in (folder / "mutants").rglob("icl_core/**/*.meta"):
        by_name = json.loads(path.read_text())["exit_code_by_key"]
        codes |= {name: code for name, code in by_name.items() if name in names}
    if len(codes) < len(names) or None in codes.values():
        output = f"{ended.stdout[-6000:]}{ended.stderr[-2000:]}"
        sys.exit(f"mutmut came to no end in {folder}:\n{output}")
    return codes


def diff(folder: Path, name: str) -> str:
    """Return the lines that a mutant changes."""
    command = [MUTMUT, "show", name]
    lines = subprocess.run(command, cwd=folder, capture_output=True, text=True).stdout.splitlines()
    return "\n".join(
        line
        for line in lines
        if line.startswith(("#", "-", "+")) and line[:3] not in ("---", "+++")
    )


def main() -> None:
    """Print how many were killed, and each that was not."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants")
    parser.add_argument(
        "groups", nargs="*", choices=[[], *GROUPS], help=f"of {', '.join(GROUPS)}; else all"
    )
    parser.add_argument("--count", type=int, default=30, help="mutants a group")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    tried = killed = 0
    for name in options.groups or GROUPS:
        folder = workplace(ROOT / ".mutants" / name, GROUPS[name])
        names = sample(GROUPS[name], options.count, options.seed)
        codes = exit_codes(folder, names)
        survivors = [mutant for mutant, code in codes.items() if code not in KILLED]
        tried += len(codes)
        killed += len(codes) - len(survivors)
        print(f"{name}: {len(codes) - len(survivors)} of {len(codes)} killed", flush=True)
        for mutant in survivors:
            print(diff(folder, mutant), flush=True)
    print(f"all: {killed} of {tried} killed, {killed / tried:.0%}")


if __name__ == "__main__":
    main()
