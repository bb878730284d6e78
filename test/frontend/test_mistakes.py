"""What users get wrong, and what they are told: the place, the reason, the cure."""

from __future__ import annotations

import copy
import inspect
import linecache
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
    return subprocess.run(
        [sys.executable, *arguments], input=text, capture_output=True, text=True, check=False
    )


class TestBeforeInit:
    @pytest.mark.parametrize(
        "act",
        [
            lambda: ti.field(ti.f32, shape=3),
            lambda: ti.field(ti.f32),
            lambda: ti.Vector.field(2, ti.f32, shape=3),
            lambda: ti.ndarray(ti.f32, 3),
            lambda: ti.root.dense(ti.i, 3),
            lambda: ti.FieldsBuilder(),
            lambda: nothing(),
            lambda: nothing.grad(),
            lambda: nothing.ir(),
            lambda: ti.types.vector(2, float).field(shape=3),
            lambda: ti.ad.Tape(3.0).__enter__(),
            lambda: ti.ad.clear_all_gradients(),
        ],
    )
    def test_the_cure_is_named(self, act: Any) -> None:
        ti.reset()
        with pytest.raises(RuntimeError, match=r"ti\.init\(\) has not been called"):
            act()

    def test_what_belongs_to_an_ended_program_says_so(self) -> None:
        x = ti.field(ti.f64, shape=3)
        ti.reset()
        for act in (lambda: x.from_numpy(np.ones(3)), lambda: x[0], lambda: x.fill(1), x.to_numpy):
            with pytest.raises(
                ti.TaichiRuntimeError,
                match=r"'x' belongs to a program that ti.init\(\) or ti.reset\(\) ended",
            ):
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

    @pytest.mark.parametrize(
        "function, cure",
        [
            (math.sin, "ti.sin"),
            (np.sin, "ti.sin"),
            (math.sqrt, "ti.sqrt"),
            (np.exp, "ti.exp"),
            (np.arcsin, "ti.asin"),
            (np.abs, "ti.abs"),
            (math.fabs, "ti.abs"),
            (math.floor, "ti.floor"),
            (math.log2, "ti.log2"),
            (np.square, r"x \* x"),
            (math.gamma, "functions of ti"),
            (np.linalg.norm, r"x.norm\(\)"),
        ],
    )
    def test_of_a_value(self, function: Any, cure: str) -> None:
        x = ti.field(ti.f64, shape=4)

        @ti.kernel
        def run():
            for i in x:
                x[i] = function(x[i])  # here

        refused(
            run,
            ti.TaichiTypeError,
            f"{function.__name__} is called by Python while the kernel is compiled.*{cure}",
        )

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
        refused(field, ti.TaichiTypeError, r"np.max .* a loop over its elements, x\[i\]")

    @pytest.mark.parametrize(
        "function, name, cure",
        [
            (random.random, "random.random", r"ti\.random\(\)"),
            (random.Random(3).gauss, "random.gauss", r"ti\.randn\(\)"),
            (np.random.rand, "np.random.rand", r"ti\.random\(\)"),
            (np.random.randn, "np.random.randn", r"ti\.randn\(\)"),
            (np.random.default_rng(1).normal, "np.random.normal", r"ti\.randn\(\)"),
        ],
    )
    def test_random_numbers(self, function: Any, name: str, cure: str) -> None:
        x = ti.field(ti.f64, shape=4)

        @ti.kernel
        def run():
            for i in x:
                x[i] = function()  # here

        refused(
            run,
            ti.TaichiTypeError,
            f"{name} draws a single number, while the kernel is compiled: {cure}",
        )

    def test_of_integers_from_a_normal_distribution(self) -> None:
        @ti.kernel
        def run() -> ti.i32:
            return ti.randn(ti.i32)  # here

        refused(run, ti.TaichiTypeError, "ti.randn draws floats")

    @pytest.mark.parametrize("update", [ti.atomic_and, ti.atomic_or, ti.atomic_xor])
    def test_of_bits_in_atomics_on_floats(self, update: Any) -> None:
        x = ti.field(ti.f64, shape=4)

        @ti.kernel
        def run():
            update(x[0], 1)  # here

        refused(run, ti.TaichiTypeError, f"{update.__name__} updates integers: got f64")

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

        refused(variable, ti.TaichiNameError, "\"sped\" is not defined: did you mean 'speed'")
        refused(outer, ti.TaichiNameError, "did you mean 'random'")
        refused(function, ti.TaichiCompilationError, "no attribute 'sinn': did you mean 'sin'")
        refused(attribute, ti.TaichiCompilationError, "no attribute 'gard': did you mean 'grad'")
        refused(unlike, ti.TaichiNameError, '"qqq" is not defined\n')

    @pytest.mark.parametrize(
        "declare",
        [
            lambda **named: ti.field(ti.f64, 3, **named),
            lambda **named: ti.field(ti.types.vector(2, ti.f64), 3, **named),
            lambda **named: ti.Vector.field(2, ti.f64, 3, **named),
            lambda **named: ti.Matrix.field(2, 2, ti.f64, 3, **named),
            lambda **named: ti.ndarray(ti.f64, 3, **named),
            lambda **named: ti.Vector.ndarray(2, ti.f64, 3, **named),
            lambda **named: ti.Matrix.ndarray(2, 2, ti.f64, 3, **named),
            lambda **named: ti.types.vector(2, ti.f64).field(shape=3, **named),
        ],
    )
    def test_of_keywords(self, declare: Any) -> None:
        with pytest.raises(
            TypeError, match="has no keyword 'need_grad': did you mean 'needs_grad'"
        ):
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

    with pytest.raises(
        ti.TaichiCompilationError, match="calls itself: recursion is only supported"
    ) as caught:
        run()
    notes = caught.value.__notes__
    assert len(notes) == len(set(notes)) == 3


