"""Random programs that overwrite what their gradients need: several kernels and host writes, as
source text.

Indices, conditions and bounds are read from integer fields that are overwritten too. In a parallel
loop, iteration i writes element i of some arrays, and reads of these nothing else; a serial loop
goes anywhere.
"""

from __future__ import annotations

from random import Random
from types import ModuleType
from typing import Any

import numpy as np
from gradients import State

SIZE = 4
FIELDS = ("x", "y", "w", "g")
HEADER = f"""import mlirad as ti

x = ti.field(ti.f64, shape={SIZE}, needs_grad=True)
y = ti.field(ti.f64, shape={SIZE}, needs_grad=True)
w = ti.field(ti.f64, shape={SIZE}, needs_grad=True)
g = ti.field(ti.f64, shape={SIZE})
p = ti.Vector.field(2, ti.f64, shape={SIZE}, needs_grad=True)
s = ti.field(ti.f64, shape=(), needs_grad=True)
loss = ti.field(ti.f64, shape=(), needs_grad=True)
m = ti.field(ti.i32, shape={SIZE})
n = ti.field(ti.i32, shape={SIZE})
k = ti.field(ti.i32, shape=())

"""
FINAL = f"""
@ti.kernel
def total():
    for i in range({SIZE}):
        part = ti.sin(x[i] + 0.4 * i) * w[i] + y[i] * (i + 1) - g[i] * x[i] + p[i][0] * p[i][1]
        loss[None] += part + s[None] * x[i]
"""


def inputs_of(module: ModuleType) -> list[Any]:
    """The fields of a program that have gradients."""
    return [module.x, module.y, module.w, module.p]


def prepare(module: ModuleType, point: int) -> State:
    """Give the fields of a program values; what they are."""
    random = np.random.default_rng(point)
    inputs = inputs_of(module)
    for field in [*inputs, module.g, module.s]:
        field.from_numpy(random.uniform(0.3, 1.3, field.to_numpy().shape))
    for field in (module.m, module.n):
        field.from_numpy(random.integers(0, 5, field.to_numpy().shape).astype(np.int32))
    module.k.fill(0)
    module.loss.fill(0)
    return State(inputs, module.loss)


