"""Run Taichi's bundled programs unchanged on mlirad, with mlirad in place of the module taichi.

    python -m benchmarks.taichi_examples .../site-packages/taichi/examples [NAME ...]

Each program runs in its own process, in an empty folder, for three frames and without a display.
A line for each says how it ended, how long it took, and, if it failed, its last line of output.
"""

from __future__ import annotations

import argparse
import importlib.abc
import importlib.machinery
import importlib.util
import os
import runpy
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parents[1]
_BOOT = "from benchmarks.taichi_examples import run_here; run_here()"


class _AsTaichi(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Gives `taichi.x` as `mlirad.x`, and `taichi.examples.x` as it lies in a folder."""

    def __init__(self, examples: Path) -> None:
        self.examples = examples

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        parts = name.split(".")
        if parts[0] != "taichi":
            return None
        if parts[1:2] != ["examples"]:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        place = self.examples.joinpath(*parts[2:])
        if not place.is_dir():
            return importlib.util.spec_from_file_location(name, place.with_suffix(".py"))
        spec = importlib.machinery.ModuleSpec(name, None, is_package=True)
        spec.submodule_search_locations = [str(place)]
        return spec

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        return import_module("mlirad" + spec.name.removeprefix("taichi"))

    def exec_module(self, module: ModuleType) -> None:
        """It has run."""


def run_here() -> None:
    """Run the program that the command line names behind its folder of examples."""
    examples, program = Path(sys.argv[1]), sys.argv[2]
    sys.meta_path.insert(0, _AsTaichi(examples))
    sys.argv[:] = [program]
    sys.path.insert(0, str(Path(program).parent))
    runpy.run_path(program, run_name="__main__")


def programs(examples: Path, names: Sequence[str]) -> list[Path]:
    """Those that run by themselves, of which a path has one of some names in it."""
    found = [
        path
        for path in sorted(examples.rglob("*.py"))
        if not path.name.startswith("_") and "import taichi" in path.read_text()
    ]
    return [p for p in found if not names or any(name in str(p) for name in names)]


def outcome(examples: Path, program: Path, seconds: float) -> tuple[str, float, str]:
    """How a program ended, after how many seconds, and its last line."""
    begin = time.perf_counter()
    environment = {
        **os.environ,
        "MLIRAD_FRAMES": "3",
        "MPLBACKEND": "Agg",
        "PYTHONPATH": str(ROOT),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    environment.pop("DISPLAY", None)
    with (
        tempfile.TemporaryDirectory() as folder,
        subprocess.Popen(
            [sys.executable, "-c", _BOOT, str(examples), str(program)],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        ) as process,
    ):
        try:
            printed, _ = process.communicate(timeout=seconds)
            end = "ran" if process.returncode == 0 else f"failed ({process.returncode})"
        except subprocess.TimeoutExpired:
            process.kill()
            printed, _ = process.communicate()
            end = "too slow"
    last = printed.strip().splitlines()[-1:] or [""]
    return end, time.perf_counter() - begin, last[0]


def main() -> None:
    """Run them, and count."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.taichi_examples",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "examples",
        type=Path,
        metavar="FOLDER",
        help="the folder taichi/examples of an installed Taichi",
    )
    parser.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help="run the programs whose paths contain one of these (default: all)",
    )
    parser.add_argument(
        "--seconds",
        type=float,
        default=120.0,
        metavar="SECONDS",
        help="time after which a program is stopped (default: %(default)s)",
    )
    given = parser.parse_args()
    examples = given.examples.resolve()
    ran, found = 0, programs(examples, given.names)
    for program in found:
        end, seconds, last = outcome(examples, program, given.seconds)
        ran += end == "ran"
        said = "" if end == "ran" else f": {last}"
        print(f"{end:12s} {seconds:6.1f} s  {program.relative_to(examples)}{said}", flush=True)
    print(f"{ran} of {len(found)} ran")


if __name__ == "__main__":
    main()
