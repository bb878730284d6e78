"""Kernels that an earlier program of the process, or an earlier process, has compiled: nothing is
compiled again, and everything is as it was."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from deferred_writes import defer_all

import mlirad as ti
from mlirad import bindings
from mlirad.host import Feature, has
from mlirad.pipeline import runner
from mlirad.runtime.cpu.workers import workers
from mlirad.runtime.executor.executor import NOT_KEPT
from mlirad.runtime.kernels import kernel_ir
from mlirad.runtime.native import loaded_object

pytestmark = [
    pytest.mark.cpu_code("the machine code that is kept"),
    pytest.mark.skipif(not has(Feature.LOADER), reason="machine code is kept where it is loaded"),
]


class Work:
    """How much was done: runs of passes, and of LLVM."""

    def __init__(self) -> None:
        self.passes = self.llvm = 0


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Work:
    """That of the test, in a process that has its workers."""
    workers(1, lambda text: NOT_KEPT)
    done, engine, run = Work(), bindings.ExecutionEngine, runner.run_pipeline

    def counted_engine(*arguments: Any, **keywords: Any) -> Any:
        done.llvm += 1
        return engine(*arguments, **keywords)

    def counted_run(*arguments: Any, **keywords: Any) -> None:
        done.passes += 1
        run(*arguments, **keywords)

    monkeypatch.setattr(bindings, "ExecutionEngine", counted_engine)
    monkeypatch.setattr(kernel_ir, "run_pipeline", counted_run)
    return done


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """Where kernels are kept."""
    os.chmod(tmp_path, 0o700)
    yield tmp_path / "cache"
    ti.reset()


def init(folder: Path, **options: Any) -> None:
    """A program with a cache."""
    options = {"cpu_max_num_threads": 2, **options}
    ti.init(offline_cache=True, offline_cache_file_path=str(folder), **options)


def energy(start: float = 0.5) -> tuple[float, np.ndarray]:
    """A sum and its gradient."""
    x = ti.field(ti.f32, 100, needs_grad=True)
    total = ti.field(ti.f32, (), needs_grad=True)

    @ti.kernel
    def add(scale: ti.f32) -> ti.f32:
        for i in x:
            total[None] += ti.sin(x[i]) * scale
        return scale * 2

    x.from_numpy(np.linspace(start, 1, 100, dtype=np.float32))
    with ti.ad.Tape(total):
        add(3.0)
    return total[None], x.grad.to_numpy()


def check_energy(found: tuple[float, np.ndarray], start: float = 0.5) -> None:
    """By hand."""
    x = np.linspace(start, 1, 100)
    assert found[0] == pytest.approx(3 * np.sin(x).sum(), rel=1e-5)
    np.testing.assert_allclose(found[1], 3 * np.cos(x), rtol=1e-5)


def test_the_second_program_compiles_nothing(folder: Path, work: Work) -> None:
    """Neither the primal nor the gradient; results are equal to the bit."""
    init(folder)
    first = energy()
    check_energy(first)
    assert work.llvm == 2
    done = work.passes
    init(folder)
    second = energy()
    assert (work.llvm, work.passes) == (2, done)
    assert first[0] == second[0]
    np.testing.assert_array_equal(first[1], second[1])


@pytest.mark.parametrize(
    "options, compiled",
    [
        ({"opt_level": 0}, 2),
        ({"fast_math": False}, 2),
        ({"debug": True}, 1),  # only the primal has checks
        ({"cpu_max_num_threads": 1}, 2),
        ({"default_fp": ti.f64}, 0),  # all types are written down
    ],
)
def test_options_are_part_of_the_key(
    folder: Path, work: Work, options: dict[str, Any], compiled: int
) -> None:
    """What is compiled with some is not used with others, and is there for the same."""
    for chosen, expected in (({}, 2), (options, compiled), (options, 0), ({}, 0)):
        work.llvm = 0
        init(folder, **chosen)
        check_energy(energy())
        assert work.llvm == expected


def test_kernels_of_simt_are_kept(folder: Path, work: Work) -> None:
    """But for those that its memory runs for itself."""
    counts = []
    for _ in range(2):
        work.llvm = 0
        init(folder, arch=ti.simt)
        check_energy(energy())
        counts.append(work.llvm)
    assert counts[1] == counts[0] - 2


def wave(amount: float) -> Callable[[], float]:
    """A kernel that has a number of Python's in its code."""
    x = ti.field(ti.f32, ())

    @ti.kernel
    def shift():
        x[None] += amount

    def run() -> float:
        shift()
        return x[None]

    return run


