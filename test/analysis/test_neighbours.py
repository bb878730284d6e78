"""Accesses found by the constants among their indices, against all of them."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest
from programs.load import load

import mlirad as ti
from mlirad.analysis.races.collisions import Collisions
from mlirad.analysis.races.overwrite import Neighbours, Overwrites
from mlirad.bindings import ir
from mlirad.dialect import context
from mlirad.dialect.field import is_write
from mlirad.ir.graph import Graph
from mlirad.ir.walk import functions

HEADER = """import mlirad as ti
x = ti.field(ti.f64, shape=(5, 5, 5))
@ti.kernel
def run(n: int):
    for i, j in ti.ndrange(5, 5):
        for k in range(n):
"""
INDICES = ("0", "1", "2", "4", "i", "j", "k", "i - i + 1", "2 * j", "i % 3", "n")


def _access(draw: Random) -> str:
    return f"x[{', '.join(draw.choice(INDICES) for _ in range(3))}]"


@pytest.mark.parametrize("seed", range(4))
def test_others_never_meet(seed: int, tmp_path: Path) -> None:
    draw = Random(seed)
    ti.init(default_fp=ti.f64)
    lines = [f"            {_access(draw)} += {_access(draw)} + {_access(draw)}" for _ in range(12)]
    text = load(HEADER + "\n".join(lines) + "\n", tmp_path).run.ir(3, stage="field", generic=True)
    skipped = 0
    with context():
        module = ir.Module.parse(text)
        graph = Graph(functions(module.operation)[0])
        overwrites = Overwrites(graph)
        accesses = [node for node in graph.nodes() if node.is_access]
        writes = [node for node in accesses if is_write(node)]
        near = Neighbours(overwrites, writes)
        for access in accesses:
            found = near.near(access)
            assert found == [write for write in writes if write in found]
            for write in writes:
                if write not in found:
                    assert overwrites.judge(access, write) == (None, True)
                    skipped += 1
    assert skipped > 100


@pytest.mark.parametrize("kind", ["stores", "sums"])
def test_an_unrolled_kernel_is_compared_with_little(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The comparisons grow as the kernel does, and not as its square."""
    ti.init(default_fp=ti.f64, opt_level=0)
    count = 0

    def counted(function: Any) -> Any:
        def call(*arguments: Any) -> Any:
            nonlocal count
            count += 1
            return function(*arguments)

        return call

    monkeypatch.setattr(Overwrites, "_meeting", counted(Overwrites._meeting))
    monkeypatch.setattr(Collisions, "_matters", counted(Collisions._matters))
    n = 32
    x, y, loss = (ti.field(ti.f64, shape, needs_grad=True) for shape in (n, n, ()))

    @ti.kernel
    def stores():
        for _ in range(1):
            for i in ti.static(range(n)):
                y[i] = x[i] * x[i]
                loss[None] += y[i] * y[i]

    @ti.kernel
    def sums():
        for j in range(4):
            for i in ti.static(range(n)):
                loss[None] += x[i] * x[(i + j) % n]

    with ti.ad.Tape(loss):
        {"stores": stores, "sums": sums}[kind]()
    assert count < 16 * n
