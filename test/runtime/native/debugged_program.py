"""A program for gdb and perf: a kernel with two lines in its loop, forward and in reverse."""

import sys

import numpy as np

import mlirad as ti

threads, opt_level = map(int, sys.argv[1:3])
ti.init(debug_info=True, cpu_max_num_threads=threads, opt_level=opt_level)
x = ti.field(ti.f32, 1 << 18, needs_grad=True)
y = ti.field(ti.f32, 1 << 18, needs_grad=True)


@ti.func
def scale(a, b):
    return ti.sin(a) * b


@ti.kernel
def saxpy(a: ti.f32):
    for i in x:
        y[i] += a * x[i]
        if x[i] > 3:
            y[i] += scale(x[i], a)  # here


def main() -> None:
    x.fill(4.0)
    y.grad.fill(1.0)
    saxpy(2.0)
    saxpy.grad(2.0)
    for path in sys.argv[3:]:
        ti.mlir.load(path)(np.ones(8))


main()
