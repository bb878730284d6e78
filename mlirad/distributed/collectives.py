"""Communication of fields and ndarrays among ranks: `dist.allreduce` and its kin."""

from __future__ import annotations

from mlirad.distributed.ranks import Ranks, ranks
from mlirad.distributed.transfers import (
    AllSum,
    Communication,
    Extreme,
    FromRoot,
    Gather,
    RootTransfer,
    Scatter,
    SendReceive,
    SumAt,
)
from mlirad.errors import TaichiRuntimeError, TaichiTypeError
from mlirad.lang.field.field import Field
from mlirad.lang.ndarray import Ndarray
from mlirad.lang.recorder import Recorder, Target
from mlirad.lang.transfer import Pass, Piece
from mlirad.runtime.memory.memory import SparseElements
from mlirad.runtime.program import program

OPERATIONS = ("sum", "max", "min")


def allreduce(source: Target, target: Target | None = None, op: str = "sum") -> None:
    """Set `target` on every rank to the sum of `source` over all ranks, elementwise.

    Sums are bitwise identical on all ranks. All functions of this module take dense fields and
    ndarrays of the same shape and type on every rank, and every rank must call them. Tapes, forward
    mode and second derivatives pass through them.

    Args:
        source: the field or ndarray to reduce.
        target: the result, by default `source`.
        op: "sum", "max" or "min".

    Raises:
        TaichiTypeError: an argument is anything else.
        TaichiRuntimeError: the ranks do not call the same function with the same shapes.
    """
    target = source if target is None else target
    check("allreduce", source, target)
    _check_same("allreduce", source, target)
    carry_out(_reduction("allreduce", source, target, op, None))


def reduce(source: Target, target: Target, root: int = 0, op: str = "sum") -> None:
    """Set `target` on the rank `root` to the sum of `source` over all ranks, or to the maximum or
    minimum; see `allreduce`.

    Use it for a loss that is a sum over ranks: a tape on every rank then differentiates the sum of
    the losses of all ranks, because the loss of the other ranks is 0.
    """
    check("reduce", source, target)
    _check_same("reduce", source, target)
    carry_out(_reduction("reduce", source, target, op, _root("reduce", root)))


def bcast(target: Target, root: int = 0) -> None:
    """Set `target` on all other ranks to its value on the rank `root`. The adjoint on `root` is the
    sum of all adjoints."""
    check("bcast", target)
    is_root = ranks().rank == _root("bcast", root)
    sources, targets = ([target], []) if is_root else ([], [target])
    text = f"bcast of {_form(target)} from rank {root}"
    carry_out(_rooted(FromRoot, text, root, sources, targets, target))


def gather(source: Target, target: Target | None, root: int = 0) -> None:
    """Set `target` on the rank `root`, of shape `(size * n, ...)`, to the values of `source`, of
    shape `(n, ...)`, on all ranks in order. On other ranks `target` may be None."""
    check("gather", source, *([] if target is None else [target]))
    all_ranks = ranks()
    is_root = all_ranks.rank == _root("gather", root)
    if is_root:
        _check_parts("gather", source, target, all_ranks)
    targets = [target] if is_root and target is not None else []
    text = f"gather of {_form(source)} to rank {root}"
    carry_out(_rooted(Gather, text, root, [source], targets))


def scatter(source: Target | None, target: Target, root: int = 0) -> None:
    """Set `target`, of shape `(n, ...)`, on every rank to its part of `source`, of shape `(size *
    n, ...)`, on the rank `root`. On other ranks `source` may be None."""
    check("scatter", target, *([] if source is None else [source]))
    all_ranks = ranks()
    is_root = all_ranks.rank == _root("scatter", root)
    if is_root:
        _check_parts("scatter", target, source, all_ranks)
    sources = [source] if is_root and source is not None else []
    text = f"scatter of {_form(target)} from rank {root}"
    carry_out(_rooted(Scatter, text, root, sources, [target]))


def sendrecv(
    source: Target | None, target: Target | None, to: int | None, origin: int | None
) -> None:
    """Send `source` to the rank `to`, and receive `target` from the rank `origin`. If both of a
    pair are None, nothing is sent, or received.

    Every rank must call it, so a message that no rank receives is an error, not a deadlock.

    Raises:
        TaichiRuntimeError: on all ranks, if a rank sends what the other does not receive, or
            another shape or type.
        TaichiTypeError: only one of a pair is given.
    """
    for end, peer, verb in ((source, to, "send to"), (target, origin, "receive from")):
        if (end is None) != (peer is None):
            raise TaichiTypeError(f"sendrecv: what to {verb} a rank, and that rank, or neither")
    check("sendrecv", *(end for end in (source, target) if end is not None))
    all_ranks = ranks()
    for peer in (to, origin):
        if peer is not None:
            _root("sendrecv", peer)
    _check_pairs(all_ranks, source, target, to, origin)
    sources = [] if source is None else [source]
    targets = [] if target is None else [target]
    transfer = SendReceive(all_ranks, "sendrecv", "sendrecv", *_pieces(sources, targets))
    transfer.to, transfer.origin = to, origin
    carry_out(transfer)