def test_numbers_of_the_program_are_part_of_the_key(folder: Path, work: Work) -> None:
    """The source is the same."""
    for amount, compiled in ((1.5, 1), (2.5, 2), (1.5, 2)):
        init(folder)
        assert wave(amount)() == amount
        assert work.llvm == compiled


def test_layouts_are_part_of_the_key(folder: Path, work: Work) -> None:
    """Extents, gradients, and where a field lies."""

    def run(shape: int, block: int, needs_grad: bool) -> float:
        init(folder)
        x = ti.field(ti.f32, needs_grad=needs_grad)
        ti.root.dense(ti.i, shape // block).dense(ti.i, block).place(x)

        @ti.kernel
        def fill():
            for i in x:
                x[i] = i

        fill()
        return x.to_numpy().sum()

    for shape, block, needs_grad in ((8, 1, False), (8, 4, False), (16, 4, False), (16, 4, True)):
        before = work.llvm
        assert run(shape, block, needs_grad) == shape * (shape - 1) / 2
        assert work.llvm == before + 1
        assert run(shape, block, needs_grad) == shape * (shape - 1) / 2
        assert work.llvm == before + 1


def test_infinities_are_part_of_the_key(folder: Path) -> None:
    """A reverse for a field that holds infinities keeps an adjoint of 0 at 0 by a test."""

    def run(value: float) -> float:
        init(folder)
        x, y, z = (ti.field(ti.f32, (), needs_grad=True) for _ in range(3))

        @ti.kernel
        def choose():
            z[None] += ti.select(x[None] > 5, x[None] * y[None], x[None])

        x[None], y[None] = 1.0, value
        with ti.ad.Tape(z):
            choose()
        return x.grad[None]

    for value in (2.0, float("inf"), 2.0, float("inf")):
        assert run(value) == 1.0


def test_two_loops_that_a_tape_launches_apart(folder: Path, work: Work) -> None:
    """Found as they were cut."""

    def run() -> list[float]:
        init(folder)
        x = ti.field(ti.f64, 4, needs_grad=True)
        y = ti.field(ti.f64, (), needs_grad=True)

        @ti.kernel
        def cut():
            for i in x:
                y[None] += x[i] ** 3
            for i in x:
                x[i] = 0.0

        x.from_numpy(np.arange(4.0))
        with ti.ad.Tape(y):
            cut()
        return [y[None], *x.grad.to_numpy()]

    expected = [0 + 1 + 8 + 27, 0, 3, 12, 27]
    assert run() == expected
    done = work.llvm, work.passes
    assert run() == expected
    assert (work.llvm, work.passes) == done


def test_forward_mode_and_second_order(folder: Path, work: Work) -> None:
    """Other modes are found too."""

    def run() -> tuple[float, float]:
        init(folder, default_fp=ti.f64)
        x = ti.field(ti.f64, 3, needs_grad=True)
        y = ti.field(ti.f64, (), needs_grad=True)

        @ti.kernel
        def cubes():
            for i in x:
                y[None] += x[i] ** 3

        x.from_numpy(np.array([1.0, 2, 3]))
        ti.root.lazy_dual()
        with ti.ad.FwdMode(loss=y, param=x, seed=[1.0, 0, 0]):
            cubes()
        return y[None], y.dual[None]

    assert run() == (36, 3)
    done = work.llvm, work.passes
    assert run() == (36, 3)
    assert (work.llvm, work.passes) == done


def refusal(folder: Path) -> str:
    """What is said of a kernel without a gradient."""
    init(folder)
    x = ti.field(ti.f32, 8, needs_grad=True)
    y = ti.field(ti.f32, (), needs_grad=True)

    @ti.kernel
    def smooth():
        for i in range(7):
            y[None] += x[i] * x[i]
            x[i + 1] = x[i] * x[i + 1]

    smooth()
    with pytest.raises(ti.TaichiCompilationError) as error, ti.ad.Tape(y):
        smooth()
    return str(error.value)


def test_what_is_refused_is_refused_again(folder: Path) -> None:
    """In the same words."""
    said = refusal(folder)
    assert "test_kernels.py" in said
    assert refusal(folder) == said


def complaints(folder: Path) -> tuple[list[tuple[str, int]], str]:
    """A warning of a race, and an index out of bounds."""
    init(folder, debug=True)
    x = ti.field(ti.f32, 8)

    @ti.kernel
    def shift(n: ti.i32):
        for i in range(n):
            x[i] = x[i + 1]

    with pytest.warns(UserWarning) as warned:
        shift(3)
    with pytest.raises(ti.TaichiAssertionError) as error:
        shift(8)
    return [(str(one.message), one.lineno) for one in warned], str(error.value)


def test_assertions_and_warnings_appear_again(folder: Path, work: Work) -> None:
    """With their lines."""
    said = complaints(folder)
    assert said[0] and "test_kernels.py" in said[1]
    assert complaints(folder) == said
    assert work.llvm == 1


DAMAGES: dict[str, Callable[[bytes, bytes], bytes]] = {
    "cut": lambda content, _: content[: len(content) // 2],
    "empty": lambda content, _: b"",
    "flipped": lambda content, _: content[:-50] + bytes(byte ^ 1 for byte in content[-50:]),
    "foreign": lambda content, _: b"\x7fELF" * 100,
    "swapped": lambda _, other: other,
}


@pytest.mark.parametrize("damage", [*DAMAGES, "linked", "opened"])
def test_damaged_and_foreign_files(folder: Path, work: Work, damage: str) -> None:
    """They are compiled anew, and replaced."""
    init(folder)
    check_energy(energy())
    files = sorted(folder.iterdir())
    contents = [path.read_bytes() for path in files]
    for number, (path, content) in enumerate(zip(files, contents)):
        if damage == "linked":
            path.rename(folder.parent / str(number))
            path.symlink_to(folder.parent / str(number))
        elif damage == "opened":
            path.chmod(0o666)
        else:
            path.write_bytes(DAMAGES[damage](content, contents[number - 1]))
    for compiled in (2, 0):
        work.llvm = 0
        init(folder)
        check_energy(energy())
        assert work.llvm == compiled
    assert all(path.lstat().st_mode & 0o7777 == 0o600 for path in folder.iterdir())


def test_an_object_that_cannot_be_loaded(
    folder: Path, work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a machine that has not what the code calls: it is compiled, and refers to what is here."""
    init(folder)
    check_energy(energy())
    monkeypatch.setattr(loaded_object, "_FORMATS", {})
    for _ in range(2):
        work.llvm = 0
        init(folder)
        check_energy(energy())
        assert work.llvm == 2


def test_prints_strings_and_other_types(folder: Path, work: Work, capfd: Any) -> None:
    """Code with data beside it, that calls the C library."""

    def run() -> str:
        init(folder)
        halves, bytes_ = ti.field(ti.f16, 4), ti.field(ti.u8, 4)

        @ti.kernel
        def show(n: ti.i32, array: ti.types.ndarray()) -> ti.f64:
            total = ti.f64(0)
            for _ in range(1):
                for i in range(n):
                    halves[i] = i * 0.25
                    bytes_[i] = ti.u8(250 + 3 * i)
                    array[i] = ti.pow(ti.tan(halves[i]), 2.5) + ti.floor(array[i])
                    print("row", i, halves[i], bytes_[i])
                    total += array[i]
            return total

        array = np.full(3, 1.5)
        show(3, array)
        expected = np.tan(np.arange(3) * 0.25) ** 2.5 + 1
        np.testing.assert_allclose(array, expected, rtol=1e-3)
        return str(capfd.readouterr().out)

    first = run()
    assert first.split("\n")[:2] == ["row 0 0.000000 250", "row 1 0.250000 253"]
    assert run() == first
    assert work.llvm == 1


def test_printing_ir_finds_nothing(folder: Path, capsys: Any) -> None:
    """Passes run, and say what they made."""
    init(folder)
    check_energy(energy())
    init(folder, print_ir=True)
    check_energy(energy())
    assert "scf.parallel" in capsys.readouterr().out


@pytest.mark.parametrize("off", [{"offline_cache": False}, {"offline_cache": None}])
def test_off(folder: Path, off: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """By the option, or by the environment."""
    monkeypatch.setenv("MLIRAD_OFFLINE_CACHE", "0")
    ti.init(offline_cache_file_path=str(folder), **off)
    check_energy(energy())
    assert not folder.exists()


def test_the_environment_names_the_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As MLIRAD_OFFLINE_CACHE_FILE_PATH; else it is in that of the user's caches."""
    monkeypatch.setenv("MLIRAD_OFFLINE_CACHE", "1")
    monkeypatch.setenv("MLIRAD_OFFLINE_CACHE_FILE_PATH", str(folder / "a"))
    ti.init()
    check_energy(energy())
    monkeypatch.delenv("MLIRAD_OFFLINE_CACHE_FILE_PATH")
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "b"))
    ti.init()
    check_energy(energy())
    counts = [len(list(path.iterdir())) for path in (folder / "a", folder / "b" / "mlirad")]
    assert counts[0] == counts[1] > 0


@pytest.mark.parametrize(
    "options, words",
    [
        ({"offline_cache_cleaning_policy": "newest"}, "never, version, lru, fifo"),
        ({"offline_cache_max_size_of_files": -1}, "at least 0"),
        ({"offline_cache_max_size_of_files": "1 GB"}, "number of bytes"),
        ({"offline_cache_cleaning_factor": 1.5}, "from 0 to 1"),
    ],
)
def test_options_that_mean_nothing(options: dict[str, Any], words: str) -> None:
    """Are named."""
    with pytest.raises(ValueError, match=words):
        ti.init(**options)


@ti.data_oriented
class Springs:
    """Fields of its own, which kernels update in place."""

    def __init__(self, size: int) -> None:
        self.x = ti.field(ti.f64, size, needs_grad=True)
        self.other = ti.field(ti.i32, size)
        self.energy = ti.field(ti.f64, (), needs_grad=True)

    @ti.kernel
    def pull(self, stiffness: ti.f64):
        for i in self.x:
            self.x[i] = self.x[i] - stiffness * self.x[i] ** 3
            self.other[i] += 1

    @ti.kernel
    def add(self):
        for i in self.x:
            self.energy[None] += self.x[self.other[i] - 1]

    def check(self, start: float) -> None:
        """The sum of one step from a number, and its gradient, by hand."""
        self.x.fill(start)
        self.other.fill(0)
        with ti.ad.Tape(self.energy):
            self.pull(0.5)
            self.add()
        size = self.x.shape[0]
        assert self.energy[None] == pytest.approx(size * (start - 0.5 * start**3), rel=1e-12)
        found = self.x.grad.to_numpy()
        slope = 1 - 1.5 * start**2
        np.testing.assert_allclose(found, [size * slope] + [0] * (size - 1), rtol=1e-12)


def test_another_object_of_a_class_compiles_nothing(folder: Path, work: Work) -> None:
    """Its fields have other names, and nothing else differs; one of another size differs."""
    init(folder)
    Springs(10).check(0.5)
    done = work.llvm, work.passes
    several = [Springs(10) for _ in range(3)]
    for number, one in enumerate(several):
        one.check(0.1 * number)
    assert (work.llvm, work.passes) == done
    Springs(11).check(0.5)
    assert work.llvm > done[0]


def test_messages_name_the_fields_of_their_object(folder: Path, work: Work) -> None:
    """Also where the code is that of another object."""
    init(folder, debug=True)
    first, second = Springs(10), Springs(10)
    first.check(0.5)
    done = work.llvm
    second.other.fill(70)
    with pytest.raises(AssertionError, match=r"field \(x_1\) of size"):
        second.add()
    assert work.llvm == done


@ti.data_oriented
class Labelled:
    """A field, and texts that look like names of some."""

    def __init__(self, label: str) -> None:
        self.x = ti.field(ti.f64, 4, needs_grad=True)
        self.label = label

    @ti.kernel
    def show(self):
        for _ in range(1):
            print(self.label, "has", self.x[0])

    @ti.kernel
    def check(self):
        for i in self.x:
            assert self.x[i] > 0, "'x' of field (x), Snode x, a@x"

    @ti.kernel
    def overwrite(self):
        self.x[1] = self.x[0]
        self.x[0] = self.x[1]


def test_texts_of_the_program_are_its_own(folder: Path, work: Work, capfd: Any) -> None:
    """Also those that look like symbols, or like what our messages say of fields."""
    init(folder, debug=True)
    first, second = Labelled("@x"), Labelled("@x_1")
    for one in (first, second):
        one.show()
        one.x.fill(-1.0)
        done = work.llvm
        with pytest.raises(AssertionError, match=r"'x' of field \(x\), Snode x, a@x"):
            one.check()
    assert work.llvm == done
    assert capfd.readouterr().out == "@x has 0.000000\n@x_1 has 0.000000\n"


def test_what_is_overwritten_is_named(folder: Path, work: Work) -> None:
    """Where a tape looks for it, of another object."""
    init(folder, debug=True)
    first, second = Labelled(""), Labelled("")
    loss = ti.field(ti.f64, (), needs_grad=True)
    for one, name in ((first, "x"), (second, "x_1")):
        done = work.llvm
        with (
            pytest.raises(AssertionError, match=f"Snode {name} is overwritten"),
            ti.ad.Tape(loss, validation=True),
        ):
            one.overwrite()
    assert work.llvm == done


def test_infinities_of_one_field(folder: Path, work: Work) -> None:
    """A field that may hold them has a reverse of its own, in which adjoints of 0 stay 0."""
    init(folder)
    a, finite, infinite = (ti.field(ti.f64, 4, needs_grad=True) for _ in range(3))
    total = ti.field(ti.f64, (), needs_grad=True)

    @ti.kernel
    def add(y: ti.template()):
        for i in a:
            total[None] += ti.max(a[i] * y[i], -5.0)

    def gradient(y: Any) -> list[float]:
        with ti.ad.Tape(total):
            add(y)
        return a.grad.to_numpy().tolist()

    for one in (a, finite, infinite):
        one.fill(1.0)
    assert gradient(finite) == [1, 1, 1, 1]
    done = work.llvm
    infinite[2] = -np.inf
    assert gradient(infinite) == [1, 1, 0, 1]
    assert work.llvm == done + 1
    assert gradient(finite) == [1, 1, 1, 1]


def test_fields_that_change_places(folder: Path, work: Work) -> None:
    """One kernel, launched on two fields, on both the other way round, and twice on one."""
    init(folder)
    a, b = (ti.field(ti.f64, 4, needs_grad=True) for _ in range(2))
    total = ti.field(ti.f64, (), needs_grad=True)

    @ti.kernel
    def add(x: ti.template(), y: ti.template()):
        for i in x:
            total[None] += x[i] * x[i] * y[i]

    def gradients(x: Any, y: Any) -> list[float]:
        a.fill(2.0)
        b.fill(3.0)
        with ti.ad.Tape(total):
            add(x, y)
        return [a.grad[1], b.grad[1]]

    assert gradients(a, b) == [2 * 2 * 3, 2 * 2]
    done = work.llvm
    assert gradients(b, a) == [3 * 3, 2 * 3 * 2]
    assert work.llvm == done
    assert gradients(a, a) == [3 * 2 * 2, 0]
    assert work.llvm > done


@ti.data_oriented
class Rows:
    """A field of which each row follows from the one before, doubled."""

    STEPS, SIZE = 5, 8

    def __init__(self) -> None:
        self.u = ti.field(ti.f64, (self.STEPS, self.SIZE), needs_grad=True)
        self.total = ti.field(ti.f64, (), needs_grad=True)

    @ti.kernel
    def step(self, t: ti.i32):
        for i in range(8):
            self.u[t, i] = 2.0 * self.u[t - 1, i]

    @ti.kernel
    def add(self):
        for i in range(8):
            self.total[None] += self.u[4, i]

    def check(self) -> None:
        """The gradient of the first row is 16, that of others 0, which steps overwrote."""
        with ti.ad.Tape(self.total):
            for t in range(1, self.STEPS):
                self.step(t)
            self.add()
        expected = np.zeros((self.STEPS, self.SIZE))
        expected[0] = 2.0 ** (self.STEPS - 1)
        np.testing.assert_array_equal(self.u.grad.to_numpy(), expected)


def test_which_rows_of_which_field_wait(
    folder: Path, work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where what was noted is of another object's kernels: those of its own."""
    defer_all(monkeypatch)
    init(folder)
    first, second = Rows(), Rows()
    first.check()
    done = work.llvm
    second.check()
    first.check()
    first.u.grad.fill(3.0)
    second.step.grad(2)
    assert (first.u.grad.to_numpy() == 3.0).all()
    assert work.llvm == done
