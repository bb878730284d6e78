"""Every entry of the table of derivatives against finite differences, and the choices where no
derivative exists."""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

import mlirad as ti
from mlirad.analysis.rules.table import RULES
from mlirad.bindings import ir
from mlirad.dialect import context
from mlirad.frontend.python.values import functions
from mlirad.ir.elementary.function import NOWHERE
from mlirad.ir.elementary.table import FUNCTIONS
from mlirad.ir.walk import operations
from mlirad.kernel.arguments import NdarrayArgument
from mlirad.kernel.module import KernelModule
from mlirad.lang.arguments.array_buffer import array_buffer
from mlirad.lang.math import functions as mathematics
from mlirad.pipeline.mode import PRIMAL, REVERSE
from mlirad.runtime.kernels.variant import Variant
from mlirad.runtime.program import program

POINTS = np.array([-2.3, -1.4, -0.6, -0.21, 0.17, 0.45, 0.92, 1.35, 2.6])
POSITIVE = POINTS[POINTS > 0]
DOMAINS = {
    **{
        op: [POINTS[(row.domain[0] <= POINTS) & (row.domain[1] >= POINTS)]]
        for op, row in FUNCTIONS.items()
        if row.arity == 1 and row.domain != NOWHERE
    },
    "math.powf": [POSITIVE, POINTS],
}
DETACHED = {"grad.detach"}  # has no derivative because the program says so
ARITY = {name: len(terms) for name, terms in RULES.items()}
CONVERSIONS = {"arith.extf": ("f32", "f64"), "arith.truncf": ("f64", "f32")}
STEP = 2.0**-13


class TableEntry:
    """One op, applied to every element of its operands, primal and reverse."""

    def __init__(self, name: str, source: str, target: str) -> None:
        ti.init(default_fp=ti.f64)
        inputs = [
            f"%x{k}: !field.array<{source}, [-1]> {{field.needs_grad}}" for k in range(ARITY[name])
        ]
        loads = [
            f'%v{k} = "field.load"(%x{k}, %i) : (!field.array<{source}, [-1]>, index) -> {source}'
            for k in range(ARITY[name])
        ]
        operands, types = [f"%v{k}" for k in range(ARITY[name])], [source] * ARITY[name]
        if name == "arith.select":
            loads.append(
                f"%zero = arith.constant 0.0 : {source}\n%test = arith.cmpf ogt, %v0, %zero : "
                f"{source}"
            )
            operands[0], types[0] = "%test", "i1"
        inputs.append(f"%y: !field.array<{target}, [-1]> {{field.needs_grad}}")
        inputs = [labelled(number, text) for number, text in enumerate(inputs)]
        text = f"""
            func.func @entry({", ".join(inputs)}) {{
              %c0 = arith.constant 0 : index
              %c1 = arith.constant 1 : index
              %n = "field.dim"(%y) {{axis = 0 : i64}} : (!field.array<{target}, [-1]>) -> index
              scf.parallel (%i) = (%c0) to (%n) step (%c1) {{
                {chr(10).join(loads)}
                %r = "{name}"({", ".join(operands)}) : ({", ".join(types)}) -> {target}
                "field.store"(%r, %y, %i) : ({target}, !field.array<{target}, [-1]>, index) -> ()
                scf.reduce
              }}
              return
            }}"""
        dtypes = {"f32": ti.f32, "f64": ti.f64}
        arrays = [
            NdarrayArgument(dtypes[t], 1, (), True) for t in [source] * ARITY[name] + [target]
        ]
        self.dtypes = [array.dtype.numpy for array in arrays]
        with context():
            module = ir.Module.parse(text)
        self.variant = Variant(
            KernelModule(module, "entry", False, (), None, tuple(arrays)), program(), ()
        )

    def values(self, points: list[np.ndarray]) -> np.ndarray:
        """The op at some points."""
        arrays = [p.astype(t) for p, t in zip([*points, points[0]], self.dtypes)]
        self.variant.codes.code(PRIMAL).launch([], [array_buffer(a, "", False) for a in arrays])
        return arrays[-1]

    def gradients(self, points: list[np.ndarray]) -> list[np.ndarray]:
        """The derivatives in every operand."""
        arrays = [p.astype(t) for p, t in zip([*points, points[0]], self.dtypes)]
        adjoints = [np.zeros(len(a), a.dtype) for a in arrays]
        adjoints[-1][:] = 1
        buffers = [array_buffer(a, "", False) for a in arrays]
        gradients = [array_buffer(a, "", False) for a in adjoints]
        passed = [replace(one, grad=own) for one, own in zip(buffers, gradients)]
        self.variant.codes.code(REVERSE).launch([], passed)
        return adjoints[:-1]


