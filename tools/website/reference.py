"""The reference: pages made of docstrings, and of what passes and ops say of themselves.

They are made by looking at the names at run time: half of them are made by functions, which tools
that read sources do not see.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from enum import Enum
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import TypeGuard

from website.docstrings import as_markdown
from website.elsewhere import ELSEWHERE
from website.examples_by_name import examples, mention_of

from mlirad.pipeline.options import options_of, spell
from mlirad.pipeline.registry import find_pass, pass_names, requirements_of

NAMESPACES = {  # pages, by what programs call the namespace: where it is, and what it is for
    "ti": ("mlirad", "`import mlirad as ti`: fields, kernels, and what is written in them."),
    "ti.ad": ("mlirad.ad", "Derivatives of programs."),
    "ti.math": ("mlirad.lang.math.functions", "Small vectors and matrices, as in GLSL."),
    "ti.types": ("mlirad.lang.types_namespace", "Types of arguments and elements."),
    "ti.sparse": ("mlirad.lang.sparse_grids", "Sparse grids of structs."),
    "ti.graph": ("mlirad.lang.graph", "Launches that are recorded and run together."),
    "ti.linalg": ("mlirad.linalg", "Sparse matrices, and systems of linear equations."),
    "ti.algorithms": ("mlirad.algorithms", "Sorting and running sums."),
    "ti.mlir": ("mlirad.mlir", "Functions in MLIR's textual form."),
    "ti.tools": ("mlirad.tools", "Pictures, meshes and videos in files."),
    "ti.ui": ("mlirad.ui", "Windows with canvases, scenes and panels."),
    "ti.profiler": ("mlirad.profiler", "What launches and compiling took."),
    "dist": ("mlirad.dist", "`from mlirad import dist`: programs in several processes, by MPI."),
    "ensemble": ("mlirad.ensemble", "`mlirad.ensemble`: programs over many scenes, by Ray."),
    "te": ("mlirad.te", "`from mlirad import te`: tensor expressions."),
    "te.nn": ("mlirad.te.nn", "Operators of neural networks."),
}
EXAMPLES = examples()
LONG = 5  # lines: in a longer program, the lines for a name are marked
_WIDTH = 80  # of a line of code


def namespace_page(name: str) -> str:
    """Every public name of a namespace."""
    place, what = NAMESPACES[name]
    with without_extras():
        module = import_module(place)
    members = {member: getattr(module, member) for member in sorted(module.__all__, key=str.lower)}
    described = [
        part
        for member, value in members.items()
        if inspect.isclass(value) or callable(value)
        for part in _described(2, f"{name}.{member}", value)
    ]
    values = [
        f"| `{name}.{member}` | {_said(value)} |"
        for member, value in members.items()
        if not (callable(value) or isinstance(value, ModuleType))
    ]
    return "\n\n".join(
        [f"# `{name}`", what, *described, *_section("Values", _table(("name", "value"), values))]
    )


@contextmanager
def without_extras() -> Iterator[None]:
    """Let modules be imported that need what is not installed: only their docstrings are read."""
    missing = [name for name in ("mpi4py", "ray") if find_spec(name) is None]
    for name in missing:
        sys.modules[name] = stand_in = ModuleType(name)
        stand_in.MPI = ModuleType("MPI")  # type: ignore[attr-defined]
    try:
        yield
    finally:
        for name in missing:
            del sys.modules[name]


def passes_page() -> str:
    """Every pass of ours, by groups."""
    groups: dict[str, list[str]] = {}
    for name in pass_names():
        groups.setdefault(find_pass(name).__module__.split(".")[-2], []).append(name)
    parts = ["# Passes", "`mlirad-opt --NAME=option=value`, `NAME{option=value}` in a pipeline."]
    for group, names in sorted(groups.items()):
        parts.append(f"## {group}")
        parts += [part for name in names for part in _pass(name)]
    return "\n\n".join(parts)


def _pass(name: str) -> Iterator[str]:
    function = find_pass(name)
    yield f"### {name}"
    yield inspect.getdoc(function) or ""
    yield inspect.getdoc(inspect.getmodule(function)) or ""
    rows = [
        f"| `{one.name}` | `{spell(one.default)}` | {one.limit or one.kind.__name__} |"
        for one in options_of(function, name).values()
    ]
    yield from _table(("option", "default", "values"), rows)
    needs = [(inspect.getdoc(need) or "").partition("\n\n")[0] for need in requirements_of(name)]
    if needs:
        yield "Takes for granted:\n\n" + "\n".join(f"- {' '.join(need.split())}" for need in needs)


def _described(level: int, name: str, value: object) -> Iterator[str]:
    """What a function or a class and its public parts say."""
    yield f"{'#' * level} `{name}`"
    if callable(value) and not _is_enum(value):
        yield f"```python\n{name}{_signature(value)}\n```"
    yield as_markdown(inspect.getdoc(value) or "")
    if name in ELSEWHERE:
        yield f"Elsewhere: {ELSEWHERE[name]}."
    if name in EXAMPLES:
        yield f"```python{_marked(name, EXAMPLES[name])}\n{EXAMPLES[name]}\n```"
    if _is_enum(value):
        yield "Its members: " + ", ".join(f"`{member}`" for member in value.__members__) + "."
    for part, found in sorted(vars(value).items()) if inspect.isclass(value) else ():
        if not part.startswith("_") and (inspect.isroutine(found) or isinstance(found, property)):
            yield from _described(level + 1, f"{name.rpartition('.')[2]}.{part}", found)


def _marked(name: str, program: str) -> str:
    """Return the option of a fence that marks the lines of a long program which mention a name."""
    mention, lines = mention_of(name, [program]), program.splitlines()
    numbers = [str(number) for number, line in enumerate(lines, 1) if mention.search(line)]
    return f' hl_lines="{" ".join(numbers)}"' if numbers and len(lines) > LONG else ""


def _is_enum(value: object) -> TypeGuard[type[Enum]]:
    return inspect.isclass(value) and issubclass(value, Enum)


def _signature(value: Callable[..., object]) -> str:
    """How it is called, one parameter a line where they are many."""
    try:
        signature = inspect.signature(value)
    except ValueError:  # an exception, which says what went wrong
        return "(message)"
    text = re.sub(r"'([\w\[\], .|]*)'", r"\1", str(signature))
    if len(text) < _WIDTH:
        return text
    parameters = [re.sub(r"'(.*?)'", r"\1", str(one)) for one in signature.parameters.values()]
    return "(\n" + "".join(f"    {one},\n" for one in parameters) + ")"


def _said(value: object) -> str:
    text = repr(value)
    return "an object" if " at 0x" in text else f"`{text}`"


def _section(title: str, parts: Iterable[str]) -> list[str]:
    found = [*parts]
    return [f"## {title}", *found] if found else []


def _table(head: tuple[str, ...], rows: list[str]) -> list[str]:
    if not rows:
        return []
    return ["\n".join([f"| {' | '.join(head)} |", "|---" * len(head) + "|", *rows])]
