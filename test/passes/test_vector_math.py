"""Elementary functions of the vector library: how far off they are, and that nothing but the
argument matters."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest

import mlirad as ti
from mlirad.bindings import ExecutionEngine, ir
from mlirad.dialect import context
from mlirad.ir.elementary.vector_math import ARGUMENTS, FUNCTIONS
from mlirad.pipeline.runner import run_pipeline
from mlirad.pipeline.stages.cpu import VectorLibrary, target_stage
from mlirad.runtime.cpu.processor import vector_library

LIBRARY = vector_library()
pytestmark = pytest.mark.skipif(LIBRARY is None, reason="no libmvec here")
HAS = [name for name in ARGUMENTS if LIBRARY is not None and name not in LIBRARY.missing]
OPS = {name: op for op, name in FUNCTIONS.items()}
MOST_ULPS = 4.0
TYPES = {np.dtype(np.float32): "f32", np.dtype(np.float64): "f64"}
SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-40, -1e-40, 5e-324, 1.0, -1.0, 1e30, -1e30, 3e38]
Array = np.ndarray[Any, Any]


class Functions:
    """All functions of the library for a type, as kernels of arrays: in a loop over scalars, and of
    explicit vectors."""

    def __init__(self, dtype: Any, lanes: int = 0, library: VectorLibrary | None = LIBRARY) -> None:
        self.dtype = np.dtype(dtype)
        text = "\n".join(self._kernel(name, lanes) for name in HAS)
        module = ir.Module.parse(text, context())
        run_pipeline(module.operation, f"builtin.module({target_stage(library=library).passes})")
        self.engine = ExecutionEngine(module, opt_level=3)

    def _kernel(self, name: str, lanes: int) -> str:
        element = TYPES[self.dtype]
        value = f"vector<{lanes}x{element}>" if lanes else element
        array = f"memref<?x{element}>"
        load, store = ("vector.load", "vector.store") if lanes else ("memref.load", "memref.store")
        end = f", {value}" if lanes else ""
        operands = ["%a", "%b"][: ARGUMENTS[name]]
        loads = "\n".join(f"{v} = {load} {v}s[%i] : {array}{end}" for v in operands)
        return f"""
        func.func @{name}(%as: {array} {{llvm.noalias}}, %bs: {array} {{llvm.noalias}},
                          %rs: {array} {{llvm.noalias}}) attributes {{llvm.emit_c_interface}} {{
          %zero = arith.constant 0 : index
          %step = arith.constant {max(lanes, 1)} : index
          %count = memref.dim %as, %zero : {array}
          scf.for %i = %zero to %count step %step {{
            {loads}
            %r = {OPS[name]} {", ".join(operands)} : {value}
            {store} %r, %rs[%i] : {array}{end}
          }}
          return
        }}"""

    def __call__(self, name: str, *arguments: Array) -> Array:
        result = np.empty_like(arguments[0])
        arrays = [arguments[0], arguments[-1], result]
        found = [(ctypes.c_int64 * 5)(a.ctypes.data, a.ctypes.data, 0, a.size, 1) for a in arrays]
        pointers = [ctypes.c_void_p(ctypes.addressof(one)) for one in found]
        self.engine.lookup(name)((ctypes.c_void_p * 3)(*map(ctypes.addressof, pointers)))
        return result


@pytest.fixture(scope="module", params=[np.float32, np.float64], ids=["f32", "f64"])
def functions(request: pytest.FixtureRequest) -> Functions:
    return Functions(request.param)


def arguments_of(name: str, dtype: Any, count: int, seed: int = 7) -> list[Array]:
    """Numbers of all sizes and signs, many where functions bend, and special ones."""
    random = np.random.default_rng(seed)
    bits = np.dtype(dtype).itemsize * 8
    found = []
    for _ in range(ARGUMENTS[name]):
        every = random.integers(0, 1 << bits, count, dtype=f"u{bits // 8}").view(dtype)
        near = random.uniform(-1.05, 1.05, count)
        some = random.uniform(-30, 30, count)
        parts = [every, near, some, np.exp(random.uniform(-40, 40, count)), np.resize(SPECIAL, 60)]
        with np.errstate(all="ignore"):
            numbers = np.concatenate([np.asarray(part, dtype) for part in parts])
        found.append(random.permutation(numbers))
    return found


def exact(name: str, arguments: list[Array]) -> Array:
    """The function in the widest floats that NumPy has, from C's library."""
    library = ctypes.CDLL("libm.so.6")
    if name in ("erf", "erfc"):  # not in NumPy; rounded to f64
        function = getattr(library, f"{name}l")
        function.restype, function.argtypes = ctypes.c_longdouble, [ctypes.c_longdouble]
        with np.errstate(invalid="ignore"):
            numbers = arguments[0].astype(float)
        return np.array([function(x) for x in numbers], np.longdouble)
    names = {
        "acos": "arccos",
        "acosh": "arccosh",
        "asin": "arcsin",
        "asinh": "arcsinh",
        "atan": "arctan",
        "atan2": "arctan2",
        "atanh": "arctanh",
        "pow": "power",
    }
    function = getattr(np, names.get(name, name))
    with np.errstate(all="ignore"):
        return np.asarray(function(*(a.astype(np.longdouble) for a in arguments)))