class TestLosses:
    """Numbers that do not fit where they are stored."""

    def test_of_fractions_in_kernels_warn_once_a_line(self) -> None:
        x, v = ti.field(ti.i32, shape=3), ti.Vector.field(2, ti.i32, shape=3)

        @ti.kernel
        def variable() -> int:
            t = 0
            t += 0.5  # here
            return t

        @ti.kernel
        def assigned(f: float) -> int:
            t = 0
            t = f  # here
            return t

        @ti.kernel
        def vector() -> int:
            w = ti.Vector([1, 2])
            w[0] = 2.5  # here
            return w[0]

        @ti.kernel
        def shared() -> int:
            t = 0
            for i in x:
                t += 0.5 * i  # here
            return t

        @ti.kernel
        def stored():
            for i in x:
                x[i] = 0.5 * i  # here

        @ti.kernel
        def added():
            for i in x:
                x[i] += 0.5  # here

        @ti.kernel
        def divided():
            for i in x:
                x[i] /= 2  # here

        @ti.kernel
        def components():
            for i in x:
                v[i] = ti.Vector([0.5, 1.5])  # here

        @ti.kernel
        def atomic():
            ti.atomic_max(x[0], 1.5)  # here

        for kernel, arguments in (
            (variable, ()),
            (assigned, (2.5,)),
            (vector, ()),
            (shared, ()),
            (stored, ()),
            (added, ()),
            (divided, ()),
            (components, ()),
            (atomic, ()),
        ):
            with pytest.warns(
                UserWarning, match=r"Assign may lose precision: i32 <- f64; ti.cast\(..., i32\)"
            ) as caught:
                kernel(*arguments)
            assert [f"{w.filename}:{w.lineno}:" for w in caught] == [here(kernel)]
            kernel(*arguments)

    def test_that_are_wanted_or_none_do_not_warn(self) -> None:
        x, y = ti.field(ti.i32, shape=3), ti.field(ti.f32, shape=3)

        @ti.kernel
        def run(f: float) -> int:
            t = 0
            t = int(f)
            t += ti.cast(f, ti.i32) + ti.floor(f, ti.i32)
            on = True
            on = f
            y[0] = f + 1 + on
            x[0] = t // 2
            s = 0.0
            s = t
            return t + int(s)

        assert run(2.5) == 12

    def test_of_a_result(self) -> None:
        @ti.func
        def half(x):
            if x < 0:
                return 0
            return x * 0.5

        @ti.func
        def declared(x) -> ti.i32:
            if x < 0:
                return 0
            return ti.cast(x, ti.i32)

        @ti.kernel
        def run(x: float) -> float:
            return half(x)

        @ti.kernel
        def whole(x: float) -> float:
            return declared(x)

        assert (run(3.0), run(-3.0)) == (1.5, 0.0)
        assert (whole(3.7), whole(-3.0)) == (3.0, 0.0)

    @pytest.mark.parametrize(
        "dtype, number",
        [
            (ti.u8, 256),
            (ti.u8, -1),
            (ti.i8, 128),
            (ti.i32, 1 << 31),
            (ti.i32, -(1 << 31) - 1),
            (ti.u32, 1 << 32),
            (ti.i64, 1 << 63),
            (ti.u64, -1),
        ],
    )
    def test_of_range(self, dtype: Any, number: int) -> None:
        x, a, v = ti.field(dtype, shape=3), ti.ndarray(dtype, 3), ti.Vector.field(2, dtype, shape=3)

        @ti.kernel
        def takes(n: dtype) -> dtype:
            return n

        @ti.kernel
        def takes_vector(n: ti.types.vector(2, dtype)) -> dtype:
            return n[0]

        array = np.array([0, 1, number], object if abs(number) >= 1 << 63 else np.int64)

        def assign(target: Any, key: Any) -> None:
            target[key] = number

        acts = [
            lambda: assign(x, 1),
            lambda: x.fill(number),
            lambda: v.fill(number),
            lambda: assign(v[1], 0),
            lambda: assign(v.get_scalar_field(0), 1),
        ]
        if array.dtype != object:
            acts += [
                lambda: x.from_numpy(array),
                lambda: v.from_numpy(np.stack([array, array], 1)),
                lambda: a.from_numpy(array),
                lambda: assign(a, 1),
                lambda: a.fill(number),
            ]
        message = f"{number} does not fit into (field '[xv]'|an ndarray) of type {dtype}"
        for act in acts:
            with pytest.raises(ti.TaichiRuntimeTypeError, match=message):
                act()
        message = f"kernel 'takes.*': Argument n: {number} does not fit into {dtype}"
        for kernel, argument in ((takes, number), (takes_vector, [0, number])):
            with pytest.raises(ti.TaichiRuntimeTypeError, match=message):
                kernel(argument)
        assert not x.to_numpy().any() and not v.to_numpy().any() and not a.to_numpy().any()
        nearest = number - 1 if number > 0 else number + 1
        x[0] = nearest
        assert takes(nearest) == x[0] == nearest

    def test_of_fractions_in_python_warn_at_the_line(self) -> None:
        x = ti.field(ti.i32, shape=3)
        with pytest.warns(
            UserWarning, match="field 'x' of type i32 stores 1 instead of 1.5"
        ) as caught:
            x[0] = 1.5  # here
        assert caught[0].filename == __file__
        x[1] = 3.0
        x[2] = True
        assert x.to_numpy().tolist() == [1, 3, 1]
        with pytest.raises(ti.TaichiRuntimeTypeError, match="nan does not fit"):
            x[0] = float("nan")


