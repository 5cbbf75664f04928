"""An isolated shuffle on nodes has the messages and bytes that forebay bundle plan says.

Usage: ips_plan_test.py --launch "mpiexec ..." --program bundle_nodes --forebay PROGRAM --ranks N
Runs beside the nodes (scripts/cluster.py --script).
"""
import argparse
import json
import os
import shlex
import subprocess
import sys
import unittest

WINDOW = 12288  # every number of ranks here divides it
SIZES = ("messages_in", "bytes_in", "aggregation_messages_in", "aggregation_bytes_in")


class Plan(unittest.TestCase):
    def run_on_nodes(self, sizes, limit):
        """What the report says of the bundle."""
        report = f"{self.id()}.json"
        if os.path.exists(report):
            os.remove(report)
        hints = f"bundle_scheme=ips;window_size={WINDOW};buffer_limit={limit};bundle_memory=16MiB"
        environment = dict(os.environ, FOREBAY_HINTS=hints, FOREBAY_REPORT=f"json:{report}")
        subprocess.run([*LAUNCH, PROGRAM, "rows", *map(str, sizes)], env=environment, check=True, timeout=100)
        with open(report, encoding="utf-8") as file:
            entries = [json.loads(line) for line in file]
        return next(entry for entry in entries if "bundle" in entry and entry["files"])

    def plan(self, sizes):
        command = [FOREBAY, "bundle", "plan", "--ranks", str(RANKS), "--scheme", "ips", "--unit", str(WINDOW), "--json",
                   *map(str, sizes)]
        return json.loads(subprocess.run(command, check=True, timeout=60, stdout=subprocess.PIPE).stdout)["schemes"][0]

    def compare(self, windows, limit="64MiB"):
        sizes = [WINDOW * n for n in windows]
        counted, plan = self.run_on_nodes(sizes, limit), self.plan(sizes)
        self.assertEqual(counted["scheme"], "ips")
        self.assertEqual(len(counted["files"]), len(sizes))
        for done, planned in zip(counted["files"], plan["files"], strict=True):
            for name in ("bytes", "first_rank", "ranks", *SIZES):
                self.assertEqual(done[name], planned[name], f"{name} of {done} and {planned}")
        # Each rank but the root sends one message for each window.
        self.assertEqual(counted["counters"]["messages"]["sum"], sum(windows) * (RANKS - 1))

    def test_figure_7(self):
        self.compare((5, 3, 1))

    def test_rounds(self):
        self.compare((23, 11, 7, 2), limit="200KiB")

    def test_one_file(self):
        self.compare((6,))

    def test_more_files_than_ranks(self):
        self.compare((4, 3, 1, 1, 1, 2, 1, 1, 1, 1))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--launch", required=True)
    parser.add_argument("--program", required=True)
    parser.add_argument("--forebay", required=True)
    parser.add_argument("--ranks", type=int, required=True)
    options = parser.parse_args()
    LAUNCH, PROGRAM, FOREBAY, RANKS = shlex.split(options.launch), options.program, options.forebay, options.ranks
    unittest.main(argv=[sys.argv[0]], verbosity=2)
