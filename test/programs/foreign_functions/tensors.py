"""Random functions over tensors, by `linalg`, `tensor` and `scf`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from programs.foreign_functions.scalars import Scalars
from programs.foreign_functions.writer import Float, Writer

LARGE = 4.0  # bounds above it are scaled down


@dataclass(frozen=True)
class Tensor:
    """A tensor of f32 or f64: `extents` are those of a run, `is_open` says which the type leaves
    out."""

    name: str
    element: str
    extents: tuple[int, ...]
    is_open: tuple[bool, ...]
    bound: float = 1.0

    @property
    def type(self) -> str:
        """The type in MLIR."""
        shape = "".join(f"{'?' if o else e}x" for e, o in zip(self.extents, self.is_open))
        return f"tensor<{shape}{self.element}>"

    @property
    def rank(self) -> int:
        """The number of axes."""
        return len(self.extents)

    @property
    def is_static(self) -> bool:
        """Whether the type has all extents."""
        return not any(self.is_open)


class TensorWriter:
    """What operations on tensors are written with: the values so far, and those that all need."""

    def __init__(self, writer: Writer, element: str, *, casts: bool) -> None:
        self.writer, self.element = writer, element
        self.scalars = Scalars(writer, casts=casts)
        self.values: list[Tensor] = []

    def pick(self, accepts: Callable[[Tensor], bool] = lambda tensor: True) -> Tensor | None:
        """Return a value that fits, later ones more often."""
        fitting = [tensor for tensor in self.values if accepts(tensor)]
        if not fitting:
            return None
        recent = fitting[-3:] if self.writer.chance(0.6) else fitting
        return self.writer.random.choice(recent)

    def tensor(
        self, text: str, extents: Sequence[int], bound: float, is_open: Sequence[bool] = ()
    ) -> Tensor:
        """Write an operation; its result. `{type}` in the text is the type of the result."""
        flags = tuple(is_open) or (False,) * len(extents)
        shape = Tensor("", self.element, tuple(extents), flags, bound)
        return replace(shape, name=self.writer.value(text.replace("{type}", shape.type)))

    def add(self, tensor: Tensor) -> None:
        """Keep a value, scaled down if it may be large."""
        if tensor.bound > LARGE:
            factor = self.scalars.constant(self.element, LARGE / tensor.bound / 1.5)
            tensor = self.elementwise([tensor], lambda values: self._scaled(values[0], factor))
        self.values.append(tensor)

    def _scaled(self, value: Float, factor: Float) -> Float:
        if self.writer.chance(0.5):
            return self.scalars.bounded(value, 1.0)
        return replace(self.scalars.product(value, factor), bound=LARGE / 1.5)

    def empty(self, extents: Sequence[int], like: Tensor | None = None) -> Tensor:
        """Write a tensor that holds anything, with the open extents of another."""
        is_open = like.is_open if like is not None else (False,) * len(extents)
        sizes = [
            self.writer.value(f"tensor.dim {like.name}, {self.writer.index(k)} : {like.type}")
            for k, o in enumerate(is_open)
            if o and like is not None
        ]
        return self.tensor(f"tensor.empty({', '.join(sizes)}) : {{type}}", extents, 0.0, is_open)

    def filled(self, extents: Sequence[int], value: Float | None = None) -> Tensor:
        """Write a tensor of one number."""
        value = value or self.scalars.constant(self.element, 0.0)
        if self.writer.chance(0.2):
            return self.tensor(f"tensor.splat {value.name} : {{type}}", extents, value.bound)
        target = self.empty(extents)
        text = f"linalg.fill ins({value.name} : {self.element}) outs({target.name} : {target.type})"
        return self.tensor(f"{text} -> {{type}}", extents, value.bound)

    def start(self, extents: Sequence[int]) -> Tensor:
        """Return what sums begin with: zeros, or a value."""
        value = self.pick(lambda t: t.extents == tuple(extents) and t.is_static)
        return value if value is not None and self.writer.chance(0.4) else self.filled(extents)

    def body(self, values: Sequence[Float], depth: int = 2) -> Float:
        """Write an expression of some values, each used once at least."""
        draw = self.writer.random.choice
        total = self.scalars.expression(lambda type_: draw(values), self.element, depth)
        for value in values:
            if self.writer.chance(0.7):
                total = self.scalars.sum([total, self.scalars.product(total, value)])
        return self.scalars.bounded(total, LARGE)

    def elementwise(
        self, inputs: Sequence[Tensor], body: Callable[[Sequence[Float]], Float] | None = None
    ) -> Tensor:
        """Write a `linalg.generic` over the indices of the first input; others are broadcast."""
        first = inputs[0]
        target = self.empty(first.extents, first)
        maps = [self._projection(tensor, first) for tensor in inputs]
        every = tuple(range(first.rank))
        return self.generic(
            [*inputs], maps, target, every, first.rank, lambda v: (body or self.body)(v[:-1])
        )

    def _projection(self, tensor: Tensor, onto: Tensor) -> tuple[int, ...]:
        """Return axes whose extents are those of a tensor."""
        free = list(range(onto.rank))
        axes = []
        for extent in tensor.extents:
            axis = next(a for a in free if onto.extents[a] == extent)
            free.remove(axis)
            axes.append(axis)
        return tuple(axes)

    def is_projected(self, tensor: Tensor, onto: Tensor) -> bool:
        """Return whether a tensor can be broadcast."""
        free = list(onto.extents)
        for extent in tensor.extents:
            if extent not in free:
                return False
            free.remove(extent)
        return True

    def generic(
        self,
        inputs: Sequence[Tensor],
        maps: Sequence[Sequence[int | str]],
        target: Tensor,
        target_map: Sequence[int | str],
        rank: int,
        body: Callable[[Sequence[Float]], Float],
    ) -> Tensor:
        """Write a `linalg.generic`: maps are axes, or expressions of axes; those that the target's
        map leaves out are reduced."""
        axes = ", ".join(f"d{axis}" for axis in range(rank))
        texts = [
            f"affine_map<({axes}) -> ({', '.join(map(_expression, results))})>"
            for results in (*maps, target_map)
        ]
        kinds = ", ".join(
            f'"{"parallel" if axis in target_map else "reduction"}"' for axis in range(rank)
        )
        traits = f"{{indexing_maps = [{', '.join(texts)}], iterator_types = [{kinds}]}}"
        ins = f" ins({_listed(inputs)})" if inputs else ""
        name = self.writer.name()
        names = [self.writer.name() for _ in (*inputs, target)]
        values = [
            Float(n, t.element, t.bound) for n, t in zip(names, (*inputs, target), strict=True)
        ]
        header = f"{name} = linalg.generic {traits}{ins} outs({_listed([target])}) {{"
        with self.writer.block(header, f"}} -> {target.type}"):
            self.writer.emit(f"^bb0({', '.join(f'{v.name}: {v.type}' for v in values)}):")
            result = body(values)
            self.writer.emit(f"linalg.yield {result.name} : {self.element}")
        return replace(target, name=name, bound=result.bound)

    def reduced(self, tensor: Tensor) -> Tensor:
        """Write the sum of all elements, each with a weight."""
        target = self.filled(())
        axes = tuple(range(tensor.rank))

        def body(values: Sequence[Float]) -> Float:
            squared = self.scalars.product(values[0], values[0])
            return self.scalars.sum([values[1], values[0], squared])

        total = self.generic([tensor], [axes], target, (), tensor.rank, body)
        bound = (tensor.bound + tensor.bound**2) * prod(tensor.extents)
        return replace(total, bound=bound)


def _expression(result: int | str) -> str:
    return f"d{result}" if isinstance(result, int) else result


def _listed(tensors: Sequence[Tensor]) -> str:
    names, types = ", ".join(t.name for t in tensors), ", ".join(t.type for t in tensors)
    return f"{names} : {types}"


class Tensors:
    """The text of a function `f`, and arguments for it."""

    def __init__(self, number: int) -> None:
        from programs.foreign_functions.tensor_operations import OPERATIONS

        self.writer = Writer(number)
        random = self.writer.random
        self.element = "f32" if random.random() < 0.1 else "f64"
        self.is_rough = random.random() < 0.08 or self.element == "f32"
        self.generator = np.random.default_rng(number)
        self.arguments: list[np.ndarray | int] = []
        casts = self.is_rough and self.element == "f64"
        self.tensors = TensorWriter(self.writer, self.element, casts=casts)
        signature = ", ".join(self._parameters())
        place = len(self.writer.lines)
        with self.writer.block(""):
            for _ in range(random.randint(2, 7)):
                result = random.choice(OPERATIONS)(self.tensors)
                if result is not None:
                    self.tensors.add(result)
            types = self._results()
        self.writer.lines[place] = f"func.func @f({signature}) -> ({', '.join(types)}) {{"
        self.text = self.writer.text

    def _parameters(self) -> list[str]:
        random, texts = self.writer.random, []
        base = [random.randint(2, 4) for _ in range(3)]  # extents meet
        for position in range(random.randint(1, 4)):
            rank = random.choice((0, 1, 2, 2, 2, 3, 3, 4))
            extents = tuple(random.choice((*base, random.randint(1, 6))) for _ in range(rank))
            is_open = tuple(random.random() < 0.08 for _ in extents)
            tensor = Tensor(f"%a{position}", self.element, extents, is_open)
            self.tensors.values.append(tensor)
            element = np.float32 if self.element == "f32" else np.float64
            self.arguments.append(np.asarray(self.generator.uniform(-1, 1, extents), element))
            texts.append(f"{tensor.name}: {tensor.type}")
        return texts

    def _results(self) -> list[str]:
        """Write what is returned, the last values; its types."""
        count = self.writer.random.randint(1, 3)
        results = list(dict.fromkeys(self.tensors.values[-count:]))
        results = [self.tensors.reduced(t) if self.writer.chance(0.3) else t for t in results]
        self.writer.emit(f"return {_listed(results)}")
        return [tensor.type for tensor in results]
