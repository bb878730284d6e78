"""Programs over fields of structs against the same programs over separate fields: values,
gradients, tangents, second derivatives and checkpointed loops, to the bit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from gradients import check, scalar, variable

import mlirad as ti
from mlirad.runtime.program import program as current

N, GRID, STEPS = 12, 5, 4
vec2, mat2 = ti.types.vector(2, ti.f64), ti.types.matrix(2, 2, ti.f64)


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """The order of all sums is fixed."""
    ti.init(default_fp=ti.f64, cpu_max_num_threads=1, fast_math=False)
    yield
    ti.reset()


@ti.dataclass
class Cell:
    """Momentum and mass at a node of the grid."""

    v: vec2
    m: ti.f64

    @ti.func
    def velocity(self):
        return self.v / (self.m + 0.1)


@ti.dataclass
class Particle:
    """Material that moves through the grid."""

    x: vec2
    v: vec2
    C: mat2

    @ti.func
    def affine(self, offset):
        return self.v + self.C @ offset

    @ti.func
    def move(self, cell, weight, offset):
        """Take over what a node knows, and go with it."""
        velocity = weight * cell.velocity()
        self.v = 0.7 * self.v + velocity
        self.C += 0.1 * velocity.outer_product(offset)
        self.x += 0.05 * ti.sin(self.v)


class WithStructs:
    """Particles to grid and back, in place; index first, methods, whole elements."""

    def __init__(self, layout: Any) -> None:
        self.loss, self.k = scalar(), variable()
        if layout is None:
            p, g = Particle.field(needs_grad=True), Cell.field(needs_grad=True)
            block = ti.root.dense(ti.i, N)
            block.place(p.x)
            block.dense(ti.j, 1)
            ti.root.dense(ti.i, N // 4).dense(ti.i, 4).place(p.C, p.v)
            ti.root.dense(ti.i, GRID).place(g)
        elif layout == "sparse":
            p, g = Particle.field(), Cell.field()
            ti.root.pointer(ti.i, 3).dense(ti.i, 4).place(p)
            ti.root.bitmasked(ti.i, GRID).place(g)
            ti.root.lazy_grad()
        else:
            p = Particle.field(shape=N, needs_grad=True, layout=layout)
            g = Cell.field(shape=GRID, needs_grad=True, layout=layout)
        self.p, self.g, loss, k = p, g, self.loss, self.k
        self.state: Any = [p, g]

        @ti.kernel
        def activate():
            for i in range(N):
                p[i].x = 0.0
            for i in range(GRID):
                g[i].m = 0.0

        @ti.kernel
        def clear():
            for i in g:
                g[i] = Cell(0.0, 0.0)

        @ti.kernel
        def scatter():
            for i in p:
                one = p[i]
                j = ti.cast(ti.abs(one.x.x) * 3.0, ti.i32) % GRID
                offset = one.x - ti.Vector([j / 3.0, 0.0])
                weight = k[None] * ti.exp(-offset.norm_sqr())
                g[j].v += weight * one.affine(offset)
                g[j].m += weight

        @ti.kernel
        def gather():
            for i in p:
                j = ti.cast(ti.abs(p[i].x.x) * 3.0, ti.i32) % GRID
                offset = p[i].x - ti.Vector([j / 3.0, 0.0])
                p[i].move(g[j], ti.exp(-offset.norm_sqr()), offset)

        @ti.kernel
        def measure():
            for i in p:
                loss[None] += p[i].x.norm_sqr() + 0.1 * p[i].C.trace() * p[i].v.y

        self.activate, self.kernels = activate, (clear, scatter, gather)
        self.measure = measure

    def fields(self) -> list[Any]:
        """The members, one by one."""
        return [self.p.x, self.p.v, self.p.C, self.g.v, self.g.m]

    def start(self) -> None:
        """The state at the beginning."""
        if isinstance(self.state[0], ti.StructField):
            self.activate()
        random = np.random.default_rng(7)
        for field in self.fields():
            field.from_numpy(random.uniform(-1, 1, field.to_numpy().shape))
        self.k[None] = 0.8

    def run(self, over: Any = None) -> None:
        """All steps, and the loss."""
        for _ in range(STEPS) if over is None else over:
            for kernel in self.kernels:
                kernel()
        self.measure()


class WithFields(WithStructs):
    """The same over separate fields."""

    def __init__(self) -> None:
        self.loss, self.k = scalar(), variable()
        x, v = (ti.Vector.field(2, ti.f64, shape=N, needs_grad=True) for _ in range(2))
        C = ti.Matrix.field(2, 2, ti.f64, shape=N, needs_grad=True)
        gv = ti.Vector.field(2, ti.f64, shape=GRID, needs_grad=True)
        gm = ti.field(ti.f64, shape=GRID, needs_grad=True)
        loss, k = self.loss, self.k
        self.state = self.all = [x, v, C, gv, gm]

        @ti.kernel
        def clear():
            for i in gm:
                gv[i] = ti.Vector([0.0, 0.0])
                gm[i] = 0.0

        @ti.kernel
        def scatter():
            for i in x:
                x_, v_, C_ = x[i], v[i], C[i]
                j = ti.cast(ti.abs(x_.x) * 3.0, ti.i32) % GRID
                offset = x_ - ti.Vector([j / 3.0, 0.0])
                weight = k[None] * ti.exp(-offset.norm_sqr())
                gv[j] += weight * (v_ + C_ @ offset)
                gm[j] += weight

        @ti.kernel
        def gather():
            for i in x:
                j = ti.cast(ti.abs(x[i].x) * 3.0, ti.i32) % GRID
                offset = x[i] - ti.Vector([j / 3.0, 0.0])
                velocity = ti.exp(-offset.norm_sqr()) * (gv[j] / (gm[j] + 0.1))
                v[i] = 0.7 * v[i] + velocity
                C[i] += 0.1 * velocity.outer_product(offset)
                x[i] += 0.05 * ti.sin(v[i])

        @ti.kernel
        def measure():
            for i in x:
                loss[None] += x[i].norm_sqr() + 0.1 * C[i].trace() * v[i].y

        self.kernels = clear, scatter, gather
        self.measure = measure

    def fields(self) -> list[Any]:
        return self.all


LAYOUTS = {"together": ti.Layout.AOS, "apart": ti.Layout.SOA, "by_hand": None, "sparse": "sparse"}


@pytest.fixture(params=LAYOUTS)
def pair(request: pytest.FixtureRequest, one_thread: None) -> tuple[WithStructs, WithStructs]:
    """The program over structs, and the one over fields."""
    return WithStructs(LAYOUTS[request.param]), WithFields()


def same(found: Any, expected: Any) -> None:
    """Compare lists of arrays to the bit; they are not all 0."""
    assert any(np.any(array != 0) for array in expected)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


def everything(program: WithStructs) -> list[Any]:
    """Values, and gradients."""
    fields = [*program.fields(), program.k, program.loss]
    return [f.to_numpy() for f in fields] + [f.grad.to_numpy() for f in fields]


def test_reverse_mode(pair: tuple[WithStructs, WithStructs]) -> None:
    results = []
    for program in pair:
        program.start()
        with ti.ad.Tape(program.loss):
            program.run()
        results.append(everything(program))
    same(*results)


@pytest.mark.parametrize("pair", ["together"], indirect=True)
def test_checkpointed_loops(pair: tuple[WithStructs, WithStructs]) -> None:
    results = []
    for program in pair:
        program.start()
        with ti.ad.Tape(program.loss):
            program.run(ti.ad.checkpointed(range(STEPS), state=program.state, snapshots=2))
        results.append(everything(program))
    same(*results)


@pytest.mark.parametrize("pair", ["by_hand"], indirect=True)
def test_forward_mode(pair: tuple[WithStructs, WithStructs]) -> None:
    results = []
    for program in pair:
        program.start()
        with ti.ad.FwdMode(loss=program.loss, param=program.k):
            program.run()
        results.append([program.loss.to_numpy(), program.loss.dual.to_numpy()])
    same(*results)


@pytest.mark.parametrize("pair", ["by_hand"], indirect=True)
def test_second_order(pair: tuple[WithStructs, WithStructs]) -> None:
    v = np.random.default_rng(2).uniform(-1, 1, (N, 2))
    results = []
    for program in pair:
        program.start()
        results.append([ti.ad.hvp(program.run, loss=program.loss, wrt=program.fields()[1], v=v)])
    same(*results)


def test_against_finite_differences() -> None:
    """Of what structs carry from loop to loop, as locals, results and arguments."""
    pair_type = ti.types.struct(a=vec2, b=ti.types.struct(c=ti.f64, n=ti.i32))
    f, loss = pair_type.field(), scalar()
    ti.root.dense(ti.i, 6).place(f)
    ti.root.lazy_grad()

    @ti.func
    def mixed(p: pair_type, q: pair_type) -> pair_type:
        s = p if p.b.c > q.b.c else q
        return pair_type(s.a * q.a.yx, {"c": ti.sin(p.b.c) + s.a.x, "n": p.b.n + 1})

    @ti.kernel
    def run():
        for i in f:
            s = f[i]
            for k in range(s.b.n):
                s = mixed(s, f[(i + k) % 6])
            loss[None] += s.a.x * s.b.c + s.a.y

    random = np.random.default_rng(3)
    f.a.from_numpy(random.uniform(0.5, 1.5, (6, 2)))
    f.b.c.from_numpy(random.uniform(0.5, 1.5, 6))
    f.b.n.from_numpy(np.arange(6, dtype=np.int32) % 4)
    assert f.grad.b.keys == ["c"] and f.dual.keys == ["a", "b"]
    check(run, [f.a, f.b.c], loss)


def test_gradients_of_members_in_kernels() -> None:
    """The adjoint is a struct as well: read, written, placed and filled."""
    f, loss = Cell.field(shape=4, needs_grad=True), scalar()

    @ti.kernel
    def run():
        for i in f:
            loss[None] += f[i].m ** 2 * f[i].v.x

    @ti.kernel
    def descend(rate: float):
        for i in f:
            f[i].m -= rate * f.grad[i].m
            f[i].v -= rate * f.v.grad[i]
            f.grad[i] = Cell(1.0, 2.0)

    f.fill(3.0)
    with ti.ad.Tape(loss):
        run()
    assert f.grad[1].to_dict() == {"v": [9.0, 0.0], "m": 18.0}
    assert f.m.grad.to_numpy().tolist() == [18.0] * 4
    descend(0.5)
    assert f[2].to_dict() == {"v": [-1.5, 3.0], "m": -6.0}
    assert f.grad[3].m == 2.0
    f.grad.fill(0.0)
    assert not f.grad.to_numpy()["v"].any()


def test_a_gradient_that_is_stopped() -> None:
    """Of a whole struct, and of one member."""
    f, loss = Cell.field(shape=2, needs_grad=True), scalar()

    @ti.kernel
    def run(which: ti.template()):
        for i in f:
            if ti.static(which == 0):
                ti.stop_grad(f)
            if ti.static(which == 1):
                ti.stop_grad(f.m)
            loss[None] += f[i].m ** 2 + f[i].v.x

    f.fill(3.0)
    found = []
    for which in range(3):
        with ti.ad.Tape(loss):
            run(which)
        found.append((f.grad[0].m, f.grad[1].v.x))
    assert found == [(0.0, 0.0), (0.0, 1.0), (6.0, 1.0)]


def test_transforms_of_functions_of_structs() -> None:
    """`ti.ad.grad` and its kin within a kernel: by the members that are floats."""
    body = ti.types.struct(a=ti.f64, v=vec2)

    @ti.func
    def energy(p, k):
        return k * p.a**2 * p.v.norm_sqr()

    slope = ti.ad.grad(energy)

    @ti.kernel
    def run(p: body) -> body:
        return slope(p, 3.0)

    found = run(body(2.0, [1.0, 2.0]))
    assert (found.a, found.v.to_list()) == (60.0, [24.0, 48.0])


def test_transforms_in_python_scope() -> None:
    """One kernel, whatever the numbers in the struct are."""
    pair = ti.types.struct(n=ti.types.struct(a=ti.f64), v=vec2)

    @ti.func
    def energy(p: pair, k):
        return k * p.n.a**2 * p.v.norm_sqr()

    @ti.func
    def loose(p):
        return 3.0 * p.n.a**2 * p.v.norm_sqr()

    slope, loose_slope = ti.ad.grad(energy), ti.ad.value_and_grad(loose)
    p = pair({"a": 2.0}, [1.0, 2.0])
    assert slope(p, 3.0).to_dict() == {"n": {"a": 60.0}, "v": [24.0, 48.0]}
    assert loose_slope(p)[1].to_dict() == {"n": {"a": 60.0}, "v": [24.0, 48.0]}
    count = current().variants
    p.n.a = 3.0
    assert slope(p, 3.0).to_dict() == {"n": {"a": 90.0}, "v": [54.0, 108.0]}
    assert loose_slope(p)[0] == 135.0
    assert current().variants == count


def test_a_function_with_its_own_derivative() -> None:
    body = ti.types.struct(a=ti.f64, v=vec2)
    f, loss = body.field(shape=3, needs_grad=True), scalar()

    @ti.func
    def energy(p):
        return p.a**2 * p.v.norm_sqr()

    @energy.def_vjp
    def _(p, result, adjoint):
        return body(2 * p.a * p.v.norm_sqr() * adjoint, 2 * p.a**2 * p.v * adjoint)

    @ti.kernel
    def run():
        for i in f:
            loss[None] += ti.sin(energy(f[i]))

    f.a.from_numpy(np.array([0.5, 0.6, 0.7]))
    f.v.from_numpy(np.random.default_rng(1).uniform(0.5, 1.5, (3, 2)))
    check(run, [f.a, f.v], loss)