@pytest.mark.parametrize(
    "arguments, message",
    [
        (("1", 2.0, np.zeros(2)), "Argument a"),
        ((1.5, 2.0, np.zeros(2)), "Argument a"),
        ((1, None, np.zeros(2)), "Argument b"),
        ((1, 2.0, [1, 2]), "Argument c|argument c"),
        ((1, 2.0, np.zeros((2, 2))), "argument c"),
    ],
)
def test_wrong_arguments_name_the_kernel(arguments: Any, message: str) -> None:
    @ti.kernel
    def three(a: ti.i32, b: ti.f64, c: ti.types.ndarray(dtype=ti.f64, ndim=1)) -> ti.f64:
        return a + b + c[0]

    with pytest.raises(ti.TaichiRuntimeTypeError, match=f"kernel 'three': .*({message})"):
        three(*arguments)


class TestNames:
    """Messages name a field by its variable."""

    def test_of_fields_in_every_kind_of_assignment(self) -> None:
        a, b = ti.field(ti.f64, shape=3), ti.Vector.field(2, ti.f64, shape=3)
        holder = type("Holder", (), {})()
        holder.c, holder._d = ti.field(ti.f64, 3), ti.types.vector(2, ti.f64).field(shape=3)
        table = {"e": ti.field(ti.f64, 3)}
        table["f"] = ti.field(ti.f64, 3)
        g: Any = ti.field(ti.f64, 3); h = ti.field(ti.f64, 3)  # fmt: skip  # noqa: E702
        i = j = ti.field(ti.f64, 3)
        assert i is j
        fields = [a, b, holder.c, holder._d, *table.values(), g, h, i]
        for field, name in zip(fields, ["a", "b", "c", "_d", "e", "f", "g", "h", "i"], strict=True):
            with pytest.raises(
                IndexError, match=f"index 3 is out of bounds for field '{name}' of shape"
            ):
                field[3]
        many = [ti.field(ti.f64, 3) for _ in range(3)]
        with pytest.raises(IndexError, match="field 'many_2'"):
            many[2][4]

    def test_of_a_field_that_no_assignment_names(self) -> None:
        def make() -> Any:
            return ti.field(ti.f64, 3)

        mass = make()

        @ti.kernel
        def run():
            mass[0, 1] = 2.0  # here

        refused(run, ti.TaichiIndexError, "mass has 1 index axis, but is accessed with 2 indices")


