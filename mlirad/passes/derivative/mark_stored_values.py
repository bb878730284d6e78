"""Mark the stores whose values the reverse of a launch may load, if nothing has overwritten them:
`grad.stored`."""

from mlirad.analysis.derivatives.activity import Activity
from mlirad.analysis.derivatives.redone import redone_arrays
from mlirad.analysis.races.lasting_stores import find_stores, late_indices
from mlirad.bindings import ir
from mlirad.dialect.field_layout import layouts
from mlirad.ir.graph import Graph
from mlirad.ir.marks.stored import STORED
from mlirad.ir.requirements import KERNELS, is_private
from mlirad.ir.walk import functions, owner_operation

REQUIRES = KERNELS


def mark_stored_values(module: ir.Operation) -> None:
    """Mark stores of values that the reverse needs and that take many operations to compute.

    Their indices move in front of the values, where these are loaded.
    """
    sparse = frozenset(name for name, layout in layouts(module).items() if layout.activities)
    for function in functions(module):
        if not is_private(function):
            graph = Graph(function)
            activity = Activity(module, function, graph)
            stores = find_stores(graph, activity, redone_arrays(function, graph), sparse)
            for store in reversed(stores):  # an index may be of several: the first is last
                store.op.attributes[STORED] = ir.UnitAttr.get()
                value = owner_operation(graph.values[store.operands[0]])
                for node in late_indices(graph, store) or ():
                    node.op.move_before(value)
