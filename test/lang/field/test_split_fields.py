"""Fields of vectors and matrices whose components are placed one by one, beside the same programs
with fields that are placed as a whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import mlirad as ti

Place = Callable[[Any], None]


@pytest.fixture(autouse=True)
def program() -> Iterator[None]:
    ti.init(cpu_max_num_threads=2)
    yield
    ti.reset()


def components(field: Any) -> list[Any]:
    """The components of a field, in row-major order."""
    columns = range(field.m) if len(field.element_shape) > 1 else (0,)
    return [field.get_scalar_field(i, j) for i in range(field.n) for j in columns]


def one_by_one(*blocks: Callable[[], Any], **options: Any) -> Place:
    """Place the components of fields in blocks, in turn."""

    def place(field: Any) -> None:
        for k, component in enumerate(components(field)):
            blocks[k % len(blocks)]().place(component, **options)

    return place


def whole(block: Callable[[], Any], **options: Any) -> Place:
    """Place fields as a whole."""
    return lambda field: block().place(field, **options)


def dense(*extents: int) -> Callable[[], Any]:
    """A dense block over nested cells along one axis."""

    def block() -> Any:
        node: Any = ti.root
        for extent in extents:
            node = node.dense(ti.i, extent)
        return node

    return block


def sparse(kind: str, outer: int, inner: int) -> Callable[[], Any]:
    """Dense cells in a sparse block along one axis."""
    return lambda: getattr(ti.root, kind)(ti.i, outer).dense(ti.i, inner)


class TestPython:
    """What Python reads and writes."""

    def test_elements(self) -> None:
        x, m = ti.Vector.field(3, ti.f32), ti.Matrix.field(2, 3, ti.i32)
        one_by_one(dense(4), dense(2, 2))(x)
        one_by_one(dense(4))(m)
        assert (x.shape, m.shape, x.n, x.m, m.n, m.m, len(x)) == ((4,), (4,), 3, 1, 2, 3, 4)
        x[2] = [1, 2, 3]
        x[3][1] = 7.5
        x[1].z = 0.25
        m[0] = ti.Matrix([[1, 2, 3], [4, 5, 6]])
        m[1][1, 2] = 9
        np.testing.assert_array_equal(
            x.to_numpy(), [[0, 0, 0], [0, 0, 0.25], [1, 2, 3], [0, 7.5, 0]]
        )
        assert x[2] == [1, 2, 3] and m[1][1, 2] == 9
        np.testing.assert_array_equal(m.to_numpy()[0], [[1, 2, 3], [4, 5, 6]])
        np.testing.assert_array_equal(x.get_scalar_field(1).to_numpy(), [0, 0, 2, 7.5])
        np.testing.assert_array_equal(m.get_scalar_field(1, 2).to_numpy(), [6, 9, 0, 0])

    def test_all_elements(self) -> None:
        x, m = ti.Vector.field(2, ti.f64), ti.Matrix.field(2, 2, ti.f32)
        one_by_one(dense(3))(x)
        one_by_one(dense(3), offset=-1)(m)
        values = np.arange(6.0).reshape(3, 2)
        x.from_numpy(values)
        np.testing.assert_array_equal(x.to_numpy(), values)
        x.from_numpy(values[..., np.newaxis] + 1)
        np.testing.assert_array_equal(x.to_numpy(keep_dims=True), values[..., np.newaxis] + 1)
        m.fill(2)
        np.testing.assert_array_equal(m.to_numpy(), np.full((3, 2, 2), 2))
        m.fill([[1, 2], [3, 4]])
        np.testing.assert_array_equal(m.to_numpy(dtype=int), [[[1, 2], [3, 4]]] * 3)
        m[-1] = [[0, 0], [0, 5]]
        assert m[-1][1, 1] == 5 and m.get_scalar_field(1, 1)[-1] == 5
        with pytest.raises(ValueError, match=r"field 'x' has shape \(3, 2\)"):
            x.from_numpy(values.T)
        with pytest.raises(ti.TaichiTypeError, match=r"got shape \(3,\)"):
            x[0] = [1, 2, 3]

    def test_parts(self) -> None:
        x = ti.Vector.field(2, ti.f32)
        one_by_one(dense(5))(x)
        x[1:3] = np.array([[1, 2], [3, 4]])
        x[3:] = [5, 6]
        np.testing.assert_array_equal(x[1:4], [[1, 2], [3, 4], [5, 6]])
        assert x[::2].shape == (3, 2)
        x[:] = 1.5
        np.testing.assert_array_equal(x.to_numpy(), np.full((5, 2), 1.5))

    def test_copies(self) -> None:
        fields = [ti.Vector.field(2, ti.f32) for _ in range(2)]
        for field in fields:
            one_by_one(dense(3))(field)
        x, y = fields
        z = ti.Vector.field(2, ti.f32, shape=3)
        values = np.arange(6).reshape(3, 2)
        x.from_numpy(values)
        y.copy_from(x)
        z.copy_from(y)
        x.fill(0)
        x.copy_from(z)
        for field in (x, y, z):
            np.testing.assert_array_equal(field.to_numpy(), values)
        for other in (ti.Vector.field(2, ti.f32, shape=4), ti.field(ti.f32, shape=3)):
            with pytest.raises(ValueError, match="copy_from: shapes"):
                x.copy_from(other)
        with pytest.raises(TypeError, match="expected a field or an ndarray, got list"):
            x.copy_from([1])

    def test_components_held_from_before(self) -> None:
        """They are what their field becomes: parts of it, or fields of their own."""
        x, y = ti.Vector.field(2, ti.f32, needs_grad=True), ti.Vector.field(2, ti.f32)
        first, adjoint = x.get_scalar_field(0), x.grad
        second = y.get_scalar_field(1)
        one_by_one(dense(3))(x)
        ti.root.dense(ti.i, 3).place(y)

        @ti.kernel
        def run():
            for i in first:
                first[i], second[i] = i, 2 * i

        run()
        np.testing.assert_array_equal(x.to_numpy(), [[0, 0], [1, 0], [2, 0]])
        np.testing.assert_array_equal(y.to_numpy(), [[0, 0], [0, 2], [0, 4]])
        assert adjoint is x.grad and first.shape == second.shape == (3,)
        first[0] = 4
        assert x[0][0] == 4 and first[0] == 4 and x.get_scalar_field(0)[0] == 4

    def test_kinds(self) -> None:
        x, s = ti.Vector.field(2, ti.f32), ti.field(ti.f32, 3)
        for part in (x.get_scalar_field(0), s):
            assert isinstance(part, ti.ScalarField) and not isinstance(part, ti.MatrixField)
        assert isinstance(x, ti.MatrixField) and isinstance(x, ti.Field)
        one_by_one(dense(3))(x)
        assert isinstance(x, ti.MatrixField) and not isinstance(x, ti.ScalarField)
        assert isinstance(x.get_scalar_field(1), ti.ScalarField) and not isinstance(3, ti.Field)


class TestMistakes:
    """Each is named."""

    def test_placed_twice(self) -> None:
        x = ti.Vector.field(2, ti.f32, needs_grad=True)
        y = ti.Vector.field(2, ti.f32, needs_grad=True)
        first = y.get_scalar_field(0)
        one_by_one(dense(3))(x)
        ti.root.dense(ti.i, 3).place(y)
        for part in (x, x.get_scalar_field(1)):
            with pytest.raises(ti.TaichiRuntimeError, match=r"'x\.[01]' is already placed"):
                ti.root.dense(ti.i, 3).place(part)
        for part in (first, y.get_scalar_field(1), y.grad.get_scalar_field(0)):
            with pytest.raises(ti.TaichiRuntimeError, match="cannot be placed separately"):
                ti.root.dense(ti.i, 3).place(part)

    def test_a_gradient_that_is_placed_as_a_whole(self) -> None:
        x = ti.Vector.field(2, ti.f32, needs_grad=True)
        ti.root.dense(ti.i, 3).place(x.grad)
        with pytest.raises(ti.TaichiRuntimeError, match=r"'x.grad' is placed as a whole"):
            ti.root.dense(ti.i, 3).place(x.get_scalar_field(0))

    def test_components_of_different_shapes(self) -> None:
        x, y = ti.Vector.field(2, ti.f32), ti.field(ti.f32, 2)
        one_by_one(dense(3), dense(4))(x)
        message = r"different shapes: 'x' \('x\.0' \(3,\), 'x\.1' \(4,\)\)"
        for _ in range(2):
            with pytest.raises(ti.TaichiRuntimeError, match=message):
                y[0] = x[0][0]

    def test_a_component_without_a_place(self) -> None:
        x = ti.Vector.field(2, ti.f32)
        with pytest.raises(ti.TaichiRuntimeError, match=r"component \(1,\) of field 'x' is used"):
            x.get_scalar_field(1).fill(1)
        ti.root.dense(ti.i, 3).place(x.get_scalar_field(0))

        @ti.kernel
        def run():
            x[0] = ti.Vector([1, 2])

        with pytest.raises(ti.TaichiRuntimeError, match=r"field 'x\.1' is not placed"):
            x[0] = 1
        with pytest.raises(ti.TaichiCompilationError, match=r"'x\.1' is used before it is placed"):
            run()

    def test_components_that_there_are_not(self) -> None:
        x = ti.Vector.field(2, ti.f32)
        for position in ((2,), (-1,), (0, 1), ()):
            with pytest.raises(ti.TaichiIndexError):
                x.get_scalar_field(*position)

    def test_a_component_out_of_bounds(self) -> None:
        ti.init(debug=True)
        x = ti.Vector.field(2, ti.f32)
        one_by_one(dense(3))(x)

        @ti.kernel
        def run(k: int):
            x[1][k] = 1.0

        run(1)
        with pytest.raises(ti.TaichiAssertionError, match="index 2 into a value of shape"):
            run(2)


def everything(place: Place) -> list[Any]:
    """What a kernel does to fields: vectors, parts, components known only at run time, atomics,
    loops, templates, functions."""
    x, m, count = ti.Vector.field(3, ti.f32), ti.Matrix.field(2, 2, ti.i32), ti.field(int, ())
    place(x)
    place(m)

    @ti.func
    def norm(v: ti.template(), i):
        return v[i].norm()

    @ti.kernel
    def run(v: ti.template(), k: int):
        v.fill(ti.Vector([1.0, 2.0, 3.0]))
        m.fill(1)
        for i in v:
            v[i] += ti.Vector([i, 2 * i, 0.5])
            v[i].zx = v[i].xy
            v[i][(k + i + 3) % 3] += 10.0
            v[i][k] = v[i][(k + 1) % 3] * 3
            m[i][k, 1 - k] += i
            m[i][0, 0] = ti.atomic_add(m[i][k, 1], 5) + ti.atomic_max(m[i][k, k], 3)
            m[i] = m[i] @ m[i]
            count[None] += 1
        for i in range(-3, v.shape[0] - 3):
            v[i].y += norm(v, i) + ti.static(v.n)
        for I in ti.grouped(m):
            m[I][:, 0] = m[I][1, :] + 1

    run(x, 1)
    return [x.to_numpy(), m.to_numpy(), count.to_numpy()]


def test_in_kernels() -> None:
    """All as of fields that are placed as a whole."""
    expected = everything(whole(dense(2, 4), offset=-3))
    assert expected[2] == 8
    for one, two in zip(everything(one_by_one(dense(8), dense(2, 4), offset=-3)), expected):
        np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("kind", ["pointer", "bitmasked", "dynamic"])
def test_in_sparse_blocks(kind: str) -> None:
    """A write makes the cells of each component active; loops go over those of the first."""
    x = ti.Vector.field(2, ti.f32)
    block = getattr(ti.root, kind)(ti.i, 8)
    cells = block if kind == "dynamic" else block.dense(ti.i, 4)
    cells.place(x.get_scalar_field(0), x.get_scalar_field(1))
    visited = ti.field(int, ())

    @ti.kernel
    def write():
        x[3] = ti.Vector([1, 2])
        x[5].y += 4

    @ti.kernel
    def visit() -> float:
        total = 0.0
        for i in x:
            visited[None] += 1
            total += x[i].sum()
        return total

    write()
    assert visit() == 7
    assert visited[None] == {"dynamic": 6}.get(kind, 8)
    assert x.parent().shape == x.shape == ((8,) if kind == "dynamic" else (32,))
    ti.deactivate_all_snodes()
    assert visit() == 0 and not x.to_numpy().any()


def test_lists() -> None:
    x = ti.Vector.field(2, ti.i32)
    ti.root.dense(ti.i, 3).dynamic(ti.j, 4).place(x.get_scalar_field(0), x.get_scalar_field(1))

    @ti.kernel
    def fill():
        for i in range(3):
            for k in range(i + 1):
                x[i].append(ti.Vector([i, k]))

    fill()
    np.testing.assert_array_equal(x.to_numpy()[2], [[2, 0], [2, 1], [2, 2], [0, 0]])


def test_members_of_structs() -> None:
    s = ti.Struct.field({"p": ti.types.vector(2, ti.f32), "q": ti.i32}, needs_grad=False)
    one_by_one(dense(4))(s.p)
    ti.root.dense(ti.i, 4).place(s.q)

    @ti.kernel
    def run():
        for i in s:
            s[i].p = ti.Vector([i, i + 0.5])
            s[i].q = i

    run()
    s[1].p[1] = 9
    np.testing.assert_array_equal(s.p.to_numpy(), [[0, 0.5], [1, 9], [2, 2.5], [3, 3.5]])


LAYOUTS = {
    "dense": one_by_one(dense(4, 4), dense(16), offset=0),
    "sparse": one_by_one(sparse("pointer", 4, 4), dense(16), sparse("bitmasked", 2, 8)),
}
FLOW_STEPS = 2


def flow(place: Place, derivative: str) -> list[np.ndarray[Any, Any]]:
    """A program in place, with vectors and matrices, and its derivatives."""
    ti.init(cpu_max_num_threads=2, fast_math=False)
    options = {"needs_grad": derivative == "grad", "needs_dual": derivative == "dual"}
    x, v = (ti.Vector.field(2, ti.f64, **options) for _ in range(2))
    c = ti.Matrix.field(2, 2, ti.f64, **options)
    loss, scale = (ti.field(ti.f64, (), **options) for _ in range(2))
    for field in (x, v, c):
        place(field)

    @ti.kernel
    def step(k: int):
        for i in x:
            c[i] = c[i] * 0.25 + x[i].outer_product(v[i]) * scale[None]
            v[i] += c[i] @ x[i] * ti.sin(x[i].y)
        for i in x:
            x[i] *= 1.0 + 0.1 * v[i]
            x[i][(k + i) % 2] -= ti.cos(v[i].x)

    @ti.kernel
    def measure():
        for i in x:
            loss[None] += x[i].norm_sqr() * c[(i + 1) % 16][0, 1]

    def run() -> None:
        for k in range(FLOW_STEPS):
            step(k)
        x[3] = [0.5, 0.25]
        v.copy_from(x)
        x[4][1] = 0.125
        measure()

    start = np.random.default_rng(5).uniform(0.2, 1, (16, 2))
    for i in range(16):  # which makes all elements active
        x[i], v[i], c[i] = start[i], start[-i], np.outer(start[i], start[i])
    scale[None] = 0.5
    if derivative == "grad":
        with ti.ad.Tape(loss):
            run()
        found = [x.grad, v.grad, c.grad, scale.grad]
    else:
        with ti.ad.FwdMode(loss=loss, param=scale):
            run()
        found = [loss.dual, x.dual]
    return [loss.to_numpy(), x.to_numpy(), *[one.to_numpy() for one in found]]


@pytest.mark.parametrize("derivative", ["grad", "dual"])
@pytest.mark.filterwarnings("ignore:.*is read in Python inside")
@pytest.mark.filterwarnings("ignore:.*that derivative is lost")
def test_derivatives(derivative: str) -> None:
    """They are those of fields that are placed as a whole, to the bit."""
    expected = flow(whole(dense(16)), derivative)
    assert all(one.any() for one in expected)
    for place in LAYOUTS.values():
        for one, two in zip(flow(place, derivative), expected):
            np.testing.assert_array_equal(one, two)


def test_gradients_placed_by_hand() -> None:
    """As a whole, one by one, and by `lazy_grad`."""
    fields = [ti.Vector.field(2, ti.f64, needs_grad=k == 0) for k in range(3)]
    loss = ti.field(ti.f64, (), needs_grad=True)
    for k, x in enumerate(fields):
        block = ti.root.dense(ti.i, 3)
        for part in components(x):
            block.place(part, *([part.grad] if k == 0 else []))
        if k == 1:
            ti.root.dense(ti.i, 3).place(x.grad)
        elif k == 2:
            block.lazy_grad()
    assert fields[0].grad.parent().shape == (3,)

    @ti.kernel
    def run(x: ti.template()):
        for i in x:
            loss[None] += x[i].x * x[i].y ** 2

    for x in fields:
        x.from_numpy(np.array([[1, 2], [3, 4], [5, 6]]))
        with ti.ad.Tape(loss):
            run(x)
        np.testing.assert_array_equal(x.grad.to_numpy(), [[4, 4], [16, 24], [36, 60]])
        assert x.grad[1][1] == 24 and x.grad.get_scalar_field(0)[2] == 36
        x.grad.fill(0)
        loss.grad[None] = 2
        run.grad(x)
        np.testing.assert_array_equal(x.get_scalar_field(0).grad.to_numpy(), [8, 32, 72])


def test_copies_in_a_tape() -> None:
    """Between fields that lie as a whole and by components."""
    x, y = (ti.Vector.field(2, ti.f64, needs_grad=True) for _ in range(2))
    z = ti.Vector.field(2, ti.f64, shape=3, needs_grad=True)
    loss = ti.field(ti.f64, (), needs_grad=True)
    one_by_one(dense(3))(x)
    one_by_one(dense(3))(y)

    @ti.kernel
    def run():
        for i in range(3):
            loss[None] += (i + 1) * y[i].dot(y[i])

    x.from_numpy(np.arange(6).reshape(3, 2))
    with ti.ad.Tape(loss):
        z.copy_from(x)
        y.copy_from(z)
        run()
    np.testing.assert_array_equal(x.grad.to_numpy(), [[0, 2], [8, 12], [24, 30]])


def test_what_takes_whole_fields_refuses_them() -> None:
    """Their components are fields."""
    x, loss = ti.Vector.field(2, ti.f64, needs_grad=True), ti.field(ti.f64, (), needs_grad=True)
    one_by_one(dense(3))(x)

    @ti.kernel
    def run():
        for i in x:
            loss[None] += x[i].x * x[i].y

    x.fill(3)
    with pytest.raises(ti.TaichiTypeError, match="component by component"):
        ti.ad.FwdMode(loss=loss, param=x)
    with pytest.raises(TypeError):
        ti.ad.vjp(run, inputs=[x], output=loss)()
    parts = components(x)
    with ti.ad.FwdMode(loss=loss, param=parts, seed=[[1, 0, 0], [0, 0, 2]]):
        run()
    assert loss.dual[None] == 9
