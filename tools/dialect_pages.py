"""Write the pages in docs/dialects: every op of our dialects with operands, results, and effects.

    python tools/dialect_pages.py

The contents come from the class of an op: its fields, its effects, and its docstring with the
paragraphs `Races:`, `Bounds:`, and `Aliasing:`. The example is the first program of the op's test.
"""

from __future__ import annotations

import argparse
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args, get_origin

from mlirad.bindings import ext
from mlirad.dialect import activity, context, field, grad, snode, te
from mlirad.dialect.effects import OfRegions, effects_of
from mlirad.dialect.field import Field
from mlirad.dialect.grad import Grad
from mlirad.dialect.snode import Snode
from mlirad.dialect.te import Te
from mlirad.ir.assembly import shorten

ROOT = Path(__file__).parents[1]
PAGES = ROOT / "docs" / "dialects"
EXAMPLES = ROOT / "test" / "dialect"
DIALECTS: dict[type[ext.Dialect], tuple[Any, ...]] = {
    Field: (field, inspect.getmodule(Field)),
    Snode: (snode, activity),
    Grad: (grad, inspect.getmodule(Grad)),
    Te: (te, inspect.getmodule(Te)),
}
FACTS = ("Races", "Bounds", "Aliasing")
_GROUPS = {
    "Operands": ext.OperandDef,
    "Attributes": ext.AttributeDef,
    "Results": ext.ResultDef,
    "Regions": ext.RegionDef,
}
_NUMBERS = {ext.Variadicity.variadic: ", any number", ext.Variadicity.optional: ", or none"}
_HEAD = "<!-- tools/dialect_pages.py writes this page. -->"


def pages() -> dict[str, str]:
    """Return the text of each page, by its name; the dialects are loaded."""
    return {f"{dialect.DIALECT_NAMESPACE}.md": page(dialect) for dialect in DIALECTS}


def page(dialect: type[ext.Dialect]) -> str:
    """Return the page of a dialect."""
    texts = dict.fromkeys(inspect.getdoc(module) or "" for module in DIALECTS[dialect])
    parts = [f"# The dialect `{dialect.DIALECT_NAMESPACE}`", _HEAD, *map(_as_markdown, texts)]
    if dialect.types:
        parts.append("## Types")
        parts += [f"`!{type_.type_name}`: {inspect.getdoc(type_)}" for type_ in dialect.types]
    parts.append("## Operations")
    for op in dialect.operations:
        parts += op_parts(op)
    return "\n\n".join(parts) + "\n"


def op_parts(op: type[ext.Operation]) -> Iterator[str]:
    """Yield the paragraphs of an op."""
    yield f"### `{op.OPERATION_NAME}`"
    text, facts = split_facts(op)
    yield _as_markdown(text)
    rows = [f"| {name} | {value} |" for name, value in (*_fields(op), *facts_of(op, facts))]
    yield "\n".join(["| | |", "|---|---|", *rows])
    yield f"```mlir\n{example(op.OPERATION_NAME)}\n```"


def split_facts(op: type[ext.Operation]) -> tuple[str, dict[str, str]]:
    """Return what the docstring of an op says, and its facts by their names."""
    lines, facts, name = [], dict[str, str](), ""
    for line in (inspect.getdoc(op) or "").splitlines():
        word, colon, text = line.partition(": ")
        if colon and word in FACTS:
            name, facts[word] = word, text
        elif name and line.strip():
            facts[name] += f" {line.strip()}"
        else:
            lines.append(line)
    return "\n".join(lines).strip(), facts


def facts_of(op: type[ext.Operation], facts: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Yield what an op does to memory, and what is said of races, bounds and aliasing."""
    yield "Effects", _effects(op)
    yield from facts.items()


def _effects(op: type[ext.Operation]) -> str:
    effects = effects_of(op)
    if OfRegions in op._traits:
        return "those of its region"
    if ext.Pure in op._traits or effects == []:
        return "none: it accesses no memory"
    if effects is None:
        return "none: a declaration, which stays even if it is unused"
    return ", ".join(map(str, effects))


def _fields(op: type[ext.Operation]) -> Iterator[tuple[str, str]]:
    for group, kind in _GROUPS.items():
        members = [member for member in op._fields if isinstance(member, kind)]
        if members:
            yield group, ", ".join(map(_field, members))


def _field(member: ext.FieldDef) -> str:
    if isinstance(member, ext.RegionDef):
        return f"`{member.name}`"
    return f"`{member.name}` ({_type(member.constraint)}{_NUMBERS.get(member.variadicity, '')})"


def _type(constraint: Any) -> str:
    """Return how a constraint of an operand, a result or an attribute is spelled."""
    if constraint is Any:
        return "any type"
    if get_origin(constraint) is not None:
        return f"i{get_args(constraint)[0]}"
    words = re.sub(r"(Type|Attr)$", "", constraint.__name__)
    return " ".join(re.findall(r"[A-Z][a-z]*", words)).lower()


def example(name: str) -> str:
    """Return a program with an op, in short form: the first one of the op's test, or of
    another's."""
    own_file = EXAMPLES / f"{name.replace('.', '_')}.mlir"
    files = sorted(EXAMPLES.glob(f"{name.partition('.')[0]}_*.mlir"))
    for file in (own_file, *files):
        program = _first_program(file) if file.exists() else ""
        if re.search(rf"(?<![\w.]){re.escape(name)}(?![\w.])", program):
            return shorten(program)
    raise LookupError(f"no test in {EXAMPLES} begins with a program that has '{name}'")


def _first_program(file: Path) -> str:
    """Return what a test begins with, without comments; nothing if an error is expected there."""
    program = file.read_text().partition("// -----\n")[0]
    if "expected-error" in program:
        return ""
    lines = [line for line in program.splitlines() if not line.strip().startswith("//")]
    return "\n".join(lines).strip("\n")


def _as_markdown(text: str) -> str:
    """Return a docstring with its indented programs fenced."""
    return re.sub(
        r"(?m)^((?: {4}.*\n?)+)",
        lambda match: f"```mlir\n{inspect.cleandoc(match[1])}\n```\n",
        text,
    )


def main() -> None:
    """Write every page."""
    argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    ).parse_args()
    with context():
        for name, text in pages().items():
            (PAGES / name).write_text(text)


if __name__ == "__main__":
    main()
