"""Bad input: a clear error at the user's line, the process alive, every other field untouched."""

from __future__ import annotations

import inspect
import subprocess
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mlirad as ti

HERE = Path(__file__)


@pytest.fixture(autouse=True)
def bystander() -> Any:
    """A field that no failing kernel may change, and a kernel that has to run afterwards."""
    ti.init(default_fp=ti.f64, cpu_max_num_threads=2)
    x = ti.field(ti.f64, shape=8, needs_grad=True)
    x.from_numpy(np.arange(8.0))
    x.grad.fill(3)
    yield x
    np.testing.assert_array_equal(x.to_numpy(), np.arange(8))
    np.testing.assert_array_equal(x.grad.to_numpy(), np.full(8, 3))

    @ti.kernel
    def double():
        for i in x:
            x[i] *= 2

    double()
    np.testing.assert_array_equal(x.to_numpy(), 2 * np.arange(8))
    ti.reset()


def line_of(function: Callable[..., Any], mark: str = "# here") -> tuple[int, str]:
    """The number and the text of the marked line of a function of this file."""
    lines, start = inspect.getsourcelines(
        getattr(function, "__wrapped__", getattr(function, "function", function))
    )
    found = [(start + k, line.strip()) for k, line in enumerate(lines) if mark in line]
    assert len(found) == 1
    return found[0]


def refuses(
    call: Callable[[], Any], error: type[Exception], message: str, where: Callable[..., Any]
) -> str:
    """A call raises an error that shows the marked line of a kernel, with a caret; gives the whole
    text."""
    number, text = line_of(where)
    with pytest.raises(error, match=message) as caught:
        call()
    shown = str(caught.value).splitlines()
    assert f"{HERE}:{number}:" in shown[0]
    assert shown[1].strip() == text
    assert shown[2].strip() == "^"
    column = int(shown[0].split(":")[2])
    source = HERE.read_text().splitlines()[number - 1]
    assert len(shown[2]) - len(shown[1]) + len(text) == column - (
        len(source) - len(source.lstrip())
    )
    return "".join(traceback.format_exception(caught.value))


def run_and_refuse(kernel: Any, error: type[Exception], message: str, *arguments: Any) -> str:
    return refuses(lambda: kernel(*arguments), error, message, kernel)


def test_undefined_name(bystander: Any) -> None:
    @ti.kernel
    def run():
        for i in bystander:
            bystander[i] = nothing_of_this_name  # noqa: F821 # here

    text = run_and_refuse(run, ti.TaichiNameError, 'Name "nothing_of_this_name" is not defined')
    assert text.count("  File ") < 6 and "mlirad/frontend/" not in text


def test_undefined_name_in_a_function(bystander: Any) -> None:
    @ti.func
    def inner(i):
        return bystander[i] + nothing_of_this_name  # noqa: F821 # here

    @ti.kernel
    def run():
        for i in bystander:
            bystander[i] = inner(i)

    number = line_of(run.function, "inner(i)")[0]
    text = refuses(run, ti.TaichiNameError, "nothing_of_this_name", inner)
    assert f"in 'inner', called at {HERE}:{number}:" in text


def test_a_name_of_an_inner_scope_is_gone_outside() -> None:
    @ti.kernel
    def run(n: int) -> int:
        if n > 0:
            inside = 1
        return inside  # here

    run_and_refuse(run, ti.TaichiNameError, "inside", 1)


def test_attribute_of_a_module_that_is_not_there() -> None:
    @ti.kernel
    def run() -> ti.f64:
        return ti.no_such_function(1.0)  # here

    run_and_refuse(run, ti.TaichiCompilationError, "no_such_function")


@ti.kernel
def two(a: ti.i32, b: ti.f64) -> ti.f64:
    return a + b


@pytest.mark.parametrize(
    "arguments, named, message",
    [
        ((), {}, "Parameter `a : i32` missing"),
        ((1,), {}, "Parameter `b : f64` missing"),
        ((1, 2, 3), {}, "Too many arguments"),
        ((1, 2), {"c": 3}, "Unexpected argument 'c'"),
        ((1, 2), {"a": 3}, "Multiple values for argument 'a'"),
    ],
)
def test_wrong_argument_counts(arguments: Any, named: Any, message: str) -> None:
    with pytest.raises(ti.TaichiSyntaxError, match=message):
        two(*arguments, **named)


