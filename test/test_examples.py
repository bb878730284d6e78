"""The examples run, and do what they promise."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import mlirad as ti


def test_gravity_keeps_its_energy_and_paints_the_orbits(tmp_path: Path) -> None:
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "mlirad.examples.gravity",
            "--bodies",
            "60",
            "--steps",
            "1200",
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    worst = re.search(r"at most (\S+)", done.stdout)
    assert worst is not None, done.stdout
    assert float(worst.group(1)) < 3e-3
    assert "orbits: gravity.png" in done.stdout
    assert "1200/1200" in done.stderr
    assert (tmp_path / "gravity.png").read_bytes().startswith(b"\x89PNG\r\n\x1a\n")


def test_gravity_refuses_too_few_bodies() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mlirad.examples.gravity", "--bodies", "1"],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 2
    assert "--bodies must be at least 2" in done.stderr


def test_throw_comes_nearer_to_the_mark() -> None:
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "mlirad.examples.throw",
            "--particles",
            "60",
            "--steps",
            "256",
            "--iterations",
            "3",
            "--memory",
            "500kB",
        ],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    losses = [float(found) for found in re.findall(r"loss (\S+),", done.stdout)]
    assert len(losses) == 3
    assert losses[0] > 10 * losses[2]
    assert all(int(found) <= 500_000 for found in re.findall(r"at most (\d+) bytes", done.stdout))


def run_inverse(name: str) -> list[dict[str, float]]:
    """Run an inverse problem, and return the named numbers of each line that it prints."""
    done = subprocess.run(
        [sys.executable, "-m", f"mlirad.examples.inverse.{name}"],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return [
        {word: float(number) for word, number in re.findall(r"(\w+) = ([\d.]+)", line)}
        for line in done.stdout.splitlines()
    ]


def test_the_parameters_of_a_chaotic_system_are_found() -> None:
    """A tenth of the noise (0.3) may be left in sigma, and less in what the motion shows better."""
    true, *fits = run_inverse("lorenz")
    assert true == {"sigma": 10, "rho": 28, "beta": 2.667}
    assert len(fits) == 4
    assert fits[-1]["sigma"] == pytest.approx(10, abs=0.1)
    assert fits[-1]["rho"] == pytest.approx(28, abs=0.1)
    assert fits[-1]["beta"] == pytest.approx(8 / 3, abs=0.02)


def test_a_heat_source_is_found_by_torch() -> None:
    pytest.importorskip("torch")
    true, *steps = run_inverse("heat_source")
    assert true == {"x": 0.62, "y": 0.37, "power": 1.5}
    assert steps[0] == {"x": 0.5, "y": 0.5, "power": 1}
    assert steps[-1] == pytest.approx(true, abs=0.01)


def test_inverse_problems_are_short() -> None:
    files = [*(Path(ti.__file__).parent / "examples" / "inverse").glob("[a-z]*.py")]
    assert len(files) == 2
    assert all(len(file.read_text().splitlines()) < 80 for file in files)


def test_the_program_in_the_readme_prints_what_it_says(tmp_path: Path) -> None:
    readme = (Path(__file__).parents[1] / "README.md").read_text()
    program, said = re.findall(
        r"```(?:python)?\n(import mlirad.*?)```.*?```\n(.*?)```", readme, re.DOTALL
    )[0]
    file = tmp_path / "program.py"
    file.write_text(program)
    done = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    numbers = [
        [float(word) for word in re.findall(r"[\d.]+", text)] for text in (done.stdout, said)
    ]
    assert numbers[0] == pytest.approx(numbers[1], rel=1e-5)


def test_the_commands_of_the_readme_run(tmp_path: Path) -> None:
    """The program, what "Look inside" adds to it, and the commands on the file that this writes."""
    pytest.importorskip("llvmlite")
    readme = (Path(__file__).parents[1] / "README.md").read_text()
    before, _, inside = readme.partition("## Look inside")
    program = re.findall(r"```python\n(.*?)```", before, re.DOTALL)[0]
    added, commands = re.findall(r"```(?:python|sh)\n(.*?)```", inside, re.DOTALL)[:2]
    file = tmp_path / "program.py"
    file.write_text(program + added)
    command = [sys.executable, str(file)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "func.func @throw" in done.stdout and ".target sm_90" in done.stdout
    lines = [line for line in commands.splitlines() if "throw.mlir" in line]
    assert len(lines) == 2
    for line in lines:
        name, *arguments = line.split()
        assert name == "mlirad-opt"
        command = [sys.executable, "-m", "mlirad_opt", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert "throw" in done.stdout


def test_a_simulator_runs_by_the_name_of_its_module(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mlirad.examples.wave", "--small", "--iterations", "1"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert "1 steps in" in done.stdout
    assert (tmp_path / "wave.mp4").exists() or (tmp_path / "wave.gif").exists()
