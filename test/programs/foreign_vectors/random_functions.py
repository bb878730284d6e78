"""Random functions of vectors, whose results are exact in any order of sums."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from math import prod
from typing import NamedTuple

LARGEST = 32  # elements of a vector
MOST_BITS = 50  # of a float's significand
MEMORY = [(5,), (4, 3), (3, 4, 2)]  # of the arguments that are memory


class Value(NamedTuple):
    """A scalar or a vector, and how many bits a float of it may need."""

    name: str
    shape: tuple[int, ...] | None
    element: str
    bits: int = 0

    @property
    def type(self) -> str:
        """Its type, as text."""
        return vector(self.shape, self.element)

    @property
    def size(self) -> int:
        """The number of its elements."""
        return prod(self.shape or ())


def vector(shape: Sequence[int] | None, element: str) -> str:
    """Return the type of a vector, or of a scalar."""
    if shape is None:
        return element
    return f"vector<{''.join(f'{extent}x' for extent in shape)}{element}>"


class Writer:
    """A function under construction."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.values: list[Value] = []
        self.count = 0

    def function(self, name: str, length: int, *, only_floats: bool = False) -> str:
        """Return the text of a function of so many ops; one that takes and gives only floats, but
        for an index, can be differentiated."""
        shapes = [(4,), (2, 3), (3,), (2, 2, 3), (4, 3), (1, 4)]
        self.values = [Value(f"x{n}", shape, "f64", 6) for n, shape in enumerate(shapes)]
        self.values.append(Value("s", None, "f64", 6))
        if not only_floats:
            self.values.append(Value("m", (4,), "i1"))
        arguments = [f"%{value.name}: {value.type}" for value in self.values]
        memory = [f"memref<{'x'.join(map(str, shape))}xf64>" for shape in MEMORY]
        arguments += [f"%mem{n}: {type_}" for n, type_ in enumerate(memory)]
        if only_floats:
            self.emit("vector.constant_mask [3] : vector<4xi1>", (4,), "i1")
        for _ in range(length):
            self.random.choice(OPS)(self)
        results = [v for v in self.values if v.shape is not None]
        results = [v for v in results if v.element == "f64" or not only_floats][-6:]
        given = ", ".join(f"%{v.name}" for v in results)
        types = ", ".join(v.type for v in results)
        body = "\n  ".join(self.lines)
        return (
            f"func.func @{name}({', '.join([*arguments, '%i: index'])}) -> ({types}) {{\n  {body}\n"
            f"  return {given}{' : ' * bool(given)}{types}\n}}\n"
        )

    def pick(self, condition: Callable[[Value], bool]) -> Value | None:
        """Return a value that meets a condition, later ones rather."""
        fitting = [value for value in self.values if condition(value)]
        return self.random.choice(fitting[-6:] + fitting) if fitting else None

    def floats(self, least: int = 0, most: int = 9) -> Value | None:
        """Return a vector of floats of some number of axes."""
        return self.pick(
            lambda v: v.shape is not None and v.element == "f64" and least <= len(v.shape) <= most
        )

    def name(self) -> str:
        """Return a new name."""
        self.count += 1
        return f"v{self.count}"

    def emit(
        self, text: str, shape: tuple[int, ...] | None, element: str = "f64", bits: int = 0
    ) -> Value:
        """Add an op with a result."""
        value = Value(self.name(), shape, element, bits)
        self.lines.append(f"%{value.name} = {text}")
        self.values.append(value)
        return value

    def index(self, number: int) -> str:
        """Return the name of a constant."""
        name = self.name()
        self.lines.append(f"%{name} = arith.constant {number} : index")
        return name


def arithmetic(w: Writer) -> None:
    """Add, subtract, multiply, take the larger."""
    a = w.floats()
    other = a and w.pick(lambda v: (v.shape, v.element) == (a.shape, a.element))
    if a is None or other is None:
        return
    bits = {"mulf": a.bits + other.bits, "maximumf": max(a.bits, other.bits)}
    op = w.random.choice(["addf", "subf", "mulf", "maximumf", "minnumf"])
    needed = bits.get(op, max(a.bits, other.bits) + 1)
    if needed < MOST_BITS:
        w.emit(f"arith.{op} %{a.name}, %{other.name} : {a.type}", a.shape, "f64", needed)


