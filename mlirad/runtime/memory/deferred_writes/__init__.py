"""Writes to large fields that are done when somebody looks: zeros, and on the host what an `hvp`
overwrote. docs/deferred-writes.md says how."""

from mlirad.runtime.memory.deferred_writes.array_writes import DeferredWrites as DeferredWrites
from mlirad.runtime.memory.deferred_writes.array_writes import Room as Room
from mlirad.runtime.memory.deferred_writes.copies import Copies as Copies
from mlirad.runtime.memory.deferred_writes.field_accesses import NO_STEP as NO_STEP
from mlirad.runtime.memory.deferred_writes.field_accesses import FieldAccesses as FieldAccesses
from mlirad.runtime.memory.deferred_writes.field_accesses import Word as Word
from mlirad.runtime.memory.deferred_writes.later_writes import Backlog as Backlog
from mlirad.runtime.memory.deferred_writes.later_writes import LaterWrites as LaterWrites
from mlirad.runtime.memory.deferred_writes.pending import Ends as Ends
from mlirad.runtime.memory.deferred_writes.pending import Write as Write
from mlirad.runtime.memory.deferred_writes.row_notes import NO_NOTES as NO_NOTES
from mlirad.runtime.memory.deferred_writes.row_notes import RowNotes as RowNotes
from mlirad.runtime.memory.deferred_writes.row_notes import read_row_notes as read_row_notes
