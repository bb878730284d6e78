"""Have loops, branches and choices pass on which memref it is, a number, instead of a memref.

What reads, writes or views such a memref does so to one of several, by the number. Those that may
be chosen are the same for as long as they are: defined outside of loops and branches that pass them
on, no view of what is passed on. Others are refused, with the line where they are defined. Expects
functions of one block, in which only loops and branches of `scf` hold other operations.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.ops import Arith, Func, Memref, Scf
from mlirad.ir.reports.location import source_location
from mlirad.ir.requirements import refuse, structured_functions
from mlirad.ir.structured import For, If, While, is_branch, is_for, is_while
from mlirad.ir.walk import (
    ancestors,
    before,
    block_operations,
    copy_with,
    function_of,
    functions,
    operations,
    owner_operation,
)

REQUIRES = (structured_functions,)
Sources = dict[ir.Value, list[ir.Value]]
_PASSING = (Scf.FOR, Scf.IF, Scf.WHILE, Scf.YIELD, Scf.CONDITION, Arith.SELECT)
_FORGOTTEN = (Memref.DEALLOC, Memref.PREFETCH)


def lower_chosen_memrefs(module: ir.Operation) -> None:
    """Let loops, branches and selects pass the number of a memref in place of the memref."""
    for function in functions(module):
        sources = {
            value: listed for op in operations(function) for value, listed in _passed_memrefs(op)
        }
        if sources:
            _Lowering(function, sources).run()


def _passed_memrefs(op: ir.Operation) -> Iterator[tuple[ir.Value, list[ir.Value]]]:
    """Yield the memrefs that an operation passes on, and what each may be."""
    pairs: list[tuple[ir.Value, list[ir.Value]]] = []
    if is_branch(op):
        ends = [block_operations(block)[-1] for block in If(op).blocks]
        for k, result in enumerate(op.results):
            pairs.append((result, [end.operands[k] for end in ends]))
    elif is_for(op):
        end = block_operations(For(op).body)[-1]
        for k, (argument, result) in enumerate(zip(For(op).carried, op.results)):
            listed = [op.operands[3 + k], end.operands[k]]
            pairs += [(argument, listed), (result, listed)]
    elif is_while(op):
        first, second = While(op).before, While(op).after
        passed, again = (list(block_operations(block)[-1].operands) for block in (first, second))
        pairs += [(v, [op.operands[k], again[k]]) for k, v in enumerate(first.arguments)]
        for value, source in zip([*second.arguments, *op.results], passed[1:] * 2):
            pairs.append((value, [source]))
    elif op.name == Arith.SELECT:
        pairs.append((op.results[0], list(op.operands)[1:]))
    return ((value, listed) for value, listed in pairs if isinstance(value.type, ir.MemRefType))


class _Lowering:
    """One function: `sources` are the memrefs that are passed on, and what each may be."""

    def __init__(self, function: ir.Operation, sources: Sources) -> None:
        self.function, self.sources = function, sources
        self.roots = {value: self._roots_of(value) for value in sources}
        every = dict.fromkeys(root for roots in self.roots.values() for root in roots)
        self.numbers = {root: number for number, root in enumerate(every)}
        # of each memref that is one of several, what it may be by a number, which is a value
        self.choices = {value: {r: r for r in roots} for value, roots in self.roots.items()}
        self.tags: dict[ir.Value, ir.Value] = {value: value for value in sources}

    def _roots_of(self, value: ir.Value) -> list[ir.Value]:
        """Return the memrefs that one may be, none of which is passed on itself."""
        roots, visited, pending = dict[ir.Value, None](), {value}, [value]
        while pending:
            source = pending.pop(0)
            if source not in self.sources:
                roots[source] = None
                continue
            following = [s for s in self.sources[source] if s not in visited]
            visited.update(following)
            pending += following
        return list(roots)

    def run(self) -> None:
        """Rewrite what uses such memrefs, and pass on numbers."""
        replaced = []
        ops = list(operations(self.function))
        for op in ops:
            if op.name in _PASSING:
                self._pass_numbers(op)
        for value in self.sources:
            value.set_type(b.index_type())
        for op in ops:
            if any(operand in self.choices for operand in op.operands):
                if op.name in _PASSING:
                    self._refuse_views(op)
                    continue
                with before(op):
                    self._rewrite(op)
                replaced.append(op)
        for op in reversed(replaced):
            op.erase()

    def _pass_numbers(self, op: ir.Operation) -> None:
        for position, operand in enumerate(op.operands):
            if operand in self.numbers:
                with before(op):
                    op.operands[position] = b.index(self.numbers[operand])

    def _refuse_views(self, op: ir.Operation) -> None:
        if any(operand in self.choices and operand not in self.sources for operand in op.operands):
            refuse(op, f"'{op.name}' passes on a view of one of several memrefs")

    def _rewrite(self, op: ir.Operation) -> None:
        """Do what an operation does to whichever memref it is."""
        if op.name in _FORGOTTEN:
            return
        if op.name == Func.RETURN:
            refuse(op, "a result that is one of several memrefs: copy it")
        if any(isinstance(result.type, ir.MemRefType) for result in op.results):
            self._view(op)
            return
        values = self._choose(op, {})
        for result, value in zip(op.results, values):
            result.replace_all_uses_with(value)

    def _view(self, op: ir.Operation) -> None:
        """View all that a memref may be, in the same way."""
        source = op.operands[0]
        views: dict[ir.Value, ir.Value] = {}
        for root, memref in self.choices[source].items():
            self._require_before(memref, op)
            views[root] = copy_with(op, [memref, *list(op.operands)[1:]]).results[0]
        self.choices[op.results[0]], self.tags[op.results[0]] = views, self.tags[source]

    def _choose(self, op: ir.Operation, chosen: dict[int, ir.Value]) -> Sequence[ir.Value]:
        """Emit an operation for what its operands are, of which some are `chosen`; its results."""
        for position, operand in enumerate(op.operands):
            if operand in self.choices and position not in chosen:
                return self._either(op, chosen, position, list(self.choices[operand].items()))
        return list(copy_with(op, [chosen.get(k, v) for k, v in enumerate(op.operands)]).results)

    def _either(
        self,
        op: ir.Operation,
        chosen: dict[int, ir.Value],
        position: int,
        choices: Sequence[tuple[ir.Value, ir.Value]],
    ) -> Sequence[ir.Value]:
        """Emit an operation for each that an operand may be."""
        (root, memref), *remaining = choices
        self._require_before(memref, op)
        following = {**chosen, position: memref}
        if not remaining:
            return self._choose(op, following)
        tag = self.tags[op.operands[position]]
        is_it = b.compare(b.EQ, tag, b.index(self.numbers[root]))
        branch = b.if_else(is_it, [result.type for result in op.results])
        with ir.InsertionPoint(branch.then):
            b.yield_(self._choose(op, following))
        with ir.InsertionPoint(branch.otherwise):
            b.yield_(self._either(op, chosen, position, remaining))
        return list(branch.results)

    def _require_before(self, memref: ir.Value, op: ir.Operation) -> None:
        """Require a memref to be there wherever it may be chosen."""
        if not _is_before(memref, op):
            place = source_location(owner_operation(memref).location)
            refuse(
                op,
                f"a memref that is defined where it is passed on, at {place}: its memory differs "
                "each time",
            )


def _is_before(value: ir.Value, op: ir.Operation) -> bool:
    """Return whether a value is defined wherever an operation runs."""
    block = value.owner if isinstance(value, ir.BlockArgument) else value.owner.operation.block
    around = next((o for o in (op, *ancestors(op, function_of(op))) if o.block == block), None)
    if around is None or isinstance(value, ir.BlockArgument):
        return around is not None
    listed = block_operations(block)
    return listed.index(owner_operation(value)) < listed.index(around)