class TestOuterNames:
    """What a kernel sees of the program around it is part of the compiled code."""

    def test_assigning_to_a_global_is_refused(self) -> None:
        @ti.kernel
        def declared():
            global rate  # here
            rate = 2.0

        @ti.kernel
        def updated():
            rate += 1.0  # noqa: F823, F841 # here

        @ti.kernel
        def read_before() -> float:
            rate = rate * 0.5  # noqa: F823 # here
            return rate

        @ti.kernel
        def under_a_condition(n: int) -> float:
            if n > 3:
                rate = 2.0
            return rate  # here

        refused(
            declared,
            ti.TaichiSyntaxError,
            r"'rate' is a constant of the compiled kernel, .* field \(rate\[None\] = ...\)",
        )
        for kernel, arguments in ((updated, ()), (read_before, ()), (under_a_condition, (1,))):
            refused(
                kernel,
                ti.TaichiNameError,
                "'rate' is assigned in .*, so it is a local variable there",
                *arguments,
            )

    def test_locals_may_have_names_of_globals(self) -> None:
        @ti.kernel
        def run(n: int) -> float:
            rate = 2.0
            for program in range(n):
                rate += program
            return rate + sum([2.0 * here for here in (0.5, 1.0)])

        @ti.kernel
        def in_a_loop() -> float:
            for _ in range(3):
                rate = ti.Vector([2.0, 1.0])
                total[None] += rate.dot(rate)
            return total[None]

        total = ti.field(ti.f64, ())
        assert run(3) == 8.0
        assert in_a_loop() == 15.0

    def test_an_attribute_that_changed_warns_at_the_next_launch(self) -> None:
        @ti.data_oriented
        class Model:
            gravity = 9.5

            def __init__(self) -> None:
                self.step, self.count = 0.5, 2
                self.now, self.then = ti.field(ti.f64, 3), ti.field(ti.f64, 3)

            @ti.func
            def change(self):
                return self.step * self.gravity

            @ti.kernel
            def run(self, n: int):
                for i in self.now:
                    self.now[i] += self.change() + n * self.count

        first, second = Model(), Model()
        first.run(1)
        second.run(1)
        first.step, first.count = 0.5, 2
        first.run(1)
        ready = first.run._ready
        assert ready is not None
        first.then = ti.field(ti.f64, 3)
        assert first.run._ready is ready

        def warns(message: str) -> None:
            with pytest.warns(UserWarning, match=message) as caught:
                first.run(1)
            assert [w.filename for w in caught] == [__file__]
            first.run(1)
            assert first.run._ready is not None

        first.step = 0.25
        warns(
            "kernel 'run' was compiled for Model.step = 0.5 and uses that value, but it is now "
            "0.25: pass the value"
        )
        first.step = 0.125
        first.run(1)
        first.gravity = 1.0
        warns("Model.gravity = 9.5")
        first.now, first.then = first.then, first.now
        warns("Model.now = .*'now'.* but it is now .*'then")
        first.count = 3
        first.count = 2
        first.run(1)
        second.run(1)

    def test_an_attribute_of_another_program_does_not_warn(self) -> None:
        class Model:
            def __init__(self) -> None:
                self.step = 0.5

            @ti.kernel
            def run(self) -> float:
                return self.step

        model = Model()
        assert model.run() == 0.5
        ti.init()
        model.step = 0.25
        assert model.run() == 0.25


rate = 1.0


