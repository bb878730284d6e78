"""`ti.init(arch=ti.python)`: Python runs kernels, with the values that compiled kernels give."""

import bdb
import sys
import traceback

import numpy as np
import pytest

import mlirad as ti

ARCHES = pytest.mark.parametrize("arch", ["x64", ti.python])


@pytest.fixture(autouse=True)
def _end():
    yield
    ti.reset()


@ARCHES
def test_assignments_copy_values(arch):
    ti.init(arch=arch)
    x, v = ti.field(ti.f32, 3), ti.Vector.field(2, ti.f32, 2)
    x.from_numpy(np.arange(3, dtype=np.float32))

    @ti.kernel
    def swap():
        for i in range(1):
            before = x[i]
            x[i] = x[i + 2]
            x[i + 2] = before
            x[i], x[i + 1] = x[i + 1], x[i]
        for I in ti.grouped(v):
            w = v[I]
            u = w
            w[0] = 3.0
            u.y = 5.0
            v[I] += w + 2.0 * u
            v[I][1] -= 1.0

    swap()
    assert x.to_numpy().tolist() == [1.0, 2.0, 0.0]
    assert v.to_numpy().tolist() == [[3.0, 9.0]] * 2


@ARCHES
def test_a_variable_keeps_its_type(arch):
    ti.init(arch=arch)

    @ti.kernel
    def count(n: ti.i32) -> ti.f32:
        total = 0
        for i in range(n):
            ti.loop_config(serialize=True)
            total += ti.cast(i * 0.75, ti.i32)
        third: ti.f64 = 1
        third /= 3
        seed = ti.u32(4000000000)
        seed *= 3
        wrapped = ti.cast(seed % 1000, ti.i32)
        return total + third + wrapped

    total = sum(int(i * 0.75) for i in range(5))
    assert count(5) == pytest.approx(total + 1 / 3 + (12000000000 % 2**32) % 1000, rel=1e-6)


@ARCHES
def test_integers_wrap_and_stay_integers(arch):
    ti.init(arch=arch)
    x = ti.field(ti.i32, 4)

    @ti.kernel
    def compute(n: ti.i32):
        for i in range(1):
            h = 5381
            for j in range(20):
                h = h * 33 + j
            x[0] = h % 1000
            x[1] = ((i + 3) * 1000000 * 1000000) % 1000
            both = n and 5
            x[2] = both + 1
            x[3] = 100 * n ** (i - 1) + (i + 1) ** (i - 2)

    compute(3)
    h = 5381
    for j in range(20):
        h = (h * 33 + j + 2**31) % 2**32 - 2**31
    product = (3 * 10**12 + 2**31) % 2**32 - 2**31
    assert x.to_numpy().tolist() == [h % 1000, product % 1000, (3 and 5) + 1, 1]


@ARCHES
def test_atomics_give_the_value_before(arch):
    ti.init(arch=arch)
    x, best = ti.field(ti.i32, 4), ti.field(ti.i32, ())

    @ti.kernel
    def update():
        for i in x:
            x[i] = 10
            ti.atomic_sub(x[i], i)
        total = 1
        before = ti.atomic_add(total, 4)
        best[None] = before * 100 + total
        ti.atomic_max(best[None], 7)

    update()
    assert x.to_numpy().tolist() == [10, 9, 8, 7]
    assert best[None] == 105


@ARCHES
def test_functions_take_values_and_templates(arch):
    ti.init(arch=arch)

    @ti.func
    def change(u, t: ti.template()):
        u[0] = 100.0
        t[0] += 1.0
        return u[0] + u[1]

    @ti.kernel
    def run() -> ti.types.vector(3, ti.f32):
        a, b = ti.Vector([1.0, 2.0]), ti.Vector([3.0, 4.0])
        r = change(a, b)
        return ti.Vector([a[0], b[0], r])

    assert list(run()) == [1.0, 4.0, 102.0]


@ARCHES
def test_structs_and_objects(arch):
    ti.init(arch=arch)
    Ball = ti.types.struct(position=ti.types.vector(2, ti.f32), number=ti.i32)

    @ti.data_oriented
    class Balls:
        def __init__(self):
            self.balls = Ball.field(shape=3)
            self.start = 4

        @ti.func
        def square(self, i):
            return i * i

        @ti.kernel
        def fill(self):
            for i in self.balls:
                self.balls[i].number = self.square(i) + self.start
                self.balls[i].position = ti.Vector([1.0, i])
                ball = self.balls[i]
                ball.position.x = 50.0
                self.balls[i].position[0] += ball.number

    balls = Balls()
    balls.fill()
    assert balls.balls.number.to_numpy().tolist() == [4, 5, 8]
    assert balls.balls.position.to_numpy().tolist() == [[5, 0], [6, 1], [9, 2]]


