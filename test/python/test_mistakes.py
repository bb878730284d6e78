"""What users get wrong, and what they are told: the place, the reason, the cure."""
from __future__ import annotations

import math
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mlirad as ti

HERE = Path(__file__)


@pytest.fixture(autouse=True)
def program() -> Iterator[None]:
    ti.init(default_fp=ti.f64, cpu_max_num_threads=2)
    yield
    ti.reset()


def here(function: Any, mark: str = "# here") -> str:
    """The place that a message gives for the marked line of a function, without the column."""
    lines = HERE.read_text().splitlines()
    start = getattr(function, "function", function).__code__.co_firstlineno
    return f"{HERE}:{next(k + 1 for k in range(start - 1, len(lines)) if lines[k].endswith(mark))}:"


def refused(kernel: Any, error: type[Exception], message: str, *arguments: Any) -> None:
    with pytest.raises(error, match=message) as caught:
        kernel(*arguments)
    assert str(caught.value).startswith(here(kernel))
    assert str(caught.value).splitlines()[-1].strip() == "^"


def run_python(*arguments: str, text: str | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *arguments], input=text, capture_output=True, text=True, check=False)


class TestBeforeInit:
    @pytest.mark.parametrize("act", [
        lambda: ti.field(ti.f32, shape=3), lambda: ti.field(ti.f32), lambda: ti.Vector.field(2, ti.f32, shape=3),
        lambda: ti.ndarray(ti.f32, 3), lambda: ti.root.dense(ti.i, 3), lambda: ti.FieldsBuilder(), lambda: nothing(),
        lambda: nothing.grad(), lambda: nothing.ir(), lambda: ti.types.vector(2, float).field(shape=3),
        lambda: ti.ad.Tape(3.0).__enter__(), lambda: ti.ad.clear_all_gradients()])
    def test_the_cure_is_named(self, act: Any) -> None:
        ti.reset()
        with pytest.raises(RuntimeError, match=r"ti\.init\(\) has not been called"):
            act()

    def test_what_belongs_to_an_ended_program_says_so(self) -> None:
        x = ti.field(ti.f64, shape=3)
        ti.reset()
        for act in (lambda: x.from_numpy(np.ones(3)), lambda: x[0], lambda: x.fill(1), x.to_numpy):
            with pytest.raises(ti.TaichiRuntimeError, match=r"'x' belongs to a program that ti.init\(\) or ti.reset\(\) ended"):
                act()

    def test_a_program_that_never_starts(self) -> None:
        for line in ("x.dense(ti.i, 3)", "ti.field(ti.f32, 3)"):
            result = run_python("-c", f"import mlirad as ti\nx = ti.root\n{line}")
            assert "ti.init() has not been called" in result.stderr.splitlines()[-1]


@ti.kernel
def nothing():
    pass


