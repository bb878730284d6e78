"""What programs compute on: fields in layouts, structs, arrays and views; the lines that declare
them, and give them what they hold in the beginning."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random


@dataclass
class Tree:
    """Blocks with fields: names, kinds and cells of the sparse ones."""

    name: str
    blocks: list[tuple[str, str, tuple[int, ...]]] = field(default_factory=list)

    @property
    def is_list(self) -> bool:
        return any(kind == "dynamic" for _, kind, _ in self.blocks)


@dataclass
class Place:
    """A memory with elements of one type."""

    name: str
    extents: tuple[int, ...]
    element: tuple[int, ...] = ()
    is_integer: bool = False
    member: str = ""
    kind: str = "field"
    tree: Tree | None = None
    struct: str = ""
    is_graded: bool = False

    def at(self, random: Random, index: str) -> str:
        """An element, in one of the ways to write it."""
        if not self.member:
            return f"{self.name}[{index}]"
        whole = f"{self.struct}[{index}].{self.member}"
        return random.choice([whole, f"{self.name}[{index}]"])


LINE = {
    (): "{name} = ti.field(ti.{dtype}{options})",
    (2,): "{name} = ti.Vector.field(2, ti.{dtype}{options})",
    (2, 2): "{name} = ti.Matrix.field(2, 2, ti.{dtype}{options})",
}
STRUCT = """@ti.dataclass
class P:
    a: ti.f64
    b: ti.math.vec2
    c: ti.i32

    @ti.func
    def energy(self, k):
        if k % 2 == 0:
            return ti.sin(self.a) + self.b[0] * 0.3
        return self.b.dot(self.b) * 0.2 + self.a
"""
NUMBERS = """def numbers(seed, *shape):
    return np.random.default_rng(seed).uniform(0.2, 1.2, shape)
