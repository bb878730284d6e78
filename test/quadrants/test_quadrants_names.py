"""Quadrants' names are there, at the places where its programs look for them."""

import importlib

import numpy as np
import pytest

import mlirad as ti
import mlirad.quadrants as qd


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("lang.impl", "current_cfg"),
        ("lang.exception", "QuadrantsSyntaxError"),
        ("lang.misc", "get_host_arch_list"),
        ("lang.util", "to_quadrants_type"),
        ("types.annotations", "template"),
        ("types.enums", "AutodiffMode"),
        ("_lib.core", "arch_from_name"),
        ("math", "vec3"),
    ],
)
def test_modules_have_their_names(module: str, name: str) -> None:
    assert hasattr(importlib.import_module(f"mlirad.quadrants.{module}"), name)


@pytest.mark.parametrize("package", ("mlirad", "mlirad.quadrants"))
@pytest.mark.parametrize(
    "name",
    (
        *("ad", "algorithms", "graph", "linalg", "math", "profiler", "simt", "sparse", "tools"),
        "types",
    ),
)
def test_public_modules_can_be_imported(package: str, name: str) -> None:
    module = importlib.import_module(f"{package}.{name}")
    member = getattr(importlib.import_module(package), name)
    public = [name for name in dir(member) if not name.startswith("_")]
    assert public
    assert [name for name in public if not hasattr(module, name)] == []


def test_a_program_runs() -> None:
    qd.init(arch=qd.cpu)
    assert qd.cfg.arch == qd.cpu and qd.cfg.arch.name == "x64"

    @qd.kernel(fastcache=True)
    def double(x: qd.types.NDArray[qd.f32, 1]) -> qd.f32:
        for i in x:
            x[i] *= 2
        return x[0]

    assert double(np.ones(3, np.float32)) == 2


def test_names_of_taichi_are_left_out() -> None:
    assert not hasattr(qd, "TaichiTypeError") and not hasattr(qd, "opengl")
    assert qd.QuadrantsTypeError is ti.TaichiTypeError


def test_what_is_missing_is_refused_by_name() -> None:
    with pytest.raises(AttributeError, match=r"qd\.Mesh: mlirad has no meshes"):
        _ = qd.Mesh
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = qd.nothing
