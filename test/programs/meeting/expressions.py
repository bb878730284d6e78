"""Smooth expressions of what is in scope, integers, and conditions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from programs.meeting.places import Place, Tree


@dataclass
class Access:
    """How statements of a loop may use a memory: `read`, `own` element, own `row`, `sum`, `any`."""

    place: Place
    role: str
    own: str = ""

    @property
    def reads(self) -> bool:
        return self.role != "sum"

    @property
    def writes(self) -> bool:
        return self.role != "read"


@dataclass
class Scope:
    """Names that an expression may use."""

    floats: list[str] = field(default_factory=list)
    fixed: list[str] = field(default_factory=list)
    integers: list[str] = field(default_factory=list)
    vectors: list[str] = field(default_factory=list)
    accesses: list[Access] = field(default_factory=list)
    constants: list[str] = field(default_factory=list)
    stable: list[Tree] = field(default_factory=list)

    def inner(self) -> Scope:
        """A scope in which more may be defined."""
        lists = (self.floats, self.fixed, self.integers, self.vectors)
        return Scope(*map(list, lists), self.accesses, self.constants, self.stable)  # type: ignore[arg-type]


class Expressions:
    """Writes expressions."""

    def __init__(self, random: Random, functions: list[str]) -> None:
        self.random, self.functions = random, functions
        self.scope = Scope()

    def integer(self) -> str:
        """An integer that is not negative."""
        scope = self.scope
        choices = [*scope.fixed, *scope.integers, *scope.fixed]
        if not choices or self.random.random() < 0.1:
            return str(self.random.randrange(4))
        choices += [f"({name} + {self.random.randrange(1, 4)})" for name in scope.fixed[:1]]
        choices += [
            self.element(access)
            for access in scope.accesses
            if access.place.is_integer and access.reads and self.random.random() < 0.5
        ]
        return self.random.choice(choices)

    def index(self, access: Access, *, writes: bool = False) -> str:
        """An index that a role allows."""
        place, role = access.place, access.role
        if not place.extents:
            return "None"
        if role == "own" or (role == "any" and access.own and self.random.random() < 0.5):
            return access.own
        parts = []
        for axis, extent in enumerate(place.extents):
            if role == "row" and axis == 0:
                parts.append(access.own)
            elif self.random.random() < 0.2:
                parts.append(str(self.random.randrange(extent)))
            else:
                parts.append(f"{self.simple_integer()} % {extent}")
        return ", ".join(parts)

    def simple_integer(self) -> str:
        """An integer without elements in it, most of the time."""
        scope = self.scope
        names = [*scope.fixed, *scope.integers]
        if not names:
            return str(self.random.randrange(4))
        name = self.random.choice(names)
        form = self.random.choice(["{0}", "{0}", "({0} + {1})", "({0} * 2 + {1})", "{2}"])
        tables = [
            access
            for access in scope.accesses
            if access.place.is_integer and access.role == "read" and len(access.place.extents) == 1
        ]
        table = name
        if tables and form == "{2}":
            place = self.random.choice(tables).place
            table = place.at(self.random, f"{name} % {place.extents[0]}")
        return form.format(name, self.random.randrange(1, 4), table)

    def element(self, access: Access) -> str:
        """An element, or a component of one."""
        text = access.place.at(self.random, self.index(access))
        return text + self.component(access.place.element)

    def component(self, element: tuple[int, ...]) -> str:
        if not element:
            return ""
        known = self.random.random() < 0.6
        first = str(self.random.randrange(2)) if known else f"{self.simple_integer()} % 2"
        return f"[{first}]" if element == (2,) else f"[{first}, {self.random.randrange(2)}]"

    def readable(self, element: tuple[int, ...] | None = None) -> list[Access]:
        """Float memories that may be read."""
        return [
            access
            for access in self.scope.accesses
            if access.reads
            and not access.place.is_integer
            and access.place.name != "loss"
            and (element is None or access.place.element == element)
        ]

    def condition(self) -> str:
        """A condition on integers, activity, or far from equal floats."""
        k, random = self.integer(), self.random
        forms = [f"{k} % 2 == 0", f"{k} > 1", f"{k} % 3 != 1", f"not ({k} < 3)"]
        leaf = self.leaf()
        if leaf[-1] not in "0123456789":
            forms.append(f"{leaf} < {random.uniform(0.3, 0.9):.3f}")
        forms.append(f"{k} % 2 == 1 or {self.integer()} > 2")
        for tree in self.scope.stable:
            name, kind, cells = random.choice(tree.blocks)
            if kind != "dynamic":
                index = ", ".join(f"{self.simple_integer()} % {extent}" for extent in cells)
                forms += [f"ti.is_active({name}, [{index}])"] * 3
        return random.choice(forms)

    def leaf(self) -> str:
        """A variable, an element or a number."""
        random, scope = self.random, self.scope
        choices = [f"{random.uniform(-1.5, 1.5):.2f}", *scope.floats, *scope.constants]
        for access in self.readable():
            choices += [self.element(access)] * 2
            if access.place.element == (2,) and random.random() < 0.3:
                choices.append(f"{access.place.at(random, self.index(access))}.norm_sqr()")
            if access.place.element == (2, 2) and random.random() < 0.3:
                method = random.choice(["determinant", "trace"])
                choices.append(f"{access.place.at(random, self.index(access))}.{method}()")
            if access.place.member == "a" and random.random() < 0.5:
                index = self.index(access)
                if all(
                    other.role == "read"
                    for other in scope.accesses
                    if other.place.struct == access.place.struct
                ):
                    choices.append(f"{access.place.struct}[{index}].energy({self.integer()})")
        for vector in scope.vectors:
            choices += [f"{vector}{self.component((2,))}", f"{vector}.dot({vector}) * 0.3"]
        if scope.fixed:
            choices.append(f"ti.cast({self.simple_integer()} % 4, ti.f64) * 0.3")
        return random.choice(choices)

    def expression(self, depth: int) -> str:
        """A smooth expression, of bounded growth."""
        if depth <= 0 or self.random.random() < 0.2:
            return self.leaf()
        a, b = self.expression(depth - 1), self.expression(depth - 1)
        form: Callable[[str, str], str] = self.random.choice(FORMS)
        if self.random.random() < 0.25:
            test = self.condition()
            forms = [f"ti.select({test}, {a}, {b})", f"({a} if {test} else {b})"]
            forms += [f"{name}({a}, {b}, {self.integer()})" for name in self.functions]
            return self.random.choice(forms)
        return form(a, b)

    def bounded(self, depth: int) -> str:
        """An expression between -1 and 1."""
        return f"ti.{self.random.choice(['sin', 'tanh', 'cos'])}({self.expression(depth)})"

    def vector(self) -> str:
        """A vector of two."""
        scope = self.scope
        choices = [f"ti.Vector([{self.bounded(1)}, {self.bounded(0)}])"]
        pairs = self.readable((2,))
        elements = [access.place.at(self.random, self.index(access)) for access in pairs]
        for vector in [*scope.vectors, *elements]:
            choices += [f"{vector} * {self.bounded(0)}", f"({vector} + {choices[0]}) * 0.5"]
            for access in self.readable((2, 2)):
                choices.append(
                    f"{access.place.at(self.random, self.index(access))} @ {vector} * 0.3"
                )
        return self.random.choice(choices)

    def matrix(self) -> str:
        """A matrix of two by two."""
        rows = [f"[{self.bounded(0)}, {self.bounded(0)}]" for _ in range(2)]
        return f"ti.Matrix([{', '.join(rows)}])"


FORMS: list[Callable[[str, str], str]] = [
    lambda a, b: f"({a} + {b})",
    lambda a, b: f"({a} - {b})",
    lambda a, b: f"{a} * {b}",
    lambda a, b: f"({a}) ** 2",
    lambda a, b: f"ti.exp(-({a}) ** 2)",
    lambda a, b: f"ti.sin({a})",
    lambda a, b: f"{a} / (({b}) ** 2 + 1.0)",
    lambda a, b: f"ti.sqrt(({a}) ** 2 + 0.5)",
    lambda a, b: f"ti.atan2({a}, 2.5 + ({b}) ** 2)",
    lambda a, b: f"ti.max({a}, {b} + 0.07)",
    lambda a, b: f"ti.abs({a} - 0.43)",
]
