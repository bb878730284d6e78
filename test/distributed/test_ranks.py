"""Programs on several ranks: each test runs a program under `mpiexec`, where there is one."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

HERE = Path(__file__).parent
MPIEXEC = shutil.which("mpiexec", path=str(Path(sys.executable).parent)) or shutil.which("mpiexec")
needs_mpi = pytest.mark.skipif(
    MPIEXEC is None or find_spec("mpi4py") is None,
    reason="needs MPI: pip install 'mlirad[mpi]' brings mpi4py and mpiexec",
)


def run(ranks: int, *arguments: str, timeout: float = 240) -> subprocess.CompletedProcess[str]:
    """A program in so many ranks."""
    assert MPIEXEC is not None
    return subprocess.run(
        [MPIEXEC, "-n", str(ranks), sys.executable, *arguments],
        capture_output=True,
        text=True,
        timeout=timeout,
    )


@needs_mpi
def test_what_ranks_do_together(tmp_path: Path) -> None:
    done = run(4, str(HERE / "checks.py"), str(tmp_path))
    assert done.returncode == 0, done.stderr
    names = re.findall(r"^def (test_\w+)", (HERE / "checks.py").read_text(), re.MULTILINE)
    assert len(names) > 5
    for rank in range(4):
        assert (tmp_path / f"passed-{rank}").read_text().split() == names


@needs_mpi
def test_names_by_example(tmp_path: Path) -> None:
    """With one rank they were run by hand."""
    document = (HERE.parents[1] / "docs" / "names-processes").with_suffix(".md")
    programs = re.findall(r"```python\n(.*?)```", document.read_text(), re.DOTALL)
    assert len(programs) > 5
    (tmp_path / "program.py").write_text("\n".join(programs))
    done = run(2, str(tmp_path / "program.py"))
    assert done.returncode == 0, done.stderr


@needs_mpi
@pytest.mark.parametrize(("ranks", "count"), [(4, 14)])
def test_random_patterns_have_their_transposes(ranks: int, count: int) -> None:
    """A sample; 100 in 2 ranks and 100 in 4 were run by hand."""
    done = run(ranks, str(HERE / "patterns.py"), str(count))
    assert done.returncode == 0, done.stderr
    assert f"{count} patterns of {ranks} ranks" in done.stdout


@needs_mpi
def test_examples_have_the_gradients_of_one_process(tmp_path: Path) -> None:
    """With 2 ranks here, with 4 by hand; each finds what it searches for."""
    program, files = str(HERE / "fits.py"), [str(tmp_path / f"{n}.npz") for n in (1, 2)]
    alone = subprocess.run(
        [sys.executable, program, files[0]], capture_output=True, text=True, timeout=240
    )
    assert alone.returncode == 0, alone.stderr
    done = run(2, program, files[1])
    assert done.returncode == 0, done.stderr
    one, two = np.load(files[0]), np.load(files[1])
    for name in ("waves", "controller", "particles"):
        assert np.abs(one[name]).max() > 1e-3
        worst = np.abs(one[name] - two[name]).max() / np.abs(one[name]).max()
        assert worst < 1e-12, name
    assert np.allclose(one["losses"], two["losses"], rtol=1e-9)
    assert one["losses"][-1] < 0.9 * one["losses"][0]
    assert one["moved"] == 0 and two["moved"] > 0  # particles have migrated
    assert two["memory"] < 0.6 * one["memory"]  # of a rank: a half, and halos


needs_ray = pytest.mark.skipif(find_spec("ray") is None, reason="needs ray: mlirad[ray]")


@needs_ray
def test_an_ensemble_survives_a_worker_that_is_killed() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mlirad.examples.ensemble", "2", "6"],
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    assert "1 died\nthe same bits: True" in done.stdout


def test_without_ray_its_absence_is_said() -> None:
    program = "import sys; sys.modules['ray'] = None\nimport mlirad.ensemble"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=100
    )
    assert done.returncode == 1
    assert "ImportError: mlirad.ensemble needs ray" in done.stderr


BEGIN = """
import sys, threading
import mlirad as ti
from mlirad import dist
dist.init(arch=ti.cpu)
x = ti.field(float, 4, needs_grad=True)
"""
FAILURES = {
    "in a tape": (
        "with ti.ad.Tape():\n    if dist.rank() == 1: raise ValueError('no such thing')\n"
        "    dist.allreduce(x)",
        "ValueError: no such thing",
    ),
    "in a thread": (
        "def work(): raise ValueError('no such thread')\n"
        "if dist.rank() == 1: threading.Thread(target=work).start()\ndist.allreduce(x)\n"
        "import time\ntime.sleep(100)",
        "ValueError: no such thread",
    ),
    "by leaving": (
        "if dist.rank() == 1: sys.exit(0)\ndist.allreduce(x)",
        "rank 1: the end of the program",
    ),
}


@needs_mpi
@pytest.mark.parametrize("where", FAILURES)
def test_a_rank_that_fails_ends_all_and_is_heard(where: str, tmp_path: Path) -> None:
    program, words = FAILURES[where]
    file = tmp_path / "program.py"
    file.write_text(BEGIN + program + "\nprint('not reached')\n")
    done = run(2, str(file), timeout=90)
    assert done.returncode != 0
    assert words in done.stderr and "[rank 1 of 2]" in done.stderr
    assert "not reached" not in done.stdout


@needs_mpi
def test_a_rank_that_is_killed_ends_all(tmp_path: Path) -> None:
    file = tmp_path / "program.py"
    killed = "import os\nif dist.rank() == 1: os.kill(os.getpid(), 9)\n"
    file.write_text(f"{BEGIN}{killed}dist.allreduce(x)\nprint('not reached')\n")
    done = run(2, str(file), timeout=60)
    assert done.returncode != 0 and "not reached" not in done.stdout
    assert "signal 9" in done.stdout + done.stderr


def test_without_mpi_its_absence_is_said() -> None:
    program = "import sys; sys.modules['mpi4py'] = None\nimport mlirad\nimport mlirad.dist"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=100
    )
    assert done.returncode == 1
    assert "ImportError: mlirad.dist needs MPI" in done.stderr
    assert "pip install 'mlirad[mpi]'" in done.stderr
