"""Arrays that the threads of a block share, for `lower-field-to-memref`: memory that a launch
gives each of its blocks."""

from mlirad.bindings import ir
from mlirad.dialect.field import array_of, element_type
from mlirad.ir import build as b
from mlirad.ir.ops import Func, Gpu
from mlirad.ir.requirements import refuse
from mlirad.ir.walk import enclosing

# of a launch: the numbers and sizes of threads and blocks, along three axes
LAUNCH_ARGUMENTS = 12


def memory_of_blocks(op: ir.Operation) -> ir.Value:
    """The memory of a `field.shared`: a parameter more of the launch that it is in."""
    launch = op
    while launch.name != Gpu.LAUNCH:
        if launch.name == Func.FUNC:
            refuse(op, "an array that threads share, outside of a launch")
        launch = enclosing(launch)
    type_, space = op.results[0].type, ir.Attribute.parse("#gpu.address_space<workgroup>")
    extents = list(array_of(type_)[1])
    memory = ir.MemRefType.get(extents, element_type(type_), memory_space=space)
    body = launch.regions[0].blocks[0]
    count = len(body.arguments) - LAUNCH_ARGUMENTS + 1
    launch.attributes["workgroup_attributions"] = ir.IntegerAttr.get(b.integer_type(64), count)
    return body.add_argument(memory, op.location)
