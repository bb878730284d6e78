"""Where the memory of a program is: how it is declared, and how kernels and Python name it."""

from __future__ import annotations

from dataclasses import dataclass

FIELD = "ti.field(ti.f64, needs_grad={grad})"


@dataclass(frozen=True)
class Place:
    """Text that declares memory of four numbers.

    `{name}` stands for the memory, `{grad}` for whether a gradient is asked for. `element` is a
    number in a kernel and in Python, `whole` what Python fills and copies; `values` makes an array
    of `whole`'s shape from four numbers. `block` names what may be deactivated.
    """

    name: str
    declaration: str
    element: str = "{name}[{i}]"
    whole: str = "{name}"
    values: str = "np.array({numbers})"
    shape: tuple[int, ...] = (4,)
    is_argument: bool = False
    index: str = ""  # of a cell of its block, for deactivations
    is_foreign: bool = False  # an array that Python may write to unseen
    grads: tuple[bool, ...] = (True, False)

    @property
    def is_sparse(self) -> bool:
        """Whether there is something to deactivate."""
        return bool(self.index)

    def declared(self, name: str, grad: bool) -> str:
        """The declaration."""
        return self.declaration.format(name=name, grad=grad)

    def at(self, name: str, i: str) -> str:
        """An element."""
        return self.element.format(name=name, i=i)

    def all_of(self, name: str) -> str:
        """What Python fills and copies."""
        return self.whole.format(name=name)

    def array(self, numbers: str) -> str:
        """An array for all of it."""
        return self.values.format(numbers=numbers)


def _placed(block: str, *members: str) -> str:
    return f"{{name}} = {FIELD}\n{{name}}_block = {block}\n{{name}}_block{''.join(members)}"


PLACES = [
    Place("field", "{name} = ti.field(ti.f64, 4, needs_grad={grad})"),
    Place(
        "vector member",
        "{name} = ti.Vector.field(2, ti.f64, 4, needs_grad={grad})",
        element="{name}[{i}][1]",
        values="np.stack([np.full(4, 0.5), np.array({numbers})], axis=1)",
        shape=(4, 2),
    ),
    Place(
        "struct member",
        "{name} = ti.Struct.field({{'a': ti.f64, 'b': ti.f64}}, shape=4, needs_grad={grad})",
        element="{name}[{i}].b",
        whole="{name}.b",
    ),
    Place(
        "dense block",
        f"{{name}}, {{name}}_beside = {FIELD}, {FIELD}\n"
        "ti.root.dense(ti.i, 2).dense(ti.i, 2).place({name}, {name}_beside)",
    ),
    Place(
        "pointer",
        _placed("ti.root.pointer(ti.i, 2)", ".dense(ti.i, 2).place({name})"),
        index="[0]",
    ),
    Place(
        "pointer with its gradient",
        _placed("ti.root.pointer(ti.i, 2)", ".dense(ti.i, 2).place({name}, {name}.grad)"),
        index="[0]",
        grads=(True,),
    ),
    Place(
        "pointer in pointer",
        _placed("ti.root.pointer(ti.i, 2)", ".pointer(ti.i, 2).place({name})"),
        index="[0]",
    ),
    Place("bitmasked", _placed("ti.root.bitmasked(ti.i, 4)", ".place({name})"), index="[0]"),
    Place("dynamic", _placed("ti.root.dynamic(ti.i, 4)", ".place({name})"), index="[]"),
    Place("ndarray", "{name} = ti.ndarray(ti.f64, 4, needs_grad={grad})", is_argument=True),
    Place("NumPy", "{name} = np.zeros(4)", is_argument=True, is_foreign=True, grads=(False,)),
    Place(
        "torch",
        "{name} = torch.zeros(4, dtype=torch.float64)",
        is_argument=True,
        is_foreign=True,
        grads=(False,),
    ),
]
