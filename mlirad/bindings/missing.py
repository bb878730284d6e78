"""The names that the MLIR bindings lack: the stubs beside this file list all that mlirad uses."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

SUPPORTED = "torch-mlir==20261001"
_MODULES = {"ir.pyi": "ir", "ext.pyi": "dialects.ext"}
_FOLDER = Path(__file__).parent
_MOST_SHOWN = 5


def missing_names(provider: str) -> Iterator[str]:
    """Yield the names of the stubs that the bindings do not have, by their place in a package."""
    for file, module in _MODULES.items():
        try:
            namespace: object = import_module(f"{provider}.{module}")
        except ImportError:
            yield module
            continue
        yield from _missing(ast.parse((_FOLDER / file).read_text()), namespace, module)


def _missing(stub: ast.Module, namespace: object, module: str) -> Iterator[str]:
    classes = {node.name: node for node in stub.body if isinstance(node, ast.ClassDef)}
    for node in stub.body:
        if not isinstance(node, ast.ClassDef | ast.FunctionDef) or node.name.startswith("_"):
            continue
        if not hasattr(namespace, node.name):
            yield f"{module}.{node.name}"
        elif isinstance(node, ast.ClassDef):
            binding = getattr(namespace, node.name)
            for method in _methods(node, classes):
                if not hasattr(binding, method):
                    yield f"{module}.{node.name}.{method}"


def _methods(node: ast.ClassDef, classes: dict[str, ast.ClassDef]) -> Iterator[str]:
    """Yield the public methods of a class, and of its private bases, which only the stubs have."""
    for item in node.body:
        if isinstance(item, ast.FunctionDef) and not item.name.startswith("_"):
            yield item.name
    for base in node.bases:
        if isinstance(base, ast.Name) and base.id.startswith("_") and base.id in classes:
            yield from _methods(classes[base.id], classes)


def explanation(provider: str) -> str:
    """Return why mlirad cannot use the bindings, and the cure."""
    try:
        import_module(provider)
    except ImportError:
        return f"mlirad needs MLIR's Python bindings: pip install {SUPPORTED}"
    names = [*missing_names(provider)]
    listed = ", ".join(f"'{name}'" for name in names[:_MOST_SHOWN])
    more = f", and {len(names) - _MOST_SHOWN} more" * (len(names) > _MOST_SHOWN)
    lack = f" lack {listed}{more}" * bool(names) or " cannot be loaded"
    return (
        f"the MLIR bindings '{provider}'{_version(provider)}{lack}: mlirad is tested with "
        f"{SUPPORTED}; see docs/bindings.md to use others"
    )


def _version(provider: str) -> str:
    try:
        return f" {version(provider.replace('_', '-'))}"
    except PackageNotFoundError:
        return ""
