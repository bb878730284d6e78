"""The cache between processes: many at once, some that are killed, disks that are full, files that
are not what they were."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from time import sleep

import pytest

import mlirad
from mlirad.host import Feature, has

pytestmark = [
    pytest.mark.cpu_code("the machine code that is kept"),
    pytest.mark.skipif(not has(Feature.LOADER), reason="machine code is kept where it is loaded"),
]

PROGRAM = """
import sys
import mlirad as ti
from mlirad import bindings

made, count = bindings.ExecutionEngine, 0
def counted(*arguments, **keywords):
    global count
    count += 1
    return made(*arguments, **keywords)
bindings.ExecutionEngine = counted

def sums(number):
    @ti.kernel
    def add():
        for i in x:
            total[None] += (x[i] + number) ** 2
    return add

ti.init(cpu_max_num_threads=1)
x = ti.field(ti.f64, 10, needs_grad=True)
total = ti.field(ti.f64, (), needs_grad=True)
for i in range(10):
    x[i] = i
for number in range(int(sys.argv[1])):
    total[None] = 0
    with ti.ad.Tape(total):
        sums(number)()
    print("made", number, flush=True)
    assert total[None] == sum((i + number) ** 2 for i in range(10))
    assert list(x.grad.to_numpy()) == [2.0 * (i + number) for i in range(10)]
print("compiled", count)
"""
QUIET = """
import sys
import mlirad as ti

ti.init()
x = ti.field(ti.f64, (), needs_grad=True)
y = ti.field(ti.f64, (), needs_grad=True)

@ti.kernel
def square():
    y[None] += x[None] ** 2

