#!/usr/bin/env python3
"""The study of checkpoints of an adjoint (Hou 2023, ch. 4): runs forebay-bench-adjoint, prints Hou's (2023) tables beside ours.

  adjoint.py --build build/release [--ranks 1] [--quick] [--plot FILE.png] [--json FILE]

Case a is Hou's (2023) hs94: large tiles, most of a state does not change. Its checkpoints lie on a slow store that is so slow
that raw ones take 55 % of the run, as in D4, and at most 10 MB/s a rank. Case b is its halfpipe: tiles of 20 x 10, and
an implicit solve in each step; computing takes most of it, in files as quick as they are. Times are those of the
slowest rank."""

import argparse
import importlib.util
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile

import bench_slow_store
from bench_launch import Failure

SZ = "sz3:abs=1e-3"
CODECS = ("none", "float32", "deflate", "zfp:accuracy=1e-3", SZ, f"{SZ}:mode=speed", f"{SZ}:mode=ratio")
LOSSY = ("float32", "zfp:accuracy=1e-3", SZ)
WAYS = ("a", "b", "errors", "speed")
BUDGETS = (1, 2, 4, 8, 16, 32)
RAW_SHARE = 0.55
MOST_PER_RANK = 10e6  # bytes a second
# What D4 prints of cases a and b: seconds end to end (table 4.1); % of bytes and of checkpoint time saved (§4.3.1).
D4 = {
    "a": {
        "none": (104.2, 0, 0),
        "float32": (78.8, 50, 46),
        "deflate": (59.4, 90, 65),
        "zfp": (54.7, 94, 86),
        "sz3": (71.9, 98, 51),
        "sz3 speed": (71.9, 98, 51),
        "sz3 ratio": (72.0, 99, 41),
    },
    "b": {
        "none": (807.2, 0, 0),
        "float32": (831.4, 50, 34),
        "deflate": (804.7, 84, 43),
        "zfp": (832.5, 65, 59),
        "sz3": (897.2, 71, None),
        "sz3 speed": (897.2, 71, None),
        "sz3 ratio": (894.0, 84, None),
    },
}


def short(codec):
    name, _, parameters = codec.partition(":")
    _, _, mode = parameters.partition(":mode=")
    return f"{name} {mode}" if mode else name


def spent(row):
    return row["store"] + row["restore"]


def compared(rows, computing=math.inf):
    """What each codec saves beside raw states, which are the first row.

    Between runs the model itself takes longer or shorter, as others use the cores: the ratio is that of runs in which
    it takes as long as in the quickest one, or `computing` seconds."""
    raw = rows[0]
    computing = min([computing, *(r["seconds"] - spent(r) for r in rows)])
    return [
        {
            "codec": row["codec"],
            "computing": computing,
            "ratio": (computing + spent(raw)) / (computing + spent(row)),
            "bytes_saved": 100 * (1 - sum(row["bytes"]) / (row["raw_bytes"] * len(row["bytes"]))),
            "time_saved": 100 * (1 - spent(row) / spent(raw)),
        }
        for row in rows
    ]