class Writer:
    """Writes one program, line by line."""

    def __init__(self, random: Random, drivers: int) -> None:
        self.random, self.drivers = random, drivers
        self.lines: list[str] = []
        self.depth = 0
        self.counter = 0
        self.budget = 0
        self.own: set[str] = set()  # arrays whose element i belongs to iteration i
        self.sums: set[str] = set()  # arrays that a parallel loop only adds to
        self.is_serial = True  # every element is free
        self.variable = ""
        self.floats: list[str] = []
        self.integers: list[str] = []
        self.serial_loops = 0

    def program(self) -> str:
        """Kernels and the functions that launch them, each another program: `run0`, `run1` ..."""
        names = []
        for number in range(self.random.randint(1, 3)):
            self.kernel(f"step{number}")
            names.append(f"step{number}")
        drivers = [self.driver(names, number) for number in range(self.drivers)]
        return HEADER + "\n".join(self.lines) + FINAL + "".join(drivers)

    def driver(self, names: list[str], number: int) -> str:
        lines = ["", "", f"def run{number}():"]
        if self.random.random() < 0.4:
            lines += [
                f"    for t in range({self.random.randint(2, 3)}):",
                *[f"        {n}(t)" for n in names],
            ]
            if self.random.random() < 0.5:
                lines.append("        " + self.host_write())
        for _ in range(self.random.randint(1, 4)):
            lines.append(
                "    "
                + (
                    self.host_write()
                    if self.random.random() < 0.3
                    else f"{self.random.choice(names)}({self.random.randint(0, 3)})"
                )
            )
        return "\n".join([*lines, "    total()", ""])

    def host_write(self) -> str:
        f, h = self.random.sample(FIELDS, 2)
        value = f"{self.random.uniform(0.3, 1.2):.2f}"
        element = self.random.randrange(SIZE)
        return self.random.choice(
            [
                f"{f}[{element}] = {value}",
                f"{f}.fill({value})",
                f"{f}.copy_from({h})",
                f"p[{element}] = [{value}, 0.7]",
                f"m[{element}] = {element}",
                "m.fill(2)",
                "k[None] = 1",
                "m.copy_from(n)",
                f"s[None] = {value}",
            ]
        )

    def emit(self, line: str) -> None:
        self.lines.append("    " * self.depth + line)

    def fresh(self, prefix: str) -> str:
        """A name no other variable has."""
        self.counter += 1
        return f"{prefix}{self.counter}"

    # Kernels.

    def kernel(self, name: str) -> None:
        """A kernel of one or two parts: parallel loops, serial loops, statements."""
        self.lines += ["", "@ti.kernel", f"def {name}(t: ti.i32):"]
        self.depth = 1
        for _ in range(self.random.choice([1, 1, 1, 2])):
            self.budget = 7
            self.random.choice(
                [self.parallel_loop, self.parallel_loop, self.serial_loop, self.straight]
            )()
        self.depth = 0
        self.emit("")

    def parallel_loop(self) -> None:
        names = [*FIELDS, "p", "m", "n"]
        self.own = set(self.random.sample(names, self.random.randint(1, 4)))
        rest = [name for name in ("x", "y", "w", "s") if name not in self.own]
        self.sums = set(self.random.sample(rest, min(len(rest), self.random.randint(0, 1))))
        self.is_serial = False
        self.loop()

    def serial_loop(self) -> None:
        self.own, self.sums, self.is_serial = set(), set(), True
        self.emit("ti.loop_config(serialize=True)")
        self.loop()

    def loop(self) -> None:
        self.variable = "i"
        self.emit(f"for i in range({self.random.choice([str(SIZE), str(SIZE), f'1, {SIZE}'])}):")
        self.body(self.random.randint(2, 5))
        self.variable = ""

    def straight(self) -> None:
        self.own, self.sums, self.is_serial = set(), set(), True
        self.depth -= 1
        self.body(self.random.randint(2, 5))
        self.depth += 1

    def body(self, count: int) -> None:
        self.depth += 1
        saved = list(self.floats), list(self.integers)
        for _ in range(count):
            self.statement()
        self.floats, self.integers = saved
        self.depth -= 1

    # Elements.

    def fixed(self) -> list[str]:
        return [*self.integers, *([self.variable] if self.variable else []), "t"]

    def integer(self) -> str:
        """An integer that is not negative."""
        return self.random.choice(
            [*self.fixed(), *self.fixed(), self.integer_element(), self.integer_element()]
        )

    def index(self) -> str:
        return self.random.choice(
            [
                str(self.random.randrange(SIZE)),
                f"{self.integer()} % {SIZE}",
                f"({self.integer()} + {self.random.randint(1, 2)}) % {SIZE}",
                *[self.variable] * (2 if self.variable else 0),
            ]
        )

    def place(self, name: str) -> str:
        """An element that may be read; written too, where the array is free or owned."""
        if name == "s" or name == "k":
            return f"{name}[None]"
        index = (
            self.variable
            if name in self.own
            else self.plain_index()
            if self.depth > 4
            else self.index()
        )
        return f"{name}[{index}][{self.random.randrange(2)}]" if name == "p" else f"{name}[{index}]"

    def plain_index(self) -> str:
        return self.variable or str(self.random.randrange(SIZE))

    def integer_element(self) -> str:
        name = self.random.choice("mnk")
        if name == "k":
            return "k[None]"
        index = (
            self.variable
            if name in self.own or (self.variable and self.random.random() < 0.5)
            else str(self.random.randrange(SIZE))
        )
        return f"{name}[{index}]"

    def targets(self) -> list[str]:
        """Float arrays that may be overwritten here."""
        return (
            [*FIELDS, "p", "s"] if self.is_serial else [n for n in (*FIELDS, "p") if n in self.own]
        )

    def target(self) -> str:
        return self.place(self.random.choice(self.targets()))

    # Statements.

    def statement(self) -> None:
        self.budget -= 1
        kinds = [self.define, self.assign]
        if self.targets():
            kinds += (
                [self.store] * 4
                + [self.multiply] * 3
                + [self.add, self.swap, self.returned, self.extreme]
            )
        if self.sums:
            kinds += [self.sum] * 2
        if self.is_serial or self.own & {"m", "n"}:
            kinds += [self.count] * 2
        if self.budget > 0 and self.depth < 4:
            kinds += [self.branch] * 2
            if self.variable:
                kinds += [self.for_loop] * 2 + [self.while_loop]
        if self.serial_loops:
            kinds.append(self.jump)
        self.random.choice(kinds)()

    def define(self) -> None:
        name = self.fresh("a")
        self.emit(f"{name} = {self.bounded(1)}")
        self.floats.append(name)

    def assign(self) -> None:
        if self.floats:
            self.emit(
                f"{self.random.choice(self.floats)} {self.random.choice(['=', '+=', '*='])} "
                f"{self.bounded(1)}"
            )
        else:
            self.define()

    def store(self) -> None:
        target, leaf = self.target(), self.leaf()
        self.emit(
            f"{target} = "
            + self.random.choice(
                [
                    self.bounded(2),
                    f"ti.sin({target} * {leaf} + {target})",
                    f"0.5 * {target} * {target}",
                    leaf,
                    f"0.7 * {target} + 0.3 * {leaf}",
                ]
            )
        )

    def multiply(self) -> None:
        factor = self.bounded(1)
        self.emit(
            f"{self.target()} "
            + self.random.choice(
                [f"*= 0.7 + 0.4 * {factor}", f"/= 1.3 + ({factor}) ** 2", "**= 2", f"*= {factor}"]
            )
        )

    def add(self) -> None:
        self.emit(f"{self.target()} {self.random.choice(['+=', '-='])} 0.3 * {self.bounded(1)}")

    def sum(self) -> None:
        name = self.random.choice(sorted(self.sums))
        self.emit(f"{self.place(name)} += 0.3 * {self.bounded(1)}")

    def swap(self) -> None:
        a, c = self.target(), self.target()
        self.emit(f"{a}, {c} = {c}, {a}")

    def returned(self) -> None:
        name = self.fresh("a")
        self.emit(f"{name} = ti.atomic_add({self.target()}, 0.2 * {self.bounded(1)})")
        self.floats.append(name)

    def extreme(self) -> None:
        self.emit(
            f"ti.atomic_{self.random.choice(['max', 'min', 'mul'])}({self.target()}, 0.9 + 0.3 * "
            f"{self.bounded(1)})"
        )

    def count(self) -> None:
        names = ["m", "n", "k"] if self.is_serial else sorted(self.own & {"m", "n"})
        target = self.place(self.random.choice(names))
        self.emit(
            self.random.choice(
                [
                    f"{target} += 1",
                    f"{target} = ({target} * 3 + {self.integer()}) % 5",
                    f"{target} = {self.integer()} % 3",
                ]
            )
        )

    def branch(self) -> None:
        self.emit(f"if {self.condition()}:")
        self.body(self.random.randint(1, 2))
        if self.random.random() < 0.4:
            self.emit("else:")
            self.body(1)

    def for_loop(self) -> None:
        j = self.fresh("j")
        bound = self.random.choice(
            ["2", "3", f"{self.integer()} % 4", f"{self.integer_element()} % 4"]
        )
        self.emit(f"for {j} in range({bound}):")
        self.nest(j)

    def while_loop(self) -> None:
        j = self.fresh("c")
        self.emit(f"{j} = {self.integer()} % 4")
        self.emit(f"while {j} > 0:")
        self.depth += 1
        self.emit(f"{j} -= 1")
        self.depth -= 1
        self.nest(j)

    def nest(self, variable: str) -> None:
        self.integers.append(variable)
        self.serial_loops += 1
        self.body(self.random.randint(1, 3))
        self.serial_loops -= 1
        self.integers.remove(variable)

    def jump(self) -> None:
        self.emit(f"if {self.condition()}:")
        self.depth += 1
        self.emit(self.random.choice(["break", "continue"]))
        self.depth -= 1

    # Expressions.

    def condition(self) -> str:
        k = self.integer()
        return self.random.choice(
            [
                f"{k} % 2 == 0",
                f"{k} > 1",
                f"{self.integer_element()} < 2",
                f"{self.readable()} > 0.8",
            ]
        )

    def bounded(self, depth: int) -> str:
        """An expression between -1 and 1."""
        return f"ti.{self.random.choice(['sin', 'tanh', 'cos'])}({self.expression(depth)})"

    def readable(self) -> str:
        names = [name for name in (*FIELDS, "p", "s") if name not in self.sums]
        return self.place(self.random.choice(names))

    def leaf(self) -> str:
        return self.random.choice(
            [
                self.readable(),
                self.readable(),
                self.readable(),
                *self.floats,
                f"{self.random.uniform(-1.5, 1.5):.2f}",
                f"ti.cast({self.integer()} % 4, ti.f64) * 0.3",
            ]
        )

    def expression(self, depth: int) -> str:
        if depth <= 0 or self.random.random() < 0.2:
            return self.leaf()
        a, c = self.expression(depth - 1), self.expression(depth - 1)
        return self.random.choice(
            [
                f"({a} + {c})",
                f"({a} - {c})",
                f"{a} * {c}",
                f"{a} * {c}",
                f"({a}) ** 2",
                f"ti.exp(-({a}) ** 2)",
                f"{a} / (({c}) ** 2 + 1.0)",
                f"ti.select({self.condition()}, {a}, {c})",
            ]
        )
