"""Random programs that decide at ties, as source text: all numbers are small rationals, so that
comparisons, casts, floors and choices of min and max fall on the very numbers where they jump.
"""

from __future__ import annotations

from random import Random

import numpy as np

SIZE = 6
RATIONALS = (1 / 3, 0.5, 2 / 3, 1.0, 4 / 3, 1.5, 2.0, 3.0)
_TEXTS = ("1.0 / 3.0", "0.5", "2.0 / 3.0", "1.0", "4.0 / 3.0", "1.5", "2.0", "3.0")
HEADER = f"""import mlirad as ti

x = ti.field(float, shape={SIZE}, needs_grad=True)
y = ti.field(float, shape={SIZE}, needs_grad=True)
p = ti.field(float, shape={SIZE}, needs_grad=True)
q = ti.field(float, shape={SIZE}, needs_grad=True)
loss = ti.field(float, shape=(), needs_grad=True)
"""
FIELDS = ("x", "y", "p", "q", "loss")


def fill(program: object, seed: int) -> None:
    """Give the fields of a program rationals, and clear its loss."""
    random = np.random.default_rng(seed)
    for name in FIELDS[:-1]:
        getattr(program, name).from_numpy(random.choice(RATIONALS, SIZE))
    program.loss.fill(0)  # type: ignore[attr-defined]


class TiedWriter:
    """Writes one program: two or three kernels, the later ones of which read what the earlier ones
    stored.

    A sum of more than eight terms may be rounded in another order with `fast_math`, so that a later
    kernel decides otherwise.
    """

    def __init__(self, random: Random, longest_sum: int = 3) -> None:
        self.random, self.longest_sum = random, longest_sum
        self.lines: list[str] = []
        self.locals: list[str] = []
        self.counter = 0

    def program(self) -> str:
        """Its text; `run` launches the kernels in order."""
        kernels = self.random.randint(2, 3)
        for number in range(kernels):
            self.kernel(number, kernels)
        self.lines += ["", "", "def run():"] + [
            f"    kernel{number}()" for number in range(kernels)
        ]
        return HEADER + "\n".join(self.lines) + "\n"

    def kernel(self, number: int, kernels: int) -> None:
        """One kernel of one loop; the last one adds to the loss."""
        self.lines += [
            "",
            "",
            "@ti.kernel",
            f"def kernel{number}():",
            f"    for i in range({SIZE}):",
        ]
        self.locals = []
        for _ in range(self.random.randint(1, 3)):
            self.statement(2)
        if number + 1 < kernels:
            self.emit(2, f"{'pq'[number]}[i] = {self.value(2)}")
            if self.random.random() < 0.3:
                self.emit(2, f"{'pq'[number]}[i] += {self.value(1)}")
        else:
            for name in self.locals:
                self.emit(2, f"loss[None] += x[i] * {name}")
            self.branch(2)

    def emit(self, depth: int, line: str) -> None:
        """Write a line."""
        self.lines.append("    " * depth + line)

    def statement(self, depth: int) -> None:
        """A local, often one that loops or branches make."""
        name = f"a{self.counter}"
        self.counter += 1
        self.emit(depth, f"{name} = {self.value(2)}")
        kind = self.random.randrange(5)
        if kind == 0:
            self.emit(depth, f"for k in range({self.random.choice((3, self.longest_sum))}):")
            self.emit(
                depth + 1,
                f"{name} += {self.random.choice('xy')}[(i + k) % {SIZE}] * {self.value(0)}",
            )
        elif kind == 1:
            trips = f"n{name}"
            self.emit(depth, f"{trips} = 0")
            self.emit(depth, f"while {name} < {self.value(1)} and {trips} < 5:")
            self.emit(depth + 1, f"{name} += {self.value(1)}")
            self.emit(depth + 1, f"{trips} += 1")
        elif kind == 2:
            self.emit(depth, f"if {self.test()}:")
            self.emit(
                depth + 1, f"{name} {self.random.choice(('=', '+=', '-=', '*='))} {self.value(2)}"
            )
        self.locals.append(name)

    def branch(self, depth: int) -> None:
        """Updates of the loss that a decision chooses."""
        self.emit(depth, f"if {self.test()}:")
        self.emit(depth + 1, f"loss[None] += y[i] * {self.value(1)}")
        self.emit(depth, "else:")
        self.emit(depth + 1, f"loss[None] += {self.value(1)} * 0.5")

    def test(self) -> str:
        """A comparison."""
        return (
            f"{self.value(2)} {self.random.choice(('<', '<=', '>', '>=', '==', '!='))} "
            f"{self.value(1)}"
        )

    def leaf(self) -> str:
        """An element, a local or a number."""
        kinds = (
            [f"{name}[i]" for name in FIELDS[:-1]]
            + self.locals[-2:]
            + [f"({self.random.choice(_TEXTS)})"]
        )
        return self.random.choice(kinds)

    def value(self, depth: int) -> str:
        """A float."""
        if depth == 0:
            return self.leaf()
        kind = self.random.randrange(9)
        left, right = self.value(depth - 1), self.value(depth - 1)
        if kind < 4:
            return f"({left} {'+-*'[kind % 3]} {right})"
        if kind == 4:
            return (
                f"({left} / "
                f"{self.random.choice(('x[i]', 'y[i]', '3.0', '1.5', f'ti.max({right}, 0.5)'))})"
            )
        if kind == 5:
            return f"ti.{self.random.choice(('min', 'max'))}({left}, {right})"
        if kind == 6:
            return f"({left} * ti.floor({right}))"
        if kind == 7:
            return f"({left} * int({right}))"
        return f"({left} if {self.leaf()} >= {right} else {self.leaf()})"