class Study:
    def __init__(self, options):
        self.options = options
        self.program = os.path.join(options.build, "bench", "forebay-bench-adjoint")
        if not os.path.isfile(self.program):
            raise Failure(f"there is no {self.program}: build first")
        self.folder = tempfile.mkdtemp(prefix="adjoint-", dir=options.dir)
        self.results = {}

    def run(self, way, *arguments, ranks=None, rate=0):
        """One line of JSON; `rate`: bytes a second of all ranks, 0: as quick as it is."""
        command = [
            "mpiexec",
            "--oversubscribe",
            "--bind-to",
            "none",
            "-n",
            str(ranks or self.options.ranks),
            self.program,
            way,
            "--name",
            os.path.join(self.folder, "run"),
            *map(str, arguments),
        ]
        if rate == 0:
            return self.answer(command, {})
        parser = argparse.ArgumentParser()
        bench_slow_store.add_options(parser.add_argument)
        given = ["--slow-latency=0.5", f"--slow-bandwidth={rate / 1e6}", "--slow-stripe=1MiB", "--slow-switch=0"]
        slow = parser.parse_args(given)
        # MPI's launcher is not slowed: the ranks get the library by its option.
        with bench_slow_store.SlowStore(slow, self.options.build).around(self.folder) as (environment, _):
            given = [word for name, value in environment.items() for word in ("-x", f"{name}={value}")]
            return self.answer(command[:1] + given + command[1:], {})

    def answer(self, command, environment):
        done = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True)
        if done.returncode != 0:
            raise Failure(f"{' '.join(command)}:\n{done.stdout}{done.stderr}")
        return json.loads(done.stdout.strip().splitlines()[-1])

    # -- what takes how long ------------------------------------------------------------------------------------------

    def end_to_end(self, case, rate):
        """Runs of a case with each codec. `rate` None: so slow that raw states take their share; 0: not slowed."""
        size = self.size(case)
        computing = math.inf
        if rate is None:
            free = [self.run("run", *size, "--hints", "checkpoint_memory=8GiB") for _ in range(2)]
            computing = min(r["seconds"] - r["store"] - r["restore"] for r in free)
            free = free[0]
            moved = free["raw_bytes"] * (2 * len(free["bytes"]) - 1)
            rate = moved / (computing * RAW_SHARE / (1 - RAW_SHARE))
            rate = min(rate, MOST_PER_RANK * self.options.ranks)
        rows = []
        for codec in CODECS:
            rows.append(
                self.run("run", *size, "--codec", codec, "--hints", "checkpoint_memory=0;codec_threads=1", rate=rate)
            )
        beside = None
        if case == "a":  # not of D4: the states wait in memory for the thread that writes them
            room = int(rows[3]["bytes"][-1] * 40)
            beside = self.run(
                "run", *size, "--codec", CODECS[3], "--hints", f"checkpoint_memory={room};codec_threads=1", rate=rate
            )
        saved = compared(rows, computing)
        self.results[case] = {"rate": rate, "runs": rows, "beside": beside, "compared": saved}
        self.print_end_to_end(case, rate, rows, beside, saved)
        return rate

    def size(self, case):
        quick = self.options.quick
        words = ["--case", case]
        if case == "a":
            words += ["--steps", 4 if quick else self.options.steps]
            words += [
                "--columns",
                48 if quick else self.options.columns,
                "--rows",
                48 if quick else self.options.columns,
            ]
        else:
            words += ["--steps", 1 if quick else self.options.solves]
        return words + ["--iterations", 6 if quick else 32]

    def print_end_to_end(self, case, rate, rows, beside, saved):
        raw, computing = rows[0], saved[0]["computing"]
        store = f"store of {rate / self.options.ranks / 1e6:.2f} MB/s a rank" if rate else "files in the system's cache"
        print(
            f"\ncase {case}: a state of {raw['raw_bytes'] / 2**20:.1f} MiB on {self.options.ranks} ranks, "
            f"{len(raw['bytes'])} of them; {store}; the model "
            f"computes for {computing:.1f} s, raw checkpoints take "
            f"{100 * spent(raw) / (spent(raw) + computing):.0f} % of the run"
        )
        print(
            "| codec | end to end, measured s | raw ÷ it (Hou 2023) | bytes saved % (Hou 2023) | store s | restore s | "
            "checkpoint time saved % (Hou 2023) |"
        )
        print("| --- | --- | --- | --- | --- | --- | --- |")
        for row, its in zip(rows, saved, strict=True):
            theirs = D4[case][short(row["codec"])]
            print(
                f"| `{row['codec']}` | {row['seconds']:.1f} | {its['ratio']:.2f} "
                f"({D4[case]['none'][0] / theirs[0]:.2f}) | {its['bytes_saved']:.0f} ({theirs[1]}) | "
                f"{row['store']:.2f} | {row['restore']:.2f} | "
                f"{its['time_saved']:.0f} ({'-' if theirs[2] is None else theirs[2]}) |"
            )
        first, last = rows[2]["bytes"][0], rows[2]["bytes"][-1]
        print(
            f"deflate: the first state saves {100 * (1 - first / raw['raw_bytes']):.1f} %, "
            f"the last one {100 * (1 - last / raw['raw_bytes']):.1f} %"
        )
        if beside:
            ratio = (computing + spent(raw)) / (computing + spent(beside))
            print(
                f"zfp, written by the thread beside (checkpoint_memory): {beside['seconds']:.1f} s, store "
                f"{beside['store']:.2f} s, restore {beside['restore']:.2f} s, raw ÷ it {ratio:.2f}"
            )

    # -- errors -------------------------------------------------------------------------------------------------------

    def errors(self, case):
        size = ["--case", case, "--iterations", 32]
        if case == "a":
            size += ["--columns", 48, "--rows", 48, "--steps", 4, "--constants", 3]
        else:
            size += ["--steps", 1, "--columns", 80, "--rows", 40, "--constants", 0]
        budgets = BUDGETS[-2:] if self.options.quick else BUDGETS
        rows = self.run("errors", *size, "--codecs", "+".join(LOSSY), "--budgets", ",".join(map(str, budgets)))
        self.results["errors " + case] = rows
        print(
            f"\ncase {case}: error of the gradient in %, the largest of four points / of all, after 32 iterations "
            "with so many checkpoints (Hou 2023: zfp < 1" + (", SZ 7)" if case == "a" else ", SZ < 1)")
        )
        print("| codec |" + "".join(f" {n} |" for n in budgets) + "\n| --- |" + " --- |" * len(budgets))
        for codec in LOSSY:
            cells = [f" {100 * r['sampled']:.2g} / {100 * r['whole']:.2g} |" for r in rows if r["codec"] == codec]
            print(f"| `{codec}` |" + "".join(cells))

    # -- rows of the issue ---------------------------------------------------------------------------------------------

    def speed(self):
        rows = {r["way"]: r for r in self.run("speed", ranks=1)}
        self.results["speed"] = rows
        print("\nno codec, a state of 32 MiB, medians in ms")
        print("| way | store | restore |\n| --- | --- | --- |")
        for name, row in rows.items():
            print(f"| {name} | {1e3 * row['write']:.2f} | {1e3 * row['read']:.2f} |")
        copy = rows["memcpy"]
        print(
            f"memory tier: {copy['write'] / rows['memory tier']['write']:.2f} of memcpy's speed to store, "
            f"{copy['read'] / rows['memory tier']['read']:.2f} to restore"
        )
        if "unformatted" in rows:
            peer, ours = rows["unformatted"], rows["file tier"]
            print(
                f"file tier: {peer['write'] / ours['write']:.2f} times unformatted's speed to store, "
                f"{peer['read'] / ours['read']:.2f} to restore"
            )

    def fewer_advances(self):
        size = ["--case", "a", "--columns", 32, "--rows", 32, "--steps", 1, "--iterations", 100, "--constants", 0]
        raw = self.run("run", *size, "--checkpoints", 3, ranks=1)
        ours = self.run("run", *size, "--room", 3, "--codec", "zfp:accuracy=1e-3", ranks=1)
        ratio = raw["raw_bytes"] / max(ours["bytes"])
        self.results["advances"] = {"revolve": raw["advances"], "ours": ours["advances"], "ratio": ratio}
        print(
            f"\n100 steps, room for 3 raw states, zfp (ratio {ratio:.1f}): {ours['advances']} advances; "
            f"Revolve with 3 states: {raw['advances']}; ÷ {raw['advances'] / ours['advances']:.2f}"
        )

    def prefetch(self, rate):
        size = [
            "--case",
            "a",
            "--columns",
            48,
            "--rows",
            48,
            "--iterations",
            12,
            "--codec",
            "zfp:accuracy=1e-3",
            "--hints",
            "checkpoint_memory=0;codec_threads=1",
        ]
        made = self.run("prefetch", *size, ranks=1, rate=rate)  # the thread that reads needs a core
        self.results["prefetch"] = made
        for name in ("not_expected", "expected"):
            row = made[name]
            print(
                f"reverse sweep, steps of {made['ratio']:g} times reading a state ({1e3 * made['reading']:.0f} ms), "
                f"{name.replace('_', ' ')}: waits {100 * row['waited'] / row['seconds']:.0f} % of its time"
            )


