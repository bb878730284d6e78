"""Random programs of the scalar language, as source text: smooth in their inputs, and far from
every kink.

Element i of the fields w and c belongs to iteration i, which overwrites it as it likes; where the
outer loops are serial, iterations overwrite any element. Floats are kept small by `sin` and `tanh`;
branches, trip counts and indices are integers, or compare inputs with a number that no input is
near to.
"""

from __future__ import annotations

from random import Random

import numpy as np

SIZE = 6
WIDTH = 16
TIMES = 4
_HEADER = """import mlirad as ti

x = ti.field(ti.f64, shape={size}, needs_grad=True)
y = ti.Vector.field(2, ti.f64, shape={size}, needs_grad=True)
u = ti.field(ti.f64, shape=({times}, {size}), needs_grad=True)
z = ti.field(ti.f64, shape={size}, needs_grad=True)
loss = ti.field(ti.f64, shape=(), needs_grad=True)
w = ti.field(ti.f64, shape={width}, needs_grad=True)
n = ti.field(ti.i32, shape={size})
c = ti.field(ti.i32, shape={width})


@ti.func
def pick(p, q, k):
    if k % 3 == 0:
        return ti.sin(p) * q
    for s in range(k):
        p = ti.tanh(p + q * 0.3)
        if s == 2:
            return p
    return p - q


@ti.kernel
def run():
"""


def inputs(shape: tuple[int, ...], seed: int) -> np.ndarray:
    """Numbers from 0.5 to 1.5 that are not near to 1."""
    random = np.random.default_rng(seed)
    return 1.0 + random.uniform(0.05, 0.5, shape) * random.choice([-1.0, 1.0], shape)


