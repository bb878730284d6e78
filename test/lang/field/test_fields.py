"""Fields: how they are laid out and asked for gradients, in every mixture, and what Python reads
and writes."""

from __future__ import annotations

import gc
import itertools
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mlirad as ti
from mlirad.runtime import program as current

SHAPE = (6, 8)


@pytest.fixture(autouse=True)
def program() -> Any:
    ti.init(default_fp=ti.f64, cpu_max_num_threads=1)
    yield
    ti.reset()


def addresses(field: Any) -> np.ndarray:
    """The byte address of every component of every element, in the field's own order."""
    memory = field.find_memory()
    shape, strides = memory.layout.element_shape, memory.layout.element_strides
    result = np.full(shape, memory.address, np.int64)
    for axis, stride in enumerate(strides):
        steps = np.arange(shape[axis]) * stride
        result += steps.reshape([-1 if k == axis else 1 for k in range(len(shape))])
    return result.reshape(-1)


def assert_distinct(*fields: Any) -> None:
    """No byte belongs to two elements."""
    found = np.sort(np.concatenate([addresses(field) for field in fields]))
    size = min(np.dtype(field.dtype.numpy).itemsize for field in fields)
    assert (np.diff(found) >= size).all()


def by_shape(wanted: list[bool]) -> list[Any]:
    return [ti.field(ti.f64, shape=SHAPE, needs_grad=grad) for grad in wanted]


def by_place(wanted: list[bool]) -> list[Any]:
    fields = [ti.field(ti.f64, needs_grad=grad) for grad in wanted]
    ti.root.dense(ti.ij, SHAPE).place(*fields)
    return fields


def by_both(wanted: list[bool]) -> list[Any]:
    first = ti.field(ti.f64, shape=SHAPE, needs_grad=wanted[0])
    second = ti.field(ti.f64, needs_grad=wanted[1])
    ti.root.dense(ti.ij, (3, 2)).dense(ti.ij, (2, 4)).place(second)
    return [first, second]


@pytest.mark.parametrize("ask", ["needs_grad", "lazy_grad", "both", "by_hand"])
@pytest.mark.parametrize("lay_out", [by_shape, by_place, by_both])
def test_layouts_and_gradients_mix(lay_out: Callable[[list[bool]], list[Any]], ask: str) -> None:
    x, y = lay_out({"needs_grad": [True, True], "both": [True, False]}.get(ask, [False, False]))
    if ask in ("lazy_grad", "both"):
        ti.root.lazy_grad()
    if ask == "by_hand":
        ti.root.dense(ti.ji, (SHAPE[1], SHAPE[0])).place(x.grad)
        ti.root.dense(ti.i, SHAPE[0]).dense(ti.j, SHAPE[1]).place(y.grad)
    loss = ti.field(ti.f64, shape=(), needs_grad=True)

    @ti.kernel
    def run():
        for i, j in x:
            loss[None] += x[i, j] * y[i, j] * (1 + i + 10 * j)

    values = np.random.default_rng(0).uniform(size=(2, *SHAPE))
    x.from_numpy(values[0])
    y.from_numpy(values[1])
    with ti.ad.Tape(loss):
        run()
    i, j = np.indices(SHAPE)
    weight = 1 + i + 10 * j
    assert loss[None] == pytest.approx((values[0] * values[1] * weight).sum())
    assert x.grad.shape == y.grad.shape == SHAPE
    np.testing.assert_allclose(x.grad.to_numpy(), values[1] * weight)
    np.testing.assert_allclose(y.grad.to_numpy(), values[0] * weight)
    np.testing.assert_array_equal(x.to_numpy(), values[0])
    assert_distinct(x, y, x.grad, y.grad, loss, loss.grad)


def test_a_gradient_placed_asked_for_and_lazy_is_one_field() -> None:
    volume = ti.field(ti.f32, needs_grad=True)
    ti.root.dense(ti.ijk, (2, 3, 1)).dense(ti.ijk, (4, 4, 4)).place(volume)
    ti.root.dense(ti.ijk, (2, 3, 1)).dense(ti.ijk, (4, 4, 4)).place(volume.grad)
    ti.root.lazy_grad()
    assert volume.shape == volume.grad.shape == (8, 12, 4)
    volume.grad[7, 11, 3] = 5.0
    assert (volume[7, 11, 3], volume.grad[7, 11, 3]) == (0.0, 5.0)
    assert_distinct(volume, volume.grad)


