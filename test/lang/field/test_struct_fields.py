"""Fields of structs: where their members lie, what Python and kernels read and write."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mlirad as ti

vec3 = ti.types.vector(3, ti.f32)
Inner = ti.types.struct(direction=vec3, length=ti.f64)
Outer = ti.types.struct(inner=Inner, index=ti.i32, flag=ti.u8, m=ti.types.matrix(2, 2, ti.f32))


@pytest.fixture(autouse=True)
def program() -> Any:
    ti.init(cpu_max_num_threads=2)
    yield
    ti.reset()


def address(field: Any) -> int:
    """Where a field begins."""
    return field.find_memory().address


def sample(i: int) -> Any:
    """An element that tells its index."""
    return Outer(Inner([i, 2 * i, 3 * i], i / 3), i + 100, i % 2, [[i, 0], [0, -i]])


class TestLayout:
    """Where members lie."""

    def test_members_lie_together(self) -> None:
        """Each as far from the first as its size and alignment say; 48 bytes an element."""
        f = Outer.field(shape=(3, 5))
        start = address(f.inner.direction)
        parts = [f.inner.length, f.index, f.flag, f.m]
        assert [address(p) - start for p in parts] == [16, 24, 28, 32]
        f[1, 2].index = 7
        assert f.index.to_numpy()[1, 2] == 7
        assert f.index.find_memory().layout.element_strides == (5 * 48, 48)

    def test_members_lie_apart(self) -> None:
        f = Outer.field(shape=(3, 5), layout=ti.Layout.SOA)
        assert f.index.find_memory().layout.element_strides == (5 * 4, 4)
        assert address(f.inner.length) - address(f.inner.direction) == 16  # one member, one tree

    def test_placed_by_hand(self) -> None:
        f, g = Outer.field(), Inner.field()
        ti.root.dense(ti.i, 4).place(f.index, f.m).dense(ti.i, 2).place(f.flag)
        ti.root.dense(ti.i, 4).dense(ti.i, 2).place(f.inner, g)
        assert (f.index.shape, f.flag.shape, f.inner.shape, g.shape) == ((4,), (8,), (8,), (8,))
        assert f.shape == (8,) and f.parent().shape == (8,) and f.snode.parent(2).shape == (4,)

    def test_offsets(self) -> None:
        f = Inner.field(shape=(4, 2), offset=(-2, 10))

        @ti.kernel
        def fill():
            for i, j in f:
                f[i, j].length = 10 * i + j

        fill()
        assert f[-2, 11].length == -9.0 and f.length.to_numpy()[0, 1] == -9.0
        with pytest.raises(ti.TaichiIndexError):
            f[2, 10].length = 1.0

    def test_mistakes(self) -> None:
        with pytest.raises(ti.TaichiRuntimeError, match="already placed"):
            f = Inner.field()
            ti.root.dense(ti.i, 4).place(f, f)
        with pytest.raises(
            ti.TaichiCompilationError, match="'a' occurs twice among the members of a struct"
        ):
            a = ti.field(ti.f32, shape=3)
            ti.StructField({"x": a, "y": a})
        with pytest.raises(ti.TaichiTypeError, match="ordre"):
            Inner.field(shape=3, ordre="ij")
        with pytest.raises(ti.TaichiSyntaxError, match="shape cannot be None"):
            Inner.field(offset=3)
        with pytest.raises(ti.TaichiRuntimeError, match="without float members"):
            ti.types.struct(k=ti.i32).field(shape=3, needs_grad=True)
        with pytest.raises(AttributeError, match="no member 'lenght': did you mean 'length'"):
            Inner.field(shape=3).lenght  # noqa: B018

    def test_gradients_are_of_the_members_that_are_floats(self) -> None:
        f = ti.types.struct(k=int, a=float, v=ti.types.vector(2)).field(shape=3, needs_grad=True)
        f.a.grad[1] = 2.5
        assert f.grad.keys == ["a", "v"] and f.grad[1].to_dict() == {"a": 2.5, "v": [0.0, 0.0]}

    def test_of_fields_that_are_there(self) -> None:
        a, v = ti.field(ti.f32, shape=3), ti.Vector.field(2, ti.i32, shape=3)
        f = ti.StructField({"a": a, "v": v})
        f[1] = {"a": 1.5, "v": [2, 3]}
        assert a[1] == 1.5 and v[1].to_list() == [2, 3]


@pytest.mark.parametrize("layout", [ti.Layout.AOS, ti.Layout.SOA])
class TestAccess:
    """Elements in Python and in kernels."""

    def test_elements(self, layout: Any) -> None:
        f = Outer.field(shape=8, layout=layout)
        for i in range(8):
            f[i] = sample(i)
        assert [f[i].to_dict() for i in range(8)] == [
            sample(i).to_dict() | {"inner": {**sample(i).inner.to_dict(), "length": i / 3}}
            for i in range(8)
        ]
        f[2].inner = f[5].inner
        f[2].inner.direction.y = -1
        f[2].m = [[1, 2], [3, 4]]
        assert f.inner.direction.to_numpy()[2].tolist() == [5, -1, 15]
        assert f.m.to_numpy()[2].tolist() == [[1, 2], [3, 4]] and f[2].inner.length == 5 / 3

    def test_kernels(self, layout: Any) -> None:
        """By member first, by index first, and whole, against NumPy."""
        f, g = Outer.field(shape=8, layout=layout), Outer.field(shape=8)
        for i in range(8):
            f[i] = sample(i)

        @ti.kernel
        def run():
            for i in g:
                g[i] = f[7 - i]
                g[i].inner.length += f.inner[i].length
                g.index[i] -= f[i].index
                g[i].inner.direction[2] = f.inner.direction[i].x
                f[i].m[1, 1], f[i].m[0, 0] = f[i].m[0, 0], f[i].m[1, 1]

        before = f.to_numpy()
        run()
        found = g.to_numpy()
        lengths = before["inner"]["length"]
        assert np.array_equal(found["inner"]["length"], lengths[::-1] + lengths)
        assert np.array_equal(found["index"], before["index"][::-1] - before["index"])
        expected = before["inner"]["direction"][::-1].copy()
        expected[:, 2] = before["inner"]["direction"][:, 0]
        assert np.array_equal(found["inner"]["direction"], expected)
        assert f.m[3].to_list() == [[-3, 0], [0, 3]]

    def test_elements_are_swapped(self, layout: Any) -> None:
        f = Outer.field(shape=2, layout=layout)
        f[0], f[1] = sample(3), sample(4)

        @ti.kernel
        def swap():
            f[0], f[1] = f[1], f[0]

        swap()
        assert f[0].index == 104 and f[1].inner.direction.to_list() == [3, 6, 9]

    def test_fill_and_copies(self, layout: Any) -> None:
        f, g = Outer.field(shape=3, layout=layout), Outer.field(shape=3)
        f.fill(2)
        assert f[1].to_dict() == Outer(Inner(2, 2), 2, 2, 2).to_dict()
        f.inner.length.fill(0.5)
        g.copy_from(f)
        f.fill(sample(1))
        assert f[2].to_dict() == {**sample(1).to_dict(), "inner": sample(1).inner.to_dict()}
        assert g[0].inner.length == 0.5 and g[0].flag == 2
        f.from_numpy(g.to_numpy())
        assert str(f.to_numpy()) == str(g.to_numpy())
        with pytest.raises(ti.TaichiTypeError, match="Member mismatch"):
            f.from_numpy({"inner": 1})

        @ti.kernel
        def clear():
            f.fill(0)
            g.inner.fill(1)

        clear()
        assert f[2].index == 0 and g[2].inner.direction.to_list() == [1, 1, 1] and g[2].flag == 2

    def test_torch(self, layout: Any) -> None:
        torch = pytest.importorskip("torch")
        f, g = Inner.field(shape=3, layout=layout), Inner.field(shape=3)
        f[1] = Inner([1, 2, 3], 4)
        tensors = f.to_torch()
        assert isinstance(tensors["length"], torch.Tensor)
        g.from_torch(tensors)
        assert g[1].to_dict() == f[1].to_dict()


def test_elements_in_python_are_where_they_lie() -> None:
    f = Inner.field(shape=3)
    element = f[1]
    f[1].length = 5.0
    assert element.length == 5.0
    element.direction = [1, 2, 3]
    assert f.direction[1].to_list() == [1, 2, 3]


def test_a_loop_over_a_field_of_structs_and_its_members() -> None:
    f = Outer.field(shape=(2, 3))

    @ti.kernel
    def run(g: ti.template()):
        for i in ti.grouped(g):
            g[i].index = 1 + i[0]
        for i, j in g.inner:
            g[i, j].inner.length = j
        for i, j in g.flag:
            g.flag[i, j] = 3

    run(f)
    assert f.index.to_numpy().tolist() == [[1] * 3, [2] * 3]
    assert f.inner.length.to_numpy().tolist() == [[0, 1, 2]] * 2 and f[1, 2].flag == 3


def test_members_are_read_by_name() -> None:
    f = Inner.field(shape=3)
    f[1] = Inner(2, 3)

    @ti.kernel
    def total(g: ti.template()) -> float:
        s = 0.0
        for name in ti.static(g.keys):
            s += (
                g.get_member_field(name)[1].norm()
                if ti.static(name == "direction")
                else g[1].length
            )
        return s

    assert f.keys == ["direction", "length"]
    assert total(f) == pytest.approx(np.sqrt(12) + 3)


def test_is_no_value() -> None:
    f = Inner.field(shape=3)
    with pytest.raises(NotImplementedError, match="Struct for is only available"):
        list(f)
    with pytest.raises(TypeError, match="no truth value"):
        bool(f)
    assert len(f) == 3 and str(f) == str(
        {"direction": np.zeros((3, 3), "f"), "length": np.zeros(3)}
    )


def test_lists_of_structs() -> None:
    f = Outer.field()
    ti.root.dynamic(ti.i, 16, chunk_size=4).place(f)

    @ti.kernel
    def collect(n: int) -> int:
        f.deactivate()
        for i in range(n):
            if i % 2 == 1:
                f.append(Outer(Inner([i, 0, 0], i), 10 * i, 1, [[0, i], [0, 0]]))
        return f.length()

    @ti.kernel
    def total() -> (int, float):
        s, t = 0, 0.0
        for i in f:
            s += f[i].index * f[i].flag
            t += f[i].inner.length + f[i].inner.direction.x + f.m[i][0, 1]
        return s, t

    assert [collect(n) for n in (20, 3, 9)] == [10, 1, 4]
    assert total() == (10 * (1 + 3 + 5 + 7), 3.0 * (1 + 3 + 5 + 7))


def test_structs_in_sparse_blocks() -> None:
    """A member that is written activates the others, which are 0."""
    f = Inner.field()
    ti.root.pointer(ti.ij, 4).bitmasked(ti.ij, 2).place(f)

    @ti.kernel
    def touch():
        f[1, 2].length = 3.0
        f[5, 5].direction.y = 4.0

    @ti.kernel
    def count() -> int:
        n = 0
        for i, j in f:
            n += 1 + 10 * i
            f[i, j].length += 1.0
        return n

    touch()
    assert count() == 2 + 10 * (1 + 5)
    assert f.length.to_numpy().sum() == 5.0 and f.direction[5, 5].to_list() == [0, 4, 0]


def test_all_structs_are_of_one_class() -> None:
    """Values, elements, and results of kernels."""
    f = Inner.field(shape=3)

    @ti.kernel
    def run(s: Inner) -> Inner:
        return s

    for value in (Inner(), f[1], run(f[1]), ti.Struct(a=1), Outer().inner):
        assert isinstance(value, ti.Struct)
    assert isinstance(ti.Struct.field({"a": ti.f32}, shape=2), ti.StructField)