class TestFieldsAsObjects:
    """What Python does to objects and fields do not allow."""

    def test_indices(self) -> None:
        x, a = ti.field(ti.f64, shape=3), ti.ndarray(ti.f64, 3)
        for array in (x, a):
            with pytest.raises(
                TypeError, match=r"an index must be an integer, not 1.5 \(a float\)"
            ):
                array[1.5]
            with pytest.raises(TypeError, match="an index must be an integer, not '1'"):
                array["1"] = 2.0

    def test_truth_and_length(self) -> None:
        x, z, a = ti.field(ti.f64, shape=3), ti.field(ti.f64, shape=()), ti.ndarray(ti.f64, 3)
        with pytest.raises(
            TypeError, match="no truth value: 'x is None' tests whether there is a field"
        ):
            bool(x)
        with pytest.raises(TypeError, match=r"z\[None\] is an element"):
            assert not z
        with pytest.raises(TypeError, match="'a is None' tests"):
            bool(a)
        with pytest.raises(TypeError, match="'z' has no axes and therefore no length"):
            len(z)
        assert len(x) == len(a) == 3

    @pytest.mark.parametrize("act", [copy.copy, copy.deepcopy, lambda x: copy.deepcopy({"x": [x]})])
    def test_copies(self, act: Any) -> None:
        x, a = ti.field(ti.f64, shape=3), ti.ndarray(ti.f64, 3)
        with pytest.raises(
            TypeError,
            match=r"field 'x' belongs to a running program.* x.to_numpy\(\), .* from_numpy",
        ):
            act(x)
        if act is copy.copy:
            with pytest.raises(
                TypeError,
                match=r"an ndarray belongs to a running program.* a.to_numpy\(\), .* from_numpy",
            ):
                act(a)


PROGRAM = """import mlirad as ti
ti.init()
x = ti.field(ti.f32, 3)
@ti.kernel
def run():
    for i in x:
        x[i] = {value}
run()
print(x)
"""


class TestSourceText:
    """Kernels are compiled from their text, wherever Python keeps it."""

    def test_of_a_cell(self) -> None:
        name, text = "<ipython-input-7-0123456789ab>", PROGRAM.format(value="yy")
        linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
        try:
            with pytest.raises(ti.TaichiNameError) as caught:
                exec(compile(text, name, "exec"), {})
        finally:
            del linecache.cache[name]
        assert str(caught.value).splitlines() == [
            f'{name}:7:16: Name "yy" is not defined',
            "    x[i] = yy",
            "           ^",
        ]

    @pytest.mark.parametrize("flag", ["-c", "-Bc"])
    def test_of_the_command_line(self, flag: str) -> None:
        assert run_python(flag, PROGRAM.format(value="2.0")).stdout == "[2. 2. 2.]\n"
        lines = run_python(flag, PROGRAM.format(value="yy")).stderr.splitlines()
        assert lines[-3].endswith('<string>:7:16: Name "yy" is not defined')
        assert [line.strip() for line in lines[-2:]] == ["x[i] = yy", "^"]

    def test_that_nobody_keeps(self) -> None:
        cure = (
            "a kernel is compiled from its source text. Put it in a file, and run or import the "
            "file"
        )
        by_stdin = run_python(text=PROGRAM.format(value="2.0")).stderr.splitlines()[-1]
        assert (
            "comes from standard input or an interactive prompt" in by_stdin
            and by_stdin.endswith(cure)
        )
        same = "import mlirad as ti\nti.init()\n@ti.kernel\ndef run():\n    a = 1\nrun()\n"
        by_exec = run_python(
            "-c", f"{same}exec({same!r}.replace('= 1', '= 2'))"
        ).stderr.splitlines()[-1]
        assert "comes from exec() or eval()" in by_exec and by_exec.endswith(cure)


