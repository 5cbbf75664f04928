"""forebay plan counts the messages, their bytes and the pieces that a run on nodes has.

Usage: plan_test.py --launch "mpiexec ..." --bench PROGRAM --forebay PROGRAM
Runs on 4 nodes of 4 ranks (scripts/cluster.py).
"""
import argparse
import json
import os
import shlex
import subprocess
import sys
import unittest

RANKS, RANKS_PER_NODE = 16, 4
SMALL = "window_size=4KiB;buffer_limit=64KiB"  # every loop over windows goes round many times


class Plan(unittest.TestCase):
    def run_on_nodes(self, workload, hints):
        """What the report of each file says: that which was written, and the same read."""
        report = f"{self.id()}.json"
        if os.path.exists(report):
            os.remove(report)
        environment = dict(os.environ, FOREBAY_HINTS=hints, FOREBAY_REPORT=f"json:{report}")
        subprocess.run([*LAUNCH, BENCH, "--dir", ".", *workload], env=environment, check=True, timeout=150,
                       stdout=subprocess.DEVNULL)
        with open(report, encoding="utf-8") as file:
            entries = [json.loads(line) for line in file]
        return [entry["counters"] for entry in entries if entry["ranks"] == RANKS]  # not the maps that each rank reads

    def plan(self, operation, workload, hints):
        command = [FOREBAY, "plan", *workload, "--ranks", str(RANKS), "--ranks-per-node", str(RANKS_PER_NODE),
                   "--op", operation, "--hints", hints, "--json", "--call-latency", "1e-6"]  # as here
        return json.loads(subprocess.run(command, check=True, timeout=60, stdout=subprocess.PIPE).stdout)

    def compare(self, *workload, hints="", windows=5):
        counted = self.run_on_nodes(workload, hints)
        self.assertEqual(len(counted), 2)
        for operation, counters in zip(("write", "read"), counted):
            plan = self.plan(operation, workload, hints)
            for name in ("messages", "message_bytes", "pieces"):
                self.assertEqual(plan[name], counters[name]["sum"], f"{operation}: {name}")
            self.assertEqual(plan["bytes"], counters[f"bytes_asked_{operation}"]["sum"])
            self.assertEqual(plan["window"] > 0, windows > 0)
            self.assertGreaterEqual(plan["windows"], windows)
            self.assertEqual(plan["messages"] > 0, windows > 0)

    def test_f_of_16_map_ranks(self):
        f = ("e3sm", "--generate", "ne=4", "--map-ranks", "16")
        self.compare(*f)
        self.compare(*f, "--records", "2", hints=SMALL)
        self.compare(*f, hints="striping_unit=64KiB;aggregators=3")

    def test_i_waits_for_each_record(self):
        if not os.environ.get("FOREBAY_E3SM_DATA"):
            self.skipTest("FOREBAY_E3SM_DATA names no folder of recorded maps")
        self.compare("e3sm", "--case", "I", "--records", "2", hints="transport=aggregated")
        self.compare("e3sm", "--case", "G", "--records", "1")

    def test_strided(self):
        self.compare("strided", "--size", "64KiB", "--piece", "100", hints=SMALL)
        self.compare("strided", "--size", "256KiB")

    def test_contiguous_with_small_windows(self):
        self.compare("contiguous", "--size", "100000", hints=f"transport=aggregated;{SMALL}")

    def test_contiguous_is_carried_out_directly(self):
        self.compare("contiguous", "--size", "1MiB", windows=0)

    def test_btio_has_windows_that_grow(self):
        self.compare("btio", "--grid", "20", hints="window_size=16KiB")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--launch", required=True)
    parser.add_argument("--bench", required=True)
    parser.add_argument("--forebay", required=True)
    options = parser.parse_args()
    LAUNCH, BENCH, FOREBAY = shlex.split(options.launch), options.bench, options.forebay
    unittest.main(argv=[sys.argv[0]])
