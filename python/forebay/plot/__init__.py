"""Pictures of what is in a file, and of where time went, drawn with matplotlib.

    import forebay.plot

    forebay.plot.field("history.nc", "T", level=-1).savefig("T.png")
    forebay.plot.chunks("history.nc", "T").savefig("chunks.svg")
    forebay.plot.report("report.json").savefig("time.pdf")
    forebay.plot.plan("plan.json").savefig("plan.png")

Each function gives a matplotlib Figure, whose label (get_label()) is a sentence about what it shows. `forebay plot`
draws the same from a shell, and so does `python -m forebay.plot`.
"""

try:
    import matplotlib as _matplotlib  # noqa: F401  # the one thing here that the package itself does without
except ImportError as _error:
    raise ImportError(f'{_error}: forebay.plot needs matplotlib (pip install "forebay[plot]")') from _error

from ._chunks import chunks
from ._field import field
from ._plan import plan
from ._report import report

__all__ = ["chunks", "field", "plan", "report"]
