"""`te.differentiate`: adjoints of tensors, as tensors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from mlirad.dialect.turn import in_turn
from mlirad.errors import TaichiTypeError
from mlirad.sweeps.tensors.te_adjoints import added, adjoint
from mlirad.te.definitions.arguments import called, checked, refuse
from mlirad.te.definitions.compute import compute
from mlirad.te.definitions.dependencies import behind, consumed, is_stopped
from mlirad.te.definitions.functions import all as all_of
from mlirad.te.definitions.size_needs import inherit_needs
from mlirad.te.expressions import Number, select, shown_extent
from mlirad.te.graph import graph
from mlirad.te.places import place
from mlirad.te.tensor import Shape, Tensor, same_shape

# the tensors that the adjoint flows to, and what gives their adjoints: f(tensor, inputs, head)
Override = tuple[Sequence[Tensor], Callable[..., Any]]
Step = Callable[[Tensor, Tensor, Tensor], Tensor]


class Differentiation(Sequence[Tensor]):
    """The adjoints of the inputs, as a list; `adjoints` are those of all tensors between, and
    `adjoint_summands[tensor][consumer]` what each consumer of one gave."""

    def __init__(
        self,
        inputs: Sequence[Tensor] | None,
        adjoints: dict[Tensor, Tensor],
        summands: dict[Tensor, dict[Tensor, Tensor]],
    ) -> None:
        self._inputs = inputs
        self.adjoints = adjoints
        self.adjoint_summands = summands

    def _listed(self) -> list[Tensor]:
        if self._inputs is None:
            raise TaichiTypeError(
                "te.differentiate was given no inputs: take adjoints by tensor, as in "
                "result.adjoints[x]",
                place(),
            )
        return [self.adjoints[one] for one in self._inputs]

    def __getitem__(self, number: Any) -> Any:
        return self._listed()[number]

    def __len__(self) -> int:
        return len(self._listed())

    def __iter__(self) -> Iterator[Tensor]:
        return iter(self._listed())


@checked
@in_turn
def differentiate(
    output: Tensor | Sequence[Tensor],
    inputs: Sequence[Tensor] | None = None,
    head: Tensor | Sequence[Tensor] | None = None,
    override: Mapping[Tensor, Override] | None = None,
    fdiff: Step | None = None,
) -> Differentiation:
    """The adjoints of some tensors, for that of an output: reverse mode.

    `head` is the adjoint of the output, of shape `prefix + output.shape`; the results have
    `prefix + input.shape`. Without one, an output without axes has its gradient, another one its
    Jacobian. Several outputs take a list of heads. `override={t: ([inputs], f)}` says that the
    adjoint of t flows to some tensors by `f(t, inputs, head)`, which gives an adjoint for each;
    `fdiff(output, input, head)` takes the place of `te.adjoint_step` everywhere else. Raises
    TaichiTypeError for a head that does not fit, for inputs of integers and for an override of what
    no adjoint flows to, TaichiDerivativeError for what has no derivative.
    """
    found = adjoints_of(output, inputs, head, override, fdiff)
    for one in override or ():
        if one not in found.adjoints:
            why = f"has an override of '{one.name}', to which no adjoint flows: nothing uses it"
            refuse("differentiate", "override", why)
    return found


@in_turn
def adjoints_of(
    output: Tensor | Sequence[Tensor],
    inputs: Sequence[Tensor] | None,
    head: Tensor | Sequence[Tensor] | None,
    override: Mapping[Tensor, Override] | None,
    fdiff: Step | None = None,
) -> Differentiation:
    """The same where overrides may be of what is not reached."""
    outputs = [output] if isinstance(output, Tensor) else list(output)
    if not outputs:
        refuse("differentiate", "output", "is none")
    heads = _heads("differentiate", outputs, head)
    for one in inputs or ():
        check_float("differentiate", "inputs", one)
    prefix = heads[0].shape[: heads[0].ndim - outputs[0].ndim]
    sweep = _Sweep(prefix, dict(override or {}), fdiff or adjoint_step)
    for one, own in zip(outputs, heads):
        sweep.add(one, one, own)
    sweep.run(outputs, None if inputs is None else set(inputs))
    for one in inputs or ():
        if one not in sweep.adjoints:
            sweep.adjoints[one] = zeros((*prefix, *one.shape), one)
    inherit_needs([sweep.adjoints[one] for one in inputs or sweep.adjoints], sweep.adjoints)
    return Differentiation(inputs, sweep.adjoints, sweep.summands)


@in_turn
def sources_of(output: Tensor, override: Mapping[Tensor, Override]) -> set[Tensor]:
    """The tensors that the adjoint of an output may flow to: it, and floats behind it."""
    sweep = _Sweep((), dict(override), adjoint_step)
    found: set[Tensor] = set()
    pending = [output]
    while pending:
        tensor = pending.pop()
        if tensor not in found:
            found.add(tensor)
            pending += [one for one in sweep.sources(tensor) if one.dtype.is_float]
    return found


class _Sweep:
    """Adjoints, from the outputs back."""

    def __init__(self, prefix: Shape, override: dict[Tensor, Override], step: Step) -> None:
        self.prefix, self.override, self.step = prefix, override, step
        self.adjoints: dict[Tensor, Tensor] = {}
        self.summands: dict[Tensor, dict[Tensor, Tensor]] = {}

    def add(self, tensor: Tensor, consumer: Tensor, summand: Tensor) -> None:
        """A part of the adjoint of a tensor."""
        known = self.adjoints.get(tensor)
        parts = self.summands.setdefault(tensor, {})
        parts[consumer] = _sum(parts[consumer], summand) if consumer in parts else summand
        self.adjoints[tensor] = summand if known is None else _sum(known, summand)

    def run(self, outputs: Sequence[Tensor], wanted: set[Tensor] | None) -> None:
        """Go through what the outputs are made of, consumers first."""
        order = behind(outputs, self.sources)
        reaching = _reaching(order, wanted, self.sources)
        for tensor in reversed(order):
            if tensor not in self.adjoints or is_stopped(tensor):
                continue
            own = self._override_of(tensor)
            if own is not None:
                self._by_override(tensor, *own)
                continue
            for source in consumed(tensor):
                if source.dtype.is_float and source in reaching:
                    given = (tensor, source, self.adjoints[tensor])
                    summand = called(self.step, given, "differentiate: fdiff")
                    shape = (*self.prefix, *source.shape)
                    _check_shape("differentiate: fdiff", summand, shape, tensor, source)
                    self.add(source, tensor, summand)

    def _override_of(self, tensor: Tensor) -> Override | None:
        own = self.override.get(tensor)
        return graph().gradient(tensor) if own is None else own

    def sources(self, tensor: Tensor) -> Sequence[Tensor]:
        """The tensors that the adjoint of one flows to."""
        own = self._override_of(tensor)
        if is_stopped(tensor):
            return []
        return consumed(tensor) if own is None else own[0]

    def _by_override(
        self, tensor: Tensor, inputs: Sequence[Tensor], function: Callable[..., Any]
    ) -> None:
        given = (tensor, list(inputs), self.adjoints[tensor])
        what = "differentiate: override" if tensor in self.override else "operator: gradient"
        made = called(function, given, f"{what} of '{tensor.name}'")
        found = list(made) if isinstance(made, Sequence) else [made]
        if len(found) != len(inputs):
            count = f"gives {len(found)} adjoints for {len(inputs)} inputs"
            own = what.split()[-1]
            raise TaichiTypeError(f"{what}: the {own} of '{tensor.name}' {count}", place())
        for source, summand in zip(inputs, found):
            _check_shape(what, summand, (*self.prefix, *source.shape), tensor, source)
            self.add(source, tensor, summand)


@checked
@in_turn
def adjoint_step(output: Tensor, tensor: Tensor, head: Tensor) -> Tensor:
    """What the definition of `output` alone gives to the adjoint of a tensor that it reads:
    `head`, of shape `prefix + output.shape`, times its derivative, of shape `prefix +
    tensor.shape`.

    Raises TaichiTypeError for a head of another shape or type, TaichiDerivativeError for what has
    no derivative.
    """
    check_float("adjoint_step", "tensor", tensor)
    _heads("adjoint_step", [output], head)
    prefix = head.shape[: head.ndim - output.ndim]
    shape, own = (*prefix, *tensor.shape), graph()
    total = None
    if tensor in consumed(output):
        with own.defining(output.place):
            total = adjoint(output.value, tensor.value, head.value)
    if total is None:
        return zeros(shape, tensor)
    name = f"{tensor.name}.adjoint"
    return own.named(Tensor(total, shape, tensor.dtype, name, output.place))


@checked
@in_turn
def jacobian(output: Tensor, tensor: Tensor) -> Tensor:
    """The derivative of the definition of `output` alone in a tensor that it reads, of shape
    `output.shape + tensor.shape`: other tensors between the two count as constants, and what is not
    read has zeros. See `differentiate` for whole programs. Raises TaichiTypeError for tensors of
    integers, TaichiDerivativeError for what has no derivative."""
    check_float("jacobian", "output", output)
    check_float("jacobian", "tensor", tensor)
    return adjoint_step(output, tensor, _identity(output))


def _heads(
    what: str, outputs: Sequence[Tensor], head: Tensor | Sequence[Tensor] | None
) -> list[Tensor]:
    for one in outputs:
        check_float(what, "output", one)
    if head is None:
        if len(outputs) > 1 and any(one.ndim for one in outputs):
            refuse(what, "head", "is None: several outputs with axes take a list of heads")
        return [_identity(one) for one in outputs]
    heads = list(head) if isinstance(head, Sequence) else [head]
    for one in heads:
        check_float(what, "head", one)
    if len(heads) != len(outputs):
        refuse(what, "head", f"is {len(heads)} heads for {len(outputs)} outputs")
    prefixes = []
    for one, own in zip(outputs, heads):
        front = own.ndim - one.ndim
        if front < 0 or not same_shape(own.shape[front:], one.shape) or own.dtype != one.dtype:
            raise TaichiTypeError(
                f"{what}: head: the head of '{one.name}' is of shape {_shown(own.shape)} and type "
                f"{own.dtype}, expected one that ends in {_shown(one.shape)}, of type {one.dtype}",
                place(),
            )
        prefixes.append(own.shape[:front])
    if any(not same_shape(prefix, prefixes[0]) for prefix in prefixes):
        refuse(what, "head", "has heads with different axes in front")
    return heads


def _identity(output: Tensor) -> Tensor:
    count = output.ndim

    def element(*indices: Any) -> Any:
        same = [left == right for left, right in zip(indices[:count], indices[count:])]
        one, zero = (_number(value, output) for value in (1.0, 0.0))
        return select(all_of(*same), one, zero) if same else one

    return compute((*output.shape, *output.shape), element, f"{output.name}.identity")


def _number(value: float, like: Tensor) -> Any:
    return Number(like.dtype, value)


def zeros(shape: Shape, like: Tensor) -> Tensor:
    """A tensor of zeros, of the type of another one."""
    return compute(shape, lambda *indices: _number(0.0, like), f"{like.name}.adjoint")


def _sum(left: Tensor, right: Tensor) -> Tensor:
    own = graph()
    with own.defining(right.place):
        value = added(left.value, right.value)
    return own.named(Tensor(value, left.shape, left.dtype, left.name, right.place))


def _reaching(
    order: Sequence[Tensor],
    wanted: set[Tensor] | None,
    sources: Callable[[Tensor], Sequence[Tensor]],
) -> set[Tensor]:
    """The tensors whose adjoints are wanted, and those that depend on them."""
    if wanted is None:
        return set(order)
    found = set(wanted)
    for tensor in order:
        if any(source in found for source in sources(tensor)):
            found.add(tensor)
    return found


def check_float(what: str, argument: str, tensor: Tensor) -> None:
    """Raise TaichiTypeError for a tensor of integers."""
    if not tensor.dtype.is_float:
        raise TaichiTypeError(
            f"{what}: {argument}: tensor '{tensor.name}' is of type {tensor.dtype}: integers have "
            "no derivative",
            place(),
        )


def _check_shape(what: str, summand: Any, shape: Shape, tensor: Tensor, source: Tensor) -> None:
    if not isinstance(summand, Tensor):
        raise TaichiTypeError(
            f"{what}: the derivative of '{tensor.name}' gave a {type(summand).__name__} for the "
            f"adjoint of '{source.name}', expected a tensor",
            place(),
        )
    if not same_shape(summand.shape, shape) or summand.dtype != source.dtype:
        raise TaichiTypeError(
            f"{what}: the derivative of '{tensor.name}' gave an adjoint of shape "
            f"{_shown(summand.shape)} and type {summand.dtype} for '{source.name}', expected "
            f"{_shown(shape)} and {source.dtype}",
            place(),
        )


def _shown(shape: Shape) -> str:
    return f"({', '.join(map(shown_extent, shape))})"
