"""Run scenes of Genesis on mlirad and on Quadrants, and print a row for each run.

    python -m benchmarks.genesis_scenes --positions FOLDER [--mlirad PYTHON] [--quadrants PYTHON]
                                        [SCENE ...]

Each PYTHON is the interpreter of an environment with genesis-world and that system. The systems
take turns. Each scene runs in its own process, first with empty caches and then with the caches of
the first run. The positions at the end are compared with FOLDER/SCENE.npy; if this file does not
exist, the first run writes it.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

PROGRAM = Path(__file__).parent / "genesis_program.py"
PREFIX = "@@"
CACHES = ("MLIRAD_OFFLINE_CACHE_FILE_PATH", "QD_OFFLINE_CACHE_FILE_PATH", "GS_CACHE_FILE_PATH")
SCENES = ["box", "boxes", "franka", "mpm_elastic", "mpm_liquid", "sph", "pbd", "fem", "coupled"]


def main() -> None:
    """Run the scenes, and print a row for each run."""
    options = _options()
    print("| scene | system | cache | build s | first step ms | step ms | read s | difference |")
    print("|---|---|---|---|---|---|---|---|")
    for scene in options.scenes or SCENES:
        for _ in range(options.rounds):
            for row in _runs(scene, options):
                print(f"| {' | '.join([scene, *row])} |", flush=True)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.genesis_scenes",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--mlirad",
        metavar="PYTHON",
        help="interpreter of an environment with mlirad (default: mlirad does not run)",
    )
    parser.add_argument(
        "--quadrants",
        metavar="PYTHON",
        help="interpreter of an environment with Quadrants (default: Quadrants does not run)",
    )
    parser.add_argument(
        "--positions",
        type=Path,
        required=True,
        metavar="FOLDER",
        help="folder of .npy files with the expected positions (required)",
    )
    parser.add_argument(
        "--steps",
        type=int,
        default=60,
        metavar="COUNT",
        help="time steps of each scene (default: %(default)s)",
    )
    parser.add_argument(
        "--rounds",
        type=int,
        default=1,
        metavar="COUNT",
        help="runs of each scene on each system (default: %(default)s)",
    )
    parser.add_argument(
        "--limit",
        type=float,
        default=1200.0,
        metavar="SECONDS",
        help="time after which a process is stopped (default: %(default)s)",
    )
    parser.add_argument(
        "scenes",
        nargs="*",
        metavar="SCENE",
        help=f"any of {', '.join(SCENES)} (default: all)",
    )
    return parser.parse_args()


def _runs(scene: str, options: argparse.Namespace) -> Iterator[list[str]]:
    """Run a scene by each system, cold and with what that left in its caches."""
    commands = {
        "Quadrants": [options.quadrants],
        "mlirad": [options.mlirad, "-m", "mlirad.quadrants"],
    }
    for system, command in commands.items():
        if command[0] is None:
            continue
        with tempfile.TemporaryDirectory() as folder:
            for cache in ("empty", "full"):
                path = Path(folder) / "positions.npy"
                arguments = [*command, str(PROGRAM), scene, str(options.steps), str(path)]
                environment = {**os.environ, **dict.fromkeys(CACHES, folder)}
                times = _run(arguments, environment, options.limit)
                yield [system, cache, *_columns(times), _compare(scene, path, options.positions)]


def _run(arguments: list[str], environment: dict[str, str], limit: float) -> dict[str, float]:
    """Return what a process printed of its times; none if it failed."""
    try:
        process = subprocess.run(
            arguments, env=environment, capture_output=True, text=True, timeout=limit, check=False
        )
    except subprocess.TimeoutExpired:
        return {}
    lines = [line for line in process.stdout.splitlines() if line.startswith(PREFIX)]
    if not lines:
        print(process.stderr[-2000:], file=sys.stderr)
    times: dict[str, float] = json.loads(lines[-1].removeprefix(PREFIX)) if lines else {}
    return times


def _columns(times: dict[str, float]) -> list[str]:
    if not times:
        return ["failed", "", "", ""]
    return [
        f"{times['build']:.1f}",
        f"{1e3 * times['first']:.2f}",
        f"{1e3 * times['step']:.3f}",
        f"{times['read']:.2f}",
    ]


def _compare(scene: str, path: Path, folder: Path) -> str:
    """Return the largest difference from stored positions, which are written if there are none."""
    if not path.exists():
        return ""
    positions, stored = np.load(path), folder / f"{scene}.npy"
    if not stored.exists():
        folder.mkdir(parents=True, exist_ok=True)
        np.save(stored, positions)
        return "stored"
    expected = np.load(stored)
    if positions.shape != expected.shape:
        return f"{positions.shape} for {expected.shape}"
    return f"{np.abs(positions - expected).max():.1e}"


if __name__ == "__main__":
    main()
