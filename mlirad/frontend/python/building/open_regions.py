"""Blocks of a kernel under construction: what is made in one can be used until it is shut."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

from mlirad.bindings import ir
from mlirad.errors import SourceLocation, TaichiCompilationError

BRANCH = "a branch"  # the kind of a block that a condition guards


class Region:
    """A block under construction. `shut` says why what was made in it cannot be used; it is empty
    while it can.

    `home` is the block that Python objects made in this one belong to: itself, or, where the block
    is what follows a `continue`, the body of that loop, of which nothing else is left to run.
    """

    __slots__ = ("home", "kind", "outer", "place", "shut")

    def __init__(
        self,
        kind: str,
        place: ir.Location | None = None,
        outer: Region | None = None,
        *,
        is_tail: bool = False,
    ) -> None:
        self.kind, self.place, self.outer = kind, place, outer
        self.home: Region = outer.home if is_tail and outer is not None else self
        self.shut = ""

    def is_in_branch(self) -> bool:
        """Return whether a condition decides if this block runs."""
        return self.kind == BRANCH or (self.outer is not None and self.outer.is_in_branch())

    @contextmanager
    def shut_as(self, reason: str) -> Iterator[None]:
        """Shut this block and those around it for a while."""
        around = [self]
        while around[-1].outer is not None:
            around.append(around[-1].outer)
        before = [region.shut for region in around]
        for region in around:
            region.shut = reason
        try:
            yield
        finally:
            for region, shut in zip(around, before):
                region.shut = shut

    def reopen(self) -> AbstractContextManager[None]:
        """Open this block and those around it for a while: code is added to them after they
        ended."""
        return self.shut_as("")


def refuse_use(region: Region, origin: ir.Location, noun: str) -> None:
    """Raise TaichiCompilationError for the use of a value, variable or array of a shut block, with
    the place of its origin."""
    place = user_place(origin)
    raise TaichiCompilationError(
        f"this {noun} {region.shut}", related=() if place is None else [(place, "made here")]
    )


def user_place(location: ir.Location | None) -> SourceLocation | None:
    """A location that the frontend made as a place in the user's program."""
    if not isinstance(location, ir.FileLineColLoc):
        return None
    return SourceLocation(location.filename, location.start_line, location.start_col)
