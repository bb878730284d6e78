"""Random parallel loops that scatter and gather through index fields, and which of their iterations
meet in an element."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import sin
from random import Random
from types import SimpleNamespace
from typing import Any

import numpy as np

SIZE = 16
FLOATS = ("x", "y", "z", "a")
HEADER = """import mlirad as ti
x = ti.field(ti.f64, shape=16, needs_grad=True)
y = ti.field(ti.f64, shape=16, needs_grad=True)
z = ti.field(ti.f64, shape=16, needs_grad=True)
u = ti.Vector.field(2, ti.f64, shape=16, needs_grad=True)
k = ti.field(ti.i32, shape=16)
m = ti.field(ti.i32, shape=16)
q = ti.field(ti.i32, shape=16)
loss = ti.field(ti.f64, shape=(), needs_grad=True)

@ti.kernel
def total(a: ti.types.ndarray(ti.f64, 1)):
    for i in x:
        part = ti.sin(x[i] * (1 + i)) + y[i] ** 2 + z[i] * x[i] + a[i] * (i + 2)
        loss[None] += part + u[i][0] * u[i][1]
"""
_PARALLEL = "    {loop}\n{body}"
_SERIAL = "    ti.loop_config(serialize=True)\n    {loop}\n{body}"


@dataclass
class Writer:
    """Writes one loop twice: for a kernel, and for Python with arrays that note who touches
    what."""

    random: Random
    axes: int = 1
    kernel: list[str] = field(default_factory=list)
    traced: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.axes = self.random.choice([1, 1, 2])
        depth = 2
        if self.random.random() < 0.3:
            self._line(
                depth,
                self.random.choice(
                    ["if k[i] % 2 == 0:", "if x[i] > 0.8:", "if m[i] != i:", "if i % 2 == 0:"]
                ),
            )
            depth += 1
        inner = self.random.random() < 0.2
        if inner:
            self._line(depth, "for t in range(k[i] % 3):")
            depth += 1
        for _ in range(self.random.choice([1, 1, 2, 2, 3])):
            self._statement(depth, inner)

    def _line(self, depth: int, text: str, traced: str | None = None) -> None:
        self.kernel.append("    " * depth + text)
        self.traced.append("    " * depth + (text if traced is None else traced))

    def _index(self, inner: bool) -> str:
        own = "i" if self.axes == 1 else self.random.choice(["(i * 4 + j)", "(i * n + j)"])
        found = [
            "k[{0}]",
            "k[{0}]",
            "k[{0}]",
            "k[{0}]",
            "m[{0}]",
            "m[{0}]",
            "k[m[{0}]]",
            "{0}",
            "(k[{0}] + 1) % 16",
            "{0}",
            "({0} + 8) % 16",
            "q[{0}]",
            "({0} * n) % 16",
            "({0} * {0} + 1) % 16",
        ]
        if inner:
            found += ["m[({0} + t) % 16]", "(k[{0}] + t) % 16", "({0} + t) % 16"]
        return self.random.choice(found).format(own)

    def _value(self, inner: bool, depth: int = 0) -> str:
        if depth == 2 or self.random.random() < 0.4:
            array, index = self.random.choice([*FLOATS, "u"]), self._index(inner)
            return f"{array}[{index}]" + (f"[{self.random.randrange(2)}]" if array == "u" else "")
        left, right = self._value(inner, depth + 1), self._value(inner, depth + 1)
        return self.random.choice(
            [
                f"({left} + 0.5 * {right})",
                f"({left} * {right})",
                f"ti.sin({left})",
                f"(2.0 * {left})",
            ]
        )

    def _statement(self, depth: int, inner: bool) -> None:
        array, index, value = self.random.choice(FLOATS), self._index(inner), self._value(inner)
        kinds = ["scale", "max", "mul", "constant", "vector", "part", "old", "int"]
        kind = self.random.choice(["store"] * 5 + ["add"] * 4 + kinds)
        if kind in ("store", "constant"):
            value = "0.25" if kind == "constant" else value
            self._line(depth, f"{array}[{index}] = {value}", f"{array}.store({index}, {value})")
        elif kind == "add":
            self._line(depth, f"{array}[{index}] += {value}", f"{array}.add({index}, {value})")
        elif kind == "scale":
            value = f"(1.0 + 0.1 * {value})"
            self._line(
                depth,
                f"{array}[{index}] *= {value}",
                f"{array}.store({index}, {array}[{index}] * {value})",
            )
        elif kind in ("max", "mul"):
            value = f"(1.0 + 0.1 * {value})"
            self._line(
                depth,
                f"ti.atomic_{kind}({array}[{index}], {value})",
                f"{array}.{kind}({index}, {value})",
            )
        elif kind == "vector":
            self._line(
                depth,
                f"u[{index}] = ti.Vector([{value}, 0.5])",
                f"u.store({index}, [{value}, 0.5])",
            )
        elif kind == "part":
            self._line(
                depth,
                f"u[{index}][1] = {value}",
                f"u.store({index}, [u.values[{index}][0], {value}])",
            )
        elif kind == "old":
            other = self._index(inner)
            self._line(
                depth,
                f"{array}[{other}] += ti.atomic_add(y[{index}], {value})",
                f"{array}.add({other}, y.taken({index}, {value}))",
            )
        else:
            self._line(
                depth,
                f"q[{index}] = {self._index(inner)}",
                f"q.store({index}, {self._index(inner)})",
            )
            self.traced[-1] = (
                "    " * depth + f"q.store({index}, {self.kernel[-1].split(' = ')[1]})"
            )

    @property
    def _loop(self) -> str:
        return "for i in range(8):" if self.axes == 1 else "for i, j in ti.ndrange(4, 4):"

    def kernels(self, number: int) -> str:
        """The loop as it is, and serial."""
        body, ways = "\n".join(self.kernel), (("run", _PARALLEL), ("serial", _SERIAL))
        return "".join(
            [
                f"\n@ti.kernel\ndef {name}{number}(n: ti.i32, a: ti.types.ndarray(ti.f64, 1)):\n"
                f"{text.format(loop=self._loop, body=body)}\n"
                for name, text in ways
            ]
        )

    def meetings(self, n: int, arrays: dict[str, Any]) -> set[str]:
        """The arrays in which iterations meet so that their order may matter."""
        traced = {name: _Traced(name, values) for name, values in arrays.items()}
        where = (
            "for i in range(8):\n        here((i,))"
            if self.axes == 1
            else "for i in range(4):\n      for j in range(4):\n        here((i, j))"
        )
        scope: dict[str, Any] = {
            "n": n,
            "here": _Traced.here,
            "ti": SimpleNamespace(sin=sin),
            **traced,
        }
        exec(f"def run():\n    {where}\n" + "\n".join(self.traced) + "\nrun()", scope)
        return {name for name, one in traced.items() if one.meets}


class _Traced:
    """An array that notes which iterations touch an element, and how."""

    iteration: tuple[int, ...] = ()

    def __init__(self, name: str, values: Any) -> None:
        self.name, self.values = name, [v.tolist() for v in values]
        self.touched: dict[int, set[tuple[str, tuple[int, ...]]]] = {}
        self.meets = False

    @staticmethod
    def here(iteration: tuple[int, ...]) -> None:
        _Traced.iteration = iteration

    def _touch(self, index: int, kind: str) -> Any:
        found = self.touched.setdefault(index, set())
        found.add((kind, _Traced.iteration))
        self.meets |= any(
            own != _Traced.iteration and (kind, done) not in _COMMUTE for done, own in found
        )
        return self.values[index]

    def __getitem__(self, index: int) -> Any:
        return self._touch(index, "load")

    def store(self, index: int, value: Any) -> None:
        self._touch(index, "store")
        self.values[index] = value

    def add(self, index: int, value: float) -> None:
        self.values[index] = self._touch(index, "add") + value

    def taken(self, index: int, value: float) -> float:
        old: float = self._touch(index, "taken")
        self.values[index] += value
        return old

    def max(self, index: int, value: float) -> None:
        self.values[index] = max(self._touch(index, "max"), value)

    def mul(self, index: int, value: float) -> None:
        self.values[index] = self._touch(index, "mul") * value


_COMMUTE = {("load", "load"), ("add", "add"), ("max", "max")}


def indices(random: Random) -> np.ndarray[Any, Any]:
    """Values of an index field: all different, or some equal."""
    found = (
        list(range(SIZE))
        if random.random() < 0.8
        else [random.randrange(SIZE) for _ in range(SIZE)]
    )
    random.shuffle(found)
    return np.array(found, np.int32)
