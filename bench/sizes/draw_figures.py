"""Draws H's figures 10 and 11 anew, of what forebay-bench-sizes finds here: docs/internals/patches.md, "Sizes of larger
runs".

    ./dev bench patch-figures                     runs all, and draws two pictures beside the docs' pages
    ./dev bench patch-figures --runs 8,16         the same with other numbers of ranks
    ./dev bench patch-figures --drawn bench/sizes/figures.json    draws what was found before, without any run

patch-loads.svg (H's figure 10): how bytes are spread over the ranks of the runs whose sizes were captured (8³), and
over those that they are extrapolated to (16³): the shape is to be the same. patch-scaling.svg (H's figure 11): weak
scaling of the five pipelines on the slow store of benchmarks, and the largest writer over the mean in plans of up to a
million ranks. The figures' numbers are kept in --numbers.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
FIELDS, CAPTURED, LARGER = ("flame", "turbulence"), 8, 16
PLANNED = ("8x8x8", "16x16x16", "32x32x32", "100x100x100")  # ranks


def sizes_of(field):
    return os.path.join(HERE, field + ".json")


def run(options, arguments, ranks=None, environment=None):
    """The records of a run of forebay-bench-sizes."""
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "records.json")
        command = [os.path.join(options.build, "bench/forebay-bench-sizes"), "extrapolated", *arguments, "--json", out]
        if ranks is not None:
            command = [*options.mpiexec.split(), "-n", str(ranks), *command]
        subprocess.run(command, check=True, env={**os.environ, **(environment or {})}, stdout=subprocess.DEVNULL)
        with open(out, encoding="utf-8") as file:
            return json.load(file)


def loads(options, field, edge):
    """Bytes of each rank of edge³, of one variable."""
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "loads.json")
        run(options, [sizes_of(field), "--plan-only", f"{edge}x{edge}x{edge}", "--variables", "1", "--loads", out])
        with open(out, encoding="utf-8") as file:
            return json.load(file)["bytes"]


def slow_store(options):
    """The store of docs/patches.md: 8 servers, a file on one, 100 MB/s in all, 0.5 ms a call."""
    sys.path.insert(0, os.path.join(HERE, "../driver"))
    from bench_slow_store import SlowStore, add_options

    parser = argparse.ArgumentParser()
    add_options(parser.add_argument)
    words = ["--slow-bandwidth", "100", "--slow-servers", "8", "--slow-one-server-files"]
    return SlowStore(parser.parse_args(words), options.build)


def measure(options):
    store = slow_store(options)
    found = {"loads": {}, "plans": {}, "runs": {}}
    for field in FIELDS:
        found["loads"][field] = {str(edge**3): loads(options, field, edge) for edge in (CAPTURED, LARGER)}
        plans = [run(options, [sizes_of(field), "--plan-only", grid]) for grid in PLANNED]
        found["plans"][field] = [record for plan in plans for record in plan]
    with tempfile.TemporaryDirectory(dir=options.dir) as folder:
        for ranks in options.runs:
            arguments = [sizes_of("flame"), "--dir", folder, "--patches", options.patches]
            arguments += ["--scale", str(options.scale), "--rounds", str(options.rounds)]
            with store.around(folder) as (environment, _):
                found["runs"][str(ranks)] = run(options, arguments, ranks, environment)
    return found


def save(figure, path):
    """The same numbers give the same file."""
    import matplotlib

    with matplotlib.rc_context({"svg.hashsalt": "forebay"}):
        figure.savefig(path, metadata={"Date": None, "Creator": None})


def draw_loads(found, path):
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.6), layout="constrained")
    for axes, field in zip(figure.subplots(1, len(FIELDS)), FIELDS, strict=True):
        for ranks, its in found["loads"][field].items():
            values = np.sort(np.asarray(its, float))
            share = (np.arange(values.size) + 0.5) / values.size
            axes.plot(
                100 * share,
                values / values.mean(),
                label=f"{int(ranks):,} ranks" + (" (captured)" if int(ranks) == CAPTURED**3 else " (extrapolated)"),
            )
        axes.set(title=field, xlabel="ranks, by their bytes (%)", ylabel="bytes of a rank over the mean")
        axes.legend(frameon=False)
    save(figure, path)


def by_pipeline(records):
    pipelines = {}
    for record in records:
        pipelines.setdefault(record["backend"], []).append(record)
    return pipelines


def draw_scaling(found, path):
    from matplotlib.figure import Figure

    figure = Figure(figsize=(13, 3.8), layout="constrained")
    first, *others = figure.subplots(1, 1 + len(FIELDS))
    runs = [record for its in found["runs"].values() for record in its]
    for name, its in by_pipeline(runs).items():
        rates = [r["bytes"] / statistics.median(r["seconds"]) / (1 << 20) for r in its]
        first.plot([r["ranks"] for r in its], rates, "o-", label=name)
    first.set(title="flame, written to the slow store", xlabel="ranks", ylabel="MiB/s, of median times", ylim=(0, None))
    first.set_xscale("log", base=2)
    ranks = sorted(int(n) for n in found["runs"])
    first.set_xticks(ranks, [str(n) for n in ranks])
    for axes, field in zip(others, FIELDS, strict=True):
        for name, its in by_pipeline(found["plans"][field]).items():
            if name != "collective":  # one file
                axes.plot([r["ranks"] for r in its], [r["largest_over_mean"] for r in its], "o-", label=name)
        axes.set(title=f"{field}, planned", xlabel="ranks", ylabel="largest writer over the mean", xscale="log")
    for axes in (first, *others):
        axes.legend(frameon=False)
    save(figure, path)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build/release")
    parser.add_argument("--out", default=os.path.join(HERE, "../../docs"), help="folder of the pictures")
    parser.add_argument("--numbers", default=os.path.join(HERE, "figures.json"), help="where the numbers are kept")
    parser.add_argument("--dir", default="/dev/shm", help="where files are written (default: %(default)s)")
    parser.add_argument(
        "--runs", metavar="RANKS,...", type=lambda text: [int(n) for n in text.split(",")], default=[8, 16, 32]
    )
    parser.add_argument("--patches", default="2x2x2", help="of a rank (default: %(default)s)")
    parser.add_argument("--scale", type=float, default=8, help="of the sizes")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--mpiexec", default="mpiexec --oversubscribe")
    parser.add_argument("--drawn", help="draw what this file has")
    options = parser.parse_args()
    os.makedirs(options.out, exist_ok=True)
    if options.drawn:
        with open(options.drawn, encoding="utf-8") as file:
            found = json.load(file)
    else:
        found = measure(options)
        with open(options.numbers, "w", encoding="utf-8") as file:
            json.dump(found, file)
            file.write("\n")
    draw_loads(found, os.path.join(options.out, "patch-loads.svg"))
    draw_scaling(found, os.path.join(options.out, "patch-scaling.svg"))


if __name__ == "__main__":
    main()
