"""The array arguments of the launches on a tape."""

from __future__ import annotations

from collections.abc import Sequence

from mlirad.ad.recording.array_gradients import ArrayGradients
from mlirad.ad.recording.claims import Claims
from mlirad.ad.recording.known_arrays import KnownArrays
from mlirad.ad.recording.unseen_writes import UnseenWrites
from mlirad.lang.arguments.array_buffer import ArrayBuffer, array_buffer
from mlirad.lang.ndarray import Ndarray
from mlirad.runtime.kernels.variant import Variant
from mlirad.runtime.program import Program

_LOCAL = "a local"  # what messages call memory by which the parts of a kernel share one


class Arrays:
    """What a tape knows of array arguments: which there are, their gradients, and what Python
    writes to them."""

    def __init__(self, program: Program, claims: Claims) -> None:
        self.known = KnownArrays()
        self.gradients = ArrayGradients(program, self.known)
        self.unseen = UnseenWrites(self.known)
        self.locals = SharedLocals(claims)


class SharedLocals:
    """The memory by which the parts of a kernel share locals: of each kernel the same at all its
    launches, and versions of it are kept like those of other arrays."""

    def __init__(self, claims: Claims) -> None:
        self._claims = claims
        self._by_kernel: dict[Variant, list[ArrayBuffer]] = {}  # by its first part

    def behind(
        self, buffers: Sequence[ArrayBuffer], parts: Sequence[Variant]
    ) -> Sequence[ArrayBuffer]:
        """The arrays that parts of a kernel are passed, where these are those of its launch."""
        first = parts[0]
        if not first.kernel.shared:
            return buffers
        if first not in self._by_kernel:
            made = [
                Ndarray(one.dtype, (), one.element_shape, one.needs_grad)
                for one in first.kernel.arrays[-first.kernel.shared :]
            ]
            self._claims.use_arrays(made)
            self._by_kernel[first] = [array_buffer(one, _LOCAL, True) for one in made]
        return [*buffers, *self._by_kernel[first]]