class Writer:
    """Writes one program, line by line."""

    def __init__(self, random: Random, size: int = SIZE) -> None:
        self.random = random
        self.size, self.width = size, max(WIDTH, size)
        self.lines: list[str] = []
        self.depth = 1
        self.floats: list[str] = []
        self.fixed: list[str] = []  # integers that a program may read and not assign
        self.integers: list[str] = []
        self.vectors: list[str] = []
        self.counter = 0
        self.loops: list[str] = []  # kinds of the loops around, innermost last
        self.reads_z = False
        self.budget = 0
        self.in_place = random.random() < 0.5
        self.serial = self.in_place and random.random() < 0.5

    def program(self) -> str:
        """A kernel of one or two parallel loops, and sometimes serial statements between them."""
        if self.random.random() < 0.3:
            self.emit(f"outer = {self.expression(1)}")
            self.floats.append("outer")
        self.parallel_loop()
        if self.random.random() < 0.5:
            self.reads_z = True
            if "outer" in self.floats and self.random.random() < 0.5:
                self.emit("outer = ti.sin(outer * x[2])")
            self.parallel_loop()
        header = _HEADER.format(size=self.size, width=self.width, times=TIMES + 1)
        return header + "\n".join(self.lines) + "\n"

    def emit(self, line: str) -> None:
        """Write a line at the present depth."""
        self.lines.append("    " * self.depth + line)

    def fresh(self, prefix: str) -> str:
        """A name no other variable has."""
        self.counter += 1
        return f"{prefix}{self.counter}"

    def parallel_loop(self) -> None:
        """A top-level loop with locals of its own."""
        saved = list(self.floats), list(self.integers), list(self.vectors)
        if self.serial:
            self.emit("ti.loop_config(serialize=True)")
        self.emit(f"for i in range({self.size}):")
        self.depth += 1
        self.fixed.append("i")
        self.loops.append("parallel")
        self.budget = 14
        for _ in range(2):
            name = self.fresh("a")
            self.emit(f"{name} = {self.expression(1)}")
            self.floats.append(name)
        name = self.fresh("k")
        self.emit(f"{name} = {self.random.randrange(4)} + i")
        self.integers.append(name)
        if self.random.random() < 0.5:
            name = self.fresh("v")
            self.emit(f"{name} = ti.Vector([{self.expression(1)}, {self.expression(1)}, 0.5])")
            self.vectors.append(name)
        if self.random.random() < 0.4 and not self.reads_z:
            self.time_loop()
        self.statements(self.random.randint(2, 5))
        self.emit(f"loss[None] += {self.expression(2)}")
        self.depth -= 1
        self.fixed.pop()
        self.loops.pop()
        self.floats, self.integers, self.vectors = saved

    def time_loop(self) -> None:
        """A serial loop that writes a field indexed by time."""
        self.emit(f"u[0, i] = {self.expression(1)}")
        self.emit(f"for t in range({TIMES}):")
        self.depth += 1
        self.emit(f"u[t + 1, i] = ti.sin(u[t, i] * {self.bounded(1)} + {self.expression(1)})")
        self.depth -= 1
        self.emit(f"loss[None] += u[{TIMES}, i] * u[{TIMES // 2}, i]")

    # Statements.

    def statements(self, count: int) -> None:
        """A few statements; locals they define end with them."""
        saved = list(self.floats), list(self.integers), list(self.vectors)
        for _ in range(count):
            self.statement()
        self.floats, self.integers, self.vectors = saved

    def statement(self) -> None:
        """One statement."""
        self.budget -= 1
        kinds = (
            [self.assign] * 4
            + [self.update] * 2
            + [self.assign_integer, self.add_to_field, self.define]
        )
        if self.in_place:
            kinds += [self.overwrite] * 3
        if self.floats[1:]:
            kinds.append(self.swap)
        if self.vectors:
            kinds += [self.assign_component, self.assign_vector]
        if self.budget > 0 and self.depth < 6:
            kinds += [self.branch] * 3 + [self.for_loop] * 3 + [self.while_loop]
        if self.loops[-1] == "serial":
            kinds += [self.jump]
        self.random.choice(kinds)()

    def assign(self) -> None:
        self.emit(f"{self.random.choice(self.local_floats())} = {self.bounded(2)}")

    def define(self) -> None:
        name = self.fresh("a")
        self.emit(f"{name} = {self.bounded(2)}")
        self.floats.append(name)

    def update(self) -> None:
        operator, factor = self.random.choice([("+=", "0.3 * "), ("-=", "0.2 * "), ("*=", "")])
        self.emit(f"{self.random.choice(self.local_floats())} {operator} {factor}{self.bounded(1)}")

    def swap(self) -> None:
        names = self.local_floats()
        if len(names) > 1:
            a, b = self.random.sample(names, 2)
            self.emit(f"{a}, {b} = {b}, {self.random.choice([a, f'ti.sin({a} + {b})'])}")

    def assign_integer(self) -> None:
        k = self.random.choice(self.integers)
        choices = [f"({k} * 3 + {self.integer()}) % 7", f"{k} + 1", f"n[{k} % {self.size}]"]
        self.emit(f"{k} = {self.random.choice(choices)}")

    def assign_component(self) -> None:
        index = self.random.choice(["0", "2", f"{self.integer()} % 3"])
        self.emit(f"{self.random.choice(self.vectors)}[{index}] = {self.bounded(1)}")

    def assign_vector(self) -> None:
        v = self.random.choice(self.vectors)
        self.emit(f"{v} = {v} * 0.5 + ti.Vector([{self.bounded(1)}, {v}[0], {self.bounded(1)}])")

    def add_to_field(self) -> None:
        if self.reads_z:
            self.emit(f"loss[None] += {self.expression(1)}")
        else:
            self.emit(f"z[{self.integer()} % {self.size}] += {self.expression(1)}")

    def overwrite(self) -> None:
        w, c = f"w[{self.own_index()}]", f"c[{self.own_index()}]"
        self.emit(
            self.random.choice(
                [
                    f"{w} = {self.bounded(2)}",
                    f"{w} = ti.sin({self.own_float()} * {self.leaf()} + {self.own_float()})",
                    f"{w} *= {self.bounded(1)}",
                    f"{w} += 0.3 * {self.bounded(1)}",
                    f"{c} = ({c} + 1) % 7",
                    f"{c} = {self.integer()} % 5",
                ]
            )
        )

    def own_index(self) -> str:
        """An index of an element that this iteration may overwrite."""
        if not self.serial:
            return "i"
        loops = [name for name in self.fixed if name[0] in "ij"]
        j, k = self.random.choice(loops), self.random.choice(loops)
        return self.random.choice(
            [
                j,
                f"{j} + {self.random.randrange(5)}",
                f"{j} + {k}",
                f"{j} - {k} + 5",
                f"7 - {j}",
                f"2 * {j} + {self.random.randrange(3)}",
                f"{self.random.randrange(4)}",
                f"{self.integer()} % {self.width}",
            ]
        )

    def own_float(self) -> str:
        """An element that this iteration may overwrite."""
        return f"w[{self.own_index()}]"

    def branch(self) -> None:
        self.emit(f"if {self.condition()}:")
        self.block(self.random.randint(1, 2))
        if self.random.random() < 0.3:
            self.emit(f"elif {self.condition()}:")
            self.block(1)
        if self.random.random() < 0.5:
            self.emit("else:")
            self.block(self.random.randint(1, 2))

    def for_loop(self) -> None:
        j = self.fresh("j")
        self.emit(
            f"for {j} in "
            f"range({self.random.choice(['2', '3', f'{self.integer()} % 4', 'n[i] % 5'])}):"
        )
        self.fixed.append(j)
        self.loops.append("serial")
        self.block(self.random.randint(1, 3))
        self.loops.pop()
        self.fixed.pop()

    def while_loop(self) -> None:
        m = self.fresh("m")
        self.emit(f"{m} = {self.integer()} % 5")
        self.emit(f"while {m} > 0:")
        self.fixed.append(m)
        self.loops.append("serial")
        self.depth += 1
        self.emit(f"{m} -= 1")
        self.statements(self.random.randint(1, 3))
        self.depth -= 1
        self.loops.pop()
        self.fixed.pop()

    def jump(self) -> None:
        self.emit(f"if {self.condition()}:")
        self.depth += 1
        self.emit(self.random.choice(["break", "continue"]))
        self.depth -= 1

    def block(self, count: int) -> None:
        self.depth += 1
        self.statements(count)
        self.depth -= 1

    # Expressions.

    def local_floats(self) -> list[str]:
        """Floats that may be assigned: not those from outside a parallel loop."""
        return [name for name in self.floats if name != "outer"]

    def integer(self) -> str:
        """An integer that is not negative."""
        own = (
            [f"c[{self.random.choice(['i', '3', 'i + 2'] if self.serial else ['i'])}]"]
            if self.in_place
            else []
        )
        return self.random.choice(
            [*self.fixed, *self.integers, f"({self.random.choice(self.fixed)} + 2)", *own]
        )

    def condition(self) -> str:
        """A condition that no small change of the inputs turns."""
        k = self.integer()
        return self.random.choice(
            [
                f"{k} % 2 == 0",
                f"{k} > 2",
                f"n[{k} % {self.size}] < 3",
                f"x[{k} % {self.size}] > 1.0",
                f"{k} % 3 == 1 or y[i][1] < 1.0",
                f"not ({k} < 4 and x[i] < 1.0)",
            ]
        )

    def bounded(self, depth: int) -> str:
        """An expression between -1 and 1."""
        return f"ti.{self.random.choice(['sin', 'tanh', 'cos'])}({self.expression(depth)})"

    def leaf(self) -> str:
        """A variable, an element or a number."""
        choices = [
            f"x[{self.random.randrange(self.size)}]",
            f"{self.random.uniform(-2, 2):.2f}",
            *self.floats,
            *self.floats,
        ]
        if self.fixed:
            k = self.integer()
            choices += [
                "x[i]",
                f"x[{k} % {self.size}]",
                f"y[i][{k} % 2]",
                "y[i].norm()",
                f"ti.cast({k} % 4, ti.f64) * 0.3",
            ]
            if self.in_place:
                choices += [self.own_float(), f"{self.own_float()} * 0.5"]
            if self.reads_z:
                choices += [f"z[{k} % {self.size}] * 0.05", "ti.sin(z[i] * 0.1)"]
        if self.vectors:
            v = self.random.choice(self.vectors)
            choices += [f"{v}[1]", f"{v}.dot({v}) * 0.3", f"{v}[{self.integer()} % 3]"]
        return self.random.choice(choices)

    def expression(self, depth: int) -> str:
        """A smooth expression."""
        if depth <= 0 or self.random.random() < 0.2:
            return self.leaf()
        a, b = self.expression(depth - 1), self.expression(depth - 1)
        forms = [
            f"({a} + {b})",
            f"({a} - {b})",
            f"{a} * {b}",
            f"({a}) ** 2",
            f"ti.exp(-({a}) ** 2)",
            f"ti.sin({a})",
            f"{a} / (({b}) ** 2 + 1.0)",
            f"ti.sqrt(({a}) ** 2 + 0.5)",
            f"ti.atan2({a}, 2.5 + ({b}) ** 2)",
        ]
        if self.fixed:
            test = self.condition()
            forms += [
                f"ti.select({test}, {a}, {b})",
                f"({a} if {test} else {b})",
                f"pick({a}, {b}, {self.integer()})",
            ]
        return self.random.choice(forms)