@pytest.mark.parametrize(
    "arguments", [(1.5, 2), ("1", 2), (None, 2), (1, "2"), (1, [2.0]), (1 << 40, 2), (1, 1j)]
)
def test_wrong_argument_types(arguments: Any) -> None:
    with pytest.raises(ti.TaichiRuntimeTypeError, match=r"Argument [ab]"):
        two(*arguments)
    assert two(1, 2) == 3


def test_wrong_arguments_of_functions() -> None:
    @ti.func
    def add(a, b):
        return a + b

    @ti.kernel
    def few() -> int:
        return add(1)  # here

    @ti.kernel
    def many() -> int:
        return add(1, 2, 3)  # here

    @ti.kernel
    def unknown() -> int:
        return add(1, c=2)  # here

    run_and_refuse(few, ti.TaichiSyntaxError, "Parameter `b` missing")
    run_and_refuse(many, ti.TaichiSyntaxError, "Too many arguments")
    run_and_refuse(unknown, ti.TaichiSyntaxError, "Unexpected argument 'c'")


def test_parameters_need_types() -> None:
    @ti.kernel
    def run(a):
        pass

    with pytest.raises(ti.TaichiSyntaxError, match="parameter 'a' of 'run'"):
        run(1)

    @ti.kernel
    def other(a: no_such_type):  # noqa: F821
        pass

    with pytest.raises(ti.TaichiSyntaxError, match="annotation"):
        other(1)


def with_statement(x: Any) -> None:
    with x:  # here
        pass


def try_statement(x: Any) -> None:
    try:  # noqa: SIM105 # here
        x[0] = 1
    except ValueError:
        pass


def yield_expression(x: Any) -> Any:
    yield x[0]  # here


def del_statement(x: Any) -> None:
    del x  # here


def import_statement(x: Any) -> None:
    import math  # noqa: F401 # here


def function_definition(x: Any) -> None:
    def inner():  # here
        pass


def global_statement(x: Any) -> None:
    global HERE  # here


def raise_statement(x: Any) -> None:
    raise ValueError  # here


def else_of_a_loop(x: Any) -> None:
    for i in range(3):  # here
        x[i] = 1
    else:
        pass


@pytest.mark.parametrize(
    "body",
    [
        with_statement,
        try_statement,
        yield_expression,
        del_statement,
        import_statement,
        function_definition,
        global_statement,
        raise_statement,
        else_of_a_loop,
    ],
    ids=lambda f: f.__name__,
)
def test_unsupported_statements(body: Any, bystander: Any) -> None:
    body.__annotations__ = {"x": ti.template()}
    refuses(
        lambda: ti.kernel(body)(bystander),
        ti.TaichiSyntaxError,
        "support|Unsupported|not allowed",
        body,
    )


def test_source_that_cannot_be_read() -> None:
    scope: dict[str, Any] = {"ti": ti}
    exec("".join(["@ti.kernel\n", "def run() -> ti.i32:\n", "    return 1\n"]), scope)
    with pytest.raises(ti.TaichiSyntaxError, match="cannot read the source of 'run'"):
        scope["run"]()
    with pytest.raises(ti.TaichiSyntaxError, match="lambda"):
        ti.kernel(lambda: 1)()


def test_field_used_before_it_is_placed() -> None:
    y = ti.field(ti.f64)

    @ti.kernel
    def run():
        y[0] = 1  # here

    run_and_refuse(run, ti.TaichiCompilationError, "'y' is used before it is placed")
    for use in (lambda: y[0], lambda: y.fill(0), y.to_numpy, lambda: y.shape):
        with pytest.raises(ti.TaichiRuntimeError, match="placed"):
            use()
    ti.root.dense(ti.i, 3).place(y)
    run()
    np.testing.assert_array_equal(y.to_numpy(), [1, 0, 0])


