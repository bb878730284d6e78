"""Kernels: their arguments and their loops."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from programs.meeting.expressions import Access, Expressions, Scope
from programs.meeting.loops import Loop, outer_loop
from programs.meeting.places import Place, Tree
from programs.meeting.statements import Statements

TYPES = {"f": "ti.f64", "k": "ti.i32", "c": "ti.template()", "t": "ti.template()"}


@dataclass
class Kernel:
    """What the host has to know of a kernel: what each argument is, and what it writes to."""

    name: str
    parameters: list[tuple[str, object]] = field(default_factory=list)
    writes: list[Place] = field(default_factory=list)
    returns: bool = False


class KernelWriter(Statements):
    """Writes one kernel."""

    def __init__(
        self,
        random: Random,
        functions: list[str],
        places: list[Place],
        trees: list[Tree],
        name: str,
    ) -> None:
        super().__init__(Expressions(random, functions), list(trees))
        self.places, self.kernel = places, Kernel(name)
        self.used = self._arrays_and_fields()
        self.n = places[1].extents[0]

    def written(self) -> str:
        """A kernel of a loop or two."""
        random = self.random
        self._scalars()
        self._stand_in()
        shared = random.random() < 0.1
        if shared:
            self.emit("s = 0.0")
            self._loop("s += {}")
            self._loop("", ["s"])
        for _ in range(0 if shared else random.choice([1, 1, 1, 2])):
            if random.random() < 0.12:
                self._without_loop()
            else:
                self._loop("")
        self._result()
        self.kernel.writes = [place for place in self.used if place.name in self.written_names]
        return self._text()

    def measuring(self) -> str:
        """A kernel that adds functions of some memories to the loss."""
        places = [p for p in self.used if p.extents and not p.is_integer]
        count = min(len(places), self.random.choice([1, 1, 1, 2]))
        for place in self.random.sample(places, count):
            self._measure(place)
        return self._text()

    def _text(self) -> str:
        types = [TYPES.get(name[0], "ti.types.ndarray()") for name, _ in self.kernel.parameters]
        names = [name for name, _ in self.kernel.parameters]
        parameters = ", ".join(f"{name}: {kind}" for name, kind in zip(names, types))
        result = " -> ti.f64" * self.kernel.returns
        head = f"@ti.kernel\ndef {self.kernel.name}({parameters}){result}:\n"
        return head + "\n".join(self.lines)

    # Arguments.

    def _arrays_and_fields(self) -> list[Place]:
        """What the kernel uses: arrays through arguments."""
        used = []
        for place in self.places:
            if place.kind != "field":
                if self.random.random() > 0.6:
                    continue
                self.kernel.parameters.append((place.name, place))
            used.append(place)
        return used

    def _scalars(self) -> None:
        for name, kind in (("f", "float"), ("k", "int"), ("c", "constant")):
            if self.random.random() < 0.35:
                self.kernel.parameters.append((name, kind))

    def _stand_in(self) -> None:
        """An argument `t` that may be any of some fields, which the kernel does not use then, nor
        anything else in their trees."""
        fields = [
            place
            for place in self.used
            if place.kind == "field" and not (place.is_integer or place.element or place.member)
        ]
        fields = [place for place in fields if place.extents == (self.n,)]
        if len(fields) < 2 or self.random.random() > 0.35:
            return
        self.kernel.parameters.append(("t", fields))
        trees = [place.tree for place in fields if place.tree]
        self.trees = [tree for tree in self.trees if tree not in trees]
        others = [p for p in self.used if p not in fields and not (p.tree and p.tree in trees)]
        self.used = [*others, Place("t", (self.n,), tree=trees[0] if trees else None)]

    def _result(self) -> None:
        """Return an element, sometimes."""
        places = [
            place
            for place in self.used
            if len(place.extents) == 1 and not (place.element or place.is_integer)
        ]
        if places and self.random.random() < 0.12:
            place = self.random.choice(places)
            self.kernel.returns = True
            self.emit(f"return {place.at(self.random, str(self.random.randrange(self.n)))}")

    # Loops.

    def _loop(self, added: str, constants: list[str] | None = None) -> None:
        loop = outer_loop(self.random, self.used, self.trees, self.n)
        self._enter(loop, constants or [])
        if loop.is_serial:
            self.emit("ti.loop_config(serialize=True)")
        self.emit(loop.head)
        self.depth += 1
        self.loops.append("outer")
        self.budget = 5
        self._locals()
        self.statements(self.random.randint(1, 2))
        if added:
            self.emit(added.format(self.expressions.bounded(1)))
        self._forced()
        self.loops.pop()
        self.depth -= 1

    def _without_loop(self) -> None:
        """Statements one after the other."""
        loop = Loop("", [], is_serial=True)
        loop.choose_trees(self.random, self.trees)
        self._enter(loop, [])
        self.budget = 4
        self.statements(self.random.randint(1, 3))
        self._forced()

    def _enter(self, loop: Loop, constants: list[str]) -> None:
        """Begin the scope of a loop."""
        names = [name for name, kind in self.kernel.parameters if kind in ("int", "constant")]
        scope = Scope(fixed=[*loop.fixed, *names], stable=loop.stable)
        scope.constants = constants + ["f"] * any(n == "f" for n, _ in self.kernel.parameters)
        self.outer = loop
        for place in self.used:
            role = loop.role(self.random, place)
            own = loop.own.get(place.extents, "")
            if role != "none":
                first = loop.fixed[0] if role == "row" else own
                scope.accesses.append(Access(place, role, first))
        self.scope = self.expressions.scope = scope

    def _locals(self) -> None:
        chance = self.random.random
        if chance() < 0.6:
            self.define()
        if chance() < 0.4:
            self.define_integer()
        if chance() < 0.3:
            self.define_vector()

    def _forced(self) -> None:
        """See that something comes of the loop."""
        writable = [a for a in self.scope.accesses if a.writes and a.place.name != "loss"]
        if writable and self.random.random() < 0.9:
            self.write(self.random.choice(writable))
        else:
            self.emit(f"loss[None] += {self.expressions.bounded(2)}")

    def _measure(self, place: Place) -> None:
        index = "i" if len(place.extents) == 1 else "i, j"
        over = f"ti.ndrange{place.extents}" if index != "i" else f"range({place.extents[0]})"
        self.emit(f"for {index} in {place.name if place.kind == 'field' else over}:")
        component = {(): "", (2,): "[1]", (2, 2): "[0, 1]"}[place.element]
        value = f"{place.name}[{index}]{component}"
        self.emit(f"    loss[None] += (i + 1) * 0.3 * {value} + ti.sin({value})")
