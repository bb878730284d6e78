"""Functions whose text is not that of a `def` in a file, and statements that others replace."""

from __future__ import annotations

import importlib.util
import linecache
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mlirad as ti

PROGRAM = """import mlirad as ti
ti.init(log_level=ti.ERROR)
@ti.kernel
def run(n: int) -> int:
    return 2 * n
print(run(21))
"""


@pytest.fixture(autouse=True)
def program() -> None:
    ti.init(default_fp=ti.f64)


def test_the_standard_input_and_the_command_line(tmp_path: Path) -> None:
    file = tmp_path / "program.py"
    file.write_text(PROGRAM)
    with file.open() as given:
        first = subprocess.run([sys.executable], stdin=given, capture_output=True, text=True)
    second = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
    assert (first.stdout, second.stdout) == ("42\n", "42\n"), first.stderr + second.stderr


def test_paths_that_are_not_utf_8(tmp_path: Path) -> None:
    """In locations, messages and warnings; the source line is shown."""
    folder = tmp_path / os.fsdecode(b"n\xe9_\xff")
    folder.mkdir()
    (folder / "odd_program.py").write_text(
        "import mlirad as ti\n"
        "from mlirad import te\n"
        "@ti.kernel\n"
        "def run(n: int) -> int:\n"
        "    return 2 * n\n"
        "@ti.kernel\n"
        "def wrong(n: int) -> int:\n"
        "    return n + missing\n"
        "@ti.kernel\n"
        "def checked(n: int):\n"
        "    assert n < 3, 'too large'\n"
        "def twice():\n"
        "    p = te.placeholder((2,), ti.f32)\n"
        "    return te.build([te.compute((2,), lambda i: p[i] * 2.0)], inputs=[p])\n"
    )
    found = importlib.util.spec_from_file_location("odd_program", folder / "odd_program.py")
    assert found is not None and found.loader is not None
    odd = importlib.util.module_from_spec(found)
    found.loader.exec_module(odd)
    assert odd.run(21) == 42
    assert r"n\\xe9_\\xff/odd_program.py" in odd.run.ir(21, locations=True)
    with pytest.raises(ti.TaichiNameError, match=r"n\\xe9_\\xff/odd.*:8:16(.|\n)*return n \+ miss"):
        odd.wrong(1)
    (given,) = odd.twice()(np.ones(2, np.float32))
    assert given.tolist() == [2.0, 2.0]
    ti.init(debug=True)
    with pytest.raises(ti.TaichiAssertionError, match=r"n\\xe9_\\xff/odd_program.py:11:5: too"):
        odd.checked(5)


def test_programs_of_exec() -> None:
    names: dict[str, ti.Kernel] = {}
    program = PROGRAM.partition("ti.init")[0] + "@ti" + PROGRAM.partition("@ti")[2]
    program = program.replace("print(run(21))", "")
    exec(program, names)
    text = "import mlirad as ti\n@ti.kernel\ndef run(n: int) -> int:\n    return n + missing\n"
    other: dict[str, ti.Kernel] = {}
    exec(text, other)
    assert names["run"](4) == 8
    with pytest.raises(ti.TaichiNameError, match=r"<string \w+>:4:16(.|\n)*return n \+ missing"):
        other["run"](4)


def test_lambdas() -> None:
    twice, square = ti.func(lambda x: 2 * x), ti.func(lambda x: x * x)
    functions = [ti.func(lambda x, k=1: x + k), ti.func(lambda x: x - 1)]
    x, y = ti.field(ti.f64, (), needs_grad=True), ti.field(ti.f64, (), needs_grad=True)

    @ti.kernel
    def run():
        y[None] = square(twice(x[None])) + functions[0](x[None]) * functions[1](x[None])

    x[None] = 3
    with ti.ad.Tape(y):
        run()
    assert y[None] == 36 + 4 * 2 and x.grad[None] == 8 * 3 + 2 * 3


@ti.func
def matched(n, v: ti.types.vector(2, ti.f64)):
    result = 0.0
    match n:
        case 0:
            result = v[0]
        case 1 | 2:
            result = v[0] * v[1]
        case other if other > 10:
            result = v[1] * other
        case _:
            match v:
                case [0.0, second]:
                    result = second
                case [first, second]:
                    result = first**2 + second
    return result


def matched_in_python(n: int, v: list[float]) -> float:
    match n:
        case 0:
            return v[0]
        case 1 | 2:
            return v[0] * v[1]
        case other if other > 10:
            return v[1] * other
    return v[1] if v[0] == 0 else v[0] ** 2 + v[1]


def test_match_statements() -> None:
    @ti.kernel
    def run(n: int, a: float, b: float) -> float:
        return matched(n, ti.Vector([a, b]))

    for n in (0, 1, 2, 3, 10, 11):
        for a in (0.0, 3.0):
            assert run(n, a, 7.0) == matched_in_python(n, [a, 7.0])


def test_gradients_of_match_statements_and_constant_subjects() -> None:
    x, loss = ti.field(ti.f64, 12, needs_grad=True), ti.field(ti.f64, (), needs_grad=True)
    x.fill(5)

    @ti.kernel
    def run(kind: ti.template()):
        for i in x:
            match kind:
                case "all":
                    loss[None] += x[i]
                case "matched":
                    loss[None] += matched(i, ti.Vector([x[i], 2.0]))

    for kind, expected in (("all", [1] * 12), ("matched", [1, 2, 2, *[10] * 8, 0])):
        with ti.ad.Tape(loss):
            run(kind)
        assert x.grad.to_numpy().tolist() == expected