x[None] = 3
square()
y.grad[None] = 1
square.grad()
assert (y[None], x.grad[None]) == (9, 6)
loaded = [name for name in sys.modules if "xecutionEngine" in name or "mlirad.passes." in name]
print(len(loaded))
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where kernels are kept."""
    os.chmod(tmp_path, 0o700)
    return tmp_path / "cache"


def started(
    folder: Path, text: str, *arguments: str, package: Path | None = None
) -> subprocess.Popen[str]:
    """A process with a program from a file."""
    file = next(path for path in folder.parents if path.is_dir()) / "program.py"
    if not file.exists():
        file.write_text(text)
    environment = dict(os.environ)
    environment["MLIRAD_OFFLINE_CACHE"] = "1"
    environment["MLIRAD_OFFLINE_CACHE_FILE_PATH"] = str(folder)
    environment["PYTHONPATH"] = str(package or Path(mlirad.__file__).parent.parent)
    return subprocess.Popen(
        [sys.executable, str(file), *arguments],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def ended(process: subprocess.Popen[str]) -> tuple[str, str]:
    """The last word of what it said, and its complaints."""
    said, complained = process.communicate(timeout=300)
    assert process.returncode == 0, complained
    return said.split()[-1], complained


def run(folder: Path, count: int, package: Path | None = None) -> int:
    """How many times LLVM ran in a process of so many kernels, whose results were right."""
    compiled, complained = ended(started(folder, PROGRAM, str(count), package=package))
    assert not complained
    return int(compiled)


def test_a_second_process_loads_no_compiler(folder: Path) -> None:
    """Neither passes nor the engine."""
    assert int(ended(started(folder, QUIET))[0]) > 10
    assert ended(started(folder, QUIET)) == ("0", "")


def test_eight_processes_at_once(folder: Path) -> None:
    """All are right, and what they leave is whole."""
    processes = [started(folder, PROGRAM, "2") for _ in range(8)]
    for process in processes:
        assert ended(process)[1] == ""
    assert not [path.name for path in folder.iterdir() if path.name.startswith(".")]
    assert run(folder, 2) == 0


def test_killed_while_it_compiles(folder: Path) -> None:
    """At any moment: the next process finds what is whole."""
    for wait in (0.0, 0.02, 0.05):
        process = started(folder, PROGRAM, "9")
        assert process.stdout is not None
        assert process.stdout.readline() == "made 0\n"
        sleep(wait)
        process.send_signal(signal.SIGKILL)
        process.communicate()
    assert run(folder, 1) == 0


def test_a_full_disk(folder: Path) -> None:
    """The program runs, and says once that nothing is kept; nothing is left half written."""

    def limited() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (600, 600))

    assert run(folder, 1) == 2
    whole = {path.name for path in folder.iterdir()}
    environment = {"MLIRAD_OFFLINE_CACHE": "1", "MLIRAD_OFFLINE_CACHE_FILE_PATH": str(folder)}
    process = subprocess.run(
        [sys.executable, str(folder.parent / "program.py"), "2"],
        env={**os.environ, **environment},
        preexec_fn=limited,
        capture_output=True,
        text=True,
    )
    assert process.returncode == 0, process.stderr
    assert process.stdout.split()[-1] == "2"
    assert process.stderr.count("cannot be written to (File too large)") == 1
    small = {path.name for path in folder.iterdir()} - whole
    assert all((folder / name).stat().st_size <= 600 for name in small)
    assert not [name for name in small if name.startswith(".")]
    assert run(folder, 2) == 2


def test_a_folder_that_is_not_used(folder: Path) -> None:
    """One that others may write to, and one that cannot be made: the program says so, and runs."""
    folder.mkdir()
    folder.chmod(0o777)
    stump = folder.parent / "stump"
    stump.write_bytes(b"")
    refused = f"another user owns '{folder}' or may write to it"
    for path, words in ((folder, refused), (stump, "is not a folder")):
        compiled, complained = ended(started(path, PROGRAM, "1"))
        assert compiled == "2" and words in complained
    assert [path.name for path in folder.iterdir()] == []


def test_a_changed_source_of_ours(folder: Path) -> None:
    """Nobody has to count versions: what one state of mlirad made is not used by another."""
    copy = folder.parent / "package" / "mlirad"
    unwanted = shutil.ignore_patterns("__pycache__", "examples")
    shutil.copytree(Path(mlirad.__file__).parent, copy, ignore=unwanted)
    sleep(0.1)  # what is as young as the process may have changed since it was read
    assert run(folder, 1, copy.parent) == 2
    assert run(folder, 1, copy.parent) == 0
    changed = copy / "passes" / "loops" / "hoist_loads.py"
    changed.write_text(changed.read_text() + "\n# changed\n")
    sleep(0.1)
    assert run(folder, 1, copy.parent) == 2
    front = copy / "frontend" / "python" / "translation" / "loops.py"  # the key has what it makes
    front.write_text(front.read_text() + "\n# changed\n")
    sleep(0.1)
    assert run(folder, 1, copy.parent) == 0


def compiled(folder: Path) -> set[str]:
    """The files of the cache, but for those that say when sources were changed."""
    names = [path.name.partition("-") for path in folder.iterdir()]
    return {version + rest for version, _, rest in names if not rest.startswith(version)}


def test_sources_that_change_while_a_process_runs(folder: Path) -> None:
    """Nobody knows which of them it has read: from then on it keeps nothing."""
    copy = folder.parent / "package" / "mlirad"
    unwanted = shutil.ignore_patterns("__pycache__", "examples")
    shutil.copytree(Path(mlirad.__file__).parent, copy, ignore=unwanted)
    sleep(0.1)
    changing = PROGRAM.replace(
        '    print("made", number, flush=True)',
        '    import os; os.utime(ti.__path__[0] + "/errors.py")\n'
        '    print("made", number, flush=True)',
    )
    assert ended(started(folder, changing, "3", package=copy.parent)) == ("6", "")
    kept = compiled(folder)
    assert ended(started(folder, changing, "1", package=copy.parent))[0] == "0"
    assert compiled(folder) == kept


def test_a_bounded_size(folder: Path) -> None:
    """However much is compiled."""
    text = PROGRAM.replace("threads=1", "threads=1, offline_cache_max_size_of_files=20_000", 1)
    assert ended(started(folder, text, "9")) == ("18", "")
    assert 4_000 < sum(path.stat().st_size for path in folder.iterdir()) <= 20_000
