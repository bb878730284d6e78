"""Transposes of random linear maps, derived, against the maps: forward mode runs the map, reverse
mode the transpose."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from torch_mlir.dialects import arith, math
from torch_mlir.ir import F32Type, F64Type

import mlirad as ti
from mlirad.ir.foreign_ops.registry import FOREIGN_RULES, LOWERINGS
from mlirad.mlir.run.derivatives import Program

COUNT = 40  # maps in a function
STEPS = 12  # of a map
DIALECT = """
irdl.dialect @random_map {
  irdl.operation @op {
    %0 = irdl.any
    %1 = irdl.any
    irdl.operands(x: %0, y: %0, z: %0)
    irdl.results(r: %0, s: %0)
    irdl.attributes { "seed" = %1 }
  }
}
"""


@pytest.fixture(autouse=True)
def _op() -> Iterator[None]:
    ti.init()
    ti.mlir.parse_dialects(DIALECT)
    ti.mlir.lowering("random_map.op", lambda op: op.operands[:2])
    ti.mlir.derivative("random_map.op", random_map)
    yield
    ti.reset()
    del FOREIGN_RULES["random_map.op"], LOWERINGS["random_map.op"]


def random_map(op: Any, tangents: Any) -> Any:
    """A map made by the seed that an op has."""
    generator = random.Random(int(op.attributes["seed"]))
    values, linear = [*op.operands, *op.results], [*tangents]
    for _ in range(STEPS):
        values.append(math.sin(generator.choice(values)))
        linear.append(linear_step(generator, values, linear))
    return generator.sample(linear[-4:], 2)


def linear_step(generator: random.Random, values: Any, linear: Any) -> Any:
    """One more tangent, of those that there are."""
    first, second = (generator.choice(linear[-5:]) for _ in range(2))
    value, other = (generator.choice(values) for _ in range(2))
    kind = generator.randrange(8)
    if kind < 2:
        return (arith.addf, arith.subf)[kind](first, second)
    if kind == 2:
        return arith.mulf(*generator.sample([first, value], 2))
    if kind == 3:
        return arith.divf(first, arith.addf(arith.mulf(value, value), one(value)))
    if kind == 4:
        return arith.negf(first)
    if kind == 5:
        return arith.select(arith.cmpf(2, value, other), first, second)
    if kind == 6:
        return arith.select(arith.cmpf(2, value, other), zero(first), first)
    narrow = F32Type.get() if first.type == F64Type.get() else F64Type.get()
    if narrow == F32Type.get():
        return arith.extf(first.type, arith.truncf(narrow, first))
    return arith.truncf(first.type, arith.extf(narrow, first))


def one(like: Any) -> Any:
    return arith.constant(like.type, 1.0)


def zero(like: Any) -> Any:
    return arith.constant(like.type, 0.0)


@pytest.mark.parametrize("dtype", ["f64", "f32"])
def test_random_linear_maps(dtype: str) -> None:
    stored = "".join(
        f"""
          %r{k}, %s{k} = "random_map.op"(%x, %y, %z) {{seed = {k} : i64}}
            : (T, T, T) -> (T, T)
          memref.store %r{k}, %o[%c{k}, %c0] : memref<{COUNT}x2xT>
          memref.store %s{k}, %o[%c{k}, %c1] : memref<{COUNT}x2xT>"""
        for k in range(COUNT)
    )
    constants = "\n".join(f"%c{k} = arith.constant {k} : index" for k in range(COUNT))
    loads = "\n".join(
        f"%{v} = memref.load %m[%c{k}] : memref<3xT>" for k, v in enumerate(("x", "y", "z"))
    )
    text = f"""
      func.func @f(%m: memref<3xT>) -> memref<{COUNT}x2xT> {{
        %o = memref.alloc() : memref<{COUNT}x2xT>
        {constants}
        {loads}
        {stored}
        return %o : memref<{COUNT}x2xT>
      }}"""
    generator = np.random.default_rng(3)
    point = np.asarray([0.4, -0.7, 1.3], f"float{dtype[1:]}")
    program = Program(ti.mlir.parse(text.replace("T", dtype)), [point])
    columns = [program.tangents([direction])[0] for direction in np.eye(3, dtype=point.dtype)]
    assert sum(np.abs(column).sum() > 1e-3 for column in np.stack(columns, -1)) > COUNT / 2
    for k in range(COUNT):
        heads = [np.zeros((COUNT, 2), point.dtype), np.zeros(3, point.dtype)]
        heads[0][k] = generator.uniform(-1, 1, 2)
        (adjoint,) = program.gradients(heads)
        expected = [float(np.vdot(heads[0], column)) for column in columns]
        np.testing.assert_allclose(adjoint, expected, rtol=1e-4, atol=1e-5)
