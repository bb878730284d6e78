"""Options of a program that the environment sets."""

from __future__ import annotations

import pytest

import mlirad as ti
import mlirad.quadrants as qd
from mlirad.runtime.program import program


@pytest.mark.parametrize(("language", "prefix"), [(ti, "TI_"), (qd, "QD_")])
def test_variables_set_what_no_argument_does(
    language: object, prefix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each kind of option: a type, a flag, a number, a fraction, a machine."""
    for name, value in {
        "DEFAULT_FP": "f64",
        "DEBUG": "1",
        "CPU_MAX_NUM_THREADS": "1",
        "OFFLINE_CACHE_CLEANING_FACTOR": "0.5",
        "FAST_MATH": "0",
        "LANES": "4",
        "ARCH": "simt",
    }.items():
        monkeypatch.setenv(prefix + name, value)
    language.init(arch="x64")  # type: ignore[attr-defined]
    config = program().config
    assert (config.default_fp, config.debug, config.cpu_max_num_threads) == (ti.f64, True, 1)
    assert (config.offline_cache_cleaning_factor, config.fast_math) == (0.5, False)
    assert (config.lanes, config.arch) == (4, "simt")


def test_an_argument_overrides_a_variable_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """Except for the machine, as in Taichi."""
    monkeypatch.setenv("TI_DEBUG", "1")
    with pytest.warns(UserWarning, match="TI_DEBUG=1 is overridden by the argument debug="):
        ti.init(debug=False)
    assert not program().config.debug


@pytest.mark.parametrize(
    ("variable", "value", "expected"),
    [
        ("TI_DEBUG", "yes", "expected 0 or 1"),
        ("TI_DEFAULT_FP", "double", "expected the name of a type"),
        ("TI_OPT_LEVEL", "high", "expected an integer"),
        ("TI_OFFLINE_CACHE_CLEANING_FACTOR", "half", "expected a number"),
    ],
)
def test_a_value_that_is_none_of_its_option_is_refused(
    variable: str, value: str, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the variable's name."""
    monkeypatch.setenv(variable, value)
    with pytest.raises(ValueError, match=f"{variable}={value}: {expected}"):
        ti.init()
