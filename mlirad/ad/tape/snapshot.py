"""The memory of all fields at one moment, and which random numbers come next."""

from __future__ import annotations

from mlirad.runtime.program import Program


class Snapshot:
    """Copies of all fields but gradients, or of all (`with_gradients`); `restore` puts them back.

    Putting them back raises TaichiRuntimeError where another thread changed memory meanwhile.
    """

    def __init__(self, program: Program, *, with_gradients: bool = False) -> None:
        self.program, self.launches = program, program.random.launches
        program.threads.watch(self)
        self.others_changes = program.threads.others_changes()
        fields = program.fields if with_gradients else program.primals()
        self.copies = {name: memory.elements.copy() for name, memory in list(fields.items())}

    def restore(self) -> None:
        """Make memory what it was; the next launches draw the same random numbers."""
        self.program.threads.check_alone_since(self.others_changes)
        self.program.random.rewind(self.launches)
        for copy in self.copies.values():
            copy.restore()
