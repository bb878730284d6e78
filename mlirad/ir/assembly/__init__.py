"""Short forms of our ops: `field.store %v, %x[%i]` for `"field.store"(%v, %x, %i) : ...`.

Upstream gives dialects that are defined in Python no parser and no printer of their own. So texts
are translated, in front of its parser and behind its printer, line for line (a derivative with its
call is one: `derivative_calls`); `forms` has what both directions know. A text that is longer than
a line is never looked at as a whole: what the short form of an op leaves out is fixed, or found by
the names of the values (docs/assembly.md).
"""

from mlirad.ir.assembly.reading import expand
from mlirad.ir.assembly.writing import shorten

__all__ = ["expand", "shorten"]
