"""Programs compiled while a mark is dropped behind every pass."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

import mlirad as ti
from mlirad import te
from mlirad.bindings import ir
from mlirad.ir.walk import operations
from mlirad.pipeline import runner

N = 96
Results = list[npt.NDArray[np.float64]]


def drop(marks: Collection[str], root: ir.Operation) -> Iterator[str]:
    """Remove attributes from an op, all that it holds, and their parameters; yield their names."""
    for op in (root, *operations(root)):
        for mark in [name for name in op.attributes if name in marks]:
            del op.attributes[mark]
            yield mark
        for side in ("arg_attrs", "res_attrs"):
            if side in op.attributes:
                entries = [ir.DictAttr(entry) for entry in ir.ArrayAttr(op.attributes[side])]
                yield from (item.name for entry in entries for item in entry if item.name in marks)
                op.attributes[side] = ir.ArrayAttr.get([_without(marks, e) for e in entries])


def _without(marks: Collection[str], entry: ir.DictAttr) -> ir.Attribute:
    return ir.DictAttr.get({item.name: item.attr for item in entry if item.name not in marks})


@contextmanager
def dropped(marks: Collection[str]) -> Iterator[set[str]]:
    """Have marks dropped behind every pass, and note which there were."""
    seen: set[str] = set()
    compile_pipeline = runner.compile_pipeline

    def observed(*args: Any, watchers: Any = (), **keywords: Any) -> Any:
        watcher = runner.Watcher(after=lambda _, op: seen.update(drop(marks, op)))
        return compile_pipeline(*args, watchers=[*watchers, watcher], **keywords)

    runner.compile_pipeline = observed
    try:
        yield seen
    finally:
        runner.compile_pipeline = compile_pipeline


def kernels(arch: Any) -> Results:
    """Sums, a recurrence that is overwritten, updates of rows, a guarded stencil, and products."""
    ti.init(arch=arch, default_fp=ti.f64, cpu_max_num_threads=2, offline_cache=False)
    x, y, z, w = (ti.field(ti.f64, (N, 4), needs_grad=True) for _ in range(4))
    weights, loss = ti.field(ti.f64, 4, needs_grad=True), ti.field(ti.f64, (), needs_grad=True)

    @ti.kernel
    def recur(steps: ti.i32):
        for i in range(N):
            s = x[i, 0]
            for k in range(steps):
                s = ti.sin(s) + 0.1 * x[i, k % 4]
            y[i, 0] = s
            for k in range(4):
                y[i, k] = y[i, k] * 0.5 + ti.sqrt(x[i, k] + 2.0) / (1.0 + x[i, k] ** 2)

    @ti.kernel
    def overwrite(steps: ti.i32):
        for i in range(N):
            for k in range(steps):
                w[i, k % 3] = ti.sin(w[i, (k + 1) % 3]) * x[i, k % 4] + w[i, k % 3]
                if w[i, 0] > 0.2:
                    w[i, 3] += w[i, 0] * w[i, 1]

    @ti.kernel
    def stencil():
        for i, k in z:
            if 0 < i < N - 1:
                z[i, k] += y[i - 1, k] - 2 * y[i, k] + y[i + 1, k]
                z[i - 1, k] += 0.1 * y[i, k]
            z[i, k] += ti.max(x[i, k], 0.1)

    @ti.kernel
    def total():
        for i in range(N):
            t = 0.0
            for k in range(4):
                t += (z[i, k] + w[i, k]) * weights[k]
            loss[None] += t * ti.exp(-t * t)

    random = np.random.default_rng(0)
    x.from_numpy(random.uniform(-1, 1, (N, 4)))
    w.from_numpy(random.uniform(-1, 1, (N, 4)))
    weights.from_numpy(random.uniform(-1, 1, 4))
    with ti.ad.Tape(loss):
        recur(5)
        overwrite(7)
        stencil()
        total()
    arrays = [loss, z, w, x.grad, weights.grad]
    results = [array.to_numpy() for array in arrays]
    ti.reset()
    return results


def tensors(arch: Any) -> Results:
    """A layer with a softmax, and its adjoints."""
    ti.init(arch=arch, default_fp=ti.f64, cpu_max_num_threads=2, offline_cache=False)
    a, b = (te.placeholder(shape, ti.f64) for shape in ((24, 16), (16, 12)))
    k = te.reduce_axis(16)
    product = te.compute((24, 12), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k))
    y = te.nn.softmax(product)
    head = te.placeholder((24, 12), ti.f64)
    step = te.build([y, *te.differentiate(y, [a, b], head=head)], [a, b, head])
    random = np.random.default_rng(0)
    inputs = [random.uniform(-1, 1, shape) for shape in ((24, 16), (16, 12), (24, 12))]
    results = [np.asarray(array) for array in step(*inputs)]
    ti.reset()
    return results


PROGRAMS: dict[str, Callable[[], Results]] = {
    "kernels": lambda: kernels(ti.cpu),
    "kernels on a GPU": lambda: kernels(ti.simt),
    "tensors": lambda: tensors(ti.cpu),
}