"""
SPARSE_ROWS = [["pointer 1"], ["bitmasked 1"], ["pointer /", "dense 2"], ["bitmasked /", "dense 2"]]
SPARSE_ROWS += [["pointer /", "bitmasked 2"], ["dense /", "pointer 2"], ["pointer /", "pointer 2"]]
DENSE_ROWS = [["dense 1"], ["dense /", "dense 2"]]


class Places:
    """The memories of one program."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.n, self.b = random.choice([4, 6, 8]), random.choice([2, 3])
        self.lines: list[str] = []
        self.begin: list[str] = []
        self.emptied: list[tuple[int, int]] = []  # lines of `begin`
        self.all: list[Place] = [Place("loss", (), is_graded=True)]
        self.trees: list[Tree] = []
        self.gradients = random.choice(["needs", "placed", "lazy", "mixed", "hidden"])
        self.has_struct = False
        self._number = 0
        self._declare()

    def _fresh(self, prefix: str) -> str:
        self._number += 1
        return f"{prefix}{self._number}"

    def _declare(self) -> None:
        self.lines.append("loss = ti.field(ti.f64, shape=(), needs_grad=True)")
        self.begin.append("loss[None] = 0.0")
        self._field((self.n,), (), graded=True)
        for _ in range(self.random.randint(1, 2)):
            self.random.choice([self._group, self._group, self._plain, self._struct])()
        for _ in range(self.random.choice([0, 0, 1, 1, 2])):
            self.random.choice([self._ndarray, self._view])()
        if self.random.random() < 0.6:
            self._field((self.n,), (), is_integer=True)
        if self.gradients == "lazy":
            self.lines.append("ti.root.lazy_grad()")
            for place in self.all:
                place.is_graded |= place.kind == "field" and not place.is_integer

    # Declarations.

    def _options(self, graded: bool, shape: tuple[int, ...] | None) -> str:
        extents = f", shape={shape if len(shape) > 1 else shape[0]}" if shape else ""
        return extents + ", needs_grad=True" * graded

    def _is_graded(self) -> bool:
        if self.gradients == "mixed":
            return self.random.random() < 0.5
        return self.gradients == "needs"

    def _field(
        self,
        shape: tuple[int, ...],
        element: tuple[int, ...],
        *,
        graded: bool = False,
        is_integer: bool = False,
    ) -> None:
        name = self._fresh("m" if is_integer else "xvm"[len(element)])
        dtype = "i32" if is_integer else "f64"
        options = self._options(graded, shape)
        self.lines.append(LINE[element].format(name=name, dtype=dtype, options=options))
        place = Place(name, shape, element, is_integer, is_graded=graded)
        self.all.append(place)
        self._fill(place)

    def _shape(self) -> tuple[int, ...]:
        return self.random.choice([(self.n,), (self.n,), (self.n, self.b)])

    def _element(self) -> tuple[int, ...]:
        return self.random.choice([(), (), (), (2,), (2, 2)])

    def _plain(self) -> None:
        self._field(self._shape(), self._element(), graded=self._is_graded())

    def _struct(self) -> None:
        if self.has_struct:
            return
        self._group(with_struct=True)

    def _group(self, with_struct: bool = False) -> None:
        """Fields in the cells of one block."""
        shape, name = self._shape(), self._fresh("t")
        tree = self._tree(name, shape)
        sparse = tree if tree.blocks else None
        places, placed = [], []
        for _ in range(1 if with_struct or tree.is_list else self.random.randint(1, 2)):
            graded = self._is_graded()
            if with_struct:
                places += self._members(shape, sparse, graded)
                own = places[0].struct
            else:
                places.append(self._free_field(shape, sparse, graded))
                own = places[-1].name
            placed.append(own)
            may_place = self.gradients == "placed" or (self.gradients == "mixed" and not graded)
            if may_place and self.random.random() < 0.7:
                placed.append(f"{own}.grad")
                for place in places:
                    belongs = own in (place.struct, place.name)
                    place.is_graded |= belongs and not place.is_integer
        self.lines.append(f"{name}.place({', '.join(placed)})")
        self.all += places
        for place in places:
            self._fill(place)
        if sparse:
            self.trees.append(tree)
            self._activate(tree, places)

    def _free_field(self, shape: tuple[int, ...], tree: Tree | None, graded: bool) -> Place:
        element = self._element()
        name = self._fresh("xvm"[len(element)])
        line = LINE[element].format(name=name, dtype="f64", options=self._options(graded, None))
        self.lines.append(line)
        return Place(name, shape, element, tree=tree, is_graded=graded)

    def _members(self, shape: tuple[int, ...], tree: Tree | None, graded: bool) -> list[Place]:
        self.has_struct = True
        name = self._fresh("s")
        self.lines += [STRUCT, f"{name} = P.field({'needs_grad=True' * graded})"]
        places = []
        for member, element in (("a", ()), ("b", (2,)), ("c", ())):
            is_integer = member == "c"
            place = Place(f"{name}.{member}", shape, element, is_integer, member, tree=tree)
            place.struct, place.is_graded = name, graded and not is_integer
            places.append(place)
        return places

    def _tree(self, name: str, shape: tuple[int, ...]) -> Tree:
        """Blocks, outermost first, with names for the sparse ones."""
        tree, text = Tree(name), "ti.root"
        levels = self._levels(shape)
        cells = [1] * len(shape)
        for depth, (kind, axes, sizes) in enumerate(levels):
            for axis, size in zip(axes, sizes):
                cells[axis] *= size
            own = name if depth == len(levels) - 1 else f"{name}_{depth}"
            text += f".{kind}(ti.{''.join('ij'[a] for a in axes)}, {list(sizes)})"
            last = max(a for _, some, _ in levels[: depth + 1] for a in some) + 1
            if kind != "dense":
                tree.blocks.append((own, kind, tuple(cells[:last])))
            if kind != "dense" or depth == len(levels) - 1:
                self.lines.append(f"{own} = {text}")
                text = own
        return tree

    def _levels(self, shape: tuple[int, ...]) -> list[tuple[str, list[int], list[int]]]:
        random, n, b = self.random, self.n, self.b
        if len(shape) == 1:
            sizes = {"1": n, "/": n // 2, "2": 2}
            levels = random.choice(SPARSE_ROWS + DENSE_ROWS)
            return [(kind, [0], [sizes[size]]) for kind, size in map(str.split, levels)]
        outer, inner = random.choice([("pointer", "dense"), ("dense", "pointer"), ("", "")])
        if outer:
            rest = random.choice([inner, inner, "dynamic", "bitmasked"])
            return [(outer, [0], [n]), (rest, [1], [b])]
        kind = random.choice(["pointer", "bitmasked", "dense"])
        if random.random() < 0.5:
            return [(kind, [0, 1], [n, b])]
        return [(kind, [0, 1], [n // 2, 1]), ("dense", [0, 1], [2, b])]

    def _ndarray(self) -> None:
        shape, graded = self._shape(), self.random.random() < 0.6
        element, name = self.random.choice([(), (), (2,)]), self._fresh("a")
        options = f"ti.f64, {shape}{', needs_grad=True' * graded}"
        made = f"ti.Vector.ndarray(2, {options})" if element else f"ti.ndarray({options})"
        self.lines.append(f"{name} = {made}")
        place = Place(name, shape, element, kind="ndarray", is_graded=graded)
        self.all.append(place)
        self._fill(place)

    def _view(self) -> None:
        """An array of NumPy, or views of one that share no element."""
        n, base = self.n, self._fresh("w")
        shape, views = self.random.choice(
            [
                (f"{n}", [""]),
                (f"{2 * n}", ["[::2]", "[1::2]"]),
                (f"({n}, 3)", ["[:, 1]", "[:, 2]"]),
                (f"({self.b}, {n})", [".T"]),
                (f"{n}", ["[::-1]"]),
                (f"({n}, {self.b + 2})", ["[:, 1:-1]"]),
            ]
        )
        self.lines.append(f"{base} = np.zeros({shape})")
        self.begin.append(f"{base}[...] = numbers({self._seed()}, *{base}.shape)")
        for view in views[: self.random.randint(1, 2)]:
            name = self._fresh("a")
            self.lines.append(f"{name} = {base}{view}")
            is_plane = view in (".T", "[:, 1:-1]")
            extents = (n, self.b) if is_plane else (n,)
            self.all.append(Place(name, extents, kind="numpy"))

    # What is there in the beginning.

    def short_begin(self) -> list[str]:
        """What a first run needs: nothing is active before it."""
        left = [k for first, last in self.emptied for k in range(first, last)]
        return [line for k, line in enumerate(self.begin) if k not in left]

    def _seed(self) -> int:
        return self.random.randrange(1000)

    def _fill(self, place: Place) -> None:
        shape = ", ".join(map(str, place.extents + place.element))
        if place.is_integer:
            value = f"{self.random.randrange(1, 5)} * sum(k) + {self.random.randrange(5)}"
            indices = ", ".join(map(str, place.extents))
            self.begin += [f"for k in np.ndindex({indices}):", f"    {place.name}[k] = {value}"]
        elif place.tree is None:
            self.begin.append(f"{place.name}.from_numpy(numbers({self._seed()}, {shape}))")

    def _activate(self, tree: Tree, places: list[Place]) -> None:
        """Write to everything, deactivate, and write to a few elements."""
        floats = [place for place in places if not place.is_integer]
        extents = floats[0].extents
        indices = [(i, *j) for i in range(extents[0]) for j in _inner(extents)]
        some = sorted(self.random.sample(indices, self.random.randint(1, len(indices) - 1)))
        first = len(self.begin)
        self._set(floats, indices, 0.05)
        self.begin.append(f"{tree.blocks[0][0]}.deactivate_all()")
        self.emptied.append((first, len(self.begin)))
        self._set(floats, some, 0.1)

    def _set(self, places: list[Place], indices: list[tuple[int, ...]], factor: float) -> None:
        self.begin.append(f"for k in {indices}:")
        for place in places:
            value = f"{self.random.randrange(2, 8)} * {factor} + {factor} * sum(k)"
            if place.element == (2,):
                value = f"[{value}, 0.4]"
            elif place.element:
                value = f"[[{value}, 0.4], [0.3, 0.6]]"
            self.begin.append(f"    {place.name}[k] = {value}")


def _inner(extents: tuple[int, ...]) -> list[tuple[int, ...]]:
    return [(j,) for j in range(extents[1])] if len(extents) > 1 else [()]
