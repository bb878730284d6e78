"""The ten simulators, small: they train, agree with what is known, and look as they did.

`python test/test_simulators.py` draws all kept pictures again.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import mlirad as ti
from mlirad.examples import pictures
from mlirad.examples.__main__ import SIMULATORS, kind_of, run
from mlirad.examples.pictures import STRIP, Picture, default_suffix, outline, side_by_side
from mlirad.examples.training import Simulator, Training, train

PICTURES = Path(__file__).parent / "pictures"
SIZE, ITERATIONS = 64, 8
LEAST_LIKENESS = 0.9
# to what part of itself the loss falls; else to 0.8
FALLS = {
    "robot": 0.98,
    "liquid": 0.995,
}


def trained(name: str) -> tuple[Simulator, list[float], Picture]:
    """A small simulator, trained a little, its losses and its last picture."""
    ti.init(arch=ti.cpu, default_fp=ti.f64)
    simulator = kind_of(name)(small=True)
    losses = train(simulator, ITERATIONS, name).losses
    return simulator, losses, simulator.frames(SIZE, 1)[-1]


@pytest.mark.cpu_code("pictures and last digits are those of the CPU")
@pytest.mark.parametrize("name", SIMULATORS)
def test_a_simulator(name: str) -> None:
    compare = pytest.importorskip("skimage.metrics")
    simulator, losses, picture = trained(name)
    assert losses[-1] < FALLS.get(name, 0.8) * losses[0]
    assert simulator.outcome().figure in str(simulator.outcome())
    known = simulator.verify()
    assert abs(known.value - known.expected) <= known.tolerance, str(known)
    kept = np.asarray(Image.open(PICTURES / f"{name}.png").convert("RGB"))
    assert compare.structural_similarity(picture, kept, channel_axis=-1) > LEAST_LIKENESS
    with ti.ad.Tape(simulator.loss) as tape:
        simulator.run()
    ti.ad.check(tape, simulator.parameters, rel=1e-4)


def test_every_simulator_is_short_and_says_what_it_shows() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mlirad.examples"], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert [line.split()[0] for line in done.stdout.splitlines()] == list(SIMULATORS)
    examples = Path(ti.__file__).parent / "examples"
    for name in SIMULATORS:
        assert len((examples / f"{name}.py").read_text().splitlines()) < 200


def run_examples(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the command of the examples in a folder."""
    return subprocess.run(
        [sys.executable, "-m", "mlirad.examples", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(Path(ti.__file__).parents[1])},
        capture_output=True,
        text=True,
        timeout=300,
    )


def test_a_simulator_says_what_it_does_and_learns(tmp_path: Path) -> None:
    done = run_examples("wave", "--small", "--iterations", "3", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    for progress in ("compiling:", "wave:", "4/4", "loss=", "drawing:"):
        assert progress in done.stderr
    video = f"wave{default_suffix()}"
    assert [file.name for file in tmp_path.iterdir()] == [video]
    assert f"video: {video}" in done.stdout
    assert "known" in done.stdout
    learned = re.search(r"the image is (\d+) % wrong \(untrained: (\d+)\)", done.stdout)
    assert learned is not None, done.stdout
    assert int(learned[1]) < int(learned[2])


@pytest.mark.parametrize("suffix", [".gif", ".webp"])
def test_a_video_shows_stages_of_training_side_by_side(tmp_path: Path, suffix: str) -> None:
    """The first panel is the untrained run, the last one the trained run, 320 pixels each."""
    video = tmp_path / f"robot{suffix}"
    settings = ("--small", "--iterations", "3", "--stages", "3", "--output", str(video))
    done = run_examples("robot", *settings, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    with Image.open(video) as frames:
        assert frames.n_frames == 5
        assert frames.width == 3 * 320
        frames.seek(4)
        panels = np.split(np.asarray(frames.convert("RGB"), int), 3, axis=1)
    below = [panel[STRIP:-STRIP, 2:] for panel in panels]
    assert np.abs(below[0] - below[2]).max() > 50


def test_an_mp4_has_all_frames_and_holds_the_last_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """20 frames take 1.6 s, so 12.5 are shown per second, and as many once more at the end."""
    shown: list[int] = []

    def record(files: Sequence[Path], frame_rate: float, output_path: str) -> None:
        assert frame_rate == 12.5
        assert output_path == str(tmp_path / "x.mp4")
        shown.extend(int(np.asarray(Image.open(file))[0, 0, 0]) for file in files)

    monkeypatch.setattr(pictures, "make_video", record)
    frames = [np.full((4, 4, 3), number, np.uint8) for number in range(20)]
    pictures.save(frames, tmp_path / "x.mp4")
    assert shown == [*range(20), *[19] * 12]


def test_the_trained_parameters_are_those_of_the_least_loss() -> None:
    training = Training([3.0, 1.0, 2.0], [[np.array([float(k)])] for k in range(3)])
    assert training.best == 1
    assert [training.number_at(stage) for stage in (0.0, 0.5, 1.0)] == [0, 0, 1]


def test_frames_are_put_side_by_side_with_text() -> None:
    red, blue = (np.full((320, 320, 3), colour, np.uint8) for colour in ((255, 0, 0), (0, 0, 255)))
    picture = side_by_side([red, blue], ["before", "after"], ["1 m", "2 m"])
    assert picture.shape == (320 + 2 * STRIP, 640, 3)
    assert (picture[STRIP:-STRIP, 1:320] == (255, 0, 0)).all()
    assert (picture[STRIP:-STRIP, 321:] == (0, 0, 255)).all()
    for text in (picture[:STRIP], picture[-STRIP:]):
        assert text[:, :320].max() > 150
        assert text[:, 330:].max() > 150


def test_the_rim_of_a_target_is_drawn() -> None:
    values = np.zeros((8, 8))
    values[:4] = 1.0  # the left half: the first index is x
    drawn = outline(np.zeros((64, 64, 3), np.uint8), values, (9, 9, 9))
    columns = {*np.nonzero(drawn.max(axis=(0, 2)))[0]}
    assert columns == {32}


def test_help_lists_all_options_and_simulators(tmp_path: Path) -> None:
    done = run_examples("--help", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    options = ("--small", "--iterations", "--stages", "--output", "--pictures")
    assert all(name in done.stdout for name in (*options, *SIMULATORS))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("wave", "--iterations", "0"), "--iterations: at least 1"),
        (("wave", "--stages", "1"), "--stages: at least 2"),
        (("--output", "x.gif"), "--output: name one simulator"),
        (("perpetuum",), "billiards"),
    ],
)
def test_wrong_options_are_refused(
    arguments: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        run(arguments)
    assert ended.value.code == 2
    assert message in capsys.readouterr().err


if __name__ == "__main__":
    PICTURES.mkdir(exist_ok=True)
    for each in SIMULATORS:
        Image.fromarray(trained(each)[2]).save(PICTURES / f"{each}.png", optimize=True)
