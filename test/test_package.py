"""What the package says of itself."""

from __future__ import annotations

import importlib
import inspect
import re
import runpy
import tomllib
from importlib.metadata import metadata, version
from importlib.resources import files
from pathlib import Path
from types import ModuleType

import pytest

import mlirad as ti
from mlirad import te
from mlirad.frontend.python.calls.specials import Special
from mlirad.lang import graph

ROOT = Path(__file__).parents[1]
SPECIALS = [name for name in ti.__all__ if isinstance(getattr(ti, name), Special)]


def test_the_version_is_the_distribution_s() -> None:
    assert ti.__version__ == version("mlirad")


def test_help_begins_with_a_program_that_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "first.py"
    file.write_text(inspect.cleandoc((ti.__doc__ or "").partition("\n\n")[2]))
    runpy.run_path(str(file))
    assert capsys.readouterr().out.split()[1] == "-2."


def test_types_dialects_and_licence_are_shipped() -> None:
    assert (files("mlirad") / "py.typed").is_file()
    assert (files("mlirad") / "dialect" / "irdl" / "field.mlir").is_file()
    assert metadata("mlirad")["License-Expression"] == "Apache-2.0"


def test_versions_of_python_that_are_tested() -> None:
    """On 3.11, which is the oldest, and on those that `.ci/pythons` runs where they are."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    name = "Programming Language :: Python :: 3."
    minors = [int(c.removeprefix(name)) for c in project["classifiers"] if c.startswith(name)]
    script = (ROOT / ".ci" / "pythons").read_text()
    assert project["requires-python"] == f">=3.{minors[0]}"
    assert {*minors[1:]} <= {int(minor) for minor in re.findall(r"\b3\.(\d+)", script)}


def test_an_index_page_has_no_links_into_the_repository() -> None:
    readme = (ROOT / "README.md").read_text()
    description = runpy.run_path(str(ROOT / "setup.py"), run_name="setup")["description"]
    assert re.search(r"\]\((?!https?://)", readme)
    shown = description(readme)
    assert not re.search(r"\]\((?!https?://)", shown)
    code = re.compile(r"```.*?```", re.DOTALL)
    assert code.findall(shown) == code.findall(readme)
    linked = "![a](x.png) ![b](y.png)\n\n*See [the guide](docs/gradients.md)*, [MLIR](https://a.b)."
    assert description(linked).strip() == "*See the guide*, [MLIR](https://a.b)."


def test_everything_public_is_there_and_nothing_else() -> None:
    assert len(ti.__all__) == len(set(ti.__all__)) > 100
    assert all(hasattr(ti, name) for name in ti.__all__)
    assert not {"lang", "passes", "frontend", "runtime", "pipeline", "dialect", "bindings"} & set(
        dir(ti)
    )


@pytest.mark.parametrize(
    "namespace",
    [
        *(ti, ti.ad, ti.math, ti.sparse, ti.types, te, te.nn, graph),
        *(ti.algorithms, ti.linalg, ti.profiler, ti.tools, ti.ui),
    ],
    ids=lambda m: m.__name__,
)
def test_what_completion_shows_is_public_and_says_what_it_is(namespace: ModuleType) -> None:
    names = [name for name in dir(namespace) if not name.startswith("__")]
    assert names and set(names) == set(namespace.__all__)
    for value in (getattr(namespace, name) for name in names):
        if inspect.isclass(value) or inspect.isroutine(value):
            assert inspect.getdoc(value)
        elif isinstance(value, ModuleType):
            assert hasattr(value, "__all__")


def test_what_kernels_call_says_what_it_takes() -> None:
    assert str(inspect.signature(ti.atomic_add)) == "(place, value)"
    assert str(inspect.signature(ti.static_assert)) == "(condition, message=None)"
    assert str(inspect.signature(ti.ndrange)) == "(*ranges, axes=None)"
    assert str(inspect.signature(ti.sin)) == str(inspect.signature(te.sin)) == "(x, /)"
    assert str(inspect.signature(ti.math.atan2)) == str(inspect.signature(te.atan2)) == "(y, x, /)"
    assert (
        str(inspect.signature(ti.max)).replace("'", "") == "(first: Operand, *more: Operand) -> Any"
    )
    assert [*inspect.signature(ti.svd).parameters] == ["A", "dt"]
    signatures = {name: str(inspect.signature(getattr(ti, name))) for name in SPECIALS}
    assert not [name for name, said in signatures.items() if said in ("()", "(*args, **kwargs)")]


# what programs for Taichi import from its modules, by module
TAICHI_NAMES = {
    "_lib.core": "with_cuda",
    "_snode.fields_builder": "FieldsBuilder",
    "_snode.snode_tree": "SNodeTree",
    "lang._ndarray": "Ndarray ScalarNdarray",
    "lang.enums": "AutodiffMode Layout SNodeGradType",
    "lang.exception": "TaichiCompilationError TaichiRuntimeError TaichiTypeError",
    "lang.expr": "Expr",
    "lang.field": "Field ScalarField",
    "lang.impl": "axes current_cfg field get_runtime grouped ndarray one root static zero",
    "lang.kernel_impl": "Kernel data_oriented func kernel pyfunc real_func",
    "lang.matrix": "Matrix MatrixField MatrixNdarray MatrixType Vector VectorNdarray VectorType",
    "lang.misc": "cpu cuda extension get_host_arch_list gpu i ij ijk init loop_config reset sync",
    "lang.ops": "abs add atomic_add mul neg pow random sin sqrt sub",
    "lang.snode": "SNode activate append deactivate is_active length rescale_index",
    "lang.struct": "Struct StructField StructType dataclass",
    "lang.util": "cook_dtype has_pytorch in_python_scope to_numpy_type to_taichi_type",
    "types.annotations": "ref template",
    "types.compound_types": "matrix struct vector",
    "types.ndarray_type": "NdarrayType ndarray",
    "types.primitive_types": "all_types f32 i32 integer_types real_types u8",
}


@pytest.mark.parametrize("module", TAICHI_NAMES)
def test_names_of_taichi_s_modules(module: str) -> None:
    imported, reached = importlib.import_module(f"mlirad.{module}"), ti
    for part in module.split("."):
        reached = getattr(reached, part)
    for name in TAICHI_NAMES[module].split():
        assert getattr(imported, name) is getattr(reached, name), name


def test_types_of_vectors_as_taichi_has_them() -> None:
    vector, matrix = ti.lang.matrix.VectorType, ti.lang.matrix.MatrixType
    ti.init()

    @ti.func
    def square(z: vector(2, float)):
        return z[0] ** 2 + z[1] ** 2

    @ti.kernel
    def run(z: vector(2, float), m: matrix(2, 2, 2, float)) -> float:
        return square(m @ z)

    assert run([3.0, 4.0], [[0.0, 1.0], [1.0, 0.0]]) == 25.0
    kinds = [ti.math.vec3, matrix(3, 3, 2, ti.f64), matrix(2, 1, 1, ti.i8), ti.f32]
    assert [isinstance(kind, matrix) for kind in kinds] == [True, True, True, False]
    assert [isinstance(kind, vector) for kind in kinds] == [True, False, True, False]
    assert isinstance(ti.Vector.field(2, ti.f32, 3), ti.lang.matrix.MatrixField)
    assert isinstance(ti.types.struct(a=ti.f32).field(shape=3), ti.lang.struct.StructField)
    assert isinstance(ti.types.struct(a=ti.f32), ti.lang.struct.StructType)