def select(w: Writer) -> None:
    """Compare, and choose element by element."""
    a = w.floats()
    other = a and w.pick(lambda v: (v.shape, v.element) == (a.shape, a.element))
    if a is None or other is None:
        return
    bit = w.emit(f"arith.cmpf olt, %{a.name}, %{other.name} : {a.type}", a.shape, "i1")
    w.emit(
        f"arith.select %{bit.name}, %{a.name}, %{other.name} : {bit.type}, {a.type}",
        a.shape,
        "f64",
        max(a.bits, other.bits),
    )


def broadcast(w: Writer) -> None:
    """Repeat a value."""
    a = w.pick(lambda v: v.size * 3 <= LARGEST)
    if a is not None:
        shape = (w.random.choice([2, 3]), *(n if n > 1 else 2 for n in a.shape or ()))
        if prod(shape) <= LARGEST:
            text = f"vector.broadcast %{a.name} : {a.type} to {vector(shape, a.element)}"
            w.emit(text, shape, a.element, a.bits)


def reshape(w: Writer) -> None:
    """Cast to a vector of one axis, or of two."""
    a = w.floats()
    if a is None:
        return
    factors = [n for n in range(1, a.size + 1) if a.size % n == 0]
    first = w.random.choice(factors)
    shape = w.random.choice([(a.size,), (first, a.size // first)])
    if shape != a.shape:
        text = f"vector.shape_cast %{a.name} : {a.type} to {vector(shape, 'f64')}"
        w.emit(text, shape, "f64", a.bits)


def transpose(w: Writer) -> None:
    """Permute axes."""
    a = w.floats(2)
    if a is not None and a.shape is not None:
        order = w.random.sample(range(len(a.shape)), len(a.shape))
        shape = tuple(a.shape[axis] for axis in order)
        text = f"vector.transpose %{a.name}, {order} : {a.type} to {vector(shape, 'f64')}"
        w.emit(text, shape, "f64", a.bits)


def shuffle(w: Writer) -> None:
    """Pick rows of two vectors."""
    a = w.floats(1)
    if a is None or a.shape is None:
        return
    inner = a.shape[1:]
    c = w.pick(lambda v: v.element == "f64" and bool(v.shape) and v.shape[1:] == inner)
    if c is None or c.shape is None:
        return
    count = w.random.randint(1, 4)
    picked = [w.random.randrange(a.shape[0] + c.shape[0]) for _ in range(count)]
    text = f"vector.shuffle %{a.name}, %{c.name} {picked} : {a.type}, {c.type}"
    if count * prod(inner) <= LARGEST:
        w.emit(text, (count, *inner), "f64", max(a.bits, c.bits))


def extract(w: Writer) -> None:
    """Take an element or a row, at an index that may be an argument."""
    a = w.floats(1)
    if a is None or a.shape is None:
        return
    rank = w.random.randint(1, len(a.shape))
    place = [str(w.random.randrange(extent)) for extent in a.shape[:rank]]
    if rank == len(a.shape) and a.shape[-1] > 2 and w.random.random() < 0.5:
        place[-1] = "%i"
    shape = a.shape[rank:] or None
    text = f"vector.extract %{a.name}[{', '.join(place)}]"
    w.emit(f"{text} : {vector(shape, 'f64')} from {a.type}", shape, "f64", a.bits)


def insert(w: Writer) -> None:
    """Replace an element."""
    a, s = w.floats(1), w.pick(lambda v: v.shape is None and v.element == "f64")
    if a is None or a.shape is None or s is None:
        return
    place = [str(w.random.randrange(extent)) for extent in a.shape]
    if a.shape[-1] > 2 and w.random.random() < 0.5:
        place[-1] = "%i"
    text = f"vector.insert %{s.name}, %{a.name}[{', '.join(place)}] : f64 into {a.type}"
    w.emit(text, a.shape, "f64", max(a.bits, s.bits))


def take_slice(w: Writer) -> None:
    """Take a box, and put it elsewhere."""
    a = w.floats(1)
    if a is None or a.shape is None:
        return
    sizes = tuple(w.random.randint(1, extent) for extent in a.shape)
    offsets, targets = (
        [w.random.randint(0, extent - size) for extent, size in zip(a.shape, sizes)]
        for _ in range(2)
    )
    strides = [1] * len(sizes)
    attributes = f"offsets = {offsets}, sizes = {[*sizes]}, strides = {strides}"
    text = f"vector.extract_strided_slice %{a.name} {{{attributes}}} : {a.type}"
    box = w.emit(f"{text} to {vector(sizes, 'f64')}", sizes, "f64", a.bits)
    attributes = f"offsets = {targets}, strides = {strides}"
    text = f"vector.insert_strided_slice %{box.name}, %{a.name} {{{attributes}}}"
    w.emit(f"{text} : {box.type} into {a.type}", a.shape, "f64", a.bits)


def weave(w: Writer) -> None:
    """Interleave, and take apart."""
    a = w.floats(1)
    if a is None or a.shape is None or 2 * a.size > LARGEST:
        return
    shape = (*a.shape[:-1], 2 * a.shape[-1])
    c = w.pick(lambda v: (v.shape, v.element) == (a.shape, a.element)) or a
    text = f"vector.interleave %{a.name}, %{c.name} : {a.type} -> {vector(shape, 'f64')}"
    both = w.emit(text, shape, "f64", max(a.bits, c.bits))
    names = [w.name(), w.name()]
    text = f"vector.deinterleave %{both.name} : {both.type} -> {a.type}"
    w.lines.append(f"%{names[0]}, %{names[1]} = {text}")
    w.values += [Value(name, a.shape, "f64", both.bits) for name in names]


def reduce(w: Writer) -> None:
    """Add up, under a mask or not."""
    a = w.floats(1)
    if a is None or a.shape is None or a.bits + 6 > MOST_BITS:
        return
    kind, bits = w.random.choice(["add", "maxnumf", "minimumf"]), a.bits + 6
    if len(a.shape) > 1:
        axes = w.random.sample(range(len(a.shape)), w.random.randint(1, len(a.shape) - 1))
        shape = tuple(n for axis, n in enumerate(a.shape) if axis not in axes)
        start = w.emit(f"arith.constant dense<0.25> : {vector(shape, 'f64')}", shape, "f64", 6)
        text = f"vector.multi_reduction <{kind}>, %{a.name}, %{start.name} {sorted(axes)}"
        w.emit(f"{text} : {a.type} to {start.type}", shape, "f64", bits)
        return
    s = w.pick(lambda v: v.shape is None and v.element == "f64" and v.bits <= a.bits)
    if s is None:
        return
    text = f"vector.reduction <{kind}>, %{a.name}, %{s.name} : {a.type} into f64"
    if w.random.random() < 0.5:
        mask = w.emit(f"vector.create_mask %i : {vector(a.shape, 'i1')}", a.shape, "i1")
        text = f"vector.mask %{mask.name} {{ {text} }} : {mask.type} -> f64"
    w.emit(text, None, "f64", bits)


def multiply(w: Writer) -> None:
    """Multiply matrices, or all pairs of two vectors."""
    a = w.floats(1, 2)
    if a is None or a.shape is None:
        return
    if len(a.shape) == 1:
        c = w.floats(1, 1)
        if c and c.shape and a.size * c.size <= LARGEST and a.bits + c.bits < MOST_BITS:
            text = f"vector.outerproduct %{a.name}, %{c.name} : {a.type}, {c.type}"
            w.emit(text, (a.size, c.size), "f64", a.bits + c.bits)
        return
    inner = a.shape[1]
    c = w.pick(lambda v: v.element == "f64" and v.shape is not None and v.shape[:1] == (inner,))
    if c is None or c.shape is None or len(c.shape) != 2:
        return
    shape, bits = (a.shape[0], c.shape[1]), a.bits + c.bits + 5
    if prod(shape) > LARGEST or bits > MOST_BITS:
        return
    start = w.emit(f"arith.constant dense<0.5> : {vector(shape, 'f64')}", shape, "f64", 6)
    maps = ["(i, k)", "(k, j)", "(i, j)"]
    attributes = ", ".join(f"affine_map<(i, j, k) -> {text}>" for text in maps)
    iterators = '["parallel", "parallel", "reduction"]'
    text = f"indexing_maps = [{attributes}], iterator_types = {iterators}"
    text = f"vector.contract {{{text}, kind = #vector.kind<add>}} %{a.name}, %{c.name}"
    w.emit(f"{text}, %{start.name} : {a.type}, {c.type} into {start.type}", shape, "f64", bits)


def transfer(w: Writer) -> None:
    """Read from memory, or write, past its end too."""
    number = w.random.randrange(len(MEMORY))
    shape = MEMORY[number]
    type_ = f"memref<{'x'.join(map(str, shape))}xf64>"
    rank = w.random.randint(1, len(shape))
    axes = w.random.sample(range(len(shape)), rank)
    dims = ", ".join(f"d{axis}" for axis in range(len(shape)))
    results = ", ".join(f"d{axis}" for axis in axes)
    attribute = f"{{permutation_map = affine_map<({dims}) -> ({results})>}}"
    inside = [extent > 2 or axis in axes for axis, extent in enumerate(shape)]
    place = ", ".join(w.random.choice(["%i"] * bit + [f"%{w.index(0)}"]) for bit in inside)
    a = w.floats(rank, rank)
    if a is not None and a.bits <= 8 and w.random.random() < 0.5:
        text = f"vector.transfer_write %{a.name}, %mem{number}[{place}] {attribute}"
        w.lines.append(f"{text} : {a.type}, {type_}")
        return
    sizes = tuple(w.random.randint(1, 3) for _ in axes)
    padding = w.emit("arith.constant 0.75 : f64", None, "f64", 6)
    text = f"vector.transfer_read %mem{number}[{place}], %{padding.name} {attribute}"
    w.emit(f"{text} : {type_}, {vector(sizes, 'f64')}", sizes, "f64", 8)


def masked(w: Writer) -> None:
    """Read under a mask: neighbours, others, or compressed ones."""
    other = w.pick(lambda v: (v.shape, v.element) == ((4,), "f64"))
    mask = w.pick(lambda v: (v.shape, v.element) == ((4,), "i1"))
    if other is None or mask is None:
        return
    zero, op = w.index(0), w.random.choice(["maskedload", "gather", "expandload"])
    places = ""
    if op == "gather":
        numbers = [w.random.randrange(5) for _ in range(4)]
        index = w.emit(f"arith.constant dense<{numbers}> : vector<4xi32>", (4,), "i32")
        places = f"[%{index.name}]"
    text = f"vector.{op} %mem0[%{zero}] {places}, %{mask.name}, %{other.name} : memref<5xf64>, "
    text += "vector<4xi32>, " * (op == "gather")
    text += "vector<4xi1>, vector<4xf64> into vector<4xf64>"
    w.emit(text, (4,), "f64", max(8, other.bits))


def branch(w: Writer) -> None:
    """Choose by a branch, or repeat in a loop."""
    a = w.floats(1)
    c = a and w.pick(lambda v: (v.shape, v.element) == (a.shape, a.element))
    if a is None or c is None or max(a.bits, c.bits) + 3 > MOST_BITS:
        return
    one, zero, inner, bits = w.index(1), w.index(0), w.name(), max(a.bits, c.bits) + 3
    add = f"%{inner} = arith.addf %{a.name}, %{c.name} : {a.type}"
    if w.random.random() < 0.5:
        bit = w.emit(f"arith.cmpi slt, %i, %{one} : index", None, "i1")
        ends = [f"scf.yield %{name} : {a.type}" for name in (inner, a.name)]
        text = f"scf.if %{bit.name} -> {a.type} {{ {add} {ends[0]} }} else {{ {ends[1]} }}"
    else:
        carried, bound = w.name(), f"%j{inner} = %{zero} to %i step %{one}"
        add = add.replace(f"%{a.name},", f"%{carried},", 1)
        text = f"scf.for {bound} iter_args(%{carried} = %{a.name}) -> {a.type}"
        text += f" {{ {add} scf.yield %{inner} : {a.type} }}"
    w.emit(text, a.shape, "f64", bits)


OPS = [
    *(arithmetic, arithmetic, select, broadcast, reshape, transpose, shuffle, extract, insert),
    *(take_slice, weave, reduce, multiply, transfer, transfer, masked, branch),
]


def module(first: int, count: int, length: int = 16) -> str:
    """Return the text of random functions."""
    numbers = range(first, first + count)
    return "".join(Writer(number).function(f"random{number}", length) for number in numbers)
