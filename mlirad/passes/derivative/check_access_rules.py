"""Decide how the reverse of a kernel gets the values that it needs and that the kernel overwrites.

The reverse recomputes what it needs from memory as the kernel leaves it. So every load that it
needs has to be safe from every later write of the same launch (docs/gradients.md, 5). Where one is
not, the verdict on its array is *redone*: the tape puts the array back as it was before the launch,
and the reverse does the kernel's writes again and undoes them. The verdicts are left on the
function as `grad.redone`, a field's name or an argument's number each. With `rules=refuse` they are
errors. So is, always, a value that other iterations of a parallel loop overwrite.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, NoReturn

from mlirad.analysis.derivatives.activity import activity_of
from mlirad.analysis.derivatives.needed import NeededValues, needed_of
from mlirad.analysis.footprints.footprint import named_array
from mlirad.analysis.races.collisions import collisions_of
from mlirad.analysis.races.deactivations import cure
from mlirad.analysis.races.overwrite import Neighbours, Place, overwrites_of
from mlirad.bindings import ir
from mlirad.dialect.field import AllocaOp, AtomicKind, atomic_kind, is_atomic, is_load, is_write
from mlirad.errors import SplitError, TaichiCompilationError, of_accesses
from mlirad.ir.graph import Node
from mlirad.ir.limits import OneOf
from mlirad.ir.reports.location import source_location
from mlirad.ir.reports.loop_names import in_loop, loop_name
from mlirad.ir.reports.remarks import remark, shown_array, shown_place
from mlirad.ir.requirements import KERNELS, is_private
from mlirad.ir.structured import is_parallel
from mlirad.ir.walk import Array, functions

Rules = Annotated[str, OneOf(("save", "refuse"))]

REQUIRES = KERNELS
ONLY_MARKS = True


def check_access_rules(
    module: ir.Operation, *, rules: Rules = "save", report: bool = False
) -> None:
    """Find the arrays whose overwritten values the reverse has to restore, or refuse the kernel
    (rules=refuse). With `report`, add a remark to each read."""
    for function in functions(module):
        if not is_private(function):
            _Check(module, function, rules).run(report)


class _Check:
    def __init__(self, module: ir.Operation, function: ir.Operation, rules: str) -> None:
        self.function, self.rules = function, rules
        self.activity = activity_of(module, function)
        self.graph = self.activity.graph
        self.overwrites = overwrites_of(self.graph)
        self.collisions = collisions_of(self.activity)
        self.writes: dict[Array, list[Node]] = {}
        for node in self.graph.nodes():
            if is_write(node):
                self.writes.setdefault(node.array, []).append(node)
        self.near = {
            array: Neighbours(self.overwrites, writes) for array, writes in self.writes.items()
        }

    def run(self, report: bool) -> None:
        """Add arrays until what doing their writes again needs is safe too."""
        redone: dict[Array, tuple[Node, Node]] = {}
        while True:
            needed = needed_of(self.activity, frozenset(redone))
            values = {value for value, _ in needed.keys} | self.collisions.read(needed)
            unsafe = self._unsafe(needed, values, redone)
            if not unsafe:
                break
            redone.update(unsafe)
        for array in redone:
            self._stays_in_one_loop(array, needed, values)
        if redone:
            marks = [named_array(array) for array in redone]
            self.function.attributes["grad.redone"] = ir.ArrayAttr.get(marks)
            verdicts = [ir.StringAttr.get(_message(load, write)) for load, write in redone.values()]
            self.function.attributes["grad.verdicts"] = ir.ArrayAttr.get(verdicts)

        if report:
            self._report(values, redone)

    def _report(self, values: set[int], redone: dict[Array, tuple[Node, Node]]) -> None:
        for node in self.graph.nodes():
            if not is_load(node) or node.results[0] not in values or self._is_local(node):
                continue
            places = sorted({shown_place(write.op) for write in self.writes.get(node.array, [])})
            if node.array in redone:
                verdict = f"redone, it is overwritten at {shown_place(redone[node.array][1].op)}"
            elif places:
                verdict = f"safe, no later write at {', '.join(places)} changes it"
            else:
                verdict = "safe, the kernel does not write it"
            remark(node.op, f"the gradient reads {shown_array(node.array)} here again: {verdict}")

    def _unsafe(
        self, needed: NeededValues, values: set[int], redone: dict[Array, tuple[Node, Node]]
    ) -> dict[Array, tuple[Node, Node]]:
        unsafe: dict[Array, tuple[Node, Node]] = {}
        for read in self.graph.nodes():
            if (
                not read.is_access
                or read.array in unsafe
                or (self._is_local(read) and read.block.depth == 0 and is_load(read))
            ):
                continue  # a local of the launch is done again in order
            near = self.near[read.array].near(read) if read.array in self.near else []
            for write in self._later_writes(read, near, needed, values):
                where = (
                    self.overwrites.meeting(read, write)
                    if write is not read
                    else self.overwrites.meeting(read, read) or Place.SAME_ITERATION
                )
                if where is None:
                    continue
                self._judge(read, write, where)
                if read.array not in redone:
                    unsafe[read.array] = (read, write)
        return unsafe

    def _later_writes(
        self, read: Node, writes: Sequence[Node], needed: NeededValues, values: set[int]
    ) -> Sequence[Node]:
        """The writes, of some, that must not change what the reverse reads at an access."""
        if is_load(read):
            return writes if read.results[0] in values else ()
        if not is_atomic(read) or (read not in needed.work and read.results[0] not in values):
            return ()
        kind = _kind(read)
        is_product = kind == AtomicKind.MUL and self.activity.is_differentiable(read)
        if is_product or read.results[0] in values:
            return writes
        if (
            read.results[0] in self.activity.active
        ):  # in another iteration its order would not be defined
            return [w for w in writes if self.overwrites.meeting(read, w) is Place.OTHER_ITERATION]
        if kind in (AtomicKind.MIN, AtomicKind.MAX):
            return [w for w in writes if not is_atomic(w) or _kind(w) != kind]
        return ()

    def _is_local(self, node: Node) -> bool:
        value = self.graph.values[node.array_value]
        return not isinstance(value, ir.BlockArgument) and AllocaOp.holds(value.owner.operation)

    def _judge(self, load: Node, write: Node, where: Place) -> None:
        """Refuse what moving memory back cannot mend."""
        if where is Place.OTHER_ITERATION:
            _refuse(
                load,
                write,
                "is written by another iteration of the same parallel loop: "
                f"{cure(load, ', or write to another field')}",
            )
        if self.rules == "refuse":
            _refuse(load, write, "is overwritten afterwards by the same kernel")
        if self._is_local(load):
            _refuse(load, write, "is a local of the kernel that is overwritten afterwards")

    def _stays_in_one_loop(self, array: Array, needed: NeededValues, values: set[int]) -> None:
        """Refuse an array that goes back to before the launch, where another loop needs what the
        launch made of it.

        Loops in front of the only one that writes it need what was there before.
        """
        writes = _one_of_each(self.writes[array])
        loops = {loop for loop, _ in writes}
        accesses = [n for n in self.graph.nodes() if n.is_access and n.array == array]
        reads = [n for n in accesses if self._later_writes(n, self.writes[array], needed, values)]
        for (around, position), read in _one_of_each(reads).items():
            for (loop, place), write in writes.items():
                is_behind = len(loops) == 1 and loop is not None and position < place
                if around is not loop and not is_behind:
                    _refuse(
                        read,
                        write,
                        "is overwritten by another loop of the same kernel: a ti.ad.Tape keeps "
                        "it, but "
                        "not of a kernel that returns a value (put its loops into kernels)",
                        SplitError,
                    )


def _one_of_each(nodes: Sequence[Node]) -> dict[tuple[Node | None, int], Node]:
    """The first of some accesses in each parallel loop and at each place in the function."""
    first_nodes: dict[tuple[Node | None, int], Node] = {}
    for node in nodes:
        first_nodes.setdefault((_parallel_loop(node), node.order[0]), node)
    return first_nodes


def _kind(node: Node) -> str:
    return atomic_kind(node.op)


def _parallel_loop(node: Node) -> Node | None:
    return next((owner for owner in reversed(node.owners) if is_parallel(owner)), None)


def _message(load: Node, write: Node) -> str:
    name = load.array if isinstance(load.array, str) else "an array argument"
    read, written = map(_place, (load.op, write.op))
    return f"'{name}', read at {read} and needed by the gradient, is overwritten at {written}"


def _place(op: ir.Operation) -> str:
    name = loop_name(op)
    return f"{source_location(op.location)}{'' if name is None else f' {in_loop(name)}'}"


def _refuse(
    load: Node,
    write: Node,
    reason: str,
    kind: type[TaichiCompilationError] = TaichiCompilationError,
) -> NoReturn:
    name = f"'{load.array}'" if isinstance(load.array, str) else "an array of the launch"
    message = f"the gradient needs the value of {name} that is read here, which {reason}"
    places = [
        place for node in (load, write) if (place := source_location(node.op.location)) is not None
    ]
    raise of_accesses(message, places, kind)
