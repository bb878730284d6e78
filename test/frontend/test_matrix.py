"""Vectors and matrices, in kernels and in Python, against NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mlirad as ti
from mlirad.runtime import program as current

RANDOM = np.random.default_rng(7)


@pytest.fixture(autouse=True)
def program() -> Any:
    ti.init(default_fp=ti.f64, cpu_max_num_threads=1, fast_math=False)
    yield
    ti.reset()


def matrix(n: int, m: int) -> np.ndarray:
    return RANDOM.uniform(-2, 2, (n, m))


def in_a_kernel(function: Callable[..., Any], *arguments: np.ndarray) -> np.ndarray | float:
    """What a function gives inside a kernel for matrices that are fields."""
    fields = []
    for values in arguments:
        field = ti.field(
            (ti.types.vector if values.ndim == 1 else ti.types.matrix)(*values.shape, ti.f64),
            shape=(),
        )
        field.from_numpy(values)
        fields.append(field)
    body = ti.func(function)
    a, b = (*fields, None)[:2]
    shape: list[Any] = []

    @ti.kernel
    def probe():
        result = body(a[None]) if ti.static(b is None) else body(a[None], b[None])
        ti.static(shape.append(getattr(result, "shape", ())))

    probe()
    target = ti.field(
        ti.f64
        if not shape[0]
        else (ti.types.vector if len(shape[0]) == 1 else ti.types.matrix)(*shape[0], ti.f64),
        shape=(),
    )

    @ti.kernel
    def run():
        target[None] = body(a[None]) if ti.static(b is None) else body(a[None], b[None])

    run()
    return target.to_numpy() if shape[0] else target[None]


def both(function: Callable[..., Any], expected: Any, *arguments: np.ndarray) -> None:
    """A function of matrices gives what is expected, in a kernel and in Python."""
    np.testing.assert_allclose(in_a_kernel(function, *arguments), expected, rtol=1e-12, atol=1e-14)
    in_python = function(*[ti.Matrix(a.tolist()) for a in arguments])
    shown = in_python.to_numpy() if isinstance(in_python, ti.Matrix) else in_python
    np.testing.assert_allclose(shown, expected, rtol=1e-12, atol=1e-14)


def plus(a, b):
    return a + b


def minus(a, b):
    return a - b


def times(a, b):
    return a * b


def over(a, b):
    return a / b


def largest(a, b):
    return ti.max(a, b)


def smallest(a, b):
    return ti.min(a, b)


def product(a, b):
    return a @ b


def dot(a, b):
    return a.dot(b)


def cross(a, b):
    return a.cross(b)


def outer(a, b):
    return a.outer_product(b)


def chosen(a, b):
    return ti.select(a > b, a, b)


def mixed(a, b):
    return 2 * a - b / 4 + 1


def transpose(a):
    return a.transpose()


def determinant(a):
    return a.determinant()


def inverse(a):
    return a.inverse()


def trace(a):
    return a.trace()


def total(a):
    return a.sum()


def norm(a):
    return a.norm()


def norm_eps(a):
    return a.norm(1e-2)


def norm_sqr(a):
    return a.norm_sqr()


def norm_inv(a):
    return a.norm_inv()


def normalized(a):
    return a.normalized()


def greatest(a):
    return a.max()


def least(a):
    return a.min()


def negated(a):
    return -a


def absolute(a):
    return abs(a)


def sines(a):
    return ti.sin(a)


def powers(a):
    return abs(a) ** 2.5


def squared(a):
    return a**2


def swizzled(a):
    return a.zxy


def swizzled_twice(a):
    return a.bgr.xx


def from_rows(a):
    return ti.Matrix.rows([a, 2 * a])


def from_columns(a):
    return ti.Matrix.cols([a, 2 * a])


ELEMENTWISE = {
    plus: np.add,
    minus: np.subtract,
    times: np.multiply,
    over: np.divide,
    largest: np.maximum,
    smallest: np.minimum,
    chosen: np.maximum,
    mixed: lambda a, b: 2 * a - b / 4 + 1,
}
UNARY = {
    transpose: np.transpose,
    total: np.sum,
    norm_sqr: lambda a: (a * a).sum(),
    greatest: np.max,
    least: np.min,
    negated: np.negative,
    absolute: np.abs,
    sines: np.sin,
    powers: lambda a: np.abs(a) ** 2.5,
    squared: np.square,
    norm: lambda a: np.sqrt((a * a).sum()),
    norm_eps: lambda a: np.sqrt((a * a).sum() + 1e-2),
}


@pytest.mark.parametrize("shape", [(3,), (2, 3), (4, 4)], ids=str)
@pytest.mark.parametrize("function", ELEMENTWISE, ids=lambda f: f.__name__)
def test_elementwise_operators(function: Any, shape: tuple[int, ...]) -> None:
    a, b = RANDOM.uniform(-2, 2, shape), RANDOM.uniform(0.5, 2, shape)
    if function in (largest, smallest, chosen) or len(shape) == 2:
        np.testing.assert_allclose(
            in_a_kernel(function, a, b), ELEMENTWISE[function](a, b), rtol=1e-12
        )
    else:
        both(function, ELEMENTWISE[function](a, b), a, b)


@pytest.mark.parametrize("shape", [(3,), (2, 3)], ids=str)
@pytest.mark.parametrize("function", UNARY, ids=lambda f: f.__name__)
def test_functions_of_one_matrix(function: Any, shape: tuple[int, ...]) -> None:
    if function is transpose and len(shape) == 1:
        return
    a = RANDOM.uniform(-2, 2, shape)
    both(function, UNARY[function](a), a)


@pytest.mark.parametrize(
    "shapes", [((2, 3), (3, 4)), ((3, 3), (3,)), ((1, 2), (2, 1)), ((4, 4), (4, 4))], ids=str
)
def test_products(shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    a, b = (RANDOM.uniform(-2, 2, shape) for shape in shapes)
    both(product, a @ b, a, b)


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_square_matrices(n: int) -> None:
    a = matrix(n, n) + 3 * np.eye(n)
    both(determinant, np.linalg.det(a), a)
    both(inverse, np.linalg.inv(a), a)
    both(trace, np.trace(a), a)


@pytest.mark.parametrize("n", [2, 3])
def test_products_of_vectors(n: int) -> None:
    a, b = RANDOM.uniform(-2, 2, (2, n))
    both(dot, a @ b, a, b)
    both(outer, np.outer(a, b), a, b)
    both(cross, np.cross(a, b) if n == 3 else a[0] * b[1] - a[1] * b[0], a, b)


def test_lengths_of_vectors() -> None:
    a = RANDOM.uniform(-2, 2, 3)
    both(norm_inv, 1 / np.linalg.norm(a), a)
    both(normalized, a / np.linalg.norm(a), a)
    assert in_a_kernel(norm, np.zeros(3)) == 0
    both(from_rows, [a, 2 * a], a)
    both(from_columns, np.transpose([a, 2 * a]), a)


def test_swizzles() -> None:
    a = RANDOM.uniform(-2, 2, 3)
    both(swizzled, a[[2, 0, 1]], a)
    both(swizzled_twice, a[[2, 2]], a)
    v, f = ti.Vector([1.0, 2.0, 3.0]), ti.Vector.field(3, ti.f64, shape=())

    @ti.kernel
    def run() -> ti.types.vector(3, ti.f64):
        w = ti.Vector([1.0, 2.0, 3.0])
        w.zx = [10, 20]
        w.xy += 1
        w.y, w.z = w.z, w.y
        f[None].yz = w.xy
        f[None].r += 5
        return w

    assert run().to_list() == [21, 10, 3]
    assert f[None].to_list() == [5, 21, 10]
    v.zx = [10, 20]
    v.xy += 1
    assert v.to_list() == [21, 3, 10]
    with pytest.raises(ti.TaichiSyntaxError, match="vec3 only has attributes"):
        v.w = 1
    with pytest.raises(AttributeError):
        v.q1  # noqa: B018


def test_constructors() -> None:
    @ti.kernel
    def run() -> ti.types.matrix(6, 4, ti.f64):
        e = ti.Matrix.identity(float, 2)
        d = ti.Matrix.diag(2, 3)
        z, o = ti.Vector.zero(float, 4), ti.Vector.one(int, 4)
        u = ti.Vector.unit(4, 2)
        c = ti.Matrix([[1, 2], [3, 4]], ti.f32)
        k = ti.types.vector(4, ti.i32)(1.9)
        ti.static_assert(c[0, 0].dtype == ti.f32 and o[0].dtype == ti.i32 and k[1].dtype == ti.i32)
        return ti.Matrix(
            [
                [e[0, 0], e[0, 1], e[1, 0], e[1, 1]],
                [d[0, 0], d[0, 1], d[1, 0], d[1, 1]],
                list(z + o),
                list(u),
                [c[0, 0], c[0, 1], c[1, 0], c[1, 1]],
                list(k),
            ]
        )

    expected = [[1, 0, 0, 1], [3, 0, 0, 3], [1, 1, 1, 1], [0, 0, 1, 0], [1, 2, 3, 4], [1, 1, 1, 1]]
    np.testing.assert_array_equal(run().to_numpy(), expected)
    assert ti.Matrix.identity(int, 2).to_list() == [[1, 0], [0, 1]]


def test_zero_and_one_of_a_value() -> None:
    @ti.kernel
    def run(v: ti.types.vector(2, ti.i64)) -> ti.types.vector(2, ti.i64):
        ti.static_assert(ti.one(v)[0].dtype == ti.i64)
        return ti.zero(v) + ti.one(v) * 3

    assert run(ti.Vector([5, 6])).to_list() == [3, 3]


def test_slices_read_and_write() -> None:
    @ti.kernel
    def run() -> ti.types.matrix(3, 4, ti.i32):
        m = ti.Matrix([[10 * i + j for j in range(4)] for i in range(3)])
        m[0, :] = [1, 2, 3, 4]
        m[1:, 2] = m[1:, 3] * 2
        m[:, 0] += 100
        v = m[2, 1::2]
        m[0, 1:3] = v
        return m

    expected = np.array([[10 * i + j for j in range(4)] for i in range(3)])
    expected[0] = [1, 2, 3, 4]
    expected[1:, 2] = expected[1:, 3] * 2
    expected[:, 0] += 100
    expected[0, 1:3] = expected[2, 1::2]
    np.testing.assert_array_equal(run().to_numpy(), expected)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(-9, 9)), max_size=12))
def test_dynamic_indices(writes: list[tuple[int, int, int]]) -> None:
    ti.init(cpu_max_num_threads=1)
    expected = np.arange(12).reshape(4, 3)
    plan = ti.Vector.field(3, ti.i32, shape=max(1, len(writes)))
    if writes:
        plan.from_numpy(np.array(writes))
    field = ti.Matrix.field(4, 3, ti.i32, shape=())
    field.from_numpy(expected)
    for i, j, value in writes:
        expected[i, j] += value
        expected[j, i % 3] = expected[i, j] - 1

    @ti.kernel
    def run(count: int) -> ti.types.matrix(4, 3, ti.i32):
        m = ti.Matrix([[3 * i + j for j in range(3)] for i in range(4)])
        for _ in range(1):
            for k in range(count):
                i, j = plan[k].x, plan[k].y
                m[i, j] += plan[k][2]
                m[j, i % 3] = m[i, j] - 1
                field[None][i, j] += plan[k][2]
                field[None][j, i % 3] = field[None][i, j] - 1
        return m

    np.testing.assert_array_equal(run(len(writes)).to_numpy(), expected)
    np.testing.assert_array_equal(field.to_numpy(), expected)


def test_dynamic_index_into_a_constant_vector() -> None:
    table = ti.Vector([3, 1, 4, 1, 5])

    @ti.kernel
    def run(i: int) -> int:
        return table[i] * 10 + ti.Vector([2, 7, 1, 8, 2])[i]

    assert [run(i) for i in range(5)] == [32, 17, 41, 18, 52]


def test_local_lists_of_vectors() -> None:
    @ti.kernel
    def run(x: ti.f64) -> ti.f64:
        w = [0.5 * (1.5 - x) ** 2, 0.75 - (x - 1) ** 2, 0.5 * (x - 0.5) ** 2]
        vectors = [ti.Vector([x, x + i]) for i in range(3)]
        total = 0.0
        for i, j in ti.static(ti.ndrange(3, 2)):
            total += w[i] * vectors[i][j]
        return total

    x = 0.8
    w = [0.5 * (1.5 - x) ** 2, 0.75 - (x - 1) ** 2, 0.5 * (x - 0.5) ** 2]
    assert run(x) == pytest.approx(
        sum(w[i] * (x + (i if j else 0)) for i in range(3) for j in range(2))
    )


def test_a_vector_variable_is_a_copy() -> None:
    x = ti.Vector.field(2, ti.i32, shape=2)

    @ti.kernel
    def run() -> ti.types.vector(4, ti.i32):
        a = ti.Vector([1, 2])
        b = a
        a[0] = 5
        x[0] = a
        c = x[0]
        x[0][1] = 9
        x[1] = c
        return ti.Vector([b[0], a[0], c[1], x[0][1]])

    assert run().to_list() == [1, 5, 2, 9]
    np.testing.assert_array_equal(x.to_numpy(), [[5, 9], [5, 2]])


def test_assignment_of_every_shape() -> None:
    @ti.kernel
    def run() -> ti.types.vector(3, ti.f64):
        v = ti.Vector([1.0, 2.0, 3.0])
        v = 7
        v[1] += 1
        v = v * 2
        if v[0] > 0:
            v = ti.Vector([v[2], v[1], v[0] + 1])
        return v

    assert run().to_list() == [14, 16, 15]


def test_vectors_updated_by_a_parallel_loop() -> None:
    n = 5000

    @ti.kernel
    def run() -> ti.types.vector(2, ti.f64):
        v = ti.Vector([0.0, 1.0])
        for i in range(n):
            v += ti.Vector([i, 2 * i])
        return v

    assert run().to_list() == [n * (n - 1) / 2, n * (n - 1) + 1]


def test_atomics_on_vectors_and_entries() -> None:
    x = ti.Matrix.field(2, 2, ti.f64, shape=2)

    @ti.kernel
    def run() -> ti.types.matrix(2, 2, ti.f64):
        for i in range(100):
            x[i % 2] += ti.Matrix([[1, i], [0, 2]])
            x[0][1, 0] -= 1
        return ti.atomic_add(x[0], 1)

    before = run().to_numpy()
    np.testing.assert_array_equal(before, [[50, 2450], [-100, 100]])
    np.testing.assert_array_equal(x.to_numpy(), [before + 1, [[50, 2500], [0, 100]]])


def test_integer_and_bit_operators() -> None:
    @ti.kernel
    def run(v: ti.types.vector(3, ti.i32)) -> ti.types.vector(3, ti.i32):
        return ((v << 2) | 1) ^ (7 & v) + (~v) // 2 + v % 3 + (1 << v)

    v = np.array([1, 5, 6])
    np.testing.assert_array_equal(
        run(ti.Vector(v.tolist())).to_numpy(),
        ((v << 2) | 1) ^ (7 & v) + (~v) // 2 + v % 3 + (1 << v),
    )


def test_conditions_on_vectors() -> None:
    @ti.kernel
    def run(v: ti.types.vector(2, ti.i32)) -> ti.types.vector(6, ti.i32):
        zero = ti.Vector([0, 0])
        both, either = (v > zero) and (v < 5), (v > 3) or (v == zero)
        return ti.Vector([both[0], both[1], either[0], either[1], int(all(v > 0)), int(any(v > 3))])

    for v in ([1, 4], [0, 2], [7, 0]):
        a = np.array(v)
        both, either = (a > 0) & (a < 5), (a > 3) | (a == 0)
        assert run(ti.Vector(v)).to_list() == [*both, *either, (a > 0).all(), (a > 3).any()]


def test_arguments_and_results() -> None:
    @ti.kernel
    def run(m: ti.types.matrix(2, 3, ti.f32), v: ti.math.vec2) -> ti.types.matrix(2, 3, ti.f64):
        m *= 2
        return m + ti.Matrix.cols([v, v, -v])

    values = np.arange(6).reshape(2, 3)
    v = np.array([10.0, 20.0])
    expected = 2 * values + np.stack([v, v, -v], axis=1)
    np.testing.assert_array_equal(run(values, [10, 20]).to_numpy(), expected)
    np.testing.assert_array_equal(
        run(ti.Matrix(values.tolist()), ti.Vector([10, 20])).to_numpy(), expected
    )
    with pytest.raises(ti.TaichiRuntimeTypeError, match="shape"):
        run(values.T, v)


@pytest.mark.parametrize(
    "bad",
    [
        lambda a, b: a + b.transpose(),
        lambda a, b: a @ a,
        lambda a, b: a[0, 5],
        lambda a, b: a[0],
        lambda a, b: a.trace(),
        lambda a, b: a.inverse(),
        lambda a, b: a[0, :].transpose(),
        lambda a, b: a[0, 0.5],
        lambda a, b: a.cross(b),
    ],
)
def test_shapes_that_do_not_fit(bad: Any) -> None:
    a, b = (
        ti.Matrix([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]),
        ti.Matrix([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]),
    )
    with pytest.raises(ti.TaichiCompilationError):
        bad(a, b)


def test_complex_numbers() -> None:
    a, b = np.array([1.5, -0.5]), np.array([-2.0, 0.25])
    p, q = a @ [1, 1j], b @ [1, 1j]
    cases = {ti.math.cmul: p * q, ti.math.cdiv: p / q}
    for function, z in cases.items():
        np.testing.assert_allclose(
            in_a_kernel(lambda_of_two(function), a, b), [z.real, z.imag], rtol=1e-12
        )
    for function, z in {
        ti.math.cconj: np.conj(p),
        ti.math.cinv: 1 / p,
        ti.math.csqrt: np.sqrt(p),
        ti.math.cexp: np.exp(p),
        ti.math.clog: np.log(p),
    }.items():
        np.testing.assert_allclose(
            function(ti.Vector(a.tolist())).to_list(), [z.real, z.imag], rtol=1e-12
        )
    z = p**3
    np.testing.assert_allclose(
        ti.math.cpow(ti.Vector(a.tolist()), 3).to_list(), [z.real, z.imag], rtol=1e-12
    )


def lambda_of_two(function: Any) -> Any:
    def call(a, b):
        return function(a, b)

    return call


def test_functions_of_ti_math() -> None:
    @ti.kernel
    def run(x: ti.f64) -> ti.types.vector(9, ti.f64):
        v, w = ti.math.vec3(x, 2, 3), ti.math.vec3([1, 0], 2)
        return ti.Vector(
            [
                ti.math.mix(1.0, 3.0, x),
                ti.math.clamp(x, 0.5, 0.75),
                ti.math.smoothstep(0.0, 1.0, x),
                ti.math.fract(-x),
                ti.math.step(x, 0.5),
                ti.math.dot(v, w),
                ti.math.length(v - w),
                ti.math.mod(-x, 0.7),
                ti.math.sign(-x),
            ]
        )

    x = 0.25
    expected = [
        1.5,
        0.5,
        x * x * (3 - 2 * x),
        0.75,
        1,
        x + 6,
        np.sqrt((x - 1) ** 2 + 4 + 1),
        0.45,
        -1,
    ]
    assert run(x).to_list() == pytest.approx(expected)
    n, d = ti.math.normalize(ti.math.vec2(0.0, 2.0)), ti.math.vec2(1.0, -1.0)
    assert ti.math.reflect(d, n).to_list() == [1.0, 1.0]
    assert (ti.math.rotation2d(np.pi / 2) @ ti.math.vec2(1.0, 0.0)).to_list() == pytest.approx(
        [0, 1]
    )


def test_iterations_write_different_entries_of_a_local_vector() -> None:
    """None of them reads and writes back the others' entries, which on several threads would lose
    some."""
    ti.init(default_fp=ti.f64, cpu_max_num_threads=2)
    current.program().config.thread_worth = 0
    vector = ti.types.vector(8, ti.i32)

    @ti.kernel
    def numbers() -> vector:
        found = vector(0)
        for i in range(8):
            found[i] = i
        return found

    @ti.kernel
    def counts() -> vector:
        found = vector(0)
        for i in range(1000):
            found[i % 8] += 1
        return found

    assert list(numbers()) == list(range(8))
    assert list(counts()) == [125] * 8
    loop = numbers.ir().partition("scf.parallel")[2].partition("scf.reduce")[0]
    assert loop.count("field.store") == loop.count("scf.if") == 8
    assert "field.load" not in loop


def test_a_matrix_by_a_vector() -> None:
    """One index for each axis, known while compiling or not, as fields take them."""

    @ti.kernel
    def run() -> ti.types.vector(5, ti.f32):
        m, u = ti.Matrix([[1.0, 2.0], [3.0, 4.0]]), ti.Matrix([[1.0, 2.0], [3.0, 4.0]])
        v = ti.Vector([5.0, 6.0])
        a = b = c = d = 0.0
        for where in ti.static(ti.grouped(ti.ndrange(2, 2))):
            a = 10 * a + m[where]
            u[where] *= 2.0
        for where in ti.grouped(ti.ndrange(2, 2)):
            ti.atomic_max(b, m[where] + u[where])
            c += u[where]
        for where in ti.static(ti.grouped(ti.ndrange(2))):
            d = 10 * d + v[where]
        return ti.Vector([a, b, c, d, m[ti.Vector([1, 0])]])

    assert run().to_list() == [1234.0, 12.0, 20.0, 56.0, 3.0]
    m = ti.Matrix([[1, 2], [3, 4]])
    m[ti.Vector([0, 1])] = 7
    assert (m[ti.Vector([0, 1])], m[1, 0]) == (7, 3)
    with pytest.raises(ti.TaichiIndexError, match="Expected 2 indices, got 3"):
        m[ti.Vector([0, 1, 1])]