class TestGradients:
    """What fields, ndarrays, kernels and functions are told that have no such attribute."""

    @pytest.mark.parametrize("name", ["grad", "dual"])
    @pytest.mark.parametrize(
        ("declare", "description"),
        [
            (lambda: ti.field(ti.f64, 3, name="x", needs_grad=True), "field 'x'"),
            (lambda: ti.Vector.field(2, ti.f64, 3, name="x", needs_grad=True), "field 'x'"),
            (lambda: ti.ndarray(ti.f64, 3, needs_grad=True), "an ndarray"),
            (
                lambda: ti.Struct.field({"a": ti.f64}, shape=3, needs_grad=True),
                "struct field 'field'",
            ),
        ],
    )
    def test_are_memory_that_is_not_replaced(
        self, name: str, declare: Any, description: str
    ) -> None:
        x = declare()
        before = getattr(x, name)
        with pytest.raises(AttributeError) as caught:
            setattr(x, name, 3)
        text = str(caught.value)
        noun = {"grad": "gradient", "dual": "dual"}[name]
        assert text.startswith(f"x.{name} = y: the {noun} of {description} is memory")
        assert f"x.{name}.fill(0)" in text and f"x.{name}.copy_from(y)" in text
        assert getattr(x, name) is before

    def test_of_components_are_not_replaced(self) -> None:
        x = ti.Vector.field(2, ti.f64, 3, name="x", needs_grad=True)
        with pytest.raises(AttributeError, match=r"gradient of component \(0,\) of field 'x' is"):
            x.get_scalar_field(0).grad = 3
        y = ti.Vector.field(2, ti.f64, name="y", needs_grad=True)
        ti.root.dense(ti.i, 3).place(y.get_scalar_field(0), y.get_scalar_field(1))
        for name in ("grad", "dual"):
            with pytest.raises(AttributeError, match=f"^y?x?.{name} = y: .* of field 'y' is mem"):
                setattr(y, name, 3)

    @pytest.mark.parametrize("name", ["needs_grad", "requires_grad"])
    def test_are_declared(self, name: str) -> None:
        for x in (ti.field(ti.f64, 3), ti.ndarray(ti.f64, 3)):
            with pytest.raises(AttributeError, match="declare it with needs_grad=True"):
                setattr(x, name, True)
            assert not hasattr(x, name)

    @pytest.mark.parametrize(
        ("name", "cure"),
        [
            ("backward", "with ti.ad.Tape(loss):.*grad(...) with the same arguments"),
            ("gradient", "with ti.ad.Tape(loss):.*grad(...) with the same arguments"),
            ("forward", "with ti.ad.FwdMode(loss, x):"),
            ("jvp", "ti.ad.value_and_grad(run, inputs=..., output=...)"),
            ("zero_grad", "x.grad.fill(0)"),
            ("run", "call it with its arguments"),
            ("explian", "did you mean 'explain'"),
        ],
    )
    def test_of_kernels(self, name: str, cure: str) -> None:
        @ti.kernel
        def step():
            pass

        @ti.data_oriented
        class Simulator:
            @ti.kernel
            def step(self):
                pass

        for kernel in (step, Simulator().step):
            with pytest.raises(AttributeError) as caught:
                getattr(kernel, name)
            assert f"kernel 'step' has no attribute '{name}': " in str(caught.value)
            assert all(part in str(caught.value) for part in cure.split(".*"))
        assert not hasattr(step, "anything") and copy.copy(step).__name__ == "step"

    def test_of_kernels_are_not_replaced(self) -> None:
        @ti.kernel
        def step():
            pass

        with pytest.raises(AttributeError, match=r"'step' cannot be replaced: ti\.ad\.grad_rep"):
            step.grad = step  # type: ignore
        step.grad()

    def test_of_kernels_are_not_arrays(self) -> None:
        @ti.kernel
        def step():
            pass

        message = (
            r"^step\.grad is not an array: step\.grad\(\.\.\.\), with the arguments of the launch"
        )
        with pytest.raises(TypeError, match=message):
            step.grad[0]  # type: ignore
        with pytest.raises(TypeError, match=message):
            step.grad[0] = 1.0  # type: ignore
        with pytest.raises(AttributeError, match=message):
            step.grad.fill(0)  # type: ignore
        assert not hasattr(step.grad, "to_numpy") and inspect.isfunction(type(step).grad)
        assert copy.copy(step).grad.args != step.grad.args  # each runs its own reverse

    @pytest.mark.parametrize("name", ["backward", "grad"])
    def test_of_functions(self, name: str) -> None:
        @ti.func
        def square(x):
            return x * x

        with pytest.raises(AttributeError, match=rf"no attribute '{name}': ti.ad.grad\(f\) and"):
            getattr(square, name)
        with pytest.raises(AttributeError, match=r"^a @ti\.func has no attribute 'speed'$"):
            square.speed  # noqa: B018


