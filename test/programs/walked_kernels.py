"""Small kernels in which the passes on the way to code have something to do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mlirad as ti

Program = tuple[Any, tuple[Any, ...]]  # a kernel, and what it is launched with


def matmul() -> Program:
    a, b, c = (ti.field(ti.f32, (32, 32)) for _ in range(3))

    @ti.kernel
    def product():
        for i, j in c:
            total = 0.0
            for k in range(32):
                total += a[i, k] * b[k, j]
            c[i, j] = total

    return product, ()


def stencil() -> Program:
    u, v = ti.field(ti.f32, (32, 40)), ti.field(ti.f32, (32, 40))

    @ti.kernel
    def diffuse(c: ti.f32):
        for i, j in u:
            if i > 0 and i < 31 and j > 0 and j < 39:
                around = u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1]
                v[i, j] = u[i, j] + c * (around - 4 * u[i, j])

    return diffuse, (0.1,)


def pairs() -> Program:
    p, force = ti.Vector.field(2, ti.f32, 24), ti.Vector.field(2, ti.f32, 24)
    energy = ti.field(ti.f32, ())

    @ti.kernel
    def attract():
        for i in range(24):
            for j in range(24):
                if i != j:
                    d = p[i] - p[j]
                    r = ti.sqrt(d.dot(d) + 0.1)
                    force[i] += d / (r * r * r)
                    energy[None] += 0.5 / r

    return attract, ()


def grid() -> Program:
    p, mass = ti.Vector.field(2, ti.f32, 40), ti.field(ti.f32, (16, 16))
    velocity = ti.Vector.field(2, ti.f32, (16, 16))
    inertia = ti.Matrix.field(2, 2, ti.f32, (16, 16))

    @ti.kernel
    def scatter():
        for i in p:
            base = ti.cast(p[i] * 4, ti.i32)
            f = p[i] * 4 - base.cast(ti.f32)
            w = [0.5 * (1.5 - f) ** 2, 0.75 - (f - 1) ** 2, 0.5 * (f - 0.5) ** 2]
            for a, b in ti.static(ti.ndrange(3, 3)):
                weight = w[a][0] * w[b][1]
                mass[base + ti.Vector([a, b])] += weight
                velocity[base + ti.Vector([a, b])] += weight * p[i]
                apart = ti.Vector([a, b]) - f
                inertia[base + ti.Vector([a, b])] += weight * apart.outer_product(p[i])

    return scatter, ()


def sparse() -> Program:
    s, total = ti.field(ti.f32), ti.field(ti.f32, ())
    ti.root.pointer(ti.i, 8).bitmasked(ti.i, 4).place(s)

    @ti.kernel
    def visit(a: ti.f32):
        for i in s:
            total[None] += s[i] * s[i] * a

    return visit, (0.5,)


def loops() -> Program:
    x, y, n = ti.field(ti.f32, 32), ti.field(ti.f32, 32), ti.field(ti.i32, 32)

    @ti.kernel
    def iterate(count: ti.i32):
        for i in x:
            v, j = x[i], 0
            while v < 3.0 and j < n[i] + 4:
                v = v * 1.1 + ti.sin(v) * 0.1
                j += 1
            for _ in range(count):
                v = ti.tanh(v) * y[i]
            y[i] = v

    return iterate, (3,)


def elementary() -> Program:
    x, y, h = ti.field(ti.f32, 128), ti.field(ti.f32, 128), ti.field(ti.f16, 128)
    n = ti.field(ti.i32, 128)

    @ti.kernel
    def evaluate():
        for i in x:
            v = x[i]
            y[i] += ti.exp(-v * v) + v**3 / ti.sqrt(v) + ti.log(v) + 1.0 / ti.sqrt(v + 1)
            h[i] = ti.cast(v * 2, ti.f16)
            n[i] = (n[i] - 7) // 3
            y[i] *= ti.acos(v * 0.3) + ti.tanh(v) + ti.abs(v - 1) + ti.max(v, 0.7) + ti.pow(v, 2.5)

    return evaluate, ()


def serial() -> Program:
    x, total = ti.field(ti.f32, 32), ti.field(ti.f32, ())

    @ti.kernel
    def run_up():
        s = 0.0
        ti.loop_config(serialize=True)
        for i in range(32):
            s += x[i] * x[i]
            x[i] = s
        for i in range(32):
            total[None] += x[i]
        total[None] += s

    return run_up, ()


def guarded() -> Program:
    x = ti.field(ti.f32, 32)

    @ti.kernel
    def square():
        for i in x:
            assert x[i] > 0
            x[i] = x[i] * x[i]
            if x[i] > 100:
                print(x[i])

    return square, ()


def rows() -> Program:
    x, y, z = ti.field(ti.f32, (16, 64)), ti.field(ti.f32, 16), ti.field(ti.f32, 64)

    @ti.kernel
    def both_ways():
        for i in range(16):
            total = 0.0
            for j in range(64):
                total += x[i, j] * z[j]
            y[i] = total
        for i, j in x:
            z[j] += x[i, j] * y[i]

    return both_ways, ()


def half() -> Program:
    x, y = ti.field(ti.f16, 64), ti.field(ti.f32, 64)

    @ti.kernel
    def widen():
        for i in x:
            y[i] += ti.cast(x[i], ti.f32) * ti.cast(x[i], ti.f32)
            x[i] = ti.cast(y[i] * 0.5, ti.f16)

    return widen, ()


def ordered() -> Program:
    x, y = ti.field(ti.f32, 32), ti.field(ti.f32, ())

    @ti.kernel
    def last():
        kept = 0.0
        for i in range(32):
            kept = x[i] * x[i] + 0.5 * kept
        y[None] = kept

    return last, ()


def drawn() -> Program:
    x = ti.field(ti.f32, 32)

    @ti.kernel
    def perturb():
        for i in x:
            x[i] *= 1.0 + 0.1 * ti.random()

    return perturb, ()


def exponentials() -> Program:
    x, y = ti.field(ti.f64, 64), ti.field(ti.f64, ())

    @ti.kernel
    def decay():
        for i in x:
            y[None] += ti.math.expm1(-x[i] * x[i]) * ti.math.expm1(x[i])

    return decay, ()


def decisions() -> Program:
    x, z = ti.field(ti.f32, (16, 40)), ti.field(ti.f32, 16)

    @ti.kernel
    def decide():
        for i in z:
            total, scaled = 0.0, x[i, 0] * x[i, 1] + z[i]
            for k in range(40):
                total += x[i, k]
            if total > 40.0 and scaled < 2.5:
                z[i] = total * scaled
            else:
                z[i] = scaled * scaled

    return decide, ()


def nearest() -> Program:
    x, y, loss = ti.field(ti.f32, 32), ti.field(ti.f32, 5), ti.field(ti.f32, ())

    @ti.kernel
    def measure():
        for i in x:
            best = 1e3
            for k in range(5):
                away = ti.Vector([x[i] - y[k], x[i] * y[k], y[k]])
                length = away.norm() / (1.0 + y[k] * y[k]) + ti.exp(x[i]) * y[k]
                best = ti.min(best, length * ti.sin(x[i]) + ti.log(y[k] + x[i]) * length)
            loss[None] += best * best

    return measure, ()


def poles() -> Program:
    x, y, loss = ti.field(ti.f32, 32), ti.field(ti.f32, 32), ti.field(ti.f32, ())

    @ti.kernel
    def divide():
        for i in x:
            a = x[i] / y[i]
            b = ti.sqrt(ti.abs(x[i] * y[i])) * a
            c = ti.log(y[i] * y[i] + 1.5) * b + a * a
            d = c / (x[i] + 1.0) + ti.sqrt(c * c) * b
            loss[None] += ti.select(y[i] > 0.8 and x[i] > 0.9, d * c, x[i] * y[i])

    return divide, ()


def recurrent() -> Program:
    x, y = ti.field(ti.f32, (16, 20)), ti.field(ti.f32, 16)

    @ti.kernel
    def follow():
        for i in y:
            state = 0.0
            for k in range(20):
                state = x[i, k] * 2.0 + 0.5 * state
            y[i] += state * state

    return follow, ()


def dots() -> Program:
    x, y, z = ti.field(ti.f32, (8, 64)), ti.field(ti.f32, 64), ti.field(ti.f32, 8)

    @ti.kernel
    def sums():
        for i in z:
            total, scale = 0.0, 0.0
            for k in range(64):
                total += x[i, k] * y[k] + x[i, k]
                scale += ti.sqrt(x[i, k]) * z[i]
            z[i] = total * scale

    return sums, ()


def custom() -> Program:
    x, y = ti.field(ti.f32, 16), ti.field(ti.f32, 16)

    @ti.func
    def clipped(v):
        return ti.min(v, 1.0)

    @clipped.def_vjp
    def clipped_vjp(v, r, dr):
        return dr

    @ti.func
    def cube(v):
        return v * v * v

    @ti.kernel
    def apply():
        for i in x:
            y[i] = clipped(x[i]) * ti.ad.grad(cube)(x[i])

    return apply, ()


def blocks() -> Program:
    x, y = ti.field(ti.f32, 32), ti.field(ti.f32, 32)

    @ti.kernel
    def turn():
        ti.loop_config(block_dim=16)
        for i in range(32):
            turned = ti.simt.block.SharedArray(16, ti.f32)
            turned[15 - i % 16] = x[i] * x[i]
            ti.simt.block.sync()
            y[i] = turned[i % 16] * ti.simt.subgroup.shuffle_xor(x[i], 1)

    return turn, ()


def visited() -> Program:
    s = ti.field(ti.f32)
    ti.root.pointer(ti.i, 8).dense(ti.i, 4).place(s)

    @ti.kernel
    def scale(a: ti.f32):
        for i in s:
            s[i] = s[i] * s[i] * a

    return scale, (0.5,)


def peaks() -> Program:
    x, y = ti.field(ti.f32, (8, 40)), ti.field(ti.f32, 8)

    @ti.kernel
    def largest():
        for i in y:
            most = x[i, 0]
            for j in range(40):
                most = ti.max(most, x[i, j])
            y[i] = most

    return largest, ()


KERNELS: dict[str, Callable[[], Program]] = {
    make.__name__: make
    for make in (
        *(matmul, stencil, pairs, grid, sparse, loops, elementary, serial, guarded, rows),
        *(half, ordered, drawn, exponentials, dots, custom, visited, blocks),
        *(decisions, nearest, poles, recurrent, peaks),
    )
}