def labelled(number: int, parameter: str) -> str:
    """A parameter of a function, as text, with its label."""
    name, _, rest = parameter.partition(" {")
    attributes = f"field.argument = {number}" + (f", {rest[:-1]}" if rest else "")
    return f"{name} {{{attributes}}}"


def points_of(name: str) -> list[np.ndarray]:
    """All combinations of points of the op's domain."""
    given = DOMAINS.get(name, [])
    axes = [given[k] if k < len(given) else POINTS + 0.031 * k for k in range(ARITY[name])]
    return [np.ascontiguousarray(axis) for axis in np.array(list(itertools.product(*axes))).T]


def differences(entry: TableEntry, points: list[np.ndarray], position: int) -> np.ndarray:
    """Derivatives in one operand by differences of the fourth order."""

    def at(h: float) -> np.ndarray:
        return entry.values([p + h * (k == position) for k, p in enumerate(points)])

    return (8 * (at(STEP) - at(-STEP)) - (at(2 * STEP) - at(-2 * STEP))) / (12 * STEP)


@pytest.mark.parametrize("name", sorted(set(RULES) - set(CONVERSIONS) - DETACHED))
def test_entry(name: str) -> None:
    points = points_of(name)
    entry = TableEntry(name, "f64", "f64")
    gradients = entry.gradients(points)
    for position, gradient in enumerate(gradients):
        np.testing.assert_allclose(
            gradient, differences(entry, points, position), rtol=1e-7, atol=1e-9
        )
    for narrow, wide in zip(TableEntry(name, "f32", "f32").gradients(points), gradients):
        np.testing.assert_allclose(narrow, wide, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("name", sorted(CONVERSIONS))
def test_conversion(name: str) -> None:
    entry = TableEntry(name, *CONVERSIONS[name])
    np.testing.assert_array_equal(entry.gradients([POINTS])[0], np.ones(len(POINTS)))


# What the frontend emits.


def emitted(call: Callable[..., Any], arguments: int) -> set[tuple[str, bool]]:
    """The names of the ops of a call on floats; with each, whether it goes from floats to a
    float."""
    x = ti.field(ti.f64, shape=4, needs_grad=True)

    @ti.kernel
    def one():
        x[3] = call(x[0])

    @ti.kernel
    def two():
        x[3] = call(x[0], x[1])

    @ti.kernel
    def three():
        x[3] = call(x[0], x[1], x[2])

    kernel = [one, two, three][arguments - 1]
    with context():
        module = ir.Module.parse(kernel.ir(stage="field", generic=True))
        return {(op.name, is_smooth(op)) for op in operations(module.operation)}


def is_smooth(op: ir.Operation) -> bool:
    """Whether an op takes a float and gives a float, so that it needs a rule."""

    def is_float(value: ir.Value) -> bool:
        return str(value.type) in ("f16", "f32", "f64")

    own = op.name.startswith(("field.", "memref.", "scf.", "func."))
    return not own and any(map(is_float, op.results)) and any(map(is_float, op.operands))


@ti.func
def operators(a, b):
    return (
        -a
        + b * (a - b) / (a % b + 1.0) // 2.0
        + abs(a) ** b
        + a**3
        + b**-2
        + (a if a > b else b)
        + (a > b)
    )


@ti.func
def conversions(a):
    return (
        ti.cast(ti.cast(a, ti.f32), ti.f64) + int(a) + ti.bit_cast(ti.bit_cast(a, ti.i64), ti.f64)
    )


@ti.func
def matrices(a, b):
    m = ti.Matrix([[a, b], [b, 2.0]])
    v = ti.Vector([a, b])
    u = m.inverse() @ v + m.transpose() @ v * v.norm() + v.normalized(1e-3)
    return (
        u.norm(1e-3)
        + u.norm_inv(1e-3)
        + m.determinant()
        + m.trace()
        + u.max()
        + u.min()
        + u.sum()
        + u.dot(v)
    )


def public(namespace: ModuleType) -> list[str]:
    """The functions of a namespace that a kernel may call on floats."""
    return sorted(
        name
        for name, value in vars(namespace).items()
        if callable(value) and not isinstance(value, type) and not name.startswith("_")
    )


@pytest.mark.parametrize("space", [functions, mathematics])
def test_every_function_on_floats_has_rules(space: ModuleType) -> None:
    found: set[str] = set()
    for name, count in itertools.product(public(space), (1, 2, 3)):
        ti.init(default_fp=ti.f64)
        with contextlib.suppress(
            ti.TaichiCompilationError, ir.MLIRError, TypeError, AttributeError, ValueError
        ):
            found |= {op for op, smooth in emitted(getattr(space, name), count) if smooth}
    expected = (
        "sin",
        "cos",
        "tan",
        "asin",
        "acos",
        "atan2",
        "tanh",
        "exp",
        "log",
        "sqrt",
        "floor",
        "absf",
        "powf",
    )
    assert found >= {f"math.{name}" for name in expected}
    assert not found - set(RULES)


@pytest.mark.parametrize("call, arguments", [(operators, 2), (conversions, 1), (matrices, 2)])
def test_every_operator_has_rules(call: Any, arguments: int) -> None:
    ti.init(default_fp=ti.f64)
    ops = emitted(call, arguments)
    assert not {op for op, smooth in ops if smooth} - set(RULES)
    assert any(smooth for _, smooth in ops)


# Where a derivative does not exist (docs/gradients.md, 7).


def derivatives(f: Any, *values: float) -> list[float]:
    """The gradient of a `@ti.func` of one or two numbers."""
    ti.init(default_fp=ti.f64)
    x = ti.field(ti.f64, shape=2, needs_grad=True)
    y = ti.field(ti.f64, shape=(), needs_grad=True)
    for k, value in enumerate(values):
        x[k] = value

    @ti.kernel
    def one():
        y[None] = f(x[0])

    @ti.kernel
    def two():
        y[None] = f(x[0], x[1])

    with ti.ad.Tape(y):
        (one, two)[len(values) - 1]()
    return list(x.grad.to_numpy()[: len(values)])


@ti.func
def norm(a, b):
    return ti.Vector([a, b]).norm()


@ti.func
def guarded_by_select(a):
    return ti.select(a > 0, ti.sqrt(a) + ti.log(a) + 1.0 / a + a * ti.log(a) + a**0.5, 7.0 * a)


@ti.func
def guarded_by_ternary(a):
    return ti.sqrt(a) + ti.log(a) + 1.0 / a if a > 0 else 7.0 * a


@ti.func
def guarded_by_if(a):
    result = 7.0 * a
    if a > 0:
        result = ti.sqrt(a) + ti.log(a) + 1.0 / a
    return result


@ti.func
def computed_before_the_branch(a):
    root, inverse, product = ti.sqrt(a), 1.0 / a, a * ti.log(a)
    result = 7.0 * a
    if a > 0:
        result = root + inverse
        result += product
    return result


@ti.func
def used_by_no_iteration(a):
    root, result = ti.sqrt(a) * ti.rsqrt(a), 7.0 * a
    for _ in range(ti.cast(a, ti.i32)):
        result += root
    return result


@ti.func
def nested_select(a):
    return ti.select(a > 0, ti.select(a > 1, ti.log(a - 1.0), ti.acos(1.0 + a)), 7.0 * a)


@pytest.mark.parametrize(
    "f",
    [
        guarded_by_select,
        guarded_by_ternary,
        guarded_by_if,
        computed_before_the_branch,
        used_by_no_iteration,
        nested_select,
    ],
    ids=lambda f: f.__name__,
)
def test_a_branch_not_taken_contributes_nothing(f: Any) -> None:
    assert derivatives(f, 0.0) == [7.0]


@ti.func
def masked_product(a, b):
    return ti.select(a > 0, b * ti.log(a) + b / a, b)


def test_an_infinite_factor_in_a_branch_not_taken() -> None:
    assert derivatives(masked_product, 0.0, 2.0) == [0.0, 1.0]


@ti.func
def absolute(a):
    return ti.abs(a)


@ti.func
def root(a):
    return ti.sqrt(a)


@ti.func
def inverse_root_product(a, b):
    return ti.sqrt(a) * b


@pytest.mark.parametrize(
    "f, values, expected",
    [
        (absolute, (0.0,), [0.0]),
        (absolute, (-0.0,), [0.0]),
        (norm, (0.0, 0.0), [0.0, 0.0]),
        (norm, (0.0, -2.0), [0.0, -1.0]),
        (root, (0.0,), [math.inf]),
        (inverse_root_product, (0.0, 3.0), [math.inf, 0.0]),
    ],
)
def test_kinks(f: Any, values: tuple[float, ...], expected: list[float]) -> None:
    assert derivatives(f, *values) == expected


@ti.func
def larger(a, b):
    return ti.max(a, b)


@ti.func
def smaller(a, b):
    return ti.min(a, b)


@pytest.mark.parametrize(
    "f, values, expected",
    [
        (larger, (1.0, 1.0), [0.0, 1.0]),
        (smaller, (1.0, 1.0), [0.0, 1.0]),
        (larger, (2.0, 1.0), [1.0, 0.0]),
        (smaller, (2.0, 1.0), [0.0, 1.0]),
        (larger, (1.0, 2.0), [0.0, 1.0]),
        (smaller, (1.0, 2.0), [1.0, 0.0]),
    ],
)
def test_ties_go_to_the_second_operand(
    f: Any, values: tuple[float, ...], expected: list[float]
) -> None:
    assert derivatives(f, *values) == expected


@ti.func
def power(a, b):
    return a**b


@ti.func
def square_root_power(a):
    return a**0.5


@ti.func
def cube(a):
    return a**3


@ti.func
def negative_power(a):
    return a**-2


@pytest.mark.parametrize(
    "f, values, expected",
    [
        (power, (0.0, 2.0), [0.0, 0.0]),
        (power, (0.0, 1.0), [1.0, 0.0]),
        (power, (0.0, 0.0), [0.0, 0.0]),
        (power, (0.0, 3.5), [0.0, 0.0]),
        (power, (-2.0, 3.0), [12.0, math.nan]),
        (power, (-2.0, 0.0), [0.0, math.nan]),
        (power, (2.0, 0.0), [0.0, math.log(2.0)]),
        (power, (2.0, -1.0), [-0.25, 0.5 * math.log(2.0)]),
        (square_root_power, (0.0,), [math.inf]),
        (cube, (-2.0,), [12.0]),
        (cube, (0.0,), [0.0]),
        (negative_power, (-2.0,), [0.25]),
    ],
)
def test_powers(f: Any, values: tuple[float, ...], expected: list[float]) -> None:
    np.testing.assert_allclose(derivatives(f, *values), expected, rtol=1e-12)


@ti.func
def steps(a):
    integers = ti.cast(int(a) * 3 + (int(a) & 1), ti.f64)
    return ti.floor(a) + ti.ceil(a) + ti.round(a) + integers + (a > 0.5) + a // 0.3


@pytest.mark.parametrize("value", [-1.7, 0.4, 2.6])
def test_steps_have_no_derivative(value: float) -> None:
    assert derivatives(steps, value) == [0.0]


@ti.func
def remainder(a, b):
    return a % b


@pytest.mark.parametrize("a, b", [(5.3, 2.0), (-5.3, 2.0), (5.3, -2.0), (-5.3, -2.0), (0.5, 2.0)])
def test_remainders(a: float, b: float) -> None:
    assert derivatives(remainder, a, b) == [1.0, -math.floor(a / b)]


# The same for a user's rules, and for those of the table.


@pytest.mark.parametrize(
    "name", sorted(set(RULES) - set(CONVERSIONS) - DETACHED - {"arith.select"})
)
def test_what_checks_rules_of_programs_checks_the_table(name: str) -> None:
    ti.init()
    operands = ", ".join(["f64"] * ARITY[name])
    ti.mlir.check_derivative(name, f"({operands}) -> f64", *points_of(name))