def ulps(got: Array, wanted: Array) -> Array:
    """How far numbers are off, in units in the last place of what is wanted; infinite where only
    one of both is a number."""
    with np.errstate(all="ignore"):
        rounded = wanted.astype(got.dtype)
        gap = np.abs(np.spacing(np.where(np.isfinite(rounded), rounded, 1)).astype(np.longdouble))
        error = np.abs(got.astype(np.longdouble) - wanted) / gap
        same = (np.isnan(got) & np.isnan(rounded)) | (got == rounded)
        # rounded to infinity, or to the largest number
        edge = np.isinf(rounded) != np.isinf(got)
        largest = np.finfo(got.dtype).max
        beside = edge & (np.minimum(np.abs(got), np.abs(rounded)) > largest * (1 - 1e-6))
    return np.where(
        same, 0.0, np.where(beside, 1.0, np.nan_to_num(error.astype(float), nan=np.inf))
    )


@pytest.mark.parametrize("name", HAS)
def test_error(functions: Functions, name: str) -> None:
    """At most four units in the last place, over the whole range, at infinities and NaN too."""
    arguments = arguments_of(name, functions.dtype, 20_000)
    off = ulps(functions(name, *arguments), exact(name, arguments))
    worst = int(off.argmax())
    slack = 0.5 if name in ("erf", "erfc") else 0.0
    assert off[worst] <= MOST_ULPS + slack, [a[worst] for a in arguments]


@pytest.mark.parametrize("name", [name for name in HAS if name != "pow"])
def test_only_the_argument_matters(functions: Functions, name: str) -> None:
    """A function gives the same bits in vector code, for what remains of a loop, and alone; other
    lanes, however odd, make no difference. (Powers of one number are C's.)"""
    arguments = arguments_of(name, functions.dtype, 150)
    together = functions(name, *arguments)
    shifted = functions(name, *(np.roll(a, 3) for a in arguments))
    alone = [functions(name, *(a[k : k + 1] for a in arguments)) for k in range(together.size)]
    bits = f"u{functions.dtype.itemsize}"
    for other in (np.roll(shifted, -3), np.concatenate(alone)):
        same = (together.view(bits) == other.view(bits)) | (np.isnan(together) & np.isnan(other))
        assert same.all(), [a[~same][:3] for a in arguments]


@pytest.mark.parametrize("lanes", [1, 2, 3, 4, 8, 12, 16, 32])
def test_vectors_of_any_width(functions: Functions, lanes: int) -> None:
    """Explicit vectors give what scalars give."""
    vectors = Functions(functions.dtype, lanes)
    for name in ("tanh", "exp", "atan2", "log"):
        arguments = [a[: 96 * 3] for a in arguments_of(name, functions.dtype, 100)]
        np.testing.assert_array_equal(vectors(name, *arguments), functions(name, *arguments))


@cache
def without_library(lanes: int) -> Functions:
    return Functions(np.float32, lanes, None)


