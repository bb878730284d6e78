"""Names inside Taichi's package that programs reach for (`taichi.lang.impl.current_cfg()`), with
their meaning here."""

from __future__ import annotations

import importlib.util
import operator
import sys
from enum import Enum
from types import ModuleType, SimpleNamespace
from typing import Any

from mlirad import errors
from mlirad.frontend.python.building.builder import in_kernel
from mlirad.frontend.python.calls import specials
from mlirad.frontend.python.values import annotations as declared
from mlirad.frontend.python.values import functions
from mlirad.frontend.python.values.scalar import Expr
from mlirad.frontend.python.values.struct_type import StructType
from mlirad.lang import types_namespace as types
from mlirad.lang.autodiff_mode import AutodiffMode, SNodeGradType
from mlirad.lang.kernels.kernel import Kernel
from mlirad.lang.layout.builder import Trees
from mlirad.lang.layout.member_order import Layout
from mlirad.runtime.program import Program, program
from mlirad.types import ALL, DataType, TypeLike, from_numpy, resolve

extension = Enum(
    "extension",
    ["sparse", "quant", "quant_basic", "data64", "adstack", "bls", "assertion", "extfunc", "mesh"],
)
extension.__doc__ = """Optional features of Taichi's backends, under Taichi's names."""


_REAL = [*(t for t in ALL if t.is_float), float]
_INTEGER = [*(t for t in ALL if t.is_integer), int, bool]


class _Runtime:
    """The result of `impl.get_runtime()`."""

    def __init__(self, current: Program) -> None:
        self._program = current
        self.prog = SimpleNamespace(config=lambda: current.config)

    def get_num_compiled_functions(self) -> int:
        """Return the number of variants of kernels that were built."""
        return self._program.variants

    def materialize(self, _: bool = True) -> None:
        """Give memory to what was declared."""
        self._program.trees.materialize()

    materialize_root_fb = materialize

    def set_default_ip(self, dtype: DataType) -> None:
        """Change the default integer type of kernels compiled from now on."""
        self.default_ip = dtype

    @property
    def default_fp(self) -> DataType:
        return self._program.config.default_fp

    @default_fp.setter
    def default_fp(self, dtype: DataType) -> None:
        self._program.config.default_fp = dtype

    @property
    def default_ip(self) -> DataType:
        return self._program.config.default_ip

    @default_ip.setter
    def default_ip(self, dtype: DataType) -> None:
        self._program.config.default_ip = dtype


def _without(_: object = None) -> bool:
    return False


def _has(package: str) -> Any:
    return lambda: importlib.util.find_spec(package) is not None


