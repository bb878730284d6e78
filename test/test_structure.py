"""The shape of the package: who imports whom, what a pass has beside it, how files are named.
A test is a rule, and lists everything that breaks it."""

import ast
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest
from metrics import bound_fillers, full_folders, length, long_files, repeated_basenames
from sources import Source, folder_cycles, import_graph, imported_names, read_tree

from mlirad.dialect.field import Field
from mlirad.dialect.grad import Grad
from mlirad.dialect.snode import Snode
from mlirad.ir import ops

ROOT = Path(__file__).parent.parent
MODULES = read_tree()

# how much breaks a rule as yet; a number only goes down
ALLOWED = {
    "at most 20 files a folder": 0,
    "at most 400 lines a file": 0,
    "a basename once a layer": 0,
    "folders import one way": 0,
    "no fillers as names": 75,
}

LEAVES = {
    *("bindings", "types", "errors", "checks", "loading", "signatures"),
    *("abstract_struct", "host"),
}
MAY_IMPORT = {
    "abstract_struct": set(),
    "bindings": set(),
    "host": set(),
    "loading": set(),
    "signatures": set(),
    "types": set(),
    "errors": set(),
    "checks": {"errors"},
    "dialect": LEAVES,
    "ir": LEAVES | {"dialect"},
    "analysis": LEAVES | {"dialect", "ir"},
    "sweeps": LEAVES | {"dialect", "ir", "analysis"},
    "passes": LEAVES | {"dialect", "ir", "analysis", "sweeps"},
    "pipeline": LEAVES | {"dialect", "ir", "analysis", "passes"},
    "kernel": LEAVES | {"dialect", "ir"},
    "frontend": LEAVES | {"dialect", "ir", "kernel"},
    "runtime": LEAVES | {"dialect", "ir", "analysis", "passes", "pipeline", "kernel"},
    "lang": LEAVES | {"dialect", "ir", "kernel", "pipeline", "frontend", "runtime"},
    "foreign": LEAVES | {"runtime"},
    "te": LEAVES
    | {"dialect", "ir", "analysis", "sweeps", "kernel", "pipeline", "runtime", "lang", "foreign"},
    "ad": LEAVES
    | {"dialect", "ir", "kernel", "pipeline", "frontend", "runtime", "lang", "foreign"},
    "distributed": LEAVES | {"runtime", "lang", "ad"},
    "mlir": LEAVES | {"dialect", "ir", "kernel", "pipeline", "runtime", "lang", "te", "ad"},
    "dist": {"distributed"},
    "ensemble": LEAVES,
    "algorithms": LEAVES | {"lang", "drawing"},
    "linalg": LEAVES | {"frontend", "runtime", "lang"},
    "profiler": LEAVES | {"runtime", "lang"},
    "drawing": LEAVES,
    "gui": LEAVES | {"drawing"},
    "tools": LEAVES | {"drawing", "gui"},
    "ui": LEAVES | {"drawing", "gui"},
}
# folders of ideas, each of which imports only from those in front of it
ORDER_OF_IDEAS = {
    "ad": ("recording", "recorder", "checkpoint", "budget", "tape", "forward", "functions"),
    "frontend/python": ("building", "values", "places", "source", "translation", "calls"),
    "runtime/memory": ("deferred_writes", "sparse", "host", "device"),
    "te": ("expressions", "definitions", "derivation", "programs", "nn"),
}
# the public names, Quadrants' too, and programs that a user writes: both see everything
PUBLIC = {
    "__init__",
    "examples",
    "quadrants",
}
NAMES_OF_NOTHING = {"utils", "common", "helpers", "misc", "impl", "base"}


def check(offenders: Iterable[str]) -> None:
    """Fail with a list of what breaks a rule."""
    lines = [*offenders]
    assert not lines, "\n".join(["", *lines])


def imported_folder(name: str) -> str:
    """Return the folder or module directly under `mlirad` that an import reaches; the package
    itself is `__init__`."""
    parts = name.split(".")
    return parts[1] if len(parts) > 1 and parts[1] else "__init__"


def test_imports_point_one_way() -> None:
    """Nothing imports upwards, not even inside a function."""
    check(
        f"{module.path}:{line}: {module.layer} imports {name}"
        for module in MODULES
        if module.layer not in PUBLIC
        for line, name in module.imports
        if imported_folder(name) not in MAY_IMPORT[module.layer] | {module.layer}
    )


@pytest.mark.parametrize("group", ORDER_OF_IDEAS)
def test_ideas_import_one_way(group: str) -> None:
    """A folder of a group imports from no folder behind it."""
    order, prefix = ORDER_OF_IDEAS[group], f"mlirad.{group.replace('/', '.')}."
    depth = len(prefix.split(".")) - 1
    ideas = {
        module: module.path.parts[depth]
        for module in MODULES
        if module.module.startswith(prefix) and len(module.path.parts) > depth + 1
    }
    assert {*ideas.values()} == {*order}
    check(
        f"{module.path}:{line}: {module.module} imports {name}"
        for module, idea in ideas.items()
        for line, name in module.imports
        if name.startswith(prefix)
        and name.removeprefix(prefix).split(".")[0] in order[order.index(idea) + 1 :]
    )


