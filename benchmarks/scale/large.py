"""The gradient of a liquid of many particles, stepped in place, within a memory limit; what it
takes, beside what the memory of the machine explains."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

import mlirad as ti
from benchmarks.budget_programs import Program
from benchmarks.tape_memory import resident, restart_peak
from benchmarks.work import Counter, Launches, Work
from mlirad.runtime.program import program as current

PER_CELL = 10  # particles
STIFFNESS, GRAVITY, WALL = 400.0, 9.8, 3
REACH = 0.0256  # cells that a step's time stands for: the step of `mpm2d` with 128 cells a side
STREAM = 1 << 26  # floats of the arrays that show the bandwidth


def liquid(size: int, steps: int) -> Program:
    """`mpm2d` in place: particles in the order of their cells, on a grid as fine as they are."""
    cells = max(32, round((size / PER_CELL / 0.16) ** 0.5))
    step, width, volume = REACH / cells, 1.0 / cells, 0.16 / size
    drop = ti.Vector.field(2, ti.f32, size)
    throw, place, speed = (ti.Vector.field(2, ti.f32, size, needs_grad=True) for _ in range(3))
    shear = ti.Matrix.field(2, 2, ti.f32, size, needs_grad=True)
    swell = ti.field(ti.f32, size, needs_grad=True)
    mass = ti.field(ti.f32, (cells, cells), needs_grad=True)
    momentum, grid_speed = (
        ti.Vector.field(2, ti.f32, (cells, cells), needs_grad=True) for _ in range(2)
    )
    loss = ti.field(ti.f32, (), needs_grad=True)
    random = np.random.default_rng(29)
    places = random.uniform((0.2, 0.1), (0.6, 0.5), (size, 2))
    rows, columns = (places * cells).astype(np.int32).T
    drop.from_numpy(places[np.lexsort((columns, rows))].astype(np.float32))
    throw.from_numpy(random.normal((2.0, -3.0), 0.2, (size, 2)).astype(np.float32))

    @ti.func
    def weights_of(inside):
        return [
            0.5 * (1.5 - inside) ** 2,
            0.75 - (inside - 1.0) ** 2,
            0.5 * (inside - 0.5) ** 2,
        ]

    @ti.kernel
    def begin():
        for p in place:
            place[p] = drop[p]
            speed[p] = throw[p]
            shear[p] = ti.Matrix([[0.0, 0.0], [0.0, 0.0]])
            swell[p] = 1.0

    @ti.kernel
    def clear():
        for i, j in mass:
            mass[i, j] = 0.0
            momentum[i, j] = ti.Vector([0.0, 0.0])

    @ti.kernel
    def scatter():
        for p in place:
            scaled = place[p] * cells
            base = ti.cast(scaled - 0.5, ti.i32)
            inside = scaled - ti.cast(base, ti.f32)
            weights = weights_of(inside)
            pressure = -step * volume * STIFFNESS * 4.0 * cells * cells * (swell[p] - 1.0)
            affine = ti.Matrix([[pressure, 0.0], [0.0, pressure]]) + volume * shear[p]
            for i, j in ti.static(ti.ndrange(3, 3)):
                away = (ti.Vector([i * 1.0, j * 1.0]) - inside) * width
                weight = weights[i][0] * weights[j][1]
                momentum[base[0] + i, base[1] + j] += weight * (volume * speed[p] + affine @ away)
                mass[base[0] + i, base[1] + j] += weight * volume

    @ti.kernel
    def advance():
        for i, j in mass:
            moved = ti.Vector([0.0, 0.0])
            if mass[i, j] > 0.0:
                moved = momentum[i, j] / mass[i, j]
                moved[1] -= step * GRAVITY
            if (i < WALL and moved[0] < 0.0) or (i > cells - WALL and moved[0] > 0.0):
                moved[0] = 0.0
            if (j < WALL and moved[1] < 0.0) or (j > cells - WALL and moved[1] > 0.0):
                moved[1] = 0.0
            grid_speed[i, j] = moved

    @ti.kernel
    def gather():
        for p in place:
            scaled = place[p] * cells
            base = ti.cast(scaled - 0.5, ti.i32)
            inside = scaled - ti.cast(base, ti.f32)
            weights = weights_of(inside)
            moved = ti.Vector([0.0, 0.0])
            turned = ti.Matrix([[0.0, 0.0], [0.0, 0.0]])
            for i, j in ti.static(ti.ndrange(3, 3)):
                away = ti.Vector([i * 1.0, j * 1.0]) - inside
                here = grid_speed[base[0] + i, base[1] + j]
                weight = weights[i][0] * weights[j][1]
                moved += weight * here
                turned += 4.0 * cells * weight * here.outer_product(away)
            speed[p] = moved
            shear[p] = turned
            place[p] += step * moved
            swell[p] *= 1.0 + step * (turned[0, 0] + turned[1, 1])

    @ti.kernel
    def measure():
        for p in place:
            loss[None] += place[p].norm_sqr() / size

    def run(over: Callable[[range], Iterable[int]]) -> None:
        begin()
        for _ in over(range(steps)):
            clear()
            scatter()
            advance()
            gather()
        measure()

    return Program(
        f"{size:,} particles, {cells} x {cells} cells, {steps} steps",
        loss, throw, lambda: None, run,
        [place, speed, shear, swell], [mass, momentum, grid_speed], steps,
    )  # fmt: skip


@dataclass(frozen=True)
class Parts:
    """The least work of what comes before and after the steps, of a step, and of their reverses."""

    ends: Work
    ends_reverse: Work
    step: Work
    step_reverse: Work


@dataclass(frozen=True)
class Again:
    """Steps that ran again, in units of a step, and bytes that were copied, to and fro."""

    steps: float
    copied: float
    peak: int


def run_large(size: int, steps: int, memory: str, plan: str, threads: int) -> None:
    """Take the gradient once, and print what it took."""
    ti.init(default_fp=ti.f32, cpu_max_num_threads=threads)
    bandwidth = measure_bandwidth()
    ti.init(default_fp=ti.f32, cpu_max_num_threads=threads)
    program = liquid(size, steps)
    print(
        f"{program.title}; threads: {threads}; limit: {memory}, {plan}; {bandwidth / 1e9:.1f} GB/s"
    )
    with ti.ad.Tape(program.loss):  # compiles
        program.run(lambda numbers: range(1))
    parts = _parts(program)
    fields = sum(one.elements.nbytes for one in current().fields.values())
    print(f"fields and gradients: {_gigabytes(fields)}", flush=True)
    restart_peak()
    loops: list[Any] = []

    def over(numbers: range) -> Iterable[int]:
        if plan == "memory":
            return numbers
        declared: dict[str, Any] = {
            "state": program.state,
            "scratch": program.scratch,
            "memory": memory,
        }
        loops.append(ti.ad.checkpointed(numbers, **declared))
        found: Iterable[int] = loops[0]
        return found

    clocks = [_clocks()]
    tape = ti.ad.Tape(program.loss, memory=memory if plan == "memory" else None)
    with tape:
        clocks.append(_clocks())
        program.run(over)
        clocks.append(_clocks())
    clocks.append(_clocks())
    for phase, before, after in zip(("clear", "forward", "reverse"), clocks, clocks[1:]):
        print(f"{phase}: {_passed(before, after)}")
    again = _again(program, tape, loops)
    print(f"all: {_passed(clocks[0], clocks[-1])}; {again.steps:.0f} of {steps} steps again")
    print(f"saved at most: {_gigabytes(again.peak)}; the process: {_gigabytes(resident('VmHWM'))}")
    moved = _work(parts, steps, again)
    print(
        f"at least {_gigabytes(moved.bytes)} moved, {_gigabytes(again.copied)} of them copied: "
        f"{moved.bytes / bandwidth:.1f} s; {moved.operations / 1e9:.0f} billion operations: "
        f"{moved.operations / 1e9 / (clocks[-1][0] - clocks[0][0]):.1f} a nanosecond"
    )
    norm = float(np.linalg.norm(program.wrt.grad.to_numpy().astype(np.float64)))
    print(f"loss {program.loss[None]:.6f}, norm of the gradient {norm:.6e}")


def _parts(program: Program) -> Parts:
    """Count the IR of each kernel, by a run of one step."""
    launches, counter, threads = Launches(), Counter(), current().threads
    threads.record_by(launches)
    try:
        program.run(lambda numbers: range(1))
    finally:
        threads.record_by(None)
    first, *step, last = launches.found
    return Parts(
        sum((counter.primal(*launch) for launch in (first, last)), Work()),
        sum((counter.reverse(*launch) for launch in (first, last)), Work()),
        sum((counter.primal(*launch) for launch in step), Work()),
        sum((counter.reverse(*launch) for launch in step), Work()),
    )


def _again(program: Program, tape: Any, loops: list[Any]) -> Again:
    """What a tape, or a checkpointed loop, did beside the program and its reverse."""
    if loops:
        noted = loops[0].statistics
        each = sum(field.nbytes for field in _memory([*program.state, *program.scratch]))
        copied = 2 * (2 * noted.snapshots * noted.state_bytes + 2 * noted.steps * each)
        return Again(noted.executions - noted.steps, copied, noted.peak_bytes)
    budget = tape.ledger.keeper
    counted: dict[str, int] = {}
    for number, count in budget.planner.repeated.items():
        name = budget.names.get(number, "")
        counted[name] = counted.get(name, 0) + count
    large = [counted.get(name, 0) for name in ("scatter", "gather")]
    return Again(sum(large) / 2, 4.0 * budget.would_keep, budget.copies.peak)


def _memory(fields: list[Any]) -> list[Any]:
    return [current().fields[field.symbol].elements for field in fields]


def _work(parts: Parts, steps: int, again: Again) -> Work:
    """The work of everything; an estimate, as each step that ran again counts as a whole one."""
    each = Work(
        parts.step.operations * (steps + again.steps) + parts.step_reverse.operations * steps,
        parts.step.bytes * (steps + again.steps) + parts.step_reverse.bytes * steps,
    )
    return each + parts.ends + parts.ends_reverse + Work(0, again.copied)


def _gigabytes(count: float) -> str:
    return f"{count / 1e9:.2f} GB"


Clocks = tuple[float, float, float]


def _clocks() -> Clocks:
    """The wall clock, the processors', and the part of it that the kernel of the system took."""
    return time.perf_counter(), time.process_time(), os.times().system


def _passed(before: Clocks, after: Clocks) -> str:
    wall, processor, system = (end - begin for begin, end in zip(before, after))
    return f"{wall:.2f} s, {processor:.2f} s of processors, {system:.2f} s of them by the system"


def measure_bandwidth() -> float:
    """Bytes a second of `x += a * y` for large arrays, on the threads of the program: both are
    read and one is written."""
    x, y = (ti.field(ti.f32, STREAM) for _ in range(2))

    @ti.kernel
    def add():
        for i in x:
            x[i] += 0.5 * y[i]

    seconds = []
    for _ in range(6):
        begun = time.perf_counter()
        add()
        seconds.append(time.perf_counter() - begun)
    return 3 * 4 * STREAM / min(seconds[1:])