class TestCounterparts:
    """Functions of Python that cannot see values of a kernel."""

    @pytest.mark.parametrize("function, cure", [
        (math.sin, "ti.sin"), (np.sin, "ti.sin"), (math.sqrt, "ti.sqrt"), (np.exp, "ti.exp"), (np.arcsin, "ti.asin"),
        (np.abs, "ti.abs"), (math.fabs, "ti.abs"), (math.floor, "ti.floor"), (math.log2, "ti.math.log2"),
        (np.square, r"x \* x"),
        (math.gamma, "ti's functions"), (np.linalg.norm, r"x.norm\(\)")])
    def test_of_a_value(self, function: Any, cure: str) -> None:
        x = ti.field(ti.f64, shape=4)

        @ti.kernel
        def run():
            for i in x:
                x[i] = function(x[i])  # here

        refused(run, ti.TaichiTypeError, f"{function.__name__} is computed by Python, while compiling.*{cure}")

    def test_of_two_values_of_a_vector_and_of_a_field(self) -> None:
        x = ti.field(ti.f64, shape=4)

        @ti.kernel
        def two():
            x[0] = math.atan2(1.0, x[1])  # here

        @ti.kernel
        def vector():
            x[0] = np.sum(ti.Vector([x[1], 2.0]))  # here

        @ti.kernel
        def field():
            x[0] = np.max(x)  # here

        refused(two, ti.TaichiTypeError, "math.atan2 .* use ti.atan2")
        refused(vector, ti.TaichiTypeError, r"np.sum .* use x.sum\(\)")
        refused(field, ti.TaichiTypeError, "np.max .* use ti.max")

    @pytest.mark.parametrize("function, name, cure", [
        (random.random, "random.random", r"ti\.random\(\)"), (random.Random(3).gauss, "random.gauss", r"ti\.randn\(\)"),
        (np.random.rand, "np.random.rand", r"ti\.random\(\)"), (np.random.randn, "np.random.randn", r"ti\.randn\(\)"),
        (np.random.default_rng(1).normal, "np.random.normal", r"ti\.randn\(\)")])
    def test_random_numbers(self, function: Any, name: str, cure: str) -> None:
        x = ti.field(ti.f64, shape=4)

        @ti.kernel
        def run():
            for i in x:
                x[i] = function()  # here

        refused(run, ti.TaichiTypeError, f"{name} draws once, while compiling: {cure}")

    def test_on_what_is_known_while_compiling(self) -> None:
        @ti.kernel
        def run() -> ti.f64:
            return math.sqrt(4.0) + np.sin(0.0) + math.pi + ti.static(random.random())

        assert 5 < run() - 0.14159 < 6.01


class TestSpelling:
    def test_of_names_and_attributes(self) -> None:
        x = ti.field(ti.f64, shape=4, needs_grad=True)

        @ti.kernel
        def variable():
            speed = x[0]
            x[1] = sped + speed  # noqa: F821 # here

        @ti.kernel
        def outer():
            x[1] = rndom.random()  # noqa: F821 # here

        @ti.kernel
        def function():
            x[1] = ti.sinn(x[0])  # here

        @ti.kernel
        def attribute():
            x[1] = x.gard[0]  # here

        @ti.kernel
        def unlike():
            x[1] = qqq  # noqa: F821 # here

        refused(variable, ti.TaichiNameError, '"sped" is not defined: did you mean \'speed\'')
        refused(outer, ti.TaichiNameError, "did you mean 'random'")
        refused(function, ti.TaichiCompilationError, "no attribute 'sinn': did you mean 'sin'")
        refused(attribute, ti.TaichiCompilationError, "no attribute 'gard': did you mean 'grad'")
        refused(unlike, ti.TaichiNameError, '"qqq" is not defined\n')

    @pytest.mark.parametrize("declare", [
        lambda **named: ti.field(ti.f64, 3, **named), lambda **named: ti.field(ti.types.vector(2, ti.f64), 3, **named),
        lambda **named: ti.Vector.field(2, ti.f64, 3, **named), lambda **named: ti.Matrix.field(2, 2, ti.f64, 3, **named),
        lambda **named: ti.ndarray(ti.f64, 3, **named), lambda **named: ti.Vector.ndarray(2, ti.f64, 3, **named),
        lambda **named: ti.Matrix.ndarray(2, 2, ti.f64, 3, **named),
        lambda **named: ti.types.vector(2, ti.f64).field(shape=3, **named)])
    def test_of_keywords(self, declare: Any) -> None:
        with pytest.raises(TypeError, match="has no keyword 'need_grad': did you mean 'needs_grad'"):
            declare(need_grad=True)
        assert declare(needs_grad=True).grad is not None

    def test_of_options(self) -> None:
        with pytest.raises(KeyError, match="default_fpp: did you mean 'default_fp'"):
            ti.init(default_fpp=ti.f64)


def test_a_recursion_names_each_place_once() -> None:
    @ti.func
    def odd(n):
        return even(n - 1)

    @ti.func
    def even(n):
        return odd(n - 1)

    @ti.kernel
    def run() -> int:
        return odd(3)

    with pytest.raises(ti.TaichiCompilationError, match="calls itself: recursion is not supported") as caught:
        run()
    notes = caught.value.__notes__
    assert len(notes) == len(set(notes)) == 3
