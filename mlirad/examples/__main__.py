"""Train simulators by gradients, and write videos of them before and after the training. Without a
name, list the simulators.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

import mlirad as ti
from mlirad.examples.pictures import Picture, default_suffix, save, side_by_side
from mlirad.examples.training import Outcome, Simulator, Training, train

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
PANEL, FRAMES = 320, 60  # the side of a panel in pixels, and most frames of a video


def kind_of(name: str) -> type[Simulator]:
    """Return the class of a simulator."""
    simulator: type[Simulator] = getattr(import_module(f"mlirad.examples.{name}"), SIMULATORS[name])
    return simulator


def list_simulators() -> str:
    """Return a line for each simulator."""
    return "\n".join(
        f"{name:12} {(kind_of(name).__doc__ or '').splitlines()[0]}" for name in SIMULATORS
    )


def draw(
    simulator: Simulator, training: Training, stages: int
) -> tuple[list[Picture], list[Outcome]]:
    """Return the frames of a video, with a panel for each stage of the training, and what each
    stage achieved. The simulator has the best parameters then."""
    panels, titles, outcomes = [], [], []
    for stage in range(stages):
        number = training.number_at(stage / (stages - 1))
        simulator.set_values(training.parameters[number])
        frames = simulator.frames(PANEL, FRAMES, "drawing")
        simulator.run()
        top = round(PANEL * (1 - simulator.visible)) // 2 * 2
        panels.append([frame[top:] for frame in frames])
        titles.append(f"after {number} steps of training" if number else "untrained")
        outcomes.append(simulator.outcome())
    notes = [str(outcome) for outcome in outcomes]
    return [side_by_side(pictures, titles, notes) for pictures in zip(*panels)], outcomes


def run_one(name: str, settings: argparse.Namespace) -> None:
    """Train a simulator, say what it has learned, and write a video."""
    ti.init(arch=ti.cpu, default_fp=ti.f64)
    simulator = kind_of(name)(small=settings.small)
    print((simulator.__doc__ or name).splitlines()[0], flush=True)
    begun = time.perf_counter()
    training = train(simulator, settings.iterations or simulator.iterations, name)
    seconds = time.perf_counter() - begun
    frames, outcomes = draw(simulator, training, settings.stages)
    file = settings.output or Path(f"{name}{default_suffix()}")
    save(frames, file)
    losses = training.losses
    print(f"{outcomes[-1]} (untrained: {outcomes[0].figure})")
    print(f"loss {losses[0]:.6g} -> {min(losses):.6g}, {len(losses) - 1} steps in {seconds:.1f} s")
    print(simulator.verify())
    print(f"video: {file}", flush=True)


def make_pictures(folder: Path, names: Sequence[str], size: int = 128) -> None:
    """Train simulators, and write a picture of each."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        ti.init(arch=ti.cpu, default_fp=ti.f64)
        simulator = kind_of(name)()
        training = train(simulator, simulator.iterations, name)
        simulator.set_values(training.parameters[training.best])
        save(simulator.frames(size, 10)[simulator.best_frame :][:1], folder / f"{name}.png")
        losses = training.losses
        simulator.run()
        print(f"{name}: loss {losses[0]:.4g} -> {min(losses):.4g}, {simulator.outcome()}")


def command_line() -> argparse.ArgumentParser:
    """Return the options."""
    parser = argparse.ArgumentParser(
        prog="python -m mlirad.examples",
        description=__doc__,
        epilog=f"simulators:\n{list_simulators()}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help="a simulator of the list below; several are trained one after another",
    )
    parser.add_argument(
        "--small", action="store_true", help="train a small version, as the tests do"
    )
    parser.add_argument(
        "--iterations",
        type=int,
        metavar="N",
        help="steps of training (default: depends on the simulator)",
    )
    parser.add_argument(
        "--stages",
        type=int,
        default=2,
        metavar="N",
        help="panels of the video, side by side: 2 show it untrained and trained, more also show "
        "stages in between (default: 2)",
    )
    parser.add_argument(
        "--output",
        type=Path,
        metavar="FILE",
        help="file for the video of a single NAME (.mp4, .gif, .webp), or for a picture of its "
        "last frame (.png); default: NAME.mp4 in the current folder if ffmpeg is installed, "
        "otherwise NAME.gif",
    )
    parser.add_argument(
        "--pictures",
        type=Path,
        metavar="FOLDER",
        help="write a small picture of each trained simulator to this folder, of all simulators if "
        "there is no NAME (default: write videos)",
    )
    return parser


def run(arguments: Sequence[str]) -> int:
    """Run the command line, and return the exit status."""
    parser = command_line()
    settings = parser.parse_args(arguments)
    for name in settings.names:
        if name not in SIMULATORS:
            parser.error(f"there is no simulator '{name}': expected {', '.join(SIMULATORS)}")
    if settings.iterations is not None and settings.iterations < 1:
        parser.error(f"--iterations: at least 1 is needed, got {settings.iterations}")
    if settings.stages < 2:
        parser.error(f"--stages: at least 2 are needed, got {settings.stages}")
    if settings.output is not None and len(settings.names) != 1:
        parser.error("--output: name one simulator, to which the file belongs")
    if settings.pictures is not None:
        make_pictures(settings.pictures, settings.names or list(SIMULATORS))
    elif not settings.names:
        print(list_simulators())
    for name in settings.names if settings.pictures is None else ():
        run_one(name, settings)
    return 0


def run_module(name: str) -> int:
    """Run the command line of one simulator, for `python -m mlirad.examples.NAME`."""
    return run([name, *sys.argv[1:]])


if __name__ == "__main__":
    raise SystemExit(run(sys.argv[1:]))
