"""The tests that a quick run leaves out (`tools/slow_tests.py`)."""

from pathlib import Path

from slow_tests import choose, read_times

RESULTS = """<testsuites><testsuite>
<testcase classname="test.ad.test_seeds.TestMany" name="test_a[0-one_thread]" time="0.1"/>
<testcase classname="test.ad.test_seeds.TestMany" name="test_a[0-two_threads]" time="0.7"/>
<testcase classname="test.test_lit" name="test_b" time="0.5"/>
<testcase classname="" name="test.lang.test_torch" time="0"/>
</testsuite></testsuites>"""


def test_times_of_a_run(tmp_path: Path) -> None:
    """A test has the name of its file, whatever its folder, and all its cases."""
    (tmp_path / "times.xml").write_text(RESULTS)
    assert read_times(tmp_path / "times.xml") == {
        "test_seeds.py::TestMany::test_a": [0.1, 0.7],
        "test_lit.py::test_b": [0.5],
    }


def test_what_is_slow() -> None:
    """Tests that take long together, unless their cases are very short; the first case is quick
    where it is short."""
    times = {
        "test_x.py::test_short": [0.3],
        "test_x.py::test_many_short": [0.01] * 1000,
        "test_x.py::test_long": [0.6],
        "test_x.py::test_long_cases": [0.3, 0.3],
        "test_x.py::test_a_short_case": [0.1, 0.9],
    }
    assert choose(times) == [
        "test_x.py::test_a_short_case[1:]",
        "test_x.py::test_long",
        "test_x.py::test_long_cases",
    ]


def test_a_file_keeps_its_fastest_case() -> None:
    """Unless that takes more than a second."""
    times = {
        "test_x.py::test_a": [0.8, 0.8],
        "test_x.py::test_b": [0.9],
        "test_y.py::test_c": [1.1],
        "test_z.py::test_d": [0.7],
    }
    assert choose(times) == ["test_x.py::test_a[1:]", "test_x.py::test_b", "test_y.py::test_c"]
