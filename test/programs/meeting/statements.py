"""Statements of kernels."""

from __future__ import annotations

from programs.meeting.expressions import Access, Expressions
from programs.meeting.loops import Loop
from programs.meeting.places import Tree


class Statements:
    """Writes statements of one loop."""

    def __init__(self, expressions: Expressions, trees: list[Tree]) -> None:
        self.expressions, self.random = expressions, expressions.random
        self.trees = trees
        self.lines: list[str] = []
        self.depth, self.counter, self.budget = 1, 0, 7
        self.scope = expressions.scope
        self.loops: list[str] = []
        self.outer = Loop("", [])
        self.written_names: set[str] = set()

    def emit(self, line: str) -> None:
        self.lines.append("    " * self.depth + line)

    def fresh(self, prefix: str) -> str:
        self.counter += 1
        return f"{prefix}{self.counter}"

    def statements(self, count: int) -> None:
        """A few statements; what they define ends with them."""
        outer, first = self.scope, len(self.lines)
        self.scope = self.expressions.scope = outer.inner()
        for _ in range(count):
            self.statement()
        if len(self.lines) == first:
            self.emit("pass")
        self.scope = self.expressions.scope = outer

    def statement(self) -> None:
        self.budget -= 1
        writable = [access for access in self.scope.accesses if access.writes]
        kinds = [self.define, self.add_to_loss]
        kinds += [self.assign, self.assign, self.update] * bool(self.own_floats())
        kinds += [self.write_some] * 5 * bool(writable)
        kinds += [self.assign_component, self.assign_vector] * bool(self.scope.vectors)
        kinds += [self.assign_integer] * bool(self.scope.integers)
        kinds += [self.unpack] * bool(self.expressions.functions)
        kinds += (
            [self.end_cell]
            * 3
            * bool(
                self.outer.ending
                or self.outer.ends_own
                or (self.outer.is_serial and self.outer.changing)
            )
        )
        kinds += [self.activate] * bool(self.outer.changing)
        kinds += [self.append] * 2 * any(tree.is_list for tree in self.outer.changing)
        kinds += [self.struct_copy] * bool(self.structs())
        if self.budget > 0 and self.depth < 5:
            kinds += [self.branch] * 3 + [self.for_loop] * 2 + [self.while_loop]
        if self.loops and self.loops[-1] == "inner":
            kinds += [self.jump] * 2
        if self.loops and self.loops[-1] != "inner":
            kinds += [self.skip]
        self.random.choice(kinds)()

    # Locals.

    def own_floats(self) -> list[str]:
        return self.scope.floats

    def define(self) -> None:
        name = self.fresh("p")
        self.emit(f"{name} = {self.expressions.bounded(2)}")
        self.scope.floats.append(name)

    def define_integer(self) -> None:
        name = self.fresh("q")
        self.emit(f"{name} = {self.expressions.integer()} + {self.random.randrange(3)}")
        self.scope.integers.append(name)

    def define_vector(self) -> None:
        name = self.fresh("u")
        self.emit(f"{name} = {self.expressions.vector()}")
        self.scope.vectors.append(name)

    def assign(self) -> None:
        self.emit(f"{self.random.choice(self.own_floats())} = {self.expressions.bounded(2)}")

    def update(self) -> None:
        operator, factor = self.random.choice([("+=", "0.3 * "), ("-=", "0.2 * "), ("*=", "")])
        value = self.expressions.bounded(1)
        self.emit(f"{self.random.choice(self.own_floats())} {operator} {factor}{value}")

    def assign_component(self) -> None:
        target = self.random.choice(self.scope.vectors) + self.expressions.component((2,))
        self.emit(f"{target} = {self.expressions.bounded(1)}")

    def assign_vector(self) -> None:
        vector = self.random.choice(self.scope.vectors)
        self.emit(f"{vector} = {vector} * 0.5 + {self.expressions.vector()}")

    def assign_integer(self) -> None:
        k = self.random.choice(self.scope.integers)
        self.emit(f"{k} = ({k} * 3 + {self.expressions.integer()}) % 7")

    def unpack(self) -> None:
        """Call the function that returns a number and an integer."""
        first, second = self.fresh("p"), self.fresh("q")
        e = self.expressions
        self.emit(f"{first}, {second} = pair({e.expression(1)}, {e.leaf()}, {e.integer()})")
        self.scope.floats.append(first)
        self.scope.integers.append(second)

    def add_to_loss(self) -> None:
        weight = self.random.choice(["0.5 * ", "", f"{self.expressions.leaf()} * "])
        self.emit(f"loss[None] += {weight}{self.expressions.bounded(1)}")

    # Memory.

    def write_some(self) -> None:
        writable = [a for a in self.scope.accesses if a.writes and a.place.name != "loss"]
        if writable:
            self.write(self.random.choice(writable))

    def write(self, access: Access) -> None:
        """Store to an element, or update one."""
        e, place = self.expressions, access.place
        self.written_names.add(place.name)
        element = place.at(self.random, e.index(access, writes=True))
        if place.is_integer:
            values = [f"{element} += {self.random.randrange(1, 4)}"]
            if access.reads:
                values += [f"{element} = ({e.element(access)} + {e.integer()}) % 5"]
            return self.emit(self.random.choice(values))
        if place.element and self.random.random() < 0.5:
            value = e.vector() if place.element == (2,) else e.matrix()
            operators = ["+=", "-="] if access.role == "sum" else ["=", "+=", "="]
            return self.emit(f"{element} {self.random.choice(operators)} {value}")
        target = element + e.component(place.element)
        self.emit(self.random.choice(self._updates(access, target)))
        return None

    def _updates(self, access: Access, target: str) -> list[str]:
        e = self.expressions
        small = f"{self.random.choice(['0.3', '0.2'])} * {e.bounded(1)}"
        forms = [
            f"{target} += {small}",
            f"{target} -= {small}",
            f"ti.atomic_add({target}, {small})",
        ]
        if access.role != "sum":
            own = e.element(access)
            forms += [
                f"{target} = {e.bounded(2)}",
                f"{target} = ti.sin({own} * {e.leaf()} + {target})",
                f"{target} *= {e.bounded(1)}",
                f"{target} = {target} * {e.bounded(0)} + {own}",
            ]
        return forms

    def structs(self) -> list[str]:
        """Fields of structs all of whose members may be stored to alike."""
        names = []
        for access in self.scope.accesses:
            if access.place.member == "a" and access.role in ("own", "any"):
                members = [a for a in self.scope.accesses if a.place.struct == access.place.struct]
                if len(members) == 3 and all(a.role == access.role for a in members):
                    names.append(access.place.struct)
        return names

    def struct_copy(self) -> None:
        """Take a struct into a variable, change it, and store it."""
        name = self.random.choice(self.structs())
        access = next(a for a in self.scope.accesses if a.place.struct == name)
        local, e = self.fresh("z"), self.expressions
        self.emit(f"{local} = {name}[{e.index(access)}]")
        self.emit(f"{local}.a = ti.sin({local}.a * {e.leaf()})")
        self.emit(f"{local}.b[{self.random.randrange(2)}] += 0.3 * {e.bounded(0)}")
        self.scope.floats.append(f"{local}.a")
        self.emit(f"{name}[{e.index(access)}] = {local}")
        self.written_names |= {f"{name}.{member}" for member in "abc"}

    # Activity.

    def _cell(self, cells: tuple[int, ...]) -> str:
        parts = [f"{self.expressions.simple_integer()} % {extent}" for extent in cells]
        return f"[{', '.join(parts)}]"

    def end_cell(self) -> None:
        """Deactivate a cell, in a parallel loop that of the iteration."""
        own = self.outer.ends_own
        trees = self.outer.ending or ([own] if own else self.outer.changing)
        tree = self.random.choice(trees)
        name, kind, cells = tree.blocks[-1] if tree is own else self.random.choice(tree.blocks)
        if kind == "dynamic":
            return
        if self.outer.is_serial and tree is not own:
            self.emit(f"ti.deactivate({name}, {self._cell(cells)})")
        elif cells in self.outer.cells:
            self.emit(f"ti.deactivate({name}, [{self.outer.cells[cells]}])")

    def activate(self) -> None:
        name, kind, cells = self.random.choice(self.random.choice(self.outer.changing).blocks)
        if kind != "dynamic":
            self.emit(f"ti.activate({name}, {self._cell(cells)})")

    def append(self) -> None:
        """Append to a list that is not full, one iteration after the other."""
        if not self.outer.is_serial:
            return
        tree = self.random.choice([tree for tree in self.outer.changing if tree.is_list])
        name, _, cells = tree.blocks[-1]
        row = self._cell(cells[:-1])
        accesses = [a for a in self.scope.accesses if a.place.tree is tree]
        if not accesses:
            return
        place, e = accesses[0].place, self.expressions
        value = {(): e.bounded(1), (2,): e.vector(), (2, 2): e.matrix()}[place.element]
        if place.member:
            value = f"P({e.bounded(1)}, {e.vector()}, {e.integer()})"
        self.emit(f"if ti.length({name}, {row}) < {cells[-1]}:")
        self.emit(f"    ti.append({name}, {row}, {value})")
        self.written_names |= {a.place.name for a in accesses}

    # Control.

    def branch(self) -> None:
        e = self.expressions
        self.emit(f"if {e.condition()}:")
        self.block(self.random.randint(1, 2))
        if self.random.random() < 0.25:
            self.emit(f"elif {e.condition()}:")
            self.block(1)
        if self.random.random() < 0.4:
            self.emit("else:")
            self.block(1)

    def for_loop(self) -> None:
        j, e = self.fresh("j"), self.expressions
        static = self.random.random() < 0.15
        lengths = ["2", "3", f"{e.integer()} % 4", "1, 4", "0, 4, 2", "3, 0, -1"]
        for tree in self.scope.stable:
            name, kind, cells = tree.blocks[-1]
            if kind == "dynamic":
                lengths += [f"ti.length({name}, {self._cell(cells[:-1])})"] * 4
        length = self.random.choice(lengths)
        if static:
            self.emit(f"for {j} in ti.static(range(2)):")
        else:
            if self.depth == 1:
                self.emit("ti.loop_config(serialize=True)")
            self.emit(f"for {j} in range({length}):")
        outer = self.scope
        self.scope = e.scope = outer.inner()
        self.scope.fixed.append(j)
        self.loops.append("static" if static else "inner")
        self.block(self.random.randint(1, 3))
        self.loops.pop()
        self.scope = e.scope = outer

    def while_loop(self) -> None:
        m, e = self.fresh("j"), self.expressions
        self.emit(f"{m} = {e.integer()} % 4")
        self.emit(f"while {m} > 0:")
        outer = self.scope
        self.scope = e.scope = outer.inner()
        self.scope.fixed.append(m)
        self.loops.append("inner")
        self.depth += 1
        self.emit(f"{m} -= 1")
        self.statements(self.random.randint(1, 2))
        self.depth -= 1
        self.loops.pop()
        self.scope = e.scope = outer

    def jump(self) -> None:
        self.emit(f"if {self.expressions.condition()}:")
        self.emit(f"    {self.random.choice(['break', 'continue'])}")

    def skip(self) -> None:
        if self.loops[-1] != "static":
            self.emit(f"if {self.expressions.condition()}:")
            self.emit("    continue")

    def block(self, count: int) -> None:
        self.depth += 1
        self.statements(count)
        self.depth -= 1
