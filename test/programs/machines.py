"""Kernels of `gpu_kernels` on one machine and on another: what they leave in memory."""

from __future__ import annotations

from typing import Any

import numpy as np

import mlirad as ti
from mlirad.runtime.program import program
from programs.gpu_kernels import KERNELS, REVERSED

NOT_COMPARED = ("printing",)
CASES = [(name, "primal") for name in KERNELS if name not in NOT_COMPARED]
CASES += [(name, "reverse") for name in REVERSED]
TOLERANCE = {2: 1e-2, 4: 1e-5, 8: 1e-12}  # of a float, by its bytes


def same_memory(arguments: tuple[Any, ...]) -> None:
    """Give all fields and arrays the same random contents every time."""
    generator = np.random.default_rng(1)
    for name in sorted(program().fields):
        memory = program().fields[name]
        low_high = (1, 10) if memory.elements.dtype.kind in "iu" else (0.2, 0.9)
        memory.write(
            generator.uniform(*low_high, memory.read().shape).astype(memory.elements.dtype)
        )
    for array in arguments:
        if isinstance(array, np.ndarray):
            array[...] = generator.uniform(size=array.shape)


def contents(arguments: tuple[Any, ...]) -> dict[str, Any]:
    """Copies of all fields and arrays."""
    found: dict[str, Any] = {name: memory.read() for name, memory in program().fields.items()}
    return found | {str(k): a.copy() for k, a in enumerate(arguments) if isinstance(a, np.ndarray)}


def left_by(arch: str, name: str, mode: str, **options: Any) -> dict[str, Any]:
    """What a kernel leaves in memory, and returns, on a machine."""
    ti.init(arch=arch, cpu_max_num_threads=1, fast_math=False, random_seed=1234, **options)
    kernel, arguments = KERNELS[name]()
    program().trees.materialize()
    same_memory(arguments)
    earlier = contents(arguments)
    returned = kernel(*arguments) if mode == "primal" else kernel.grad(*arguments)
    found = contents(arguments)
    assert returned is not None or any((found[name] != earlier[name]).any() for name in found)
    if returned is None:
        return found
    return {**found, "returned": np.asarray(returned, np.float32)}  # as `returned` declares it


def assert_alike(expected: dict[str, Any], found: dict[str, Any]) -> None:
    """Every field, array and result, bit for bit but for the order of sums and products. A product
    of f16 underflows: its rounding is absolute, up to half a subnormal number per factor."""
    assert expected.keys() == found.keys()
    for symbol, values in expected.items():
        relative = absolute = 0.0
        if values.dtype.kind == "f":
            relative = TOLERANCE[values.dtype.itemsize]
            absolute = 64 * float(np.finfo(values.dtype).smallest_subnormal)
        np.testing.assert_allclose(found[symbol], values, relative, absolute, err_msg=symbol)
