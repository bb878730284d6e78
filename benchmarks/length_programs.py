"""Kernels of many statements, one after the other in the body of one loop: `benchmarks.lengths`."""

from __future__ import annotations

import linecache
from typing import Any

import mlirad as ti

SIZE = 4096
_BRANCH = 100  # statements from a branch of `mixed` to the next
_MIXED = (
    "v = ti.exp(-v * v) + {c} * u",
    "w = ti.sqrt(v * v + w * w + {c})",
    "v = v / (w + {d})",
    "w = w * {c} - v * u",
)
KINDS = ("sines", "products", "mixed", "serial")  # the last, whose iterations wait for each other


def source(kind: str, statements: int) -> str:
    """A kernel's text."""
    is_serial = kind == "serial"
    lines = [
        "@ti.kernel",
        "def long_kernel():",
        *["    w = 1.0"] * is_serial,
        *["    ti.loop_config(serialize=True)"] * is_serial,
        "    for i in x:",
        "        u = x[i]",
        "        v = u",
        *["        w = u + 1.0"] * (not is_serial),
    ]
    for number in range(statements):
        lines += [f"        {line}" for line in _statement(kind, number)]
    return "\n".join([*lines, "        loss[None] += v + w", ""])


def _statement(kind: str, number: int) -> list[str]:
    c, d = (f"{base + 0.001 * (number % 97):.3f}" for base in (0.2, 1.2))
    if kind == "sines":
        return [f"v = ti.sin(v) + {c} * u"]
    if kind == "products":
        return [f"v = v * {c} + u"] if number % 2 else [f"v = v * u + {c}"]
    if number % _BRANCH == _BRANCH - 1:
        return [f"if v > {c}:", "    w = w * w + u"]
    return [_MIXED[number % len(_MIXED)].format(c=c, d=d)]


def compiled(kind: str, statements: int) -> tuple[Any, Any, Any]:
    """The kernel, the field that it reads, and its sum."""
    x = ti.field(ti.f32, SIZE, needs_grad=True)
    loss = ti.field(ti.f32, (), needs_grad=True)
    text, name = source(kind, statements), f"<{statements} {kind}>"
    linecache.cache[name] = len(text), None, text.splitlines(keepends=True), name
    names = {"ti": ti, "x": x, "loss": loss}
    exec(compile(text, name, "exec"), names)
    for place in range(SIZE):
        x[place] = 0.1 + place / SIZE
    return names["long_kernel"], x, loss
