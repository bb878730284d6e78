"""The stages that are the same on every machine: what a mode computes, on fields."""

from __future__ import annotations

from mlirad.pipeline.mode import Check, Mode
from mlirad.pipeline.stages.stage import Stage

MARKED = "marked"  # where all reverses of a kernel are the same
NORMALISE = (
    "func.func(mem2reg),cse,canonicalize,cse,lower-block-loops,lower-ordered-loops,remove-activations,check-visited-cells,lower-activity,expand-derivatives,func.func(mem2reg),hoist-loads,reuse-loads,canonicalize,cse,"
    "mark-rounding,mark-poles"
)
_NORMALISE_CLEARING = NORMALISE.replace("lower-activity", "lower-activity{derivatives=true}")
NORMALISE_REVERSE = NORMALISE.replace("lower-block-loops", "lower-block-loops{of-launch=true}")
# for machines with threads: not of reverses, whose adjoints of a block are not theirs to share
_IN_THREADS = "lower-block-loops{threads=true}"
_ACCESSES = (
    "check-recursion,check-gradient-arguments,check-races,check-access-rules,mark-collisions,"
    "mark-footprints,mark-flows"
)
_REVERSE = "differentiate-reverse{option},canonicalize{{top-down=false}},cse,track-choices"
# of a reverse that is differentiated as a kernel is
REVERSE_AGAIN = f"{_REVERSE.format(option='{again=true}')},hoist-loads,canonicalize,cse"
_COLLISIONS = (
    "{verdicts}insert-collision-checks{{tangents={tangents}}},canonicalize,cse,"
    "hoist-loads,canonicalize,cse"
)
_FORWARD = "differentiate-forward{{tangents={tangents} constant={constant}}},canonicalize,cse"
_STORE = "lower-grad-logs,lower-grad-to-memref,"
_TIDY = "hoist-loads,canonicalize,cse"
_CHECK_RANGES, _CHECK_SPARSE = "check-index-ranges", "insert-bounds-checks{sparse-writes=true}"
_CHECK_BOUNDS, _CHECK_ACCESS, _CHECK_FINITE = (
    "report-races,insert-bounds-checks,insert-integer-checks",
    "insert-access-checks",
    "insert-finite-checks",
)


def derivation(
    mode: Mode, *, check_bounds: bool = False, store: bool = True, keeps: bool = False
) -> list[Stage]:
    """The stages behind `field` that come before a machine's own, which has to give saved values
    memory unless they `store` them.

    A reverse repeats the accesses that its primal has checked, and checks only what it writes
    itself; a primal that `keeps` values is the reverse of another kernel. With tangents, the
    primal, or the reverse, computes its tangents too (in constant code they are zero).
    """
    keep_values = [_STORE.rstrip(",")] * (store and keeps)
    if mode.is_check:
        return _collisions(mode, keep_values)
    finite = [_CHECK_FINITE] * (Check.FINITE in mode.checks)
    constant = str(mode.is_constant).lower()
    forward = [_FORWARD.format(tangents=mode.tangents, constant=constant)] * (mode.tangents > 0)
    stored = _STORE * store + _TIDY
    if mode.is_reverse:
        option = "{stored=true}" if mode.loads_stored else "{again=true}" * (mode.tangents > 0)
        backward = _REVERSE.format(option=option)
        derived = ",".join([backward, *forward, stored, *finite])
        return [
            Stage("normal", NORMALISE_REVERSE),
            Stage(MARKED, _ACCESSES),
            Stage("derived", derived),
        ]
    # nothing to differentiate: the values are enough
    inline = ["inline-custom-gradients"] * (mode.tangents == 0)
    ranges = [_CHECK_RANGES] * (not check_bounds)
    bounds = [_CHECK_BOUNDS if check_bounds else _CHECK_SPARSE] * (not keeps)
    access = [_CHECK_ACCESS] * (Check.ACCESS in mode.checks)
    normalise = _NORMALISE_CLEARING if mode.clears else NORMALISE
    if not store and not keeps:
        normalise = normalise.replace("lower-block-loops", _IN_THREADS)
    last = keep_values * (not mode.tangents)
    stages = [
        Stage("normal", ",".join([*inline, normalise, *ranges, *bounds, *access, *finite, *last]))
    ]
    marked = ["check-recursion", "mark-collisions{tangents=true}"] * (not mode.is_constant)
    if mode.tangents:
        stages.append(Stage("derived", ",".join([*marked, *forward, stored])))
    return stages


def _collisions(mode: Mode, keep_values: list[str]) -> list[Stage]:
    """The check that iterations do not meet: for the reverse of a kernel, or for its tangents."""
    verdicts = "" if mode.tangents else "check-access-rules,"
    check = "check-recursion," + _COLLISIONS.format(
        verdicts=verdicts, tangents=str(mode.tangents > 0).lower()
    )
    return [Stage("normal", NORMALISE_REVERSE), Stage("derived", ",".join([check, *keep_values]))]
