"""python -m forebay: the forebay command that was installed with this package."""

import os
import shutil
import sys
import sysconfig


def main() -> None:
    beside = os.path.join(sysconfig.get_path("scripts"), "forebay")
    command = beside if os.access(beside, os.X_OK) else shutil.which("forebay")
    if command is None:
        sys.exit("python -m forebay: the forebay command is not installed beside this package")
    os.environ.setdefault("FOREBAY_PYTHON", sys.executable)  # for `plot`
    os.execv(command, [command, *sys.argv[1:]])


main()