def test_imports_are_absolute() -> None:
    """A search for the name of a module finds all its imports."""
    check(
        f"{module.path}:{node.lineno}: relative import"
        for module in MODULES
        for node in module.nodes
        if isinstance(node, ast.ImportFrom) and node.level
    )


def test_only_bindings_names_the_distribution() -> None:
    """The provider of MLIR is known in one place."""
    check(
        f"{module.path}:{node.lineno}: imports {name}"
        for module in MODULES
        for node in module.nodes
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in imported_names(node)
        if name.split(".")[0] in ("torch_mlir", "mlir")
    )


def test_imports_have_no_cycle() -> None:
    """Modules can be put in an order in which each imports earlier ones only, for types too."""
    graph = import_graph(MODULES)
    done: set[str] = set()

    def visit(name: str, trail: tuple[str, ...]) -> None:
        assert name not in trail, " -> ".join([*trail[trail.index(name) :], name])
        if name not in done:
            for target in sorted(graph[name]):
                visit(target, (*trail, name))
            done.add(name)

    for name in sorted(graph):
        visit(name, ())


def cycles(sources: Iterable[Source]) -> Iterator[str]:
    """Yield the folders that import a sibling which imports them, directly or not."""
    for folder, sibling in folder_cycles(sources):
        yield f"{folder} imports {sibling}, which reaches {folder}"


def fillers(sources: Iterable[Source]) -> Iterator[str]:
    """Yield the bindings of names that say nothing."""
    for source in sources:
        for line, name in bound_fillers(source):
            yield f"{source.path}:{line}: {name}"


RULES: dict[str, Callable[[Iterable[Source]], Iterable[str]]] = {
    "at most 20 files a folder": full_folders,
    "at most 400 lines a file": long_files,
    "a basename once a layer": repeated_basenames,
    "folders import one way": cycles,
    "no fillers as names": fillers,
}


@pytest.mark.parametrize("rule", ALLOWED)
def test_a_rule_is_broken_as_often_as_allowed(rule: str) -> None:
    """What is new keeps the rule; what is put in order lowers the entry of the table."""
    offenders, allowed = [*RULES[rule](MODULES)], ALLOWED[rule]
    listed = "\n".join(offenders)
    assert len(offenders) <= allowed, f"{listed}\n{rule}: {len(offenders)}, {allowed} are allowed"
    assert len(offenders) == allowed, f"lower the entry of {rule!r} to {len(offenders)}"


PASSES = {  # by group and name: the file of each, or what its folder shows
    (module.path.parts[2], module.module.split(".")[3]): module
    for module in MODULES
    if re.fullmatch(r"mlirad\.passes\.[a-z]+\.[a-z]\w*", module.module)
}


def test_a_pass_has_a_lit_test() -> None:
    """The test of a pass has its name, and runs it."""
    tests = {name: ROOT / "test" / "passes" / name[0] / f"{name[1]}.mlir" for name in PASSES}
    check(
        f"{path.relative_to(ROOT)} does not run its pass"
        for (_, name), path in tests.items()
        if not path.is_file() or f"--{name.replace('_', '-')}" not in path.read_text()
    )


def test_passes_have_names_of_their_own() -> None:
    """A pass is found by its name alone."""
    assert len(PASSES) == len({name for _, name in PASSES})


def test_passes_are_closed() -> None:
    """A pass imports no other pass, but the parts in its own folder."""
    check(
        f"{module.path}:{line}: imports {name}"
        for module in MODULES
        if module.layer == "passes"
        for line, name in module.imports
        if name.startswith("mlirad.passes.")
        and name.split(".")[2:4] != module.module.split(".")[2:4]
    )


def wrong_summary(name: str, module: Source) -> str:
    """Return what is wrong with the summary of a pass, or nothing."""
    functions = {node.name: node for node in module.functions}
    if name not in functions:
        return "no function of this name"
    summary = (ast.get_docstring(functions[name]) or "").partition("\n\n")[0]
    if not summary.endswith("."):
        return "the summary is not a sentence"
    return "the summary is long" * (len(summary) > 160)


def test_a_pass_has_a_summary() -> None:
    """A pass holds a function of its name, whose documentation begins with one short sentence."""
    check(
        f"{module.path}: {wrong}"
        for (_, name), module in PASSES.items()
        if (wrong := wrong_summary(name, module))
    )


def test_files_are_named_after_what_is_in_them() -> None:
    """No drawer for everything."""
    check(
        f"{module.path} says nothing about what is in it"
        for module in MODULES
        if {part.strip("_") for part in module.path.with_suffix("").parts} & NAMES_OF_NOTHING
    )


def test_every_test_of_a_pass_has_its_pass() -> None:
    """A test whose pass is gone goes with it."""
    check(
        path.name
        for path in (ROOT / "test" / "passes").rglob("*.mlir")
        if not any(
            path.parent.name == group and f"{path.stem}_".startswith(f"{name}_")
            for group, name in PASSES
        )
    )