def test_patterns_that_there_are_not() -> None:
    @ti.kernel
    def run(n: int) -> int:
        match n:
            case {"a": 1}:
                return 1
        return 0

    with pytest.raises(ti.TaichiSyntaxError, match="a pattern of mappings is not supported"):
        run(1)


def test_annotations_that_name_nothing() -> None:
    space = {"ti": ti}
    text = "def run(x: 'nowhere'):\n    pass\n"
    exec(compile(text, "<text>", "exec", dont_inherit=True), space)
    for decorate in (ti.kernel, ti.func, ti.real_func):
        with pytest.raises(ti.TaichiSyntaxError, match=r"annotation \(argument x\).*nowhere"):
            decorate(space["run"])


def test_template_arguments_are_immutable() -> None:
    @ti.kernel
    def run(a: ti.template()):
        a = 5  # noqa: F841 - refused

    with pytest.raises(ti.TaichiSyntaxError, match='Kernel argument "a" is immutable'):
        run(3)


# Files that are edited between the import and the first launch.

IMPORTED = """import mlirad as ti

@ti.func
def power(a):
    return a ** 2

scaled = ti.func(lambda a: 3 * a)

@ti.kernel
def run(a: float) -> float:
    return power(a) + 1

@ti.kernel
def run_lambda(a: float) -> float:
    return scaled(a)

def make(factor):
    @ti.kernel
    def run(a: float) -> float:
        return factor * a
    return run

@ti.data_oriented
class Solver:
    @ti.kernel
    def run(self, a: float) -> float:
        return a - 1
"""
EDITS = {
    "the kernel": ("+ 1", "+ 2"),
    "a function": ("** 2", "** 3"),
    "an operator": ("power(a) +", "power(a) -"),
    "a name": ("return power(a)", "return abs(a)"),
    "a type of a number": ("+ 1", "+ 1.0"),
    "away": ("@ti.kernel\ndef run(a", "def other():\n    pass\n\ndef ran(a"),
    "no Python": ("+ 1", "+ "),
}


def imported(tmp_path: Path) -> Any:
    """A module that Python has read, and nobody else."""
    file = tmp_path / "imported.py"
    file.write_text(IMPORTED)
    spec = importlib.util.spec_from_file_location("imported", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    linecache.clearcache()
    return module


@pytest.mark.parametrize("edit", EDITS)
def test_an_edited_file_is_refused(edit: str, tmp_path: Path) -> None:
    module = imported(tmp_path)
    Path(module.__file__).write_text(IMPORTED.replace(*EDITS[edit]))
    name = "power" if edit == "a function" else "run"
    with pytest.raises(ti.TaichiSyntaxError, match=f"'{name}', which began in .*has been edited"):
        module.run(3.0)


@pytest.mark.parametrize(
    ("old", "new", "run"),
    [
        ("3 * a", "4 * a", lambda module: module.run_lambda(2.0)),
        ("factor * a", "factor + a", lambda module: module.make(2)(3.0)),
        ("a - 1", "a - 2", lambda module: module.Solver().run(3.0)),
    ],
    ids=["lambda", "closure", "method"],
)
def test_every_kind_of_function_in_an_edited_file(
    old: str, new: str, run: Callable[[Any], float], tmp_path: Path
) -> None:
    module = imported(tmp_path)
    Path(module.__file__).write_text(IMPORTED.replace(old, new))
    assert module.run(3.0) == 10
    with pytest.raises(ti.TaichiSyntaxError, match="has been edited"):
        run(module)


def test_lines_that_an_edit_has_moved(tmp_path: Path) -> None:
    module = imported(tmp_path)
    text = "import math\n\n# a comment\n" + IMPORTED.replace("\nscaled", "\n\n\nscaled")
    Path(module.__file__).write_text(text.replace("+ 1\n", "+ 1  # one\n"))
    found = module.run(3.0), module.run_lambda(2.0), module.make(2)(3.0), module.Solver().run(3.0)
    assert found == (10, 6, 6, 2)


def test_what_was_read_before_the_edit_is_compiled(tmp_path: Path) -> None:
    module = imported(tmp_path)
    assert module.run_lambda(2.0) == 6
    Path(module.__file__).write_text(IMPORTED.replace("+ 1", "+ 2").replace("a - 1", "a - 2"))
    assert module.run(3.0) == 10
    assert module.Solver().run(3.0) == 2


def test_a_module_that_is_imported_again(tmp_path: Path) -> None:
    module = imported(tmp_path)
    before = module.run
    text = IMPORTED.replace("+ 1", "+ 2")
    Path(module.__file__).write_text(text)
    exec(compile(text, module.__file__, "exec"), module.__dict__)
    assert module.run(3.0) == 11
    with pytest.raises(
        ti.TaichiSyntaxError, match=r"'run', which began in line 9 of .*has been edited"
    ):
        before(3.0)


ASSERTING = """import os, pathlib
import mlirad as ti

def test_limit():
    ti.init(log_level=ti.ERROR)

    @ti.kernel
    def run(n: int) -> int:
        assert n < 9, "too many"
        return 2 * n

    file = pathlib.Path(__file__)
    file.write_text(file.read_text().replace(OLD, NEW))
    os.utime(file)
    assert run(4) == 8
"""


@pytest.mark.parametrize("new", ["< 9", "< 7"])
def test_assertions_that_pytest_rewrote(new: str, tmp_path: Path) -> None:
    """In a file that is newer than the process; an edit of them is refused."""
    (tmp_path / "test_it.py").write_text(
        ASSERTING.replace("OLD", '"< " "9"').replace("NEW", repr(new))
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_it.py"]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert ("1 passed" in run.stdout) == (new == "< 9"), run.stdout
    assert ("has been edited" in run.stdout) == (new == "< 7")
