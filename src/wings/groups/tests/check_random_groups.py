#!/usr/bin/env python3
"""Groups that seeds decide on, under every method, on several numbers of ranks: `forebay diff` finds them equal."""

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../../tests/support"))
import cases

SMALL = "buffer_limit=4k;window_size=4k"
BP = {"direct": "", "files": "subfiling=ranks;subfile_ranks=2",
      "nodes": "subfiling=node;ranks_per_node=2;buffer_limit=4k", "async": "stage=async;async_memory=1k", "burst": "stage=burst;nc_burst_buf_dirname={dir}/logs",
      "burst_small": "stage=burst;nc_burst_buf_dirname={dir}/logs;buffer_limit=4k;burst_flush_size=1000",
      "burst_nodes": "stage=burst;nc_burst_buf_dirname={dir}/logs;nc_burst_buf_shared_logs=enable;ranks_per_node=2",
      "striped": "striping_unit=64;open_stagger=1", "bp3": "bp_version=3"}
RECORDS = {"plain": SMALL, "chunked": "layout=chunked;codec=shuffle,zstd:3;chunk_bytes=64;" + SMALL,
           "decomposed": "layout=decomposed;" + SMALL, "directory": "layout=canonical;container=directory;" + SMALL,
           "records_async": "stage=async;async_memory=1k;" + SMALL, "records_memory": "stage=memory;" + SMALL,
           "records_burst": "stage=burst;nc_burst_buf_dirname={dir}/logs;" + SMALL}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("--command", required=True)
    parser.add_argument("--dir", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=12)
    parser.add_argument("--first", type=int, default=1)
    options = parser.parse_args()
    shutil.rmtree(options.dir, ignore_errors=True)
    (options.dir / "logs").mkdir(parents=True)
    files = 0

    def diff(one, other):
        done = subprocess.run([options.command, "diff", one, other], capture_output=True, text=True, timeout=60)
        return done.returncode, done.stdout + done.stderr

    seeds = max(cases.few_of(options.seeds), min(options.seeds, 5))  # each number of ranks
    for seed in range(options.first, options.first + seeds):
        ranks = (1, 2, 3, 4, 7)[seed % 5]
        for kind in ("all", "records"):
            first = None
            methods = {name: (hints, "bp") for name, hints in BP.items()}
            if kind == "records":
                methods |= {name: (hints, "nc") for name, hints in RECORDS.items()}
            for name, (hints, ending) in methods.items():
                path = options.dir / f"{kind}_{name}.{ending}"
                hints = hints.format(dir=options.dir)
                how = f"seed {seed}, {ranks} ranks, {kind}, {name}: {hints}"
                done = subprocess.run([options.program, path, str(seed), str(ranks), kind, hints], capture_output=True,
                                      text=True, timeout=60)
                assert done.returncode == 0, f"{how}: {done.returncode} {done.stderr}"
                first = first or path
                code, said = diff(first, path)
                assert code == 0, f"{how}: {said}"
                files += 1
            assert not list((options.dir / "logs").iterdir())
    # The comparison can fail.
    other = options.dir / "other.bp"
    subprocess.run([options.program, other, str(options.first + options.seeds), str(ranks), "records", ""], check=True)
    assert diff(options.dir / "records_direct.bp", other)[0] == 3
    print(f"{seeds} of {options.seeds} programs, {files} files: the same values")
    return 0


if __name__ == "__main__":
    sys.exit(main())