OPS = sorted(
    {op.OPERATION_NAME for dialect in (Field, Grad, Snode) for op in dialect.operations}
    | {op for name, op in vars(ops.Scf).items() if name.isupper()}
)
MOST_FILES_WITH_AN_OP = 6
MOST_UPSTREAM_NAMES = 4  # below `ir`, and in passes on memory that waits
TYPED = ("dialect", "ir", "analysis", "sweeps", "passes", "pipeline", "kernel")
MOST_UNTYPED = {"frontend": 0.15, "lang": 0.15}  # of the parameters of a folder
LONGEST_CLASS, MOST_METHODS, LONGEST_FUNCTION = 200, 20, 46


def test_an_op_is_spelled_where_it_is_defined() -> None:
    """And where it is dispatched on: everyone else asks its class."""
    spelling = re.compile(rf"(?<![\w.])({'|'.join(map(re.escape, OPS))})(?![\w.])")
    spelled = {
        str(module.path): {op for text in module.literals for op in spelling.findall(text)}
        for module in MODULES
    }
    files = {op: [path for path, ops in spelled.items() if op in ops] for op in OPS}
    check(
        f"{op}: {', '.join(paths)}"
        for op, paths in files.items()
        if len(paths) > MOST_FILES_WITH_AN_OP
    )


def test_upstream_ops_are_named_in_one_place() -> None:
    """`ir/ops` has their names. Text elsewhere, which a checker does not read, only gets less."""
    dialects = [dialect for dialect in vars(ops).values() if isinstance(dialect, type)]
    names = {name for dialect in dialects for key, name in vars(dialect).items() if key.isupper()}
    spelled = [
        f"{module.path}: {text}"
        for module in MODULES
        for text in module.literals
        if text in names and module.module != ops.__name__
    ]
    assert len(spelled) <= MOST_UPSTREAM_NAMES, "\n".join(["", *spelled])


def parameters(node: ast.FunctionDef) -> list[ast.arg]:
    """The parameters of a function."""
    arguments = node.args
    variadic = [arg for arg in (arguments.vararg, arguments.kwarg) if arg is not None]
    return [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, *variadic]


def untyped(module: Source) -> Iterator[tuple[str, bool]]:
    """For each parameter of a module, its place and whether a checker does not see what it
    takes."""
    for node in module.functions:
        for parameter in parameters(node):
            if parameter.arg not in ("self", "cls"):
                annotation = ast.walk(parameter.annotation or parameter)
                is_any = any(isinstance(name, ast.Name) and name.id == "Any" for name in annotation)
                yield f"{module.path}:{parameter.lineno}: {parameter.arg} is Any", is_any


def test_parameters_have_types() -> None:
    """A checker sees what a function takes."""
    check(
        parameter
        for module in MODULES
        if module.layer in TYPED
        for parameter, is_any in untyped(module)
        if is_any
    )


@pytest.mark.parametrize("layer", MOST_UNTYPED)
def test_most_parameters_have_types(layer: str) -> None:
    """Nearer to the user `Any` is for where Python's dynamism is the point."""
    flags = [flag for module in MODULES if module.layer == layer for _, flag in untyped(module)]
    assert sum(flags) <= MOST_UNTYPED[layer] * len(flags), f"{sum(flags)} of {len(flags)}"


def methods(node: ast.ClassDef) -> list[str]:
    """Return the names of the methods that a class defines, without those of the language."""
    return [
        child.name
        for child in node.body
        if isinstance(child, ast.FunctionDef) and not child.name.startswith("__")
    ]


def test_classes_and_functions_are_short() -> None:
    """One idea a class, one idea a function."""
    check(
        f"{module.path}:{node.lineno}: {node.name} has {length(node)} lines"
        for module in MODULES
        for nodes, longest in (
            (module.functions, LONGEST_FUNCTION),
            (module.classes, LONGEST_CLASS),
        )
        for node in nodes
        if length(node) > longest
    )


def test_classes_have_few_methods() -> None:
    """A class with more is two."""
    check(
        f"{module.path}:{node.lineno}: {node.name} has {len(methods(node))} methods"
        for module in MODULES
        for node in module.classes
        if len(methods(node)) > MOST_METHODS
    )


def test_files_of_tests_have_names_of_their_own() -> None:
    """Folders of tests are no packages: pytest knows a file by its name alone."""
    names = [path.name for path in (ROOT / "test").rglob("test_*.py")]
    assert len(names) == len({*names})


def test_slow_tests_exist() -> None:
    """A test that is gone or renamed is no longer listed in `slow.txt`, or under its name. A file
    defines its tests, or imports them."""
    listed = (ROOT / "test" / "slow.txt").read_text().splitlines()[1:]
    words = {
        path.name: {*re.findall(r"\w+", path.read_text())}
        for path in (ROOT / "test").rglob("test_*.py")
    }
    check(
        f"test/slow.txt: no {test}"
        for test in listed
        for file, name, *_ in [test.removesuffix("[1:]").split("::")]
        if name not in words.get(file, ())
    )