def draw_times(axes, rows, title):
    names = [short(r["codec"]) for r in rows]
    axes.bar(names, [r["store"] for r in rows], label="store")
    axes.bar(names, [r["restore"] for r in rows], bottom=[r["store"] for r in rows], label="restore")
    axes.set(ylabel=f"seconds of {len(rows[0]['bytes'])} checkpoints", title=title)


def draw_sizes(axes, rows, title):
    for row in rows[1:]:
        axes.plot([b / 2**20 for b in row["bytes"]], label=short(row["codec"]))
    axes.set(xlabel="iteration", ylabel="MiB", title=title, yscale="log")


def draw_errors(axes, rows, title):
    for codec in LOSSY:
        some = [r for r in rows if r["codec"] == codec]
        axes.plot([r["checkpoints"] for r in some], [100 * r["sampled"] for r in some], "o-", label=short(codec))
    axes.set(xlabel="checkpoints", ylabel="% of the gradient", title=title, xscale="log", yscale="log")


def draw_speed(axes, rows, title):
    places = range(len(rows))
    axes.bar([p - 0.2 for p in places], [1e3 * r["write"] for r in rows.values()], 0.4, label="store")
    axes.bar([p + 0.2 for p in places], [1e3 * r["read"] for r in rows.values()], 0.4, label="restore")
    axes.set_xticks(places, rows)
    axes.set(ylabel="ms", title=title)


