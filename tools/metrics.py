"""Measure the package: files, lines, functions, folders, names and imports.

    python tools/metrics.py [REVISION ...]

Prints a table with a column for each git revision, and one for the working tree.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath

from sources import Function, Source, folder_cycles, read_revision, read_tree

MOST_FILES_IN_A_FOLDER, MOST_LINES = 20, 400


def words(text: str) -> frozenset[str]:
    """Return the words of a text."""
    return frozenset(text.split())


# they say nothing of what they are bound to; chosen among the most frequent names
FILLERS = words(
    """one found part given known made own parts what kept wanted rest others whole apart here mine
    held seen each shown taken it both thing"""
)
PRONOUNS = words(
    """another both each here it its mine neither none of one other others own parts rest
    same some that theirs there these this those what whatever which who whole whose"""
)
PARTICIPLES = words(
    """begun being broken brought built chosen done drawn found given going gone held kept known
    laid left lost made meant met missing paid pending remaining running said seen sent shown spent
    taken thrown told waiting woven written"""
)
NOUNS_IN_ED = words("bed bleed embed exceed feed need proceed red seed shed speed")
UPSTREAM_OP = re.compile(
    r"(affine|amdgpu|arith|async|bufferization|builtin|cf|complex|func|gpu|index|linalg|llvm|math"
    r"|memref|nvgpu|nvvm|omp|rocdl|scf|shape|sparse_tensor|tensor|transform|ub|vector)"
    r"\.[a-z][a-z0-9_.]*"
)
Table = dict[str, int | float | str]


def measure(sources: Iterable[Source]) -> Table:
    """Return the figures of a package, by their names."""
    sources = list(sources)
    return {
        **of_lines(sources),
        **of_functions(sources),
        **of_folders(sources),
        **of_names(sources),
    }


def of_lines(sources: list[Source]) -> Table:
    """Return the number of files, and of lines of each kind."""
    kinds = sum((kinds_of_lines(source) for source in sources), Counter[str]())
    lengths = [source.text.count("\n") for source in sources]
    return {
        "files": len(sources),
        "lines": sum(lengths),
        **{f"  {kind}": kinds[kind] for kind in ("code", "docstrings", "comments", "blank")},
        "longest file": max(lengths),
        f"files over {MOST_LINES} lines": len(long_files(sources)),
    }


def kinds_of_lines(source: Source) -> Counter[str]:
    """Count the lines of a file that hold code, documentation, only a comment, or nothing."""
    lines = source.text.splitlines()
    documented = {
        line
        for node in source.docstrings
        for line in range(node.lineno, (node.end_lineno or 0) + 1)
    }
    return Counter(
        "docstrings"
        if number in documented
        else "comments"
        if line.lstrip().startswith("#")
        else "code"
        if line.strip()
        else "blank"
        for number, line in enumerate(lines, 1)
    )


def of_functions(sources: list[Source]) -> Table:
    """Return the number and the lengths of functions and classes."""
    functions = [length(node) for source in sources for node in source.functions]
    classes = [length(node) for source in sources for node in source.classes]
    return {
        "functions": len(functions),
        "  mean lines": round(sum(functions) / max(len(functions), 1), 1),
        "  longest": max(functions, default=0),
        "classes": len(classes),
        "  longest ": max(classes, default=0),
    }


def length(node: Function | ast.ClassDef) -> int:
    """Return the number of lines of a function or class, without decorators and docstrings."""
    documented = [child for child in ast.walk(node) if isinstance(child, Function | ast.ClassDef)]
    return lines_of(node) - sum(
        lines_of(child.body[0]) for child in documented if ast.get_docstring(child) is not None
    )


def lines_of(node: ast.stmt) -> int:
    """Return the number of lines of a statement, without its decorators."""
    return (node.end_lineno or node.lineno) - node.lineno + 1


def of_folders(sources: list[Source]) -> Table:
    """Return the number of folders, how full they are, and which import one another."""
    files = Counter(source.path.parent for source in sources)
    return {
        "folders": len(files),
        "  most files": max(files.values()),
        f"folders of more than {MOST_FILES_IN_A_FOLDER} files": len(full_folders(sources)),
        "basenames twice in a layer": len(repeated_basenames(sources)),
        "imports between folders in a cycle": len(folder_cycles(sources)),
    }


def of_names(sources: list[Source]) -> Table:
    """Return the number of names that say nothing, and of ops that are named by text."""
    bound = sum(1 for source in sources for _ in source.bound_names)
    fillers = sum(1 for source in sources for _ in bound_fillers(source))
    vague = sum(1 for source in sources for _ in vague_definitions(source))
    ops = [sum(map(bool, map(UPSTREAM_OP.fullmatch, source.literals))) for source in sources]
    return {
        "bound names": bound,
        "  fillers": fillers,
        "  percent": round(100 * fillers / max(bound, 1), 1),
        "functions and classes named by participle or pronoun": vague,
        "literals that name upstream ops": sum(ops),
        "  in files": sum(map(bool, ops)),
    }


def long_files(sources: Iterable[Source]) -> list[str]:
    """Return the files that are too long, with their number of lines."""
    lengths = [(source.path, source.text.count("\n")) for source in sources]
    return [f"{path}: {lines} lines" for path, lines in lengths if lines > MOST_LINES]


def full_folders(sources: Iterable[Source]) -> list[str]:
    """Return the folders that hold too many files, with their number of files."""
    files = Counter(source.path.parent for source in sources)
    return [
        f"{folder}: {number} files"
        for folder, number in sorted(files.items())
        if number > MOST_FILES_IN_A_FOLDER
    ]


def repeated_basenames(sources: Iterable[Source]) -> list[str]:
    """Return the files that have the basename of an earlier file of their layer."""
    first: dict[tuple[str, str], PurePosixPath] = {}
    return [
        f"{source.path}: a second {earlier}"
        for source in sources
        if not source.path.stem.startswith("__")
        and (earlier := first.setdefault((source.layer, source.path.name), source.path))
        != source.path
    ]


def bound_fillers(source: Source) -> Iterator[tuple[int, str]]:
    """Yield the line and the name of each binding of a filler."""
    for line, name in source.bound_names:
        if name.strip("_") in FILLERS:
            yield line, name


def vague_definitions(source: Source) -> Iterator[tuple[int, str]]:
    """Yield the line and the name of functions and classes of which the name is a participle or
    a pronoun alone."""
    for node in [*source.functions, *source.classes]:
        word = node.name.strip("_").lower()
        participle = word.endswith("ed") and word.isalpha() and word not in NOUNS_IN_ED
        if participle or word in PRONOUNS | PARTICIPLES:
            yield node.lineno, node.name


def main(arguments: list[str]) -> None:
    """Print the figures of some revisions, and of the working tree."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "revisions",
        nargs="*",
        metavar="REVISION",
        help="git revision to compare with, such as main (default: none)",
    )
    names = parser.parse_args(arguments).revisions
    tables = {name: measure(read_revision(name)) for name in names}
    tables["now"] = measure(read_tree())
    columns = [["", *tables["now"]], *([name, *table.values()] for name, table in tables.items())]
    for name, *figures in zip(*columns):
        print(f"{name:52}", *(f"{figure:>12}" for figure in figures))


if __name__ == "__main__":
    main(sys.argv[1:])
