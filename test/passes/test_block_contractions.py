"""Sums that blocks of threads make together, of products of elements and over pairs: what a CPU
leaves, a GPU's code leaves, in any order of its threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mlirad as ti
from mlirad import te

Fields = list[Any]
Program = Callable[[], tuple[Callable[[], None], Fields]]  # what is run; inputs, then the output


def _field(*shape: int, dtype: Any = ti.f32) -> Any:
    return ti.field(dtype, shape, needs_grad=True)


def product(
    rows: int, columns: int, length: int, transposed: str = "", dtype: Any = ti.f32
) -> Program:
    """A matrix product, with what is added and done behind."""

    def build() -> tuple[Callable[[], None], Fields]:
        left = _field(*((length, rows) if "a" in transposed else (rows, length)), dtype=dtype)
        right = _field(
            *((columns, length) if "b" in transposed else (length, columns)), dtype=dtype
        )
        bias, output = _field(columns, dtype=dtype), _field(rows, columns, dtype=dtype)

        @ti.kernel
        def run() -> None:
            for i, j in output:
                total = bias[j]
                for k in range(length):
                    x = left[k, i] if ti.static("a" in transposed) else left[i, k]
                    y = right[j, k] if ti.static("b" in transposed) else right[k, j]
                    total += x * y
                output[i, j] = ti.tanh(total * 0.1)

        return run, [left, right, bias, output]

    return build


def added(rows: int, columns: int, length: int) -> Program:
    """A matrix product that is taken away from what is there."""

    def build() -> tuple[Callable[[], None], Fields]:
        left, right, output = _field(rows, length), _field(length, columns), _field(rows, columns)

        @ti.kernel
        def run() -> None:
            for i, j in output:
                for k in range(length):
                    output[i, j] -= left[i, k] * right[k, j]

        return run, [left, right, output]

    return build


def scattered(rows: int, columns: int, length: int) -> Program:
    """A matrix product of which each iteration adds one number."""

    def build() -> tuple[Callable[[], None], Fields]:
        left, right, output = _field(rows, length), _field(length, columns), _field(rows, columns)

        @ti.kernel
        def run() -> None:
            for i, j, k in ti.ndrange(rows, columns, length):
                output[i, j] += left[i, k] * right[k, j]

        return run, [left, right, output]

    return build


def arrays(rows: int, columns: int, length: int) -> Program:
    """A matrix product of arrays, of which only the launch knows the extents."""

    def build() -> tuple[Callable[[], None], Fields]:
        most = max(1, length)
        shapes = (rows, most), (most, columns), (rows, columns)
        operands = [ti.ndarray(ti.f32, shape, needs_grad=True) for shape in shapes]

        @ti.kernel
        def multiply(
            left: ti.types.ndarray(),
            right: ti.types.ndarray(),
            output: ti.types.ndarray(),
            count: ti.i32,
        ) -> None:
            for i, j in ti.ndrange(output.shape[0], output.shape[1]):
                total = 0.0
                for k in range(count):
                    total += left[i, k] * right[k, j]
                output[i, j] = total

        return _Launch(multiply, [*operands, length]), operands

    return build


class _Launch:
    """A kernel with its arguments."""

    def __init__(self, kernel: Any, operands: Fields) -> None:
        self.kernel, self.operands = kernel, operands

    def __call__(self) -> None:
        self.kernel(*self.operands)

    def ir(self, **options: Any) -> Any:
        """Return the code."""
        return self.kernel.ir(*self.operands, **options)


def computed(rows: int, columns: int, length: int) -> Program:
    """A product of what is made of the elements of two matrices."""

    def build() -> tuple[Callable[[], None], Fields]:
        left, right, output = _field(rows, length), _field(length, columns), _field(rows, columns)
        scale = _field(length)

        @ti.kernel
        def run() -> None:
            for i, j in output:
                total = 0.0
                for k in range(length):
                    total += (left[i, k] * scale[k]) * ti.exp(0.1 * right[k, j])
                output[i, j] = total

        return run, [left, right, scale, output]

    return build


def batched(count: int, size: int, length: int) -> Program:
    """Products of queries and keys."""

    def build() -> tuple[Callable[[], None], Fields]:
        left, right = _field(count, size, length), _field(count, size, length)
        output = _field(count, size, size)

        @ti.kernel
        def run() -> None:
            for n, i, j in output:
                total = 0.0
                for k in range(length):
                    total += left[n, i, k] * right[n, j, k]
                output[n, i, j] = total

        return run, [left, right, output]

    return build


def half(rows: int, columns: int, length: int) -> Program:
    """Sums in f32 of f16."""

    def build() -> tuple[Callable[[], None], Fields]:
        left, right = (
            _field(rows, length, dtype=ti.f16),
            _field(length, columns, dtype=ti.f16),
        )
        output = _field(rows, columns)

        @ti.kernel
        def run() -> None:
            for i, j in output:
                total = 0.0
                for k in range(length):
                    total += ti.cast(left[i, k], ti.f32) * ti.cast(right[k, j], ti.f32)
                output[i, j] = total

        return run, [left, right, output]

    return build


def channels_last(size: int, inputs: int, outputs: int, stride: int = 1) -> Program:
    """A convolution with a border of zeros."""
    side = size // stride

    def build() -> tuple[Callable[[], None], Fields]:
        x, w = _field(2, size, size, inputs), _field(3, 3, inputs, outputs)
        y = _field(2, side, side, outputs)

        @ti.kernel
        def run() -> None:
            for n, i, j, o in y:
                total = 0.0
                for a, b, c in ti.ndrange(3, 3, inputs):
                    row, column = stride * i + a - 1, stride * j + b - 1
                    if 0 <= row < size and 0 <= column < size:
                        total += x[n, row, column, c] * w[a, b, c, o]
                y[n, i, j, o] = total

        return run, [x, w, y]

    return build


def channels_first(size: int, inputs: int, outputs: int) -> Program:
    """A convolution without a border."""

    def build() -> tuple[Callable[[], None], Fields]:
        x, w = _field(2, inputs, size, size), _field(outputs, inputs, 3, 3)
        y = _field(2, outputs, size - 2, size - 2)

        @ti.kernel
        def run() -> None:
            for n, o, i, j in y:
                total = 0.0
                for c, a, b in ti.ndrange(inputs, 3, 3):
                    total += x[n, c, i + a, j + b] * w[o, c, a, b]
                y[n, o, i, j] = total

        return run, [x, w, y]

    return build


def summed(rows: int, columns: int, length: int) -> Program:
    """A sum of what is made of each element of a product."""

    def build() -> tuple[Callable[[], None], Fields]:
        left, right, output = _field(rows, length), _field(length, columns), _field()

        @ti.kernel
        def run() -> None:
            for i, j in ti.ndrange(rows, columns):
                total = 0.0
                for k in range(length):
                    total += left[i, k] * right[k, j]
                output[None] += ti.sin(total)

        return run, [left, right, output]

    return build


def pairs(bodies: int, sources: int, dtype: Any = ti.f32) -> Program:
    """Forces of sources on bodies, along two axes, and what the bodies make of them."""

    def build() -> tuple[Callable[[], None], Fields]:
        place, source = (ti.Vector.field(2, dtype, n, needs_grad=True) for n in (bodies, sources))
        weight, output = _field(sources, dtype=dtype), _field(bodies, 2, dtype=dtype)

        @ti.kernel
        def run() -> None:
            for i in range(bodies):
                force = place[i]
                for j in range(sources):
                    apart = place[i] - source[j]
                    force += apart * (weight[j] / (apart.dot(apart) + 0.1))
                output[i, 0], output[i, 1] = force[0], ti.sin(force[1])

        return run, [place, source, weight, output]

    return build


PROGRAMS: dict[str, tuple[Program, int, int]] = {  # tiles of the primal and the reverse
    "whole": (product(128, 128, 64), 1, 3),
    "odd": (product(67, 130, 33), 1, 3),
    "wide": (product(20, 600, 40, "a"), 1, 3),
    "transposed": (product(100, 70, 50, "ab"), 1, 3),
    "transposed-b": (product(64, 90, 65, "b"), 1, 3),
    "long": (product(40, 33, 1100), 1, 3),
    "f64": (product(64, 70, 66, dtype=ti.f64), 1, 3),
    "f16": (half(64, 70, 66), 1, 0),
    "added": (added(70, 65, 64), 1, 2),
    "scattered": (scattered(70, 65, 64), 1, 2),
    "arrays": (arrays(70, 65, 64), 1, 2),
    "few rows": (arrays(5, 65, 1000), 1, 2),
    "no sum": (arrays(70, 65, 0), 1, 2),
    "computed": (computed(70, 65, 64), 1, 0),
    "narrow": (product(500, 30, 40), 1, 3),
    "eight columns": (product(900, 8, 70), 1, 2),
    "nine rows": (product(9, 900, 40, "a"), 1, 1),
    "ten of f64": (product(600, 10, 70, "b", ti.f64), 1, 2),
    "batched": (batched(3, 50, 40), 1, 2),
    "channels-last": (channels_last(12, 24, 33), 1, 2),
    "channels-first": (channels_first(13, 20, 36), 1, 2),
    "strided": (channels_last(16, 24, 33, 2), 1, 2),
    "pairs": (pairs(1536, 3072), 1, 2),
    "odd pairs": (pairs(1030, 4100, ti.f64), 1, 2),
    "summed": (summed(70, 65, 64), 1, 3),
}
ORDERS = ("ascending", "descending", "shuffled")


def _left_by(program: Program, arch: Any) -> tuple[list[np.ndarray], list[int]]:
    """The output and gradients, and the barriers of each mode's kernels in a loop."""
    ti.init(arch=arch, random_seed=1)
    run, fields = program()
    *inputs, output = fields
    loss = _field(dtype=ti.f64 if output.to_numpy().dtype == np.float64 else ti.f32)
    random = np.random.default_rng(3)
    for x in inputs:
        values = x.to_numpy()
        x.from_numpy(random.standard_normal(values.shape).astype(values.dtype))

    @ti.kernel
    def measure(values: ti.template()) -> None:
        for index in ti.grouped(values):
            loss[None] += values[index] ** 2

    @ti.kernel
    def measure_array(values: ti.types.ndarray()) -> None:
        for index in ti.grouped(values):
            loss[None] += values[index] ** 2

    with ti.ad.Tape(loss):
        run()
        (measure_array if isinstance(run, _Launch) else measure)(output)
    texts = [str(run.ir(stage="memref", mode=mode)) for mode in ("primal", "reverse")]
    tiles = [text.count("workgroup(") for text in texts]
    return [output.to_numpy(), *(x.grad.to_numpy() for x in inputs)], tiles


