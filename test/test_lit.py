"""The lit tests, one pytest test a file."""

from pathlib import Path

import pytest
from lit.LitTestCase import load_test_suite

HERE = Path(__file__).parent
CASES = {case.id().partition(" :: test/")[2]: case for case in load_test_suite([str(HERE)])}


@pytest.mark.filterwarnings(
    "ignore:unclosed file:ResourceWarning"
)  # lit leaves its pipes to the collector
@pytest.mark.parametrize("name", sorted(CASES))
def test_lit(name: str) -> None:
    """Run one file."""
    CASES[name].runTest()


def test_every_file_is_found() -> None:
    """A file that lit does not run proves nothing."""
    assert sorted(CASES) == sorted(str(path.relative_to(HERE)) for path in HERE.rglob("*.mlir"))
