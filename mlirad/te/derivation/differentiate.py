"""`te.differentiate`: adjoints of tensors, as tensors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from mlirad.dialect.turn import in_turn
from mlirad.errors import TaichiTypeError
from mlirad.sweeps.tensors.te_adjoints import add_tensors, adjoint
from mlirad.te.definitions.arguments import call_function, check_arguments, refuse
from mlirad.te.definitions.compute import compute
from mlirad.te.definitions.dependencies import behind, consumed_tensors, is_stopped
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
    """The adjoints of the inputs, as a list. `adjoints` has the adjoints of all intermediate
    tensors, and `adjoint_summands[tensor][consumer]` the contribution of each consumer of a
    tensor."""

    def __init__(
        self,
        inputs: Sequence[Tensor] | None,
        adjoints: dict[Tensor, Tensor],
        summands: dict[Tensor, dict[Tensor, Tensor]],
    ) -> None:
        self._inputs = inputs
        self.adjoints = adjoints
        self.adjoint_summands = summands

    def _of_inputs(self) -> list[Tensor]:
        if self._inputs is None:
            raise TaichiTypeError(
                "te.differentiate got no inputs: look up adjoints by tensor, as in "
                "result.adjoints[x]",
                place(),
            )
        return [self.adjoints[tensor] for tensor in self._inputs]

    def __getitem__(self, number: Any) -> Any:
        return self._of_inputs()[number]

    def __len__(self) -> int:
        return len(self._of_inputs())

    def __iter__(self) -> Iterator[Tensor]:
        return iter(self._of_inputs())


@check_arguments
@in_turn
def differentiate(
    output: Tensor | Sequence[Tensor],
    inputs: Sequence[Tensor] | None = None,
    head: Tensor | Sequence[Tensor] | None = None,
    override: Mapping[Tensor, Override] | None = None,
    fdiff: Step | None = None,
) -> Differentiation:
    """Return the adjoints of tensors, given the adjoint of an output (reverse mode).

    Args:
        output: the tensor to differentiate, or several.
        inputs: the tensors with respect to which the output is differentiated.
        head: the adjoint of the output, of shape `prefix + output.shape`; the results have shape
            `prefix + input.shape`. Without a head, the result is the gradient of an output without
            axes, and the Jacobian of any other. Several outputs take a list of heads.
        override: `{t: ([inputs], f)}` replaces the derivative of t: `f(t, inputs, head)` returns an
            adjoint for each of the listed tensors.
        fdiff: `fdiff(output, input, head)` replaces `te.adjoint_step` everywhere else.

    Returns:
        A list of adjoints; see `Differentiation`.

    Raises:
        TaichiTypeError: a head does not fit, an input has an integer type, or no adjoint reaches an
            overridden tensor.
        TaichiDerivativeError: an expression has no derivative.
    """
    derivative = adjoints_of(output, inputs, head, override, fdiff)
    for tensor in override or ():
        if tensor not in derivative.adjoints:
            why = f"has an override of '{tensor.name}', on which no output depends"
            refuse("differentiate", "override", why)
    return derivative


@in_turn
def adjoints_of(
    output: Tensor | Sequence[Tensor],
    inputs: Sequence[Tensor] | None,
    head: Tensor | Sequence[Tensor] | None,
    override: Mapping[Tensor, Override] | None,
    fdiff: Step | None = None,
) -> Differentiation:
    """Differentiate as `differentiate` does; overrides may be of tensors that are not reached."""
    outputs = [output] if isinstance(output, Tensor) else list(output)
    if not outputs:
        refuse("differentiate", "output", "is empty: expected at least one tensor")
    heads = _heads("differentiate", outputs, head)
    for tensor in inputs or ():
        check_float("differentiate", "inputs", tensor)
    prefix = heads[0].shape[: heads[0].ndim - outputs[0].ndim]
    sweep = _Sweep(prefix, dict(override or {}), fdiff or adjoint_step)
    for tensor, seed in zip(outputs, heads):
        sweep.add(tensor, tensor, seed)
    sweep.run(outputs, None if inputs is None else set(inputs))
    for tensor in inputs or ():
        if tensor not in sweep.adjoints:
            sweep.adjoints[tensor] = zeros((*prefix, *tensor.shape), tensor)
    inherit_needs([sweep.adjoints[tensor] for tensor in inputs or sweep.adjoints], sweep.adjoints)
    return Differentiation(inputs, sweep.adjoints, sweep.summands)


@in_turn
def sources_of(output: Tensor, override: Mapping[Tensor, Override]) -> set[Tensor]:
    """The tensors that the adjoint of an output may flow to: it, and floats behind it."""
    sweep = _Sweep((), dict(override), adjoint_step)
    reached: set[Tensor] = set()
    pending = [output]
    while pending:
        tensor = pending.pop()
        if tensor not in reached:
            reached.add(tensor)
            pending += [source for source in sweep.sources(tensor) if source.dtype.is_float]
    return reached


class _Sweep:
    """Adjoints, from the outputs back."""

    def __init__(self, prefix: Shape, override: dict[Tensor, Override], step: Step) -> None:
        self.prefix, self.override, self.step = prefix, override, step
        self.adjoints: dict[Tensor, Tensor] = {}
        self.summands: dict[Tensor, dict[Tensor, Tensor]] = {}

    def add(self, tensor: Tensor, consumer: Tensor, summand: Tensor) -> None:
        """Add to the adjoint of a tensor what a consumer contributes."""
        adjoint_so_far = self.adjoints.get(tensor)
        summands = self.summands.setdefault(tensor, {})
        summands[consumer] = _sum(summands[consumer], summand) if consumer in summands else summand
        self.adjoints[tensor] = summand if adjoint_so_far is None else _sum(adjoint_so_far, summand)

    def run(self, outputs: Sequence[Tensor], targets: set[Tensor] | None) -> None:
        """Go through what the outputs are made of, consumers first."""
        order = behind(outputs, self.sources)
        reaching = _reaching(order, targets, self.sources)
        for tensor in reversed(order):
            if tensor not in self.adjoints or is_stopped(tensor):
                continue
            override = self._override_of(tensor)
            if override is not None:
                self._by_override(tensor, *override)
                continue
            for source in consumed_tensors(tensor):
                if source.dtype.is_float and source in reaching:
                    arguments = (tensor, source, self.adjoints[tensor])
                    summand = call_function(self.step, arguments, "differentiate: fdiff")
                    shape = (*self.prefix, *source.shape)
                    _check_shape("differentiate: fdiff", summand, shape, tensor, source)
                    self.add(source, tensor, summand)

    def _override_of(self, tensor: Tensor) -> Override | None:
        override = self.override.get(tensor)
        return graph().gradient(tensor) if override is None else override

    def sources(self, tensor: Tensor) -> Sequence[Tensor]:
        """The tensors that the adjoint of one flows to."""
        override = self._override_of(tensor)
        if is_stopped(tensor):
            return []
        return consumed_tensors(tensor) if override is None else override[0]

    def _by_override(
        self, tensor: Tensor, inputs: Sequence[Tensor], function: Callable[..., Any]
    ) -> None:
        arguments = (tensor, list(inputs), self.adjoints[tensor])
        origin = "differentiate: override" if tensor in self.override else "operator: gradient"
        result = call_function(function, arguments, f"{origin} of '{tensor.name}'")
        summands = list(result) if isinstance(result, Sequence) else [result]
        if len(summands) != len(inputs):
            count = f"returns {len(summands)} adjoints for {len(inputs)} inputs"
            noun = origin.split()[-1]
            raise TaichiTypeError(f"{origin}: the {noun} of '{tensor.name}' {count}", place())
        for source, summand in zip(inputs, summands):
            _check_shape(origin, summand, (*self.prefix, *source.shape), tensor, source)
            self.add(source, tensor, summand)


@check_arguments
@in_turn
def adjoint_step(output: Tensor, tensor: Tensor, head: Tensor) -> Tensor:
    """Return the contribution of the definition of `output` alone to the adjoint of a tensor that
    it reads.

    Args:
        output: the tensor whose definition is differentiated.
        tensor: a tensor that the definition reads.
        head: the adjoint of the output, of shape `prefix + output.shape`.

    Returns:
        `head` times the derivative, of shape `prefix + tensor.shape`.

    Raises:
        TaichiTypeError: the head has the wrong shape or type.
        TaichiDerivativeError: an expression has no derivative.
    """
    check_float("adjoint_step", "tensor", tensor)
    _heads("adjoint_step", [output], head)
    prefix = head.shape[: head.ndim - output.ndim]
    shape, definitions = (*prefix, *tensor.shape), graph()
    total = None
    if tensor in consumed_tensors(output):
        with definitions.defining(output.place):
            total = adjoint(output.value, tensor.value, head.value)
    if total is None:
        return zeros(shape, tensor)
    name = f"{tensor.name}.adjoint"
    return definitions.add_tensor(Tensor(total, shape, tensor.dtype, name, output.place))


@check_arguments
@in_turn
def jacobian(output: Tensor, tensor: Tensor) -> Tensor:
    """Return the derivative of the definition of `output` alone with respect to a tensor that it
    reads.

    Other tensors that the definition reads count as constants. If it does not read the tensor, the
    result is 0. For the derivative of a whole program, see `differentiate`.

    Args:
        output: the tensor whose definition is differentiated.
        tensor: the tensor with respect to which it is differentiated.

    Returns:
        A tensor of shape `output.shape + tensor.shape`.

    Raises:
        TaichiTypeError: a tensor has an integer type.
        TaichiDerivativeError: an expression has no derivative.
    """
    check_float("jacobian", "output", output)
    check_float("jacobian", "tensor", tensor)
    return adjoint_step(output, tensor, _identity(output))


def _heads(
    caller: str, outputs: Sequence[Tensor], head: Tensor | Sequence[Tensor] | None
) -> list[Tensor]:
    for tensor in outputs:
        check_float(caller, "output", tensor)
    if head is None:
        if len(outputs) > 1 and any(tensor.ndim for tensor in outputs):
            refuse(caller, "head", "is None: several outputs with axes need a list of heads")
        return [_identity(tensor) for tensor in outputs]
    heads = list(head) if isinstance(head, Sequence) else [head]
    for tensor in heads:
        check_float(caller, "head", tensor)
    if len(heads) != len(outputs):
        refuse(caller, "head", f"has {len(heads)} heads for {len(outputs)} outputs")
    prefixes = []
    for tensor, seed in zip(outputs, heads):
        front = seed.ndim - tensor.ndim
        if (
            front < 0
            or not same_shape(seed.shape[front:], tensor.shape)
            or seed.dtype != tensor.dtype
        ):
            raise TaichiTypeError(
                f"{caller}: head: the head of '{tensor.name}' is of shape "
                f"{_shown_shape(seed.shape)} and "
                f"type {seed.dtype}, expected one that ends in {_shown_shape(tensor.shape)}, of "
                f"type {tensor.dtype}",
                place(),
            )
        prefixes.append(seed.shape[:front])
    if any(not same_shape(prefix, prefixes[0]) for prefix in prefixes):
        refuse(caller, "head", "has heads with different leading axes")
    return heads


def _identity(output: Tensor) -> Tensor:
    count = output.ndim

    def element(*indices: Any) -> Any:
        same = [left == right for left, right in zip(indices[:count], indices[count:])]
        unit, zero = (_number(value, output) for value in (1.0, 0.0))
        return select(all_of(*same), unit, zero) if same else unit

    return compute((*output.shape, *output.shape), element, f"{output.name}.identity")


def _number(value: float, like: Tensor) -> Any:
    return Number(like.dtype, value)


def zeros(shape: Shape, like: Tensor) -> Tensor:
    """A tensor of zeros, of the type of another one."""
    return compute(shape, lambda *indices: _number(0.0, like), f"{like.name}.adjoint")


def _sum(left: Tensor, right: Tensor) -> Tensor:
    definitions = graph()
    with definitions.defining(right.place):
        value = add_tensors(left.value, right.value)
    return definitions.add_tensor(Tensor(value, left.shape, left.dtype, left.name, right.place))


def _reaching(
    order: Sequence[Tensor],
    targets: set[Tensor] | None,
    sources: Callable[[Tensor], Sequence[Tensor]],
) -> set[Tensor]:
    """The tensors whose adjoints are wanted, and those that depend on them."""
    if targets is None:
        return set(order)
    reaching = set(targets)
    for tensor in order:
        if any(source in reaching for source in sources(tensor)):
            reaching.add(tensor)
    return reaching


def check_float(caller: str, argument: str, tensor: Tensor) -> None:
    """Raise TaichiTypeError for a tensor of integers."""
    if not tensor.dtype.is_float:
        raise TaichiTypeError(
            f"{caller}: {argument}: tensor '{tensor.name}' is of type {tensor.dtype}: integers "
            "have no derivative",
            place(),
        )


def _check_shape(caller: str, summand: Any, shape: Shape, tensor: Tensor, source: Tensor) -> None:
    if not isinstance(summand, Tensor):
        raise TaichiTypeError(
            f"{caller}: the derivative of '{tensor.name}' returned a {type(summand).__name__} "
            f"for the adjoint of '{source.name}', expected a tensor",
            place(),
        )
    if not same_shape(summand.shape, shape) or summand.dtype != source.dtype:
        raise TaichiTypeError(
            f"{caller}: the derivative of '{tensor.name}' returned an adjoint of shape "
            f"{_shown_shape(summand.shape)} and type {summand.dtype} for '{source.name}', expected "
            f"{_shown_shape(shape)} and {source.dtype}",
            place(),
        )


def _shown_shape(shape: Shape) -> str:
    return f"({', '.join(map(shown_extent, shape))})"
