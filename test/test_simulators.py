"""The ten simulators, small: they train, agree with what is known, and look as they did.

`python test/test_simulators.py` draws all kept pictures again.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import mlirad as ti
from mlirad.examples.__main__ import SIMULATORS, kind_of
from mlirad.examples.pictures import Picture
from mlirad.examples.training import Simulator, train

PICTURES = Path(__file__).parent / "pictures"
SIZE, ITERATIONS = 64, 8
LEAST_LIKENESS = 0.9
# to what part of itself the loss falls; else to 0.8
FALLS = {
    "robot": 0.95,
    "walker": 0.995,
    "liquid": 0.995,
}


def trained(name: str) -> tuple[Simulator, list[float], Picture]:
    """A small simulator, trained a little, its losses and its last picture."""
    ti.init(arch=ti.cpu, default_fp=ti.f64)
    simulator = kind_of(name)(small=True)
    losses = train(simulator, ITERATIONS, name)
    return simulator, losses, simulator.frames(SIZE, 1)[-1]


@pytest.mark.cpu_code("pictures and last digits are those of the CPU")
@pytest.mark.parametrize("name", SIMULATORS)
def test_a_simulator(name: str) -> None:
    compare = pytest.importorskip("skimage.metrics")
    simulator, losses, picture = trained(name)
    assert losses[-1] < FALLS.get(name, 0.8) * losses[0]
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


def test_a_simulator_shows_its_progress_and_saves_a_video(tmp_path: Path) -> None:
    video = tmp_path / "wave.gif"
    done = subprocess.run(
        [sys.executable, "-m", "mlirad.examples", "wave", "--small"]
        + ["--iterations", "3", "--output", str(video)],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert "3/3" in done.stderr
    assert "loss=" in done.stderr
    assert str(video) in done.stdout
    assert "known" in done.stdout
    with Image.open(video) as frames:
        assert frames.n_frames > 10


def test_an_unknown_simulator_is_refused_with_a_list() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mlirad.examples", "perpetuum"],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 2
    assert "billiards" in done.stderr


if __name__ == "__main__":
    PICTURES.mkdir(exist_ok=True)
    for each in SIMULATORS:
        Image.fromarray(trained(each)[2]).save(PICTURES / f"{each}.png", optimize=True)
