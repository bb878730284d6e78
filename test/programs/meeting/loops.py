"""Outermost loops of kernels: what they go over, and what their iterations may do to each memory,
so that iterations of a parallel loop meet only where the language says what happens then."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from programs.meeting.places import Place, Tree


@dataclass
class Loop:
    """A loop: its line, the index of elements that are an iteration's own, by extents, and its
    integers. Trees are `stable`, or cells become active or end."""

    head: str
    fixed: list[str]
    own: dict[tuple[int, ...], str] = field(default_factory=dict)
    over: Tree | None = None
    is_serial: bool = False
    stable: list[Tree] = field(default_factory=list)
    changing: list[Tree] = field(default_factory=list)
    ending: list[Tree] = field(default_factory=list)
    ends_own: Tree | None = None  # of which an iteration may end its own cell only

    @property
    def cells(self) -> dict[tuple[int, ...], str]:
        """The index of an iteration's own cell, by extents."""
        return {extents: ", ".join(self.fixed) for extents in self.own}

    def choose_trees(self, random: Random, trees: list[Tree]) -> None:
        """Say what may become of each tree."""
        for tree in trees:
            if self.over is tree and tree.blocks[-1][2] in self.own and random.random() < 0.3:
                self.ends_own = tree
            elif self.over is tree:
                self.stable.append(tree)
            elif self.is_serial:
                self.stable.append(tree)
                self.changing.append(tree)
            else:
                choices = [self.stable, self.changing] * 2 + [self.ending]
                random.choice(choices).append(tree)

    def role(self, random: Random, place: Place) -> str:
        """What the loop may do to a memory."""
        tree = place.tree
        if place.name == "loss":
            return "sum"
        if tree is not None and tree is self.ends_own:
            return "own" if place.extents in self.own else "none"
        if tree in self.ending or random.random() < 0.15:
            return "none"
        if self.is_serial and (tree is None or tree in self.changing):
            return "any"
        is_over = tree is not None and self.over is tree
        may_change = not is_over and tree not in self.stable
        choices = ["read", "read"]
        if place.extents in self.own and (may_change or is_over):
            choices += ["own"] * 3
        if may_change:
            choices += ["sum"] + ["row"] * 2 * (len(place.extents) == 2 and len(self.fixed) == 1)
        return random.choice(choices)


def outer_loop(random: Random, used: list[Place], trees: list[Tree], n: int) -> Loop:
    """Some loop."""
    fields = [place for place in used if place.extents and place.kind == "field"]
    planes = [place.extents for place in used if len(place.extents) == 2]
    form = random.choice(["range", "range", "box", "over", "over", "grouped", "part", "cells"])
    if form == "box" and planes:
        loop = Loop(f"for i, j in ti.ndrange{planes[0]}:", ["i", "j"], {planes[0]: "i, j"})
    elif form == "cells" and trees:
        tree = random.choice(trees)
        name, kind, cells = tree.blocks[-1]
        names = ["i", "j"][: len(cells)]
        loop = Loop(f"for {', '.join(names)} in {name}:", names, over=tree)
        if kind == "dynamic":
            loop = _over(random.choice(fields), grouped=False)
    elif form in ("over", "grouped"):
        loop = _over(random.choice(fields), grouped=form == "grouped")
    elif form == "part":
        loop = Loop(f"for i in range(1, {n - 1}):", ["i"], {(n,): "i"})
    else:
        loop = Loop(f"for i in range({n}):", ["i"], {(n,): "i"})
    loop.is_serial = random.random() < 0.25
    loop.choose_trees(random, trees)
    return loop


def _over(place: Place, *, grouped: bool) -> Loop:
    """A loop over the elements of a field that are active."""
    names = ["i", "j"][: len(place.extents)]
    index = ", ".join(names)
    loop = Loop(f"for {index} in {place.name}:", names, {place.extents: index}, place.tree)
    if grouped:
        loop.head = f"for I in ti.grouped({place.name}):"
        loop.fixed = [f"I[{axis}]" for axis in range(len(names))]
        loop.own = {place.extents: "I"}
    return loop
