"""Many small states: microseconds that a push and a pop take, while there are up to so many of them.

    python python/bench/checkpoint_states_bench.py [--most 1000000] [--dir DIR]

`forebay-bench-adjoint states` does the same in C.
"""

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np

from forebay import checkpoints


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--most", type=int, default=1_000_000)
    parser.add_argument("--dir")
    options = parser.parse_args()
    state = {"x": np.full(8, 1.5)}
    print(f"{'tier':8}{'states':>10}{'push us':>10}{'pop us':>10}")
    for tier, memory in (("memory", "4GiB"), ("files", 0)):
        n = 1000
        while n <= options.most:
            with (
                tempfile.TemporaryDirectory(dir=options.dir) as folder,
                checkpoints.Store(Path(folder) / "run", memory=memory) as store,
            ):
                begin = time.perf_counter()
                for step in range(n):
                    store[step] = state
                between = time.perf_counter()
                while store:
                    store.pop()
                end = time.perf_counter()
            print(f"{tier:8}{n:10}{(between - begin) / n * 1e6:10.1f}{(end - between) / n * 1e6:10.1f}", flush=True)
            n *= 10


if __name__ == "__main__":
    main()
