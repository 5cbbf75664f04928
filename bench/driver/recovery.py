#!/usr/bin/env python3
"""How fast a dead job's logs are replayed, against the flush that it would have made.

  bench/driver/recovery.py [--total MiB] [--ranks N] [--rounds N] [--dir DIR] [--fast DIR] [--build TREE]

In each round the workload ior-strided is staged and closed (its flush is the close phase), then staged and killed
after its last put, and its logs are replayed with `forebay recover`, on the same number of ranks and on one. What is
compared is the time that the command says it took to verify and to replay; its start is not in it, as MPI's is not in
the flush. Prints medians and their ratio; the replayed file is compared with the flushed one, byte for byte.
"""

import argparse
import filecmp
import json
import os
import shlex
import statistics
import subprocess
import sys
import tempfile


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--total", type=int, default=1024, help="MiB that all ranks stage (default: %(default)s)")
    parser.add_argument("--transfer", default="64KiB", help="bytes of a put (default: %(default)s)")
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--dir", default=".", help="directory of the file")
    parser.add_argument("--fast", default="/dev/shm", help="directory of the logs (default: %(default)s)")
    parser.add_argument("--build", default=os.path.join(here, "..", "..", "build", "release"))
    parser.add_argument("--mpiexec", default="mpiexec --oversubscribe")
    o = parser.parse_args()
    environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    bench = os.path.join(o.build, "bench", "forebay-bench")
    forebay = os.path.join(o.build, "bin", "forebay")
    seconds = {}

    def launch(ranks, *command, **more):
        words = shlex.split(o.mpiexec) + ["-n", str(ranks), *command]
        return subprocess.run(words, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)

    with tempfile.TemporaryDirectory(dir=o.fast) as logs, tempfile.TemporaryDirectory(dir=o.dir) as files:
        def stage(name, *more):
            return launch(o.ranks, bench, "ior-strided", "--transfer", o.transfer, "--size",
                          f"{o.total // o.ranks}MiB", "--dir", files, "--file", name, "--op", "write", "--no-verify",
                          "--keep", "--hint", "stage=burst", "--hint", "nc_burst_buf_dirname=" + logs, *more)

        for _ in range(o.rounds):
            with tempfile.NamedTemporaryFile(suffix=".json") as out:
                os.unlink(out.name)
                done = stage("flushed.nc", "--json", out.name)
                if done.returncode != 0:
                    sys.exit(f"the staged run failed:\n{done.stdout}{done.stderr}")
                with open(out.name) as text:
                    record = json.load(text)[-1]
                open(out.name, "w").close()
            seconds.setdefault("flush", []).append(statistics.median(record["phases"]["close"]))
            for label, ranks in (("recover", o.ranks), ("recover, 1 rank", 1)):
                stage("killed.nc", "--die-after", "data")
                killed = os.path.join(files, "killed.nc")
                if not os.path.exists(killed + ".staging"):
                    sys.exit("the killed run left no control file")
                done = launch(ranks, forebay, "recover", "--json", killed)
                if done.returncode != 0:
                    sys.exit(f"recovery failed:\n{done.stdout}{done.stderr}")
                session = json.loads(done.stdout)["sessions"][0]
                seconds.setdefault(label, []).append(session["verify_seconds"] + session["replay_seconds"])
                if not filecmp.cmp(os.path.join(files, "flushed.nc"), killed, shallow=False):
                    sys.exit("the replayed file differs from the flushed one")
                os.unlink(killed)
    flush = statistics.median(seconds["flush"])
    print(f"{o.total} MiB in puts of {o.transfer}, {o.ranks} ranks, logs in {o.fast}, medians of {o.rounds}")
    for label, samples in seconds.items():
        median = statistics.median(samples)
        print(f"  {label:18}{median:8.3f} s {o.total / median:8.0f} MiB/s   speed against the flush {flush / median:5.2f}"
              f"   samples {' '.join(f'{s:.3f}' for s in samples)}")


if __name__ == "__main__":
    main()
