"""Long blocks, which LLVM gets in pieces: they leave what whole ones leave, and no function that
LLVM gets is longer for longer kernels."""

from __future__ import annotations

import linecache
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from programs.in_lanes import left, written
from programs.load import load
from programs.machines import CASES, left_by

import mlirad as ti
from mlirad.pipeline.runner import VERIFY
from mlirad.pipeline.stages import cpu
from mlirad.runtime.program import program

LARGEST = 5000  # ops of LLVM's in a function
MIXED = (
    "v = ti.exp(-v * v) + {c} * u",
    "w = ti.sqrt(v * v + w * w + {c})",
    "v = v / (w + 1.5)",
    "if v > {c}: w = w * w + u",
    "w = w * {c} - v * u",
)
KINDS = {
    "sines": ("v = ti.sin(v) + {c} * u",),
    "products": ("v = v * u + {c}", "w = w * {c} + v"),
    "mixed": MIXED,
    "serial": MIXED,
}

pytestmark = pytest.mark.cpu_code("functions that LLVM gets")


def in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take all blocks for long."""
    text = cpu._TARGET.replace("split-long-blocks", "split-long-blocks{{length=8}}")
    monkeypatch.setattr(cpu, "_TARGET", text)


def long_kernel(kind: str, statements: int, **names: Any) -> Any:
    """A kernel of some statements in a loop from 0 to its argument."""
    lines = ["    u = x[i]", "    v = u"]
    head = ["@ti.kernel", "def f(n: ti.i32):", "  w = 1.0", "  for i in range(n):"]
    if kind == "serial":
        head.insert(3, "  ti.loop_config(serialize=True)")
    else:
        lines.append("    w = u + 1.0")
    kinds = KINDS[kind]
    for k in range(statements):
        lines.append("    " + kinds[k % len(kinds)].format(c=f"{0.2 + 0.01 * (k % 17):.2f}"))
    if kind != "serial":
        head.remove("  w = 1.0")
    text = "\n".join([*head, *lines, "    y[i] = v + w", ""])
    name = f"<{kind} {statements}>"
    linecache.cache[name] = len(text), None, text.splitlines(keepends=True), name
    known = {"ti": ti, **names}
    exec(compile(text, name, "exec"), known)
    return known["f"]


def found_by(kind: str, trips: Sequence[int], **options: Any) -> list[Any]:
    """What a kernel and its reverse leave, for some numbers of iterations."""
    ti.init(default_fp=ti.f32, cpu_max_num_threads=1, offline_cache=False, **options)
    x = ti.field(ti.f32, 4096, needs_grad=True)
    y = ti.field(ti.f32, 4096, needs_grad=True)
    f = long_kernel(kind, 40, x=x, y=y)
    x.from_numpy(np.linspace(0.1, 1.0, 4096, dtype=np.float32))
    found = []
    for n in trips:
        y.fill(0)
        x.grad.fill(0)
        f(n)
        y.grad.fill(1)
        f.grad(n)
        found += [y.to_numpy(), x.grad.to_numpy()]
    return found


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "options",
    [{}, {"fast_math": False}, {"fast_math": False, "lanes": 1}, {"debug": True}],
    ids=["fast", "exact", "exact, no lanes", "debug"],
)
def test_pieces_leave_the_same(
    kind: str, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    trips = (0, 1, 5, 4096 if kind != "serial" else 50)
    expected = found_by(kind, trips, **options)
    in_pieces(monkeypatch)
    rounding = 1e-4 if options.get("fast_math", True) else 0.0
    for one, other in zip(expected, found_by(kind, trips, **options), strict=True):
        np.testing.assert_allclose(other, one, rtol=rounding, atol=rounding)


@pytest.mark.parametrize(("name", "mode"), CASES[::3])
def test_pieces_change_no_bit(name: str, mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = left_by("x64", name, mode)
    in_pieces(monkeypatch)
    found = left_by("x64", name, mode)
    assert expected.keys() == found.keys()
    for symbol, values in expected.items():
        np.testing.assert_array_equal(found[symbol], values, err_msg=symbol)


@pytest.mark.parametrize("seed", range(4))
def test_random_programs_in_pieces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.delenv(VERIFY, raising=False)
    threads = 1 + seed % 2
    options = {"fast_math": False, "opt_level": 0, "offline_cache": False}
    source, found = written(seed, exact=True), []
    print(source)
    for _ in range(2):
        ti.init(default_fp=ti.f64, cpu_max_num_threads=threads, **options)
        program().config.thread_worth = 1
        found.append(left(load(source, tmp_path)))
        in_pieces(monkeypatch)
    for name, values in found[0].items():
        np.testing.assert_array_equal(found[1][name], values, err_msg=name)


@pytest.mark.parametrize(
    ("kind", "statements"),
    [("sines", 3200), ("products", 3200), ("mixed", 1600), ("serial", 800)],
)
def test_functions_are_bounded(kind: str, statements: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of what LLVM does for a function, much takes time by the square of its length."""
    monkeypatch.delenv(VERIFY, raising=False)
    ti.init(default_fp=ti.f32, cpu_max_num_threads=1, offline_cache=False)
    x, y = (ti.field(ti.f32, 4096, needs_grad=True) for _ in range(2))
    f = long_kernel(kind, statements, x=x, y=y)
    for mode in ("primal", "reverse"):
        text = f.ir(4096, stage="target", mode=mode)
        lengths = [part.count("\n") for part in re.split(r"\n  llvm\.func ", text)[1:]]
        assert sum(lengths) > 2 * statements
        assert max(lengths) < LARGEST, mode