def _compare(name: str, order: str, monkeypatch: pytest.MonkeyPatch) -> None:
    program, *tiles = PROGRAMS[name]
    monkeypatch.setenv("MLIRAD_SIMT_ORDER", order)
    expected, _ = _left_by(program, ti.x64)
    values, there = _left_by(program, ti.simt)
    for value, other in zip(values, expected):
        tolerance = {2: 5e-3, 4: 2e-5, 8: 1e-12}[other.dtype.itemsize]
        scale = float(np.abs(other).max())
        np.testing.assert_allclose(value, other, rtol=tolerance, atol=tolerance * scale)
    assert there == tiles


@pytest.mark.parametrize("name", PROGRAMS)
def test_tiles(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sums of all shapes, in one order."""
    _compare(name, ORDERS[[*PROGRAMS].index(name) % 3], monkeypatch)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("name", ["scattered", "pairs"])
def test_orders(name: str, order: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads of any order leave the same sums."""
    program = PROGRAMS[name][0]
    monkeypatch.setenv("MLIRAD_SIMT_ORDER", ORDERS[0])
    expected, _ = _left_by(program, ti.simt)
    monkeypatch.setenv("MLIRAD_SIMT_ORDER", order)
    values, _ = _left_by(program, ti.simt)
    np.testing.assert_array_equal(values[0], expected[0])
    for value, other in zip(values, expected):
        np.testing.assert_allclose(value, other, rtol=2e-5, atol=2e-5 * np.abs(other).max())


@pytest.mark.parametrize("width", [np.inf, np.nan])
def test_nothing_is_multiplied_at_the_border(width: float) -> None:
    """A weight that is infinite counts only where the program multiplies it."""
    results = []
    for arch in (ti.x64, ti.simt):
        ti.init(arch=arch)
        run, (x, w, y) = channels_last(12, 24, 33)()
        values = np.random.default_rng(5).standard_normal(w.shape).astype(np.float32)
        values[0, 1, 3, 2] = width
        x.from_numpy(np.ones(x.shape, np.float32))
        w.from_numpy(values)
        run()
        results.append(y.to_numpy())
    assert np.isfinite(results[0]).any(), "the first row"
    np.testing.assert_array_equal(np.isnan(results[0]), np.isnan(results[1]))
    np.testing.assert_allclose(results[1], results[0], rtol=1e-4, atol=1e-4)


def _tensors(arch: Any) -> list[np.ndarray]:
    """A product of matrices and its gradients, as definitions."""
    ti.init(arch=arch)
    left, right = (te.placeholder(shape, ti.f32) for shape in ((70, 66), (66, 65)))
    k = te.reduce_axis(66)
    output = te.compute((70, 65), lambda i, j: te.sum(left[i, k] * right[k, j], axis=k))
    head = te.placeholder((70, 65), ti.f32)
    gradients = te.differentiate(output, [left, right], head)
    step = te.build([output, *gradients], [left, right, head])
    random = np.random.default_rng(7)
    shapes = (70, 66), (66, 65), (70, 65)
    return list(step(*(random.standard_normal(shape).astype(np.float32) for shape in shapes)))


def test_tensors() -> None:
    """Definitions are loops, too."""
    for value, other in zip(_tensors(ti.simt), _tensors(ti.x64)):
        np.testing.assert_allclose(value, other, rtol=1e-4, atol=1e-4)


def test_code() -> None:
    """Panels are read 16 bytes at a time, and nothing lies in a thread's memory."""
    ti.init(arch=ti.x64)
    run, _ = product(1024, 1024, 1024)()
    for mode, tiles in (("primal", 1), ("reverse", 3)):
        text = run.ptx(mode=mode, chip="sm_90")
        assert text.count("ld.shared.v4.b32") == 32 * tiles
        assert text.count(".shared .align 16") >= 2 * tiles
        assert ".local" not in text
