"""python -m forebay.plot ARGUMENTS: what `forebay plot` (src/tools/commands/plot_command.cc) does."""

from __future__ import annotations

import argparse
import os
import sys
import warnings

from matplotlib import rc_context
from matplotlib.backend_bases import FigureCanvasBase

from . import chunks, field, plan, report
from ._style import STYLE, printable

FAILED = 1  # as src/tools/commands.h has it; argparse itself ends with 2 where the command line makes no sense


def _two_names(text: str) -> tuple[str, str]:
    latitude, comma, longitude = text.partition(",")
    if not latitude or not longitude or "," in longitude:
        raise argparse.ArgumentTypeError(f"{text!r} is not LAT,LON: two names of variables")
    return latitude, longitude


def _two_numbers(text: str) -> tuple[float, float]:
    try:
        low, high = map(float, text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not LOW,HIGH: two numbers") from None
    return low, high


def parser() -> argparse.ArgumentParser:
    """The options of `forebay plot`, which tells what they mean."""
    made = argparse.ArgumentParser(
        prog="forebay plot",
        description="Draw a slice of a variable, its chunks, or a report of timings.",
        epilog="What the options mean: forebay plot --help, docs/commands.md.",
        allow_abbrev=False,
    )
    made.add_argument("file", nargs="?", metavar="FILE")
    made.add_argument("variable", nargs="?", metavar="VAR")
    made.add_argument("-o", "--output", required=True, metavar="PICTURE")
    made.add_argument("-s", "--slice", default="")
    made.add_argument("-l", "--level", type=int)
    made.add_argument("-r", "--record", type=int)
    made.add_argument("-c", "--coords", type=_two_names, metavar="LAT,LON")
    made.add_argument("--range", type=_two_numbers, metavar="LOW,HIGH")
    made.add_argument("--resolution-level", type=int)
    made.add_argument("--chunks", action="store_true")
    made.add_argument("--report", metavar="JSON")
    made.add_argument("--plan", metavar="JSON")
    made.add_argument("--entry", type=int, default=-1)
    return made


def _draw(options: argparse.Namespace, refuse):
    if options.plan and not options.file and not options.report and not options.chunks:
        return plan(options.plan)
    if options.chunks and options.variable and not options.plan:
        return chunks(options.file, options.variable, report=options.report)
    if options.report and not options.file and not options.chunks:
        return report(options.report, entry=options.entry)
    if options.variable and not options.report and not options.plan:
        return field(
            options.file,
            options.variable,
            select=options.slice,
            level=options.level,
            record=options.record,
            coords=options.coords,
            range=options.range,
            resolution_level=options.resolution_level,
        )
    return refuse(
        "it is not clear what to draw: FILE VAR -o PICTURE, FILE VAR --chunks [--report JSON] -o PICTURE, "
        "--report JSON -o PICTURE, or --plan JSON -o PICTURE"
    )


def _format_of(path: str, refuse) -> str:
    """By the suffix; a name without one gets a PNG."""
    suffix = os.path.splitext(path)[1].lstrip(".").lower()
    known = FigureCanvasBase.get_supported_filetypes()
    if suffix and suffix not in known:
        refuse(f"{printable(path)}: pictures end in .png, .svg or .pdf (and {', '.join(sorted(known))})")
    return suffix or "png"


def main(arguments: list[str] | None = None) -> int:
    """Draws what the arguments (default: those of the process) ask for. Gives the exit code."""
    made = parser()
    options = made.parse_args(arguments)
    format = _format_of(options.output, made.error)
    try:
        with warnings.catch_warnings(), rc_context(STYLE):
            warnings.showwarning = lambda message, *_, **__: print(f"forebay: {message}", file=sys.stderr)
            figure = _draw(options, made.error)
            figure.savefig(options.output, format=format)
    except (OSError, ValueError, LookupError, TypeError, MemoryError, NotImplementedError) as error:
        # A KeyError's own text is quoted; that of the system's errors has the path behind.
        said = error.args[0] if isinstance(error, KeyError) else error
        print(f"forebay: {printable(str(said)) or type(error).__name__}", file=sys.stderr)
        return FAILED
    print(f"{printable(options.output)}: {printable(figure.get_label())}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
