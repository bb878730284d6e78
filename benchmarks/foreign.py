"""Compare kernels in Python with the same functions in MLIR, written as in C.

    python -m benchmarks.foreign

Times are of one thread, the least of several runs, in milliseconds.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

import mlirad as ti

ROUNDS = 7
N, STEPS = 256, 50  # cells an axis, time steps
OPERATIONS = 2000
# at a cell: `%l`, the sum of its neighbours less four times it, times `%m`, which it holds
LAPLACE = """
      %a = affine.load %now[%i - 1, %j] : memref<{n}x{n}xf64>
      %b = affine.load %now[%i + 1, %j] : memref<{n}x{n}xf64>
      %d = affine.load %now[%i, %j - 1] : memref<{n}x{n}xf64>
      %e = affine.load %now[%i, %j + 1] : memref<{n}x{n}xf64>
      %m = affine.load %now[%i, %j] : memref<{n}x{n}xf64>
      %ab = arith.addf %a, %b : f64
      %de = arith.addf %d, %e : f64
      %s = arith.addf %ab, %de : f64
      %cm = arith.mulf %c, %m : f64
      %sum = arith.addf %s, %cm : f64
      %l = arith.mulf %sum, %m : f64"""
STEP = (
    """
  affine.for %i = 1 to {last} {{
    affine.for %j = 1 to {last} {{"""
    + LAPLACE
    + """
      %hl = arith.mulf %h, %l : f64
      %r = arith.addf %m, %hl : f64
      affine.store %r, %new[%i, %j] : memref<{n}x{n}xf64>
    }}
  }}
  memref.copy %new, %now : memref<{n}x{n}xf64> to memref<{n}x{n}xf64>"""
)
NUMBERS = """
  %c = arith.constant -4.0 : f64
  %h = arith.constant 0.1 : f64"""
STENCIL = (
    """
func.func @f(%now: memref<{n}x{n}xf64>, %v: memref<{n}x{n}xf64>) {{"""
    + NUMBERS
    + """
  affine.for %i = 1 to {last} {{
    affine.for %j = 1 to {last} {{"""
    + LAPLACE
    + """
      affine.store %l, %v[%i, %j] : memref<{n}x{n}xf64>
    }}
  }}
  return
}}
"""
)
WAVE = (
    """
func.func @f(%u: memref<{n}x{n}xf64>, %now: memref<{n}x{n}xf64>) {{
  %new = memref.alloc() : memref<{n}x{n}xf64>
  memref.copy %u, %now : memref<{n}x{n}xf64> to memref<{n}x{n}xf64>
  memref.copy %u, %new : memref<{n}x{n}xf64> to memref<{n}x{n}xf64>"""
    + NUMBERS
    + """
  affine.for %t = 0 to {steps} {{"""
    + STEP
    + """
  }}
  memref.dealloc %new : memref<{n}x{n}xf64>
  return
}}
"""
)
ONE_STEP = (
    """
func.func @f(%new: memref<{n}x{n}xf64>, %now: memref<{n}x{n}xf64>) {{"""
    + NUMBERS
    + STEP
    + """
  return
}}
"""
)


def ndarray(values: np.ndarray) -> Any:
    """An array with a gradient."""
    array = ti.ndarray(ti.f64, values.shape, needs_grad=True)
    array.from_numpy(values)
    return array


@ti.kernel
def stencil(u: ti.types.ndarray(), v: ti.types.ndarray()):
    for i, j in ti.ndrange((1, N - 1), (1, N - 1)):
        s = u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - 4.0 * u[i, j]
        v[i, j] = s * u[i, j]


@ti.kernel
def wave(u: ti.types.ndarray(), now: ti.types.ndarray(), new: ti.types.ndarray()):
    for _ in range(1):
        for i in range(N):
            for j in range(N):
                now[i, j] = u[i, j]
        for i in range(N):
            for j in range(N):
                new[i, j] = u[i, j]
        for _t in range(STEPS):
            for i in range(1, N - 1):
                for j in range(1, N - 1):
                    s = now[i - 1, j] + now[i + 1, j] + now[i, j - 1] + now[i, j + 1]
                    new[i, j] = now[i, j] + 0.1 * (s - 4.0 * now[i, j]) * now[i, j]
            for i in range(N):
                for j in range(N):
                    now[i, j] = new[i, j]


@ti.kernel
def total(x: ti.types.ndarray(), loss: ti.types.ndarray()):
    for i, j in x:
        loss[None] += x[i, j]


def least(run: Callable[[], None]) -> float:
    """Return the least time of a call, in ms, after one that compiles."""
    run()
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return 1e3 * min(times)


def compare(name: str, text: str, kernel: Any, count: int) -> None:
    """Print the times of a function in MLIR and of a kernel, of `count` arrays."""
    function = ti.mlir.parse(text.format(n=N, last=N - 1, steps=STEPS))
    values = np.random.default_rng(0).random((N, N))
    arrays = [ndarray(values if k == 0 else 0.0 * values) for k in range(count)]
    loss = ti.ndarray(ti.f64, (), needs_grad=True)

    def gradient(run: Callable[[], None]) -> None:
        loss.fill(0.0)
        with ti.ad.Tape(loss):
            run()
            total(arrays[1], loss)

    for side, run in {
        "MLIR": lambda: function(*arrays[:2]),
        "Python": lambda: kernel(*arrays),
    }.items():
        times = least(run), least(lambda run=run: gradient(run))
        print(f"{name:8} {side:7} forward {times[0]:8.2f}  with gradient {times[1]:8.2f}")


def compare_steps() -> None:
    """Print the times of the wave with one call a step."""
    step = ti.mlir.parse(ONE_STEP.format(n=N, last=N - 1))
    values = np.random.default_rng(0).random((N, N))
    new, now = ndarray(values), ndarray(values)
    loss = ti.ndarray(ti.f64, (), needs_grad=True)

    def run() -> None:
        for array in (new, now):
            array.from_numpy(values)
        for _ in range(STEPS):
            step(new, now)

    def gradient() -> None:
        loss.fill(0.0)
        with ti.ad.Tape(loss):
            run()
            total(now, loss)

    print(f"wave     {STEPS} calls forward {least(run):8.2f}  with gradient {least(gradient):8.2f}")


def compile_time() -> None:
    """Print the processor time of the derivative of a long function."""
    lines = [f"  %v{k + 1} = math.sin %v{k} : f64" for k in range(OPERATIONS)]
    text = "\n".join(
        ["func.func @f(%v0: f64) -> f64 {", *lines, f"  return %v{OPERATIONS} : f64", "}"]
    )
    start = time.process_time()
    function = ti.mlir.parse(text)
    x, y = (ti.ndarray(ti.f64, (), needs_grad=True) for _ in range(2))
    x.fill(1.0)
    with ti.ad.Tape(y):
        function(x, out=y)
    seconds = time.process_time() - start
    print(f"{OPERATIONS} operations: {seconds:.2f} s of processor time to machine code, both ways")


def main() -> None:
    """Print all."""
    ti.init(arch=ti.cpu, default_fp=ti.f64, cpu_max_num_threads=1)
    compare("stencil", STENCIL, stencil, 2)
    compare("wave", WAVE, wave, 3)
    compare_steps()
    compile_time()


if __name__ == "__main__":
    main()