class _MatrixKind(type):
    """A class of types of values, as Taichi's programs make them and ask for them by
    `isinstance`."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, declared.MatrixType) and cls.holds(instance)

    def holds(cls, instance: declared.MatrixType) -> bool:
        """Return whether a type of vectors or matrices is one."""
        return True

    def __call__(cls, n: int, m: int, ndim: int = 2, dtype: TypeLike | None = None) -> Any:
        return types.vector(n, dtype) if ndim == 1 else types.matrix(n, m, dtype)


class _VectorKind(_MatrixKind):
    def holds(cls, instance: declared.MatrixType) -> bool:
        return instance.ndim == 1

    def __call__(cls, n: int, dtype: TypeLike | None = None) -> Any:  # type: ignore[override]
        return types.vector(n, dtype)


class MatrixType(metaclass=_MatrixKind):
    """`MatrixType(n, m, ndim, dtype)`, and the class of the types of vectors and matrices."""


class VectorType(MatrixType, metaclass=_VectorKind):
    """`VectorType(n, dtype)`, and the class of the types of vectors."""


def _resolve(dtype: TypeLike) -> DataType:
    config = program().config
    return resolve(dtype, config.default_fp, config.default_ip)


def _of_torch(dtype: TypeLike) -> Any:
    import torch  # type: ignore[import-not-found, unused-ignore]

    return getattr(torch, "bool" if resolve(dtype).bits == 1 else resolve(dtype).numpy.name)


def _to_ours(dtype: Any) -> DataType:
    name = str(dtype).removeprefix("torch.")
    return resolve(dtype) if name == str(dtype) else from_numpy(name)


# which public names Taichi's modules have, too
_FROM_PACKAGE = {
    "_snode.fields_builder": ("FieldsBuilder",),
    "lang._ndarray": ("Ndarray", "ScalarNdarray"),
    "lang._ndrange": ("ndrange",),
    "lang.argpack": ("ArgPack",),
    "lang.field": ("Field", "ScalarField"),
    "lang.impl": (
        *("axes", "deactivate_all_snodes", "field", "grouped", "ndarray", "one", "root", "static"),
        *("static_assert", "static_print", "stop_grad", "zero"),
    ),
    "lang.kernel_impl": ("data_oriented", "func", "kernel", "pyfunc", "real_func"),
    "lang.matrix": ("MatrixField", "MatrixNdarray", "VectorNdarray"),
    "lang.misc": (
        *("axes", "extension", "i", "ij", "ijk", "ijkl", "ijl", "ik", "ikl", "il", "init", "j"),
        *("jk", "jkl", "jl", "k", "kl", "l", "loop_config", "reset", "sync"),
        *("cpu", "cuda", "gpu", "metal", "opengl", "vulkan", "x64", "arm64"),
    ),
    "lang.snode": (
        *("SNode", "activate", "append", "deactivate", "get_addr", "is_active", "length"),
        "rescale_index",
    ),
    "lang.struct": ("StructField",),
    "types.annotations": ("ref", "template"),
}


_MACHINES = ("vulkan", "cuda", "metal", "opengl", "amdgpu", "dx11", "dx12")
_MEMBERS: dict[str, dict[str, Any]] = {
    "_lib": {},
    "_lib.core": {**{f"with_{name}": _without for name in _MACHINES}, "GGUI_AVAILABLE": False},
    "_snode": {},
    "_snode.snode_tree": {"SNodeTree": Trees},
    "lang.enums": {"AutodiffMode": AutodiffMode, "Layout": Layout, "SNodeGradType": SNodeGradType},
    "lang.exception": {
        name: value for name, value in vars(errors).items() if name.startswith("Taichi")
    },
    "lang.expr": {"Expr": Expr},
    "lang.impl": {
        "current_cfg": lambda: program().config,
        "get_runtime": lambda: _Runtime(program()),
        "ti_float": lambda x: functions.cast(x, float) if in_kernel() else float(x),
    },
    "lang.kernel_impl": {"Kernel": Kernel},
    "lang.matrix": {"MatrixType": MatrixType, "VectorType": VectorType},
    "lang.misc": {"get_host_arch_list": lambda: ["x64"]},
    "lang.ops": {
        **{
            name: getattr(operator, name)
            for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "neg")
        },
        **{name: getattr(specials, name) for name in specials.__all__ if "atomic" in name},
        **{name: value for name, value in vars(functions).items() if not name.startswith("_")},
    },
    "lang.struct": {"StructType": StructType},
    "lang.util": {
        "cook_dtype": _resolve,
        "has_paddle": lambda: False,
        "has_pytorch": _has("torch"),
        "in_python_scope": lambda: not in_kernel(),
        "in_taichi_scope": in_kernel,
        "to_numpy_type": lambda dtype: resolve(dtype).numpy.type,
        "to_pytorch_type": _of_torch,
        "to_taichi_type": _to_ours,
    },
    "types": {name: getattr(types, name) for name in types.__all__},
    "types.compound_types": {
        "matrix": types.matrix,
        "struct": types.struct,
        "vector": types.vector,
    },
    "types.ndarray_type": {"NdarrayType": declared.NdarrayType, "ndarray": types.ndarray},
    "types.primitive_types": {
        **{t.name: t for t in ALL},
        "real_types": _REAL,
        "integer_types": _INTEGER,
        "all_types": _REAL + _INTEGER,
    },
}


Modules = dict[str, dict[str, Any]]  # by dotted name, what each has by name


def inner_modules(public: ModuleType) -> Modules:
    """Return the modules inside Taichi's package, with what their names mean here; `public` has the
    public names."""
    modules = {name: dict(members) for name, members in _MEMBERS.items()}
    for name, names in _FROM_PACKAGE.items():
        modules.setdefault(name, {}).update(
            {attribute: getattr(public, attribute) for attribute in names}
        )
    return modules


def register(package: str, modules: Modules | None = None) -> None:
    """Make modules, by default Taichi's, importable below `package`; a module of ours that has the
    name of one gets the names that it lacks."""
    public = sys.modules[package]
    for name, members in sorted((modules or inner_modules(public)).items()):
        path = f"{package}.{name}"
        present = sys.modules.get(path)
        module = ModuleType(path) if present is None else present
        module.__dict__.update({**members, **vars(module)})
        sys.modules[path] = module
        holder, _, last = name.rpartition(".")
        around = operator.attrgetter(holder)(public) if holder else public
        if not isinstance(getattr(around, last, None), ModuleType):
            setattr(around, last, module)
    for name in ("ad", "graph", "math", "simt", "sparse"):
        sys.modules.setdefault(f"{package}.{name}", getattr(public, name))


__all__ = ["extension", "inner_modules", "register"]