def test_gradient_that_is_not_there() -> None:
    y = ti.field(ti.f64, shape=3, name="height")

    @ti.kernel
    def run():
        y[0] = y.grad[0]  # here

    run_and_refuse(run, ti.TaichiCompilationError, "Gradient height.grad has not been placed")


def test_from_numpy_of_another_shape(bystander: Any) -> None:
    for shape in ((7,), (8, 1), ()):
        with pytest.raises(ValueError, match=r"has shape \(8,\)"):
            bystander.from_numpy(np.ones(shape))


def test_indices_of_another_rank(bystander: Any) -> None:
    y = ti.field(ti.f64, shape=(2, 2))

    @ti.kernel
    def few():
        bystander[0] = y[0]  # here

    @ti.kernel
    def many():
        bystander[0, 0] = 1  # here

    @ti.kernel
    def real():
        bystander[0.5] = 1  # here

    @ti.kernel
    def loop():
        for i, j, k in y:  # here
            y[i, j] = k

    run_and_refuse(few, ti.TaichiIndexError, "y has 2 index axes, but is accessed with 1")
    run_and_refuse(many, ti.TaichiIndexError, "1 index axis, but is accessed with 2")
    run_and_refuse(real, ti.TaichiCompilationError, "index must be an integer")
    run_and_refuse(loop, ti.TaichiSyntaxError, "3 variables for 2 axes")
    for key in ((), (0, 0)):
        with pytest.raises(IndexError, match="1 index axis"):
            bystander[key]
    with pytest.raises(IndexError, match="out of bounds"):
        bystander[8]


