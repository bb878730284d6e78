"""Statements of Python that kernels do not support, and replacements for them."""

from __future__ import annotations

import ast

_ASYNC = ("'async'", "a launch of a kernel returns at once on a GPU; ti.sync() waits for it")
_YIELD = ("'yield'", "write values to the elements of a field, x[i] = value")
_EXCEPT = ("'try'", "check a condition with 'if', or catch the error around the launch, in Python")
_IMPORT = ("'import'", "import modules above the kernel")
_SET = ("a set", "a tuple, or a field, holds values")
_CURES: dict[type[ast.AST], tuple[str, str]] = {
    ast.AsyncFor: _ASYNC,
    ast.AsyncFunctionDef: _ASYNC,
    ast.AsyncWith: _ASYNC,
    ast.Await: _ASYNC,
    ast.ClassDef: ("'class'", "define it outside of the kernel, with @ti.dataclass"),
    ast.Delete: ("'del'", "a local variable ends with its block"),
    ast.Import: _IMPORT,
    ast.ImportFrom: _IMPORT,
    ast.Lambda: ("'lambda'", "define a @ti.func outside of the kernel"),
    ast.Raise: ("'raise'", "assert condition, 'message' ends a launch with an error"),
    ast.Set: _SET,
    ast.SetComp: _SET,
    ast.Try: _EXCEPT,
    ast.TryStar: _EXCEPT,
    ast.Yield: _YIELD,
    ast.YieldFrom: _YIELD,
}


def missing_statement(node: ast.AST) -> str:
    """Return a message for a statement or an expression that the language does not have."""
    words, cure = _CURES.get(type(node), (f"'{ast.unparse(node).splitlines()[0]}'", ""))
    return f"{words} is not supported in a kernel" + (f": {cure}" if cure else "")
