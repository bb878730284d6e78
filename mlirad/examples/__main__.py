"""The simulators, one line each, or one of them.

python -m mlirad.examples [NAME [--small] [--iterations N] [--output FILE]]
python -m mlirad.examples --pictures FOLDER [NAME ...]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

import mlirad as ti
from mlirad.examples.pictures import save
from mlirad.examples.training import Simulator, main, train

SIMULATORS = {
    "wave": "Wave",
    "electric": "Electric",
    "billiards": "Billiards",
    "silhouettes": "Silhouettes",
    "smoke": "Smoke",
    "walker": "Walker",
    "jelly": "Jelly",
    "liquid": "Liquid",
    "robot": "Robot",
    "rigid": "Rigid",
}


def kind_of(name: str) -> type[Simulator]:
    """The class of a simulator."""
    simulator: type[Simulator] = getattr(import_module(f"mlirad.examples.{name}"), SIMULATORS[name])
    return simulator


def show_all() -> None:
    """A line for each."""
    for name in SIMULATORS:
        print(f"{name:12} {(kind_of(name).__doc__ or '').splitlines()[0]}")


def make_pictures(folder: Path, names: Sequence[str], size: int = 128) -> None:
    """Train simulators, and write a picture of each."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        ti.init(arch=ti.cpu, default_fp=ti.f64)
        simulator = kind_of(name)()
        losses = train(simulator, simulator.iterations, name)
        file = folder / f"{name}.png"
        save(simulator.frames(size, 10)[simulator.best_frame :][:1], file)
        print(f"{name}: loss {losses[0]:.4g} -> {losses[-1]:.4g}, {simulator.verify()}, {file}")


def run(arguments: Sequence[str]) -> int:
    """The command line; the exit status."""
    if arguments and arguments[0] in SIMULATORS:
        return main(kind_of(arguments[0]), arguments[0], arguments[1:])
    parser = argparse.ArgumentParser(prog="python -m mlirad.examples")
    parser.add_argument("--pictures", type=Path, help="train, and write a picture of each here")
    parser.add_argument("names", nargs="*", help=f"some of {', '.join(SIMULATORS)}; else all")
    settings = parser.parse_args(arguments)
    for name in settings.names:
        if name not in SIMULATORS:
            parser.error(f"there is no '{name}': {', '.join(SIMULATORS)}")
    if settings.pictures is None:
        show_all()
    else:
        make_pictures(settings.pictures, settings.names or list(SIMULATORS))
    return 0


if __name__ == "__main__":
    raise SystemExit(run(sys.argv[1:]))
