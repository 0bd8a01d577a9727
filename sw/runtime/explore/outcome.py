"""What comes of a point where it is run: an object of one entry, called as these are."""

from __future__ import annotations

RESULT = "result"
"""Its figures or its error, which a sweep keeps."""

STOPPED = "stopped"
"""Why no point can run here."""

DEFECT = "defect"
"""The traceback of an error of Gnarl itself."""

TRIES = 2
"""How often a point is run whose process is killed."""

LEFT_OUT = "left_out"
"""The entry of a result that says that its point was not run, but only estimated."""