def test_dir_shows_what_is_public() -> None:
    shown = set(dir(ti))
    assert {
        "field",
        "kernel",
        "func",
        "init",
        "Vector",
        "Matrix",
        "sin",
        "f32",
        "ijk",
        "ad",
        "math",
        "types",
        "root",
    } <= shown
    internal = {
        "bindings",
        "dialect",
        "errors",
        "examples",
        "frontend",
        "lang",
        "passes",
        "pipeline",
        "runtime",
        "NAMED_AXES",
    }
    assert not internal & shown
    assert not [name for name in shown if name.startswith("_") and not name.startswith("__")]
    assert set(ti.__all__) == {name for name in shown if not name.startswith("_")}
    assert not [name for name in ti.__all__ if not hasattr(ti, name)]


class TestConstantIndices:
    def test_one_behind_the_last(self) -> None:
        x = ti.field(ti.f64, (3, 4))

        @ti.kernel
        def k() -> None:
            for i in range(3):
                x[i, 4] = 1.0  # here

        refused(
            k, ti.TaichiIndexError, r"index 4 is out of range: axis 1 of 'x' has the indices 0 to 3"
        )

    def test_read_in_a_function(self) -> None:
        x = ti.Vector.field(2, ti.f64, 5)

        @ti.func
        def read():
            return x[7].x

        @ti.kernel
        def k() -> ti.f64:
            return read()

        with pytest.raises(ti.TaichiIndexError, match="index 7 is out of range: axis 0 of 'x'"):
            k()

    @pytest.mark.parametrize("index", [-3, 3])
    def test_with_an_offset(self, index: int) -> None:
        x = ti.field(ti.f64, 5, offset=-2)

        @ti.kernel
        def k() -> None:
            x[index] = 1.0  # here

        refused(k, ti.TaichiIndexError, f"index {index} is out of range: .* the indices -2 to 2")

    def test_a_branch_may_never_run(self) -> None:
        x = ti.field(ti.f64, 3)

        @ti.kernel
        def k(n: ti.i32) -> ti.f64:
            s = x[2]
            if n > 3:
                s += x[3]
            s += x[4] if n > 4 else 1.0
            return s

        x[2] = 1.0
        assert k(3) == 2.0


class TestTexts:
    def test_str(self) -> None:
        x = ti.field(ti.f64, 3)

        @ti.kernel
        def k() -> None:
            print("x: " + str(x[0]))  # here

        refused(k, ti.TaichiTypeError, r"str\(\) of a number that a launch computes: print")

    def test_dictionary(self, capfd: pytest.CaptureFixture[str]) -> None:
        x = ti.field(ti.i32, 3)

        @ti.kernel
        def k() -> None:
            print({"a": x[0], 2: [x[1]]})

        x[1] = 5
        k()
        ti.sync()
        assert capfd.readouterr().out == "{'a': 0, 2: [5]}\n"


def test_a_list_is_not_repeated_at_run_time() -> None:
    x = ti.field(ti.f64, 3)

    @ti.kernel
    def k(n: ti.i32) -> None:
        x[0] = ti.Vector([1.0] * n)[0]  # here

    refused(k, ti.TaichiTypeError, "a list is repeated by a number that is known at run time", 3)


@pytest.mark.parametrize("write", ["from_numpy", "all"])
def test_a_fraction_is_lost_with_a_warning(write: str) -> None:
    n = ti.field(ti.i32, 3)
    with pytest.warns(UserWarning, match=r"stores 1 instead of 1.5: use int\(\.\.\.\)"):
        if write == "all":
            n[:] = [1.5, 2.0, 3.0]
        else:
            n.from_numpy(np.array([1.5, 2.0, 3.0]))
    assert n.to_numpy().tolist() == [1, 2, 3]


