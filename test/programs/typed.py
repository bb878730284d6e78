"""Random kernels over fields of all scalar types, whose iterations may run as lanes: every
operation is defined, and none depends on the order of iterations."""

from __future__ import annotations

from random import Random

SIZES = (13, 32, 37)
FLOATS, SIGNED, UNSIGNED = ("f32", "f64", "f16"), ("i32", "i64", "i16", "i8"), ("u32", "u64", "u8")
INTS = SIGNED + UNSIGNED
TYPES = FLOATS + INTS
SUMMED = ("f32", "f64", "i32", "i64", "u32", "u64")


class Writer:
    """Writes one module: fields `a_TYPE` that are read, `b_TYPE` that are written, sums `s_TYPE`,
    and `run()`."""

    def __init__(self, random: Random, size: int) -> None:
        self.random, self.size = random, size
        self.lines: list[str] = []
        self.names: dict[str, list[str]] = {}
        self.kinds: dict[str, str] = {}
        self.count = 0

    def program(self) -> str:
        """The source of the module."""
        self.lines = ["import mlirad as ti", f"N = {self.size}"]
        for name in TYPES:
            gradient = "needs_grad=True" if name in ("f32", "f64") else ""
            self.lines.append(f"a_{name} = ti.field(ti.{name}, N, {gradient})")
            self.lines.append(f"b_{name} = ti.field(ti.{name}, N, {gradient})")
            if name in SUMMED:
                self.lines.append(f"s_{name} = ti.field(ti.{name}, (), {gradient})")
        kernels = range(self.random.randint(1, 3))
        for number in kernels:
            self._kernel(f"k{number}")
        self.lines += ["def run():", *(f"    k{number}()" for number in kernels)]
        return "\n".join(self.lines) + "\n"

    def _kernel(self, name: str) -> None:
        self.lines += ["@ti.kernel", f"def {name}():"]
        self.names = {one: [] for one in TYPES}
        # of updates of sums: with two kinds of one, the order of iterations would matter
        self.kinds = {one: self.random.choice(["min", "max"]) for one in SUMMED[:2]} | {
            one: self.random.choice(["add", "min", "max", "or", "and", "xor"]) for one in SUMMED[2:]
        }
        self._emit(1, "for i in range(N):")
        for _ in range(self.random.randint(2, 5)):
            self._statement(2, 2)
        for _ in range(self.random.randint(1, 3)):
            self._store(2)

    def _emit(self, depth: int, line: str) -> None:
        self.lines.append("    " * depth + line)

    # Statements.

    def _statement(self, depth: int, nested: int) -> None:
        kinds = [self._define, self._define, self._change]
        if nested:
            kinds += [self._branch, self._loop, self._while]
        self.random.choice(kinds)(depth, nested)

    def _define(self, depth: int, nested: int) -> None:
        dtype = self.random.choice(TYPES)
        name = f"v{self.count}"
        self.count += 1
        self._emit(depth, f"{name} = {self.value(dtype, 2)}")
        self.names[dtype].append(name)

    def _change(self, depth: int, nested: int) -> None:
        dtype = self.random.choice([one for one in TYPES if self.names[one]] or ["f32"])
        if not self.names[dtype]:
            return self._define(depth, nested)
        self._emit(depth, f"{self.random.choice(self.names[dtype])} = {self.value(dtype, 2)}")

    def _block(self, depth: int, nested: int) -> None:
        """Statements, whose variables are gone behind them."""
        known = {dtype: names[:] for dtype, names in self.names.items()}
        for _ in range(self.random.randint(1, 3)):
            self._statement(depth, nested)
        if self.random.random() < 0.3:
            self._store(depth)
        self.names = known

    def _branch(self, depth: int, nested: int) -> None:
        self._emit(depth, f"if {self.condition(1)}:")
        self._block(depth + 1, nested - 1)
        if self.random.random() < 0.5:
            self._emit(depth, "else:")
            self._block(depth + 1, nested - 1)

    def _loop(self, depth: int, nested: int) -> None:
        trips = self.random.choice(["3", "5", f"({self.value('i32', 1)}) & 3"])
        known, number = self.names["i32"][:], self.count
        self.count += 1
        self._emit(depth, f"for j{number} in range({trips}):")
        self._emit(depth + 1, f"v{number} = j{number} + {self.random.randint(0, 3)}")
        self.names["i32"].append(f"v{number}")
        if self.random.random() < 0.3:
            self._emit(depth + 1, f"if {self.condition(1)}:")
            self._emit(depth + 2, self.random.choice(["break", "continue"]))
        self._block(depth + 1, nested - 1)
        self.names["i32"] = known

    def _while(self, depth: int, nested: int) -> None:
        left = f"w{self.count}"
        self.count += 1
        self._emit(depth, f"{left} = ({self.value('i32', 1)}) & 7")
        self._emit(depth, f"while {left} > 0:")
        self._emit(depth + 1, f"{left} -= {self.random.randint(1, 2)}")
        self._block(depth + 1, nested - 1)
        if self.random.random() < 0.4:
            self._emit(depth + 1, f"if {self.condition(1)}:")
            self._emit(depth + 2, "break")

    def _store(self, depth: int) -> None:
        dtype = self.random.choice(TYPES)
        if self.random.random() < 0.3 and dtype in self.kinds:
            kind = self.kinds[dtype]
            self._emit(depth, f"ti.atomic_{kind}(s_{dtype}[None], {self.value(dtype, 2)})")
        else:
            sign = self.random.choice(["=", "=", "+="])
            self._emit(depth, f"b_{dtype}[i] {sign} {self.value(dtype, 2)}")

    # Expressions.

    def value(self, dtype: str, depth: int) -> str:
        """One of a type."""
        if depth == 0 or self.random.random() < 0.15:
            return self._leaf(dtype)
        if dtype in FLOATS:
            return self._float(dtype, depth - 1)
        return self._int(dtype, depth - 1)

    def _leaf(self, dtype: str) -> str:
        if self.names[dtype] and self.random.random() < 0.5:
            return self.random.choice(self.names[dtype])
        if self.random.random() < 0.2:
            number = self.random.randint(0, 100)
            return f"ti.cast({number if dtype in INTS else number / 8 - 5}, ti.{dtype})"
        place = self.random.choice(
            ["i", "i", f"(i + {self.random.randint(1, 5)}) % N", "ti.cast(a_u8[i], ti.i32) % N"]
        )
        return f"a_{dtype}[{place}]"

    def _float(self, dtype: str, depth: int) -> str:
        a, b = self.value(dtype, depth), self.value(dtype, depth)
        return self.random.choice(
            [
                f"({a} + {b})",
                f"({a} - {b})",
                f"({a} * {b}) * ti.cast(0.125, ti.{dtype})",
                f"ti.min({a}, {b})",
                f"ti.max({a}, {b})",
                f"abs({a})",
                f"ti.floor({a})",
                f"ti.ceil({a})",
                f"ti.round({a})",
                f"ti.sqrt(abs({a}))",
                f"({a} / (abs({b}) + ti.cast(1, ti.{dtype})))",
                f"ti.select({self.condition(depth)}, {a}, {b})",
                f"({a} if {self.condition(depth)} else {b})",
                self._cast(dtype, depth),
                f"(-({a}))",
            ]
        )

    def _int(self, dtype: str, depth: int) -> str:
        a, b, c = (self.value(dtype, depth) for _ in range(3))
        small = f"(({c}) & ti.cast(7, ti.{dtype}))"
        one = f"ti.cast(1, ti.{dtype})"
        choices = [
            f"({a} + {b})",
            f"({a} - {b})",
            f"({a} * {b})",
            f"({a} & {b})",
            f"({a} | {b})",
            f"({a} ^ {b})",
            f"(~({a}))",
            f"({a} << {small})",
            f"({a} >> {small})",
            f"ti.min({a}, {b})",
            f"ti.max({a}, {b})",
            f"ti.select({self.condition(depth)}, {a}, {b})",
            f"({a} if {self.condition(depth)} else {b})",
            f"({a} // ({small} + {one}))",
            f"({a} % ({small} + {one}))",
            self._cast(dtype, depth),
        ]
        if dtype in SIGNED:
            choices += [f"abs({a})", f"(-({a}))", f"ti.bit_shr({a}, {small})"]
        return self.random.choice(choices)

    def _cast(self, dtype: str, depth: int) -> str:
        """What comes from another type; floats become small integers, as what does not fit has no
        value."""
        source = self.random.choice([one for one in TYPES if one != dtype])
        given = self.value(source, depth)
        if source in FLOATS and dtype in INTS:
            low, high = (f"ti.cast({one}, ti.{source})" for one in (-100 * (dtype in SIGNED), 100))
            given = f"ti.max(ti.min({given}, {high}), {low})"
            given = f"({given} if {given} == {given} else ti.cast(1, ti.{source}))"
        same = {"f32": ("i32", "u32"), "i32": ("u32",), "u32": ("i32",), "f64": ("i64",)}
        if source in same.get(dtype, ()) and dtype in INTS:
            return f"ti.bit_cast({given}, ti.{dtype})"
        return f"ti.cast({given}, ti.{dtype})"

    def condition(self, depth: int) -> str:
        """A comparison."""
        dtype = self.random.choice(TYPES)
        a, b = self.value(dtype, depth), self.value(dtype, depth)
        found = f"({a} {self.random.choice(['<', '<=', '>', '>=', '==', '!='])} {b})"
        if depth and self.random.random() < 0.3:
            found = f"({found} {self.random.choice(['and', 'or'])} {self.condition(depth - 1)})"
        return f"(not {found})" if self.random.random() < 0.15 else found