@pytest.mark.parametrize("lanes", [0, 8])
@pytest.mark.parametrize("name", ["exp", "log1p", "tanh"])
def test_polynomials_without_a_library(name: str, lanes: int) -> None:
    """At most three units in the last place, at numbers of all exponents."""
    every = np.arange(0, 1 << 32, 4099, dtype=np.uint64).astype(np.uint32).view(np.float32)
    rest = [*arguments_of(name, np.float32, 1000), np.float32(SPECIAL)]
    numbers = np.concatenate([every, *rest])
    numbers = numbers[: numbers.size // 8 * 8]
    off = ulps(without_library(lanes)(name, numbers), exact(name, [numbers]))
    assert off.max() <= 3.0, numbers[off.argmax()]


@pytest.fixture(params=[True, False], ids=["fast", "exact"])
def fast_math(request: pytest.FixtureRequest) -> Iterator[bool]:
    ti.init(cpu_max_num_threads=1, fast_math=request.param)
    yield request.param
    ti.reset()


@pytest.mark.cpu_code("it is about the CPU's library")
def test_kernels_call_it_with_fast_math_only(fast_math: bool) -> None:
    x, y = (ti.field(ti.f32, 1000) for _ in range(2))

    @ti.kernel
    def apply():
        for i in x:
            y[i] = ti.sin(x[i])

    assert ("@_ZGV" in str(apply.ir(stage="target"))) == fast_math
    numbers = np.linspace(-3, 3, 1000, dtype=np.float32)
    x.from_numpy(numbers)
    apply()
    np.testing.assert_allclose(y.to_numpy(), np.sin(numbers.astype(float)), rtol=4 * 1.2e-7)


@pytest.mark.cpu_code("it is about the CPU's library")
def test_without_a_library(monkeypatch: pytest.MonkeyPatch, fast_math: bool) -> None:
    """C's functions, one number at a time."""
    monkeypatch.setattr("mlirad.runtime.cpu.cpu_executor.vector_library", lambda: None)
    x = ti.field(ti.f64, 100, needs_grad=True)
    loss = ti.field(ti.f64, (), needs_grad=True)

    @ti.kernel
    def total():
        for i in x:
            loss[None] += ti.sin(x[i])

    assert "@_ZGV" not in str(total.ir(stage="target"))
    numbers = np.linspace(-3, 3, 100)
    x.from_numpy(numbers)
    with ti.ad.Tape(loss):
        total()
    np.testing.assert_allclose(x.grad.to_numpy(), np.cos(numbers), rtol=1e-14)


@ti.func
def everything(x):
    wave = ti.sin(x) + ti.cos(x) * ti.tan(0.3 * x) + ti.atan2(x, 0.7)
    bend = ti.tanh(x) + ti.erf(x) + ti.exp(-x * x) + ti.log(x * x + 0.1)
    return wave * bend + (x * x + 0.1) ** 1.7 + x**3


@pytest.mark.cpu_code("it is about the CPU's library")
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_decisions_are_alike_everywhere(threads: int, dtype: str) -> None:
    """Each number is compared with what another kernel, with other lanes and other remainders, made
    of it: equal to the bit in the primal, its reverse and its tangent."""
    ti.init(default_fp=getattr(ti, dtype), cpu_max_num_threads=threads)
    count = 3_001
    x, edge = (ti.field(float, count, needs_grad=True) for _ in range(2))
    loss = ti.field(float, (), needs_grad=True)
    x.from_numpy(np.random.default_rng(1).normal(0, 2, count).astype(x.dtype.numpy))

    @ti.kernel
    def note(first: int, last: int):
        for i in range(first, last):
            edge[i] = everything(x[i])

    @ti.kernel
    def count_alike():
        for i in x:
            if everything(x[i]) >= edge[i]:
                loss[None] += x[i]
            if everything(x[i]) > edge[i]:
                loss[None] += 1000 * x[i]

    for first, last in ((0, 1), (1, 2), (2, 9), (9, 40), (40, count)):
        note(first, last)
    with ti.ad.Tape(loss):
        count_alike()
    np.testing.assert_array_equal(x.grad.to_numpy(), 1)
    with ti.ad.FwdMode(loss, x, seed=np.ones(count)):
        count_alike()
    assert loss.dual[None] == count
    ti.reset()
