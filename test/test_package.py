"""What the package says of itself."""

from __future__ import annotations

import inspect
from importlib.metadata import metadata, version
from importlib.resources import files
from types import ModuleType

import pytest

import mlirad as ti
from mlirad import te
from mlirad.frontend.python.specials import Special
from mlirad.lang import graph

SPECIALS = [name for name in ti.__all__ if isinstance(getattr(ti, name), Special)]


def test_the_version_is_the_distribution_s() -> None:
    assert ti.__version__ == version("mlirad")


def test_types_and_licence_are_shipped() -> None:
    assert (files("mlirad") / "py.typed").is_file()
    assert metadata("mlirad")["License-Expression"] == "Apache-2.0"


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
    assert str(inspect.signature(ti.ndrange)) == "(*ranges)"
    assert str(inspect.signature(ti.sin)) == str(inspect.signature(te.sin)) == "(x, /)"
    assert str(inspect.signature(ti.math.atan2)) == str(inspect.signature(te.atan2)) == "(y, x, /)"
    assert (
        str(inspect.signature(ti.max)).replace("'", "") == "(first: Operand, *more: Operand) -> Any"
    )
    assert [*inspect.signature(ti.svd).parameters] == ["A", "dt"]
    signatures = {name: str(inspect.signature(getattr(ti, name))) for name in SPECIALS}
    assert not [name for name, said in signatures.items() if said in ("()", "(*args, **kwargs)")]