def _check_pairs(
    all_ranks: Ranks,
    source: Target | None,
    target: Target | None,
    to: int | None,
    origin: int | None,
) -> None:
    """Raise TaichiRuntimeError, in all ranks, if messages have no other end."""
    all_ranks.agree("sendrecv")
    said = all_ranks.comm.allgather((to, origin, _form_of(source), _form_of(target)))
    for rank, (peer, _, sent, _) in enumerate(said):
        if peer is not None and said[peer][1] != rank:
            raise TaichiRuntimeError(
                f"sendrecv: rank {rank} sends to rank {peer}, which receives from {said[peer][1]}"
            )
        if peer is not None and said[peer][3] != sent:
            raise TaichiRuntimeError(
                f"sendrecv: rank {rank} sends {sent} to rank {peer}, which waits for "
                f"{said[peer][3]}"
            )
    for rank, (_, peer, _, _) in enumerate(said):
        if peer is not None and said[peer][0] != rank:
            raise TaichiRuntimeError(
                f"sendrecv: rank {rank} waits for rank {peer}, which sends to {said[peer][0]}"
            )


def _reduction(
    name: str, source: Target, target: Target, op: str, root: int | None
) -> Communication:
    if op not in OPERATIONS:
        raise ValueError(f"{name}: op is one of {', '.join(OPERATIONS)}, not {op!r}")
    all_ranks = ranks()
    targets = [Piece(target)] if root in (None, all_ranks.rank) else []
    text = f"{name} ({op}) of {_form(source)}" + ("" if root is None else f" to rank {root}")
    arguments = (all_ranks, name, text, [Piece(source)], targets, [source], [target])
    if op != "sum":
        extreme = Extreme(*arguments)
        extreme.is_max, extreme.root = op == "max", root
        return extreme
    if root is None:
        return AllSum(*arguments)
    total = SumAt(*arguments)
    total.root = root
    return total


def _rooted(
    kind: type[RootTransfer],
    text: str,
    root: int,
    sources: list[Target],
    targets: list[Target],
    target_of_all: Target | None = None,
) -> RootTransfer:
    """Return a transfer from or to one rank, or, for derivatives, of what all ranks have."""
    pieces = _pieces(sources, targets)
    if target_of_all is not None:
        pieces = (*pieces[:2], [target_of_all], [target_of_all])
    transfer = kind(ranks(), text.partition(" ")[0], text, *pieces)
    transfer.root = root
    return transfer


def _pieces(
    sources: list[Target], targets: list[Target]
) -> tuple[list[Piece], list[Piece], list[Target], list[Target]]:
    return list(map(Piece, sources)), list(map(Piece, targets)), sources, targets


def carry_out(transfer: Communication) -> None:
    """Carry out a transfer: through what records the program's launches, if anything does and the
    transfer is of primal values. Raises TaichiRuntimeError if it would follow gradients, which
    the program uses as fields."""
    recorder: Recorder | None = program().threads.recorder
    used = [
        target for target in transfer.arrays if isinstance(target, Field) and target.is_gradient
    ]
    if recorder is not None and used and recorder.is_differentiating:
        raise TaichiRuntimeError(
            f"{transfer.name} of '{used[0].symbol}' inside a tape or a forward mode is not "
            "differentiated: copy the gradient to a field before"
        )
    if recorder is None or any(target.is_derivative for target in transfer.arrays):
        transfer.agree(Pass.PLAIN, transfer.number(), False)
        transfer.run()
    else:
        recorder.transfer(transfer)


def _form(target: Target) -> str:
    return f"{target.dtype}{[*target.shape, *target.element_shape]}"


def _form_of(target: Target | None) -> str | None:
    return None if target is None else _form(target)


def check(name: str, *targets: object) -> None:
    """Raise TaichiTypeError for what is no dense field and no ndarray."""
    for target in targets:
        if not isinstance(target, Field | Ndarray):
            raise TaichiTypeError(
                f"{name} expected a field or a ti.ndarray, got {type(target).__name__}; pass "
                "each member of a struct, or of a field placed component by component"
            )
        if isinstance(target, Ndarray) and target.layout is not None:
            raise TaichiTypeError(
                f"{name}: an ndarray with the layout {target.layout}: only ndarrays with axes in "
                "order can be communicated; copy it to one by copy_from"
            )
        if isinstance(target, Field):
            memory = target.find_memory()
            if isinstance(memory.elements, SparseElements) or memory.nesting is not None:
                raise TaichiTypeError(
                    f"{name}: field '{target.symbol}' lies in a sparse block, of which ranks may "
                    "have different cells: only dense fields can be communicated"
                )
            if memory.elements.shape != memory.layout.shape:
                raise TaichiTypeError(
                    f"{name}: field '{target.symbol}' lies in nested blocks: only fields in one "
                    "dense block can be communicated; copy it to one by copy_from"
                )


def _check_same(name: str, source: Target, target: Target) -> None:
    if _form(source) != _form(target):
        raise TaichiTypeError(f"{name} of {_form(source)} into {_form(target)}: they differ")


def _check_parts(name: str, block: Target, array: Target | None, all_ranks: Ranks) -> None:
    shape = (*block.shape, *block.element_shape)
    if not shape:
        raise TaichiTypeError(f"{name} takes parts with an axis, along which they lie")
    expected = f"{block.dtype}{[shape[0] * all_ranks.size, *shape[1:]]}"
    if array is None or _form(array) != expected:
        actual = "None" if array is None else _form(array)
        raise TaichiTypeError(
            f"{name} with parts {_form(block)} of {all_ranks.size} ranks: the whole is {expected}, "
            f"not {actual}"
        )


def _root(name: str, rank: int) -> int:
    if not 0 <= rank < ranks().size:
        raise TaichiRuntimeError(f"{name}: there is no rank {rank} among {ranks().size}")
    return rank