@ARCHES
@pytest.mark.parametrize("library", ["numpy", "torch", "ndarray"])
def test_arrays_are_where_the_caller_has_them(arch, library):
    ti.init(arch=arch)
    vec = ti.types.vector(2, ti.f32)

    @ti.kernel
    def double(a: ti.types.ndarray(ti.f32, 1), v: ti.types.ndarray(vec, 1)):
        for i in a:
            a[i] = 2 * a[i]
            v[i] += ti.Vector([a[i], 1.0])
            w = v[i]
            w[0] = 90.0

    if library == "ndarray":
        a, v = ti.ndarray(ti.f32, 3), ti.ndarray(vec, 3)
    else:
        a, v = np.zeros(3, np.float32), np.zeros((3, 2), np.float32)
    if library == "torch":
        torch = pytest.importorskip("torch")
        a, v = torch.from_numpy(a), torch.from_numpy(v)
    for i in range(3):
        a[i] = i
    double(a, v)
    plain = [x.to_numpy() if library == "ndarray" else np.asarray(x) for x in (a, v)]
    assert plain[0].tolist() == [0, 2, 4]
    assert plain[1].tolist() == [[0, 1], [2, 1], [4, 1]]


def test_python_sees_the_lines_of_the_program():
    ti.init(arch=ti.python)
    seen = []

    def before_the_second(i):
        if i > 0:
            raise ValueError(i)

    @ti.kernel
    def stop(count: ti.i32):
        for i in range(count):
            seen.append((sys._getframe().f_code.co_name, i))
            before_the_second(i)  # here

    with pytest.raises(ValueError) as caught:
        stop(3)
    assert seen == [("stop", 0), ("stop", 1)]
    last = traceback.extract_tb(caught.value.__traceback__)[-2]
    assert (last.filename, last.line) == (__file__, "before_the_second(i)  # here")


def test_functions_are_called_from_python():
    ti.init(arch=ti.python)
    x = ti.field(ti.i32, 2)

    @ti.func
    def fill():
        ti.loop_config(serialize=True)
        for i in x:
            ti.atomic_add(x[i], i + 1.9)

    fill()
    assert x.to_numpy().tolist() == [1, 2]
    ti.init()
    with pytest.raises(ti.TaichiSyntaxError, match="inside a kernel"):
        fill()


def test_derivatives_are_refused():
    ti.init(arch=ti.python)
    x, loss = ti.field(ti.f32, (), needs_grad=True), ti.field(ti.f32, (), needs_grad=True)

    @ti.kernel
    def square():
        loss[None] += x[None] ** 2

    square()
    with pytest.raises(ti.TaichiRuntimeError, match="'square' has no derivatives with arch="):
        square.grad()
    for recorder in (ti.ad.Tape(loss), ti.ad.FwdMode(loss=loss, param=x)):
        refused = pytest.raises(ti.TaichiRuntimeError, match="'square' has no derivatives")
        with refused, recorder:
            square()


def test_what_only_compiled_kernels_have_is_refused():
    ti.init(arch=ti.python)
    x, y, a = ti.field(ti.i32), ti.field(ti.i32, 2), np.zeros(2)
    ti.root.pointer(ti.i, 4).dense(ti.i, 2).place(x)

    @ti.kernel
    def over_active():
        for i in x:
            x[i] = 1

    @ti.kernel
    def count_bits() -> ti.i32:
        return ti.math.popcnt(3)

    @ti.func
    def set_number(t: ti.template()):
        t += 3

    @ti.kernel
    def before_the_first(b: ti.types.ndarray()):
        b[y[0] - 1] = 3.0

    @ti.kernel
    def too_large():
        y[0] = 1 << 40

    @ti.kernel
    def reference():
        number = 1
        set_number(number)

    for kernel, arguments, kind, reason in (
        (over_active, (), ti.TaichiSyntaxError, "not support loops over sparse fields"),
        (count_bits, (), ti.TaichiSyntaxError, "popcnt needs compiled kernels"),
        (before_the_first, (a,), ti.TaichiIndexError, "below 0"),
        (too_large, (), ti.TaichiTypeError, "exceeded the range of default_ip"),
        (
            reference,
            (),
            ti.TaichiSyntaxError,
            r"test_python_machine.py:\d+:.*'t', which is a templ",
        ),
    ):
        with pytest.raises(kind, match=reason):
            kernel(*arguments)


def test_draws_are_in_range_and_differ():
    ti.init(arch=ti.python, random_seed=3)
    x = ti.field(ti.f32, 100)

    @ti.kernel
    def draw():
        for i in x:
            x[i] = ti.random()

    draw()
    assert 0 <= x.to_numpy().min() < x.to_numpy().max() < 1
    assert len({*x.to_numpy().tolist()}) > 90


def test_a_debugger_stops_at_each_line_with_the_variables() -> None:
    ti.init(arch=ti.python)
    x = ti.field(ti.f64, 2)

    @ti.kernel
    def count(scale: ti.f64):
        for i in x:
            t = scale * i
            x[i] += t

    stops = []

    class Debugger(bdb.Bdb):
        def user_line(self, frame):
            if frame.f_code.co_name == "count":
                first = count.function.__code__.co_firstlineno
                names = {k: frame.f_locals[k] for k in ("i", "t") if k in frame.f_locals}
                stops.append((frame.f_lineno - first, names))

    Debugger().runcall(count, 3.0)
    assert [line for line, _ in stops if line > 1] == [2, 3, 4, 2, 3, 4, 2]
    assert [names for line, names in stops if line == 4] == [{"i": 0, "t": 0.0}, {"i": 1, "t": 3.0}]
