"""Find a throw that hits a mark in every wind, with an ensemble of processes, one of which dies.

    python -m mlirad.examples.ensemble [WORKERS [SCENES]]

Ray starts the processes. A worker that dies is replaced, and its scene is repeated. The sum of the
gradients has the same bits for any number of workers, whichever of them died.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import mlirad as ti
from mlirad.ensemble import Ensemble, Found

STEPS, DT = 40, 0.05
Wind = tuple[float, str]  # and a file: the worker that finds it removes it, and dies


def make() -> Callable[[Any, Wind], tuple[float, Any]]:
    """The program of a worker."""
    ti.init(arch=ti.cpu, default_fp=ti.f64, cpu_max_num_threads=1)
    thrown: Any = ti.field(float, 2, needs_grad=True)
    loss: Any = ti.field(float, (), needs_grad=True)

    @ti.kernel
    def fly(wind: float) -> None:
        for _ in range(1):  # a parallel loop over all throws, of which there is one
            x, y, u, v = 0.0, 0.0, thrown[0], thrown[1]
            for _ in range(STEPS):
                fast = ti.sqrt((u - wind) ** 2 + v**2 + 1e-9)
                u -= DT * 0.05 * fast * (u - wind)
                v -= DT * (9.8 + 0.05 * fast * v)
                x += DT * u
                y += DT * v
            loss[None] += (x - 10.0) ** 2 + y**2

    def program(parameters: Any, scene: Wind) -> tuple[float, Any]:
        wind, deadly = scene
        if deadly and Path(deadly).exists():
            Path(deadly).unlink()
            os.kill(os.getpid(), signal.SIGKILL)
        thrown.from_numpy(parameters)
        with ti.ad.Tape(loss):
            fly(wind)
        return loss[None], thrown.grad.to_numpy()

    return program


def gradient(workers: int, scenes: int, is_deadly: bool) -> Found:
    """The gradient over all winds; one of the workers is killed if it `is_deadly`."""
    ensemble = Ensemble(make, workers)
    with TemporaryDirectory() as folder:
        file = Path(folder) / "deadly"
        if is_deadly:
            file.touch()
        winds = [(float(wind), "") for wind in np.linspace(-3, 3, scenes)]
        winds[scenes // 2] = winds[scenes // 2][0], str(file)
        result = ensemble.gradient(np.array([6.0, 10.0]), winds)
    ensemble.close()
    return result


def main(arguments: Sequence[str]) -> int:
    """Run the command line, and return the exit status: compare with a single worker."""
    parser = argparse.ArgumentParser(
        prog="python -m mlirad.examples.ensemble",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "workers", nargs="?", type=int, default=2, help="number of processes (default: 2)"
    )
    parser.add_argument(
        "scenes", nargs="?", type=int, default=16, help="number of winds (default: 16)"
    )
    settings = parser.parse_args(arguments)
    workers, scenes = settings.workers, settings.scenes
    quiet, deadly = gradient(1, scenes, False), gradient(workers, scenes, True)
    same = quiet.gradient.tobytes() == deadly.gradient.tobytes() and quiet.loss == deadly.loss
    print(f"1 worker: loss {quiet.loss:.6f}, gradient {quiet.gradient}, {quiet.deaths} died")
    print(
        f"{workers} workers: loss {deadly.loss:.6f}, gradient {deadly.gradient}, "
        f"{deadly.deaths} died"
    )
    print(f"the same bits: {same}")
    return 0 if same and deadly.deaths == 1 else 1


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
