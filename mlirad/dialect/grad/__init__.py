"""Operations that differentiation creates: saved values of the reverse sweep, until a pass decides
where to store them, and functions with derivatives."""

from mlirad.dialect.grad.functions import CustomOp, DetachOp, DualOp, YieldOp, detach, yield_
from mlirad.dialect.grad.logs import (
    CloseOp,
    LogType,
    MarkOp,
    OpenOp,
    RecordOp,
    UndoOp,
    close,
    log_parts,
    log_type,
    mark,
    open_,
    record,
    undo,
)
from mlirad.dialect.grad.marks import (
    AGAIN,
    REVERSED,
    UNDONE,
    is_again,
    is_reversed,
    is_undone,
    marks,
)
from mlirad.dialect.grad.named_functions import (
    JvpOp,
    VjpOp,
    active_arguments,
    callee_of,
    carries_derivative,
    function_named,
    is_derivative,
    type_of_jvp,
    type_of_vjp,
)
from mlirad.dialect.grad.stacks import (
    AllocOp,
    FreeOp,
    Grad,
    PopOp,
    PushOp,
    StackType,
    alloc,
    free,
    pop,
    push,
    stack_element,
    stack_type,
)