class TestGradientsInsideTapes:
    """Gradients are 0 until the block of the tape ends."""

    @pytest.fixture
    def fields(self) -> tuple[Any, Any]:
        x = ti.field(ti.f64, 3, needs_grad=True)
        x.fill(1.0)
        return x, ti.field(ti.f64, (), needs_grad=True)

    @pytest.mark.parametrize("is_before", [False, True])
    def test_a_step_in_a_kernel(self, fields: tuple[Any, Any], is_before: bool) -> None:
        x, loss = fields

        @ti.kernel
        def measure() -> None:
            for i in x:
                loss[None] += x[i] ** 2

        @ti.kernel
        def step() -> None:
            for i in x:
                x[i] -= 0.1 * x.grad[i]

        with ti.ad.Tape(loss):
            measure()
        message = "reads 'x.grad' in a tape, which set it to 0 .* after the `with` block"
        with pytest.raises(ti.TaichiRuntimeError, match=message), ti.ad.Tape(loss):
            if is_before:
                step()
            measure()
            step()
        with ti.ad.Tape(loss):
            measure()
        step()
        assert x.to_numpy().tolist() == [0.8] * 3

    @pytest.mark.parametrize("read", ["to_numpy", "element", "vector"])
    def test_a_read_in_python(self, fields: tuple[Any, Any], read: str) -> None:
        x, loss = fields
        v = ti.Vector.field(2, ti.f64, (), needs_grad=True)

        @ti.kernel
        def measure() -> None:
            loss[None] = x[0] + v[None].x

        with (
            pytest.warns(UserWarning, match=r"\.grad' is read .* 0 here, so read it after"),
            ti.ad.Tape(loss),
        ):
            measure()
            if read == "vector":
                assert (2.0 * v.grad[None]).to_list() == [0.0, 0.0]
            else:
                assert (x.grad.to_numpy()[0] if read == "to_numpy" else x.grad[0] + 0.0) == 0.0
        assert (x.grad[0], v.grad[None].x) == (1.0, 1.0)

    def test_no_seeds(self, fields: tuple[Any, Any]) -> None:
        x, loss = fields

        @ti.kernel
        def measure() -> None:
            loss[None] = x[0] ** 2

        with ti.ad.Tape() as tape:
            measure()
        with pytest.warns(UserWarning, match=r"all of these are 0: pass the adjoints"):
            tape.grad()
        tape.grad({loss: 1.0})
        assert x.grad[0] == 2.0


class TestWhatDependsOnNothing:
    """Gradients that are 0 because the program does not use its input."""

    def test_check(self, capsys: pytest.CaptureFixture[str]) -> None:
        x = ti.field(ti.f64, 3, needs_grad=True)
        y = ti.field(ti.f64, 3, needs_grad=True)
        loss = ti.field(ti.f64, (), needs_grad=True)

        @ti.kernel
        def k() -> None:
            for i in y:
                loss[None] += (y[i] + 1) ** 2

        with pytest.warns(UserWarning, match="the loss does not depend on 'x' here"):
            ti.ad.check(loss, [x, y], k)
        assert "agrees" in capsys.readouterr().out

    def test_program(self) -> None:
        x = ti.field(ti.f64, 3, needs_grad=True)
        y = ti.field(ti.f64, (), needs_grad=True)
        loss = ti.field(ti.f64, (), needs_grad=True)

        @ti.kernel
        def k() -> None:
            for i in x:
                loss[None] += (x[i] - 3) ** 2

        def fills() -> None:
            x.fill(1.0)
            k()

        with pytest.warns(UserWarning, match="writes to its output, field 'y'"):
            ti.ad.program(k, inputs=x, output=y).scipy().value_and_grad(np.ones(3))
        with pytest.warns(UserWarning, match="sets its input, field 'x', in Python"):
            ti.ad.program(fills, inputs=x, output=loss).scipy().value_and_grad(np.ones(3))


def test_a_tensor_function_is_not_called_in_a_kernel() -> None:
    x, y = ti.field(ti.f64, 3), ti.field(ti.f64, 3)
    a = ti.te.placeholder((3,), ti.f64)
    double = ti.te.build(ti.te.compute((3,), lambda i: a[i] * 2), [a])

    @ti.kernel
    def k() -> None:
        double(x, out=y)  # here

    refused(k, ti.TaichiTypeError, "is called by Python here, once, .* call it between launches")


def test_a_large_vector_warns() -> None:
    y = ti.field(ti.f64, ())

    @ti.kernel
    def k() -> None:
        a = ti.Vector.zero(ti.f64, 401)
        a[400] = 2.0
        y[None] = a[400]

    with pytest.warns(UserWarning, match="401 entries is unrolled .* keep this many in a field"):
        k()


def test_a_number_of_a_launch_is_printed_as_its_type(capsys: pytest.CaptureFixture[str]) -> None:
    x = ti.field(ti.f64, 3)

    @ti.kernel
    def k() -> None:
        ti.static_print("x", x[1], [x[0], 2])

    k()
    assert capsys.readouterr().out == "x <f64 at run time> [<f64 at run time>, 2]\n"
