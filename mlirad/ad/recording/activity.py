"""Which elements are active, as something that Python writes to on a tape."""

from __future__ import annotations

from mlirad.ad.recording.call import Call
from mlirad.ad.recording.entries import HostWrite
from mlirad.ad.recording.target_memory import activities_of, box_of
from mlirad.ad.recording.versions import Versions
from mlirad.lang.recorder import Target


def activity_writes(
    target: Target, place: str, versions: Versions, call: Call | None
) -> list[HostWrite]:
    """Keep which elements of a field are active, before Python makes others active: entries of a
    tape, or what is noted of the `call` of a function with a gradient of its own."""
    found = []
    for key, cells in activities_of(target):
        box = box_of(cells, None)
        if call is None:
            found.append(HostWrite(cells, (), box, versions.before_write(key, cells, box, place)))
        else:
            call.write(key, cells, box, place)
    return found
