"""Random patterns of communication, in every rank: `<J v, w> = <v, Jᵀ w>`, and second derivatives.

mpiexec -n 4 python test/distributed/patterns.py COUNT
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np

import mlirad as ti
from mlirad import dist
from mlirad.distributed.ranks import ranks

N = 6


def dot(left: list[np.ndarray], right: list[np.ndarray]) -> float:
    """A product over all ranks."""
    own = sum(float(np.vdot(a, b)) for a, b in zip(left, right, strict=True))
    return float(ranks().sum_everywhere(np.array([own]))[0])


def main(count: int) -> None:
    dist.init(arch=ti.cpu, default_fp=ti.f64, opt_level=0)
    size, rank = dist.size(), dist.rank()
    u0, v0 = (ti.field(float, N, needs_grad=True) for _ in range(2))
    u, v = (ti.field(float, N, needs_grad=True) for _ in range(2))
    whole = ti.field(float, N * size, needs_grad=True)
    q = ti.ndarray(float, N, needs_grad=True)
    loss, total = (ti.field(float, (), needs_grad=True) for _ in range(2))
    grid = dist.Grid((N * size,), halo=2, periodic=True)
    line, other = (grid.field(float, needs_grad=True) for _ in range(2))
    ((begin, end),) = grid.local

    @ti.kernel
    def start(q: ti.types.ndarray()):
        for i in u0:
            u[i] = u0[i]
            v[i] = v0[i]
            q[i] = ti.cos(u0[i])
        for i in whole:
            whole[i] = 0.1 * u0[i % N]
        for i in line:
            line[i] = v0[i % N]

    @ti.kernel
    def bend(q: ti.types.ndarray()):
        for i in u:
            u[i] = 0.5 * ti.sin(u[i]) + v[i] * 0.7 + 0.1 * whole[i + rank * N] * q[i]
        for i in ti.ndrange((begin, end)):
            other[i] = 0.3 * line[i - 1] * u[(i - begin) % N] - 0.2 * line[i + 2]
        for i in line:
            line[i] += other[i]

    @ti.kernel
    def add_up(q: ti.types.ndarray()):
        for i in u:
            loss[None] += u[i] ** 2 + ti.sin(v[i]) * (rank + 1) + q[i] ** 3
        for i in ti.ndrange((begin, end)):
            loss[None] += line[i] * line[i - 2]

    def step(random: np.random.Generator) -> Callable[[], None]:
        """A communication that is the same in all ranks."""
        root, other = (int(random.integers(size)) for _ in range(2))
        order = random.permutation(size)
        taking = random.random(size) < 0.7  # which ranks send
        to = int(order[rank]) if taking[rank] else None
        where = int(np.argsort(order)[rank])
        origin = where if taking[where] else None
        one, two = [(u, v), (v, u), (u, q), (q, v)][int(random.integers(4))]
        op = ("sum", "max", "min")[int(random.integers(3))]
        choices: list[Callable[[], None]] = [
            lambda: dist.allreduce(one, op=op),
            lambda: dist.allreduce(one, two, op=op),
            lambda: dist.reduce(one, two, root, op=op),
            lambda: dist.reduce(one, one, root),
            lambda: dist.bcast(one, other),
            lambda: dist.gather(one, whole, root),
            lambda: dist.scatter(whole, two, root),
            lambda: dist.sendrecv(
                one if to is not None else None, two if origin is not None else None, to, origin
            ),
            lambda: grid.exchange(line),
            lambda: grid.collect(line),
            lambda: bend(q),
        ]
        return choices[int(random.integers(len(choices)))]

    worst = 0.0
    own = np.random.default_rng(1000 + rank)
    for number in range(count):
        random = np.random.default_rng(number + 10_000 * size)
        steps = [step(random) for _ in range(5)]

        def program(steps: list[Callable[[], None]] = steps) -> None:
            start(q)
            for one in steps:
                one()

        u0.from_numpy(own.normal(size=N))
        v0.from_numpy(own.normal(size=N))
        seeds = [own.normal(size=N) for _ in range(2)]
        outputs = [u, v, whole, q, line]
        weights = [own.normal(size=one.shape) for one in outputs]
        with ti.ad.FwdMode(outputs, [u0, v0], seeds) as forward:
            program()
        pushed = dot([forward.tangents(one)[0] for one in outputs], weights)
        budget = None if number % 4 else 8000  # bytes
        with ti.ad.Tape(memory=budget) as tape:
            program()
        tape.grad(dict(zip(outputs, weights)))
        pulled = dot(seeds, [u0.grad.to_numpy(), v0.grad.to_numpy()])
        worst = max(worst, abs(pushed - pulled) / max(1.0, abs(pulled)))
        if number % 20 == 0:  # second derivatives: symmetric, and that of the gradient

            def lossy(program: Callable[[], None] = program) -> None:
                program()
                add_up(q)
                dist.reduce(loss, total)

            def gradient() -> list[np.ndarray]:
                with ti.ad.Tape(total):
                    loss.fill(0)
                    lossy()
                return [u0.grad.to_numpy(), v0.grad.to_numpy()]

            loss.fill(0)
            product = ti.ad.hvp(lambda: lossy(), total, [u0, v0], seeds)
            at, h = [u0.to_numpy(), v0.to_numpy()], 1e-5
            found = []
            for sign in (1, -1):
                u0.from_numpy(at[0] + sign * h * seeds[0])
                v0.from_numpy(at[1] + sign * h * seeds[1])
                found.append(gradient())
            for mine, plus, minus in zip(product, *found):
                difference = (plus - minus) / (2 * h)
                error = np.abs(mine - difference).max() / max(1, np.abs(difference).max())
                assert error < 1e-6, f"pattern {number}: H v differs by {error}"
    assert worst < 1e-12, worst
    if rank == 0:
        print(f"{count} patterns of {size} ranks: <Jv, w> and <v, Jᵀw> differ by {worst:.1e}")


if __name__ == "__main__":
    main(int(sys.argv[1]))