def test_an_integer_field_has_no_gradient() -> None:
    assert ti.field(ti.i32, shape=3).grad is None
    with pytest.raises(ti.TaichiRuntimeError, match="i32 is not supported"):
        ti.field(ti.i32, shape=3, needs_grad=True)


def test_a_gradient_that_was_not_asked_for_cannot_be_read() -> None:
    x = ti.field(ti.f32, shape=3)
    with pytest.raises(ti.TaichiRuntimeError, match="has not been placed"):
        x.grad[0]


def test_blocks_split_each_axis() -> None:
    x = ti.field(ti.i32)
    ti.root.dense(ti.ij, (2, 3)).dense(ti.ij, (4, 2)).dense(ti.j, 5).place(x)
    assert x.shape == (8, 30)
    values = np.arange(240, dtype=np.int32).reshape(8, 30)
    x.from_numpy(values)
    np.testing.assert_array_equal(x.to_numpy(), values)
    assert all(x[i, j] == values[i, j] for i, j in itertools.product(range(8), range(30)))
    # The cell (i, j) lies at block (i // 4, j // 10), then (i % 4, j // 5 % 2), then j % 5.
    i, j = np.indices((8, 30))
    order = (((i // 4 * 3 + j // 10) * 4 + i % 4) * 2 + j // 5 % 2) * 5 + j % 5
    found = addresses(x)
    np.testing.assert_array_equal((found - found.min()).reshape(8, 30), 4 * order)


def test_kernels_and_python_agree_on_blocks() -> None:
    x, y = ti.field(ti.i32), ti.field(ti.i64)
    block = ti.root.dense(ti.i, 3).dense(ti.ji, (2, 4))
    block.place(x, y)

    @ti.kernel
    def fill():
        for i, j in x:
            x[i, j] = 100 * i + j
            y[i, j] = -x[i, j]

    fill()
    i, j = np.indices((12, 2))
    np.testing.assert_array_equal(x.to_numpy(), 100 * i + j)
    np.testing.assert_array_equal(y.to_numpy(), -(100 * i + j))
    assert_distinct(x, y)


def test_several_fields_in_a_cell_lie_together() -> None:
    a, b, c = ti.field(ti.i8), ti.Vector.field(3, ti.f32), ti.field(ti.f64)
    ti.root.dense(ti.i, 5).place(a, b, c)
    offsets = [addresses(field).reshape(5, -1)[:, 0] for field in (a, b, c)]
    assert (np.diff(offsets[0]) == 24).all()  # 1, 3 to align, 12, 8
    assert (offsets[1] - offsets[0] == 4).all() and (offsets[2] - offsets[0] == 16).all()
    for field, value in ((a, 7), (b, [1, 2, 3]), (c, 0.5)):
        field.fill(ti.Vector(value) if isinstance(value, list) else value)
    np.testing.assert_array_equal(a.to_numpy(), np.full(5, 7))
    np.testing.assert_array_equal(b.to_numpy(), np.tile([1, 2, 3], (5, 1)))
    np.testing.assert_array_equal(c.to_numpy(), np.full(5, 0.5))


def test_axes_are_numbered_in_their_own_order() -> None:
    x = ti.field(ti.i32)
    ti.root.dense(ti.k, 3).dense(ti.i, 4).place(x)
    assert x.shape == (4, 3)

    @ti.kernel
    def fill():
        for p, q in x:
            x[p, q] = 10 * p + q

    fill()
    p, q = np.indices((4, 3))
    np.testing.assert_array_equal(x.to_numpy(), 10 * p + q)


@pytest.mark.parametrize("order", ["ij", "ji"])
def test_order_of_axes_in_memory(order: str) -> None:
    x = ti.field(ti.f32, shape=(3, 5), order=order)
    steps = np.diff(addresses(x).reshape(3, 5), axis=1)
    assert (steps == (4 if order == "ij" else 12)).all()
    assert x.shape == (3, 5)


def test_offsets_shift_indices_everywhere() -> None:
    x = ti.field(ti.i32, shape=(4, 3), offset=(-2, 5))
    y = ti.field(ti.i32)
    ti.root.dense(ti.i, 4).place(y, offset=10)

    @ti.kernel
    def fill():
        for i, j in x:
            x[i, j] = 10 * i + j
        for i in y:
            y[i] = x[i - 12, 5]

    fill()
    i, j = np.meshgrid(np.arange(-2, 2), np.arange(5, 8), indexing="ij")
    np.testing.assert_array_equal(x.to_numpy(), 10 * i + j)
    np.testing.assert_array_equal(y.to_numpy(), [-15, -5, 5, 15])
    assert (x[-2, 5], x[1, 7], y[13]) == (-15, 17, 15)
    with pytest.raises(IndexError):
        x[2, 5]
    with pytest.raises(ti.TaichiCompilationError, match="dimensionality of shape and offset"):
        ti.field(ti.i32, shape=3, offset=(1, 2))


def test_gradients_take_the_offset_of_their_field() -> None:
    x = ti.field(ti.f64, shape=4, offset=-1, needs_grad=True)
    loss = ti.field(ti.f64, shape=(), needs_grad=True)
    x.from_numpy(np.arange(4.0))

    @ti.kernel
    def run():
        for i in x:
            loss[None] += x[i] * i

    with ti.ad.Tape(loss):
        run()
    np.testing.assert_array_equal([x.grad[i] for i in range(-1, 3)], [-1, 0, 1, 2])


@pytest.mark.parametrize(
    "dtype",
    [ti.i8, ti.i16, ti.i32, ti.i64, ti.u1, ti.u8, ti.u16, ti.u32, ti.u64, ti.f16, ti.f32, ti.f64],
)
def test_every_element_type_goes_to_numpy_and_back(dtype: Any) -> None:
    x = ti.field(dtype, shape=(2, 3))
    values = np.arange(6).reshape(2, 3).astype(dtype.numpy)
    x.from_numpy(values)
    assert x.to_numpy().dtype == dtype.numpy and x.dtype == dtype
    np.testing.assert_array_equal(x.to_numpy(), values)
    x.fill(1)
    np.testing.assert_array_equal(x.to_numpy(), np.ones((2, 3), dtype.numpy))
    x[1, 2] = 0
    assert x[1, 2] == 0 and x[0, 0] == 1


def test_numpy_arrays_are_copies() -> None:
    x = ti.field(ti.f32, shape=3)
    out = x.to_numpy()
    out[:] = 9
    x.from_numpy(out)
    out[:] = 5
    np.testing.assert_array_equal(x.to_numpy(), [9, 9, 9])


def test_from_numpy_converts_and_takes_any_strides() -> None:
    x = ti.Vector.field(2, ti.i32, shape=3)
    values = np.arange(12.0).reshape(2, 6).T[::2]
    x.from_numpy(values)
    np.testing.assert_array_equal(x.to_numpy(), values)
    assert x.to_numpy(keep_dims=True).shape == (3, 2, 1)


def test_from_numpy_takes_views_of_the_field() -> None:
    """Components that lie among others are copied one by one."""
    n = 5000
    x, y = ti.Vector.field(3, ti.f32), ti.field(ti.f32)
    ti.root.dense(ti.i, n).place(x, y)
    values = np.random.default_rng(1).uniform(-1, 1, (n, 3)).astype(np.float32)
    for part in (np.s_[:, ::-1], np.s_[::-1], np.s_[::-1, [2, 0, 1]]):
        x.from_numpy(values)
        x.from_numpy(np.asarray(x)[part])
        np.testing.assert_array_equal(x.to_numpy(), values[part])


@pytest.mark.parametrize("shape", [(3,), (4, 3), (3, 4, 1), ()])
def test_from_numpy_refuses_another_shape(shape: tuple[int, ...]) -> None:
    x = ti.field(ti.f32, shape=(3, 4))
    x.fill(2)
    with pytest.raises(ValueError, match=r"\(3, 4\)"):
        x.from_numpy(np.zeros(shape))
    np.testing.assert_array_equal(x.to_numpy(), np.full((3, 4), 2))


def test_vectors_and_matrices_in_python() -> None:
    v, m = ti.Vector.field(3, ti.f32, shape=2), ti.Matrix.field(2, 3, ti.i32, shape=())
    assert (v.n, v.m, m.n, m.m) == (3, 1, 2, 3)
    v[1] = [1, 2, 3]
    v[1][0] += 10
    v[1].y = 5
    v[1].zx = [7, 8]
    m[None][1, 2] = 4
    assert v[1].to_list() == [8, 5, 7] and v[0].to_list() == [0, 0, 0]
    np.testing.assert_array_equal(m.to_numpy(), [[0, 0, 0], [0, 0, 4]])
    m.fill(ti.Matrix([[1, 2, 3], [4, 5, 6]]))
    assert m[None][1, 0] == 4
    with pytest.raises(ti.TaichiTypeError):
        v[0] = [1, 2]


def test_fields_of_a_declared_type() -> None:
    x = ti.field(ti.types.matrix(2, 3, ti.f32), shape=4, needs_grad=True)
    y = ti.math.vec3.field(shape=())
    assert x.to_numpy().shape == x.grad.to_numpy().shape == (4, 2, 3)
    assert (y.n, y.dtype) == (3, ti.f64)


def test_a_component_is_a_field_of_scalars() -> None:
    v = ti.Vector.field(2, ti.f64, shape=4, needs_grad=True)
    second = v.get_scalar_field(1)

    @ti.kernel
    def run():
        for i in range(4):
            second[i] = 3 * i

    run()
    np.testing.assert_array_equal(v.to_numpy(), [[0, 0], [0, 3], [0, 6], [0, 9]])
    second.from_numpy(np.arange(4))
    second[2] = -1
    np.testing.assert_array_equal(second.to_numpy(), [0, 1, -1, 3])
    assert v[2][1] == -1 and v[2][0] == 0


def test_copy_from_between_layouts() -> None:
    x = ti.field(ti.f32, shape=(6, 4))
    y = ti.field(ti.i32)
    ti.root.dense(ti.ij, (3, 2)).dense(ti.ij, 2).place(y)
    values = np.arange(24).reshape(6, 4)
    x.from_numpy(values)
    y.copy_from(x)
    np.testing.assert_array_equal(y.to_numpy(), values)
    with pytest.raises(ValueError):
        y.copy_from(ti.field(ti.i32, shape=(4, 6)))
    with pytest.raises(TypeError):
        y.copy_from(values)


def test_fill_in_a_kernel() -> None:
    x, v = ti.field(ti.i32, shape=(2, 3), offset=(5, 5)), ti.Vector.field(2, ti.f32, shape=4)

    @ti.kernel
    def run(value: int):
        x.fill(value)
        v.fill(ti.Vector([value, 0.5]))

    run(7)
    np.testing.assert_array_equal(x.to_numpy(), np.full((2, 3), 7))
    np.testing.assert_array_equal(v.to_numpy(), np.tile([7, 0.5], (4, 1)))


def test_scalars_out_of_range_are_refused() -> None:
    x = ti.field(ti.u8, shape=())
    x[None] = 255
    with pytest.raises(
        ti.TaichiRuntimeTypeError, match="-1 does not fit into field 'x' of type u8"
    ):
        x[None] = -1
    assert x[None] == 255


def test_builders_have_lives_of_their_own() -> None:
    builder = ti.FieldsBuilder()
    x, y = ti.field(ti.f32), ti.field(ti.f32, shape=3)
    builder.dense(ti.i, 5).place(x)
    trees = builder.finalize()

    @ti.kernel
    def run():
        for i in x:
            x[i] = i + y[0]

    y.fill(1)
    run()
    np.testing.assert_array_equal(x.to_numpy(), np.arange(5) + 1)
    trees.destroy()
    for use in (run, x.to_numpy, lambda: x.fill(0)):
        with pytest.raises((ti.TaichiRuntimeError, ti.TaichiCompilationError), match="destroyed"):
            use()
    with pytest.raises(ti.TaichiRuntimeError):
        trees.destroy()
    with pytest.raises(ti.TaichiRuntimeError, match="finalized"):
        builder.finalize()
    np.testing.assert_array_equal(y.to_numpy(), np.ones(3))


def test_a_kernel_finds_the_fields_that_replace_destroyed_ones() -> None:
    @ti.data_oriented
    class Grid:
        def allocate(self, n: int) -> None:
            self.x = ti.field(ti.i32)
            builder = ti.FieldsBuilder()
            builder.dense(ti.i, n).place(self.x)
            self.trees = builder.finalize()

        @ti.kernel
        def run(self):
            for i in self.x:
                self.x[i] += i

    grid = Grid()
    for n in (3, 5):
        grid.allocate(n)
        grid.run()
        np.testing.assert_array_equal(grid.x.to_numpy(), np.arange(n))
        grid.trees.destroy()


def test_a_lazy_gradient_of_a_builder() -> None:
    builder = ti.FieldsBuilder()
    x = ti.field(ti.f32)
    builder.dense(ti.i, 5).place(x)
    builder.lazy_grad()
    builder.finalize()
    x.grad[3] = 2
    assert (x[3], x.grad[3]) == (0, 2)


def test_fields_declared_after_a_kernel_ran() -> None:
    x = ti.field(ti.i32, shape=3)

    @ti.kernel
    def run(target: ti.template()):
        for i in target:
            target[i] += i + 1

    run(x)
    y = ti.field(ti.i32)
    ti.root.dense(ti.i, 2).place(y)
    run(y)
    run(x)
    np.testing.assert_array_equal(x.to_numpy(), [2, 4, 6])
    np.testing.assert_array_equal(y.to_numpy(), [1, 2])


@pytest.mark.parametrize("bad", [0, -1, (3, 0), 1.5])
def test_extents_are_positive_integers(bad: Any) -> None:
    with pytest.raises(ti.TaichiRuntimeError):
        ti.field(ti.f32, shape=bad)


def test_the_tree_of_a_field() -> None:
    x = ti.field(ti.f32)
    outer = ti.root.dense(ti.i, 3)
    inner = outer.dense(ti.j, 4)
    inner.place(x)
    assert x.parent() is inner and x.parent(2) is outer and x.snode.parent(3) == ti.root
    assert x.snode.parent(4) is None and inner.shape == (3, 4)
    assert str(x.snode) == "ti.root => dense [3] => dense [3, 4] => place [3, 4]"


def test_a_field_is_placed_once() -> None:
    x = ti.field(ti.f32, shape=3)
    with pytest.raises(ti.TaichiRuntimeError, match="already placed"):
        ti.root.place(x)


def test_a_field_of_an_ended_program() -> None:
    x = ti.field(ti.f32, shape=3)
    ti.init()
    with pytest.raises(ti.TaichiRuntimeError, match="ended"):
        x[0]


def test_a_new_program_frees_the_code_of_the_last() -> None:
    x, loss = ti.field(ti.f64, 3, needs_grad=True), ti.field(ti.f64, (), needs_grad=True)

    @ti.kernel
    def total():
        for i in x:
            loss[None] += x[i]

    with ti.ad.Tape(loss) as tape:
        total()
    found = [
        weakref.ref(code)
        for variant in current.program().compiled
        for code in variant.compiled.values()
    ]
    assert len(found) == 2
    ti.init(default_fp=ti.f64)
    with pytest.raises(
        ti.TaichiRuntimeError, match=r"a program that ti\.init\(\) or ti\.reset\(\) ended"
    ):
        tape.grad()
    del tape
    gc.collect()
    assert [code() for code in found] == [None, None]


def test_addresses_of_leaves_and_components() -> None:
    ti.init()
    x = ti.Vector.field(3, ti.f32, (4, 5))
    second, found = x.get_scalar_field(1), ti.field(ti.u64, 2)

    @ti.kernel
    def run():
        ti.no_activate(x)
        found[0] = ti.get_addr(x.snode, [2, 3]) - ti.get_addr(x, [0, 0])
        found[1] = ti.get_addr(second, [2, 3]) - ti.get_addr(x, [2, 3])

    run()
    assert found.to_numpy().tolist() == [12 * (2 * 5 + 3), 4]
