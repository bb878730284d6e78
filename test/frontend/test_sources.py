"""Functions whose text is not that of a `def` in a file, and statements that others replace."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import mlirad as ti

PROGRAM = """import mlirad as ti
ti.init(arch=ti.cpu, log_level=ti.ERROR)
@ti.kernel
def run(n: int) -> int:
    return 2 * n
print(run(21))
"""


@pytest.fixture(autouse=True)
def program() -> None:
    ti.init(arch=ti.cpu, default_fp=ti.f64)


def test_the_standard_input_and_the_command_line(tmp_path: Path) -> None:
    file = tmp_path / "program.py"
    file.write_text(PROGRAM)
    with file.open() as given:
        first = subprocess.run([sys.executable], stdin=given, capture_output=True, text=True)
    second = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
    assert (first.stdout, second.stdout) == ("42\n", "42\n"), first.stderr + second.stderr


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