def test_a_whole_field_is_no_number(bystander: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    total = ti.field(ti.f64, shape=())
    monkeypatch.setitem(globals(), "shared_total", total)

    @ti.kernel
    def negated() -> ti.f64:
        return -total  # here

    @ti.kernel
    def compared() -> ti.i32:
        return total > bystander[0]  # here

    @ti.kernel
    def passed() -> ti.f64:
        return ti.sin(total)  # here

    @ti.kernel
    def assigned():
        for i in bystander:
            shared_total += bystander[i]  # noqa: F821, F841 # here

    for kernel in (negated, compared, passed):
        run_and_refuse(kernel, ti.TaichiTypeError, r"its elements are x\[i\], or x\[None\]")
    run_and_refuse(assigned, ti.TaichiNameError, r"use shared_total\[i\], or shared_total\[None\]")


def test_types_that_do_not_fit(bystander: Any) -> None:
    @ti.kernel
    def store():
        bystander[0] = ti.Vector([1.0, 2.0])  # here

    @ti.kernel
    def add() -> ti.f64:
        return bystander + 1  # here

    @ti.kernel
    def bits(x: ti.f64) -> ti.i32:
        return x & 1  # here

    @ti.kernel
    def assign():
        v = ti.Vector([1.0, 2.0])
        v = ti.Vector([1.0, 2.0, 3.0])  # here
        bystander[0] = v[0]

    @ti.kernel
    def index(n: int):
        ti.static_assert(n > 3)  # here

    @ti.kernel
    def known(n: int):
        if ti.static(n > 3):  # here
            pass

    @ti.kernel
    def unrolled(n: int):
        for i in ti.static(range(n)):  # here
            bystander[i] = 1

    @ti.kernel
    def constant(n: int) -> ti.i64:
        return n + 0x80000000  # here

    @ti.kernel
    def huge() -> ti.i64:
        return 1 << 70  # here

    run_and_refuse(store, ti.TaichiTypeError, "shape")
    run_and_refuse(add, ti.TaichiTypeError, "whole field or array .* its elements are")
    run_and_refuse(bits, ti.TaichiTypeError, "f64", 1.0)
    run_and_refuse(assign, ti.TaichiTypeError, "shape")
    run_and_refuse(index, ti.TaichiTypeError, "non-static", 1)
    run_and_refuse(known, ti.TaichiTypeError, "compile-time", 1)
    run_and_refuse(unrolled, ti.TaichiTypeError, "compile time", 1)
    run_and_refuse(constant, ti.TaichiTypeError, "default_ip", 1)
    run_and_refuse(huge, ti.TaichiTypeError, "range")


def test_jumps_that_do_not_fit(bystander: Any) -> None:
    @ti.kernel
    def leave():
        for i in bystander:
            if i > 3:
                break  # here

    @ti.kernel
    def give() -> int:
        for i in range(3):
            if i == 1:
                return i  # here
        return 0

    @ti.kernel
    def nothing() -> int:  # here
        pass

    @ti.kernel
    def undeclared():
        return 3  # here

    run_and_refuse(leave, ti.TaichiSyntaxError, "parallel")
    run_and_refuse(give, ti.TaichiSyntaxError, "parallel")
    with pytest.raises(ti.TaichiSyntaxError, match="does not have a return"):
        nothing()
    run_and_refuse(undeclared, ti.TaichiSyntaxError, "annotated")


def test_a_kernel_in_a_kernel() -> None:
    @ti.kernel
    def inner() -> int:
        return 1

    @ti.kernel
    def outer() -> int:
        return inner()  # here

    run_and_refuse(outer, ti.TaichiSyntaxError, "kernels cannot be called from kernels")
    assert inner() == 1


def test_recursion() -> None:
    @ti.func
    def again(n):
        return again(n - 1)

    @ti.kernel
    def run() -> int:
        return again(3)

    with pytest.raises(ti.TaichiCompilationError, match="calls itself"):
        run()


def test_python_faults_while_compiling() -> None:
    def broken(n: int) -> int:
        return {1: 2}[n]

    @ti.kernel
    def run() -> int:
        return broken(5)  # here

    text = run_and_refuse(run, ti.TaichiCompilationError, "KeyError: 5")
    assert "return {1: 2}[n]" in text


@pytest.mark.parametrize(
    "losses",
    [
        lambda: ti.field(ti.f64, shape=(2,), needs_grad=True),
        lambda: ti.field(ti.f64, shape=()),
        lambda: ti.Vector.field(2, ti.f64, shape=(), needs_grad=True),
        lambda: 3.0,
    ],
)
def test_losses_that_cannot_be_differentiated(losses: Any) -> None:
    with pytest.raises((RuntimeError, TypeError), match="loss"), ti.ad.Tape(losses()):
        pass


def test_options_that_do_not_exist() -> None:
    with pytest.raises(KeyError, match="no_such_option"):
        ti.init(no_such_option=1)
    with pytest.raises(ValueError, match="default_fp"):
        ti.init(default_fp=ti.i32)


def test_an_error_leaves_a_kernel_usable() -> None:
    @ti.kernel
    def run(n: ti.template()) -> int:
        if ti.static(n > 2):
            return undefined_name  # noqa: F821
        return n

    with pytest.raises(ti.TaichiNameError):
        run(3)
    assert run(1) == 1
    with pytest.raises(ti.TaichiNameError):
        run(3)


def test_assertions_cost_nothing_without_debug(bystander: Any) -> None:
    @ti.kernel
    def run(n: int) -> int:
        assert n < 0
        return n

    assert run(3) == 3


def test_an_uncaught_error_reads_like_pythons(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import mlirad as ti\n\nti.init()\n\n\n@ti.kernel\ndef run():\n    x = 1\n    x = y + "
        "1\n\n\nrun()\n"
    )
    result = subprocess.run([sys.executable, program], capture_output=True, text=True, check=False)
    assert result.returncode == 1
    lines = result.stderr.splitlines()
    assert lines[-3].endswith(f'{program}:9:9: Name "y" is not defined')
    assert [line.strip() for line in lines[-2:]] == ["x = y + 1", "^"]
    assert len(lines) < 20


def test_a_function_of_floats_counts_its_arguments(bystander: Any) -> None:
    x = ti.field(ti.f32, 2)

    @ti.kernel
    def run():
        x[0] = ti.sin(x[0], x[1])

    with pytest.raises(ti.TaichiTypeError, match="sin takes 1 argument, got 2"):
        run()