def panels_of(results):
    """What there is to draw of what was run: how, of which numbers, under which title."""
    panels = []
    for case in "ab":
        if case in results:
            runs = results[case]["runs"]
            panels += [(draw_times, runs, f"case {case}: time"), (draw_sizes, runs, f"case {case}: size")]
        if "errors " + case in results:
            panels.append((draw_errors, results["errors " + case], f"case {case}: error"))
    if "speed" in results:
        panels.append((draw_speed, results["speed"], "no codec"))
    return panels


def draw(results, path):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    panels = panels_of(results)
    columns = min(len(panels), 3)
    lines = -(-len(panels) // columns)
    figure, axes = plt.subplots(
        lines, columns, figsize=(4.3 * columns, 3.5 * lines), squeeze=False, constrained_layout=True
    )
    for number, place in enumerate(axes.flat):
        if number >= len(panels):
            place.set_axis_off()
            continue
        how, numbers, title = panels[number]
        how(place, numbers, title)
        place.legend()
    figure.savefig(path, dpi=120)
    plt.close(figure)
    print(f"\n{path} is drawn")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build/release")
    parser.add_argument("--dir", default="build", help="where checkpoints lie (default: %(default)s)")
    parser.add_argument("--ranks", type=int, default=1, help="1 (default), 2 or 4")
    parser.add_argument("--columns", type=int, default=48, help="of case a in each direction; 256: Hou's (2023) 65,536")
    parser.add_argument("--steps", type=int, default=250, help="of the model in an iteration of case a")
    parser.add_argument("--solves", type=int, default=20, help="the same of case b")
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that all goes")
    parser.add_argument("--only", default=",".join(WAYS), help="of these (default: all)")
    parser.add_argument("--plot", help="draw the tables into this file, with matplotlib")
    parser.add_argument("--json", help="write all numbers into this file")
    options = parser.parse_args()
    os.environ.setdefault("OMPI_ALLOW_RUN_AS_ROOT", "1")
    os.environ.setdefault("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
    os.makedirs(options.dir, exist_ok=True)
    options.dir = os.path.abspath(options.dir)
    only = options.only.split(",")
    if not set(only) <= set(WAYS):
        raise Failure(f"--only: some of {','.join(WAYS)}, not {options.only}")
    if options.plot and importlib.util.find_spec("matplotlib") is None:
        raise Failure("--plot needs matplotlib, which is not installed")
    study = Study(options)
    try:
        rate = study.end_to_end("a", None) if "a" in only else 0
        if "b" in only:
            study.end_to_end("b", 0)
        if "errors" in only:
            study.errors("a")
            study.errors("b")
        if "speed" in only:
            study.speed()
            study.fewer_advances()
            study.prefetch(rate or MOST_PER_RANK)
    finally:
        shutil.rmtree(study.folder, ignore_errors=True)
    if options.json:
        with open(options.json, "w") as out:
            json.dump(study.results, out)
    if options.plot:
        draw(study.results, options.plot)


if __name__ == "__main__":
    try:
        main()
    except Failure as failure:
        sys.exit(str(failure))
