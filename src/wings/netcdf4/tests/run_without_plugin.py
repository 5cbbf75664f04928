"""Runs a program with a copy of the library that has no plug-in beside it.

Usage: run_without_plugin.py --library LIBFOREBAY --dir DIRECTORY -- COMMAND ...
"""
import os
import shutil
import subprocess
import sys


def main():
    cut = sys.argv.index("--")
    options = dict(zip(sys.argv[1:cut:2], sys.argv[2:cut:2]))
    library, folder = options["--library"], options["--dir"]
    os.makedirs(folder, exist_ok=True)
    shutil.copyfile(library, os.path.join(folder, os.path.basename(library)))
    with open(os.path.join(folder, "libforebay_netcdf4.so"), "w") as f:
        f.write("this is no library")
    environment = dict(os.environ, LD_LIBRARY_PATH=folder, FOREBAY_PLUGIN_PATH=folder,
                       NETCDF4_TEST_WITHOUT_PLUGIN="1")
    return subprocess.run(sys.argv[cut + 1:], env=environment, timeout=100).returncode


if __name__ == "__main__":
    sys.exit(main())
