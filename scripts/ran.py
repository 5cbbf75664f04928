#!/usr/bin/env python3
"""Fails where fewer tests ran than there are: a test that nobody builds any more fails nobody. Repeats what tests that
failed said last, so that it stands at the end of a long log.

  ran.py FILE.xml=LEAST [NAME=LEAST ...] ...

FILE is a JUnit record of ctest or pytest, LEAST how many tests of it must have run: those that were skipped or left
out do not count. NAME=LEAST says the same of the tests of the last FILE whose names begin so.
"""

import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path


TAIL = 25  # lines of what a failed test said


def ran(path):
    """Names of the tests that ran, whether they passed or not."""
    names = []
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        left_out = case.find("skipped") is not None or case.get("status") in ("notrun", "disabled")
        if not left_out:
            names.append(case.get("name"))
    return names


def tell_failures(path):
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        failure = case.find("failure")
        if failure is None:
            continue
        said = (failure.text or "") + "\n" + (case.findtext("system-out") or "")
        print(f"ran: {case.get('name')} FAILED:", *said.strip().splitlines()[-TAIL:], sep="\n  | ")


def main(arguments):
    short, names = False, []
    for argument in arguments:
        what, least = argument.rsplit("=", 1)
        if what.endswith(".xml"):
            names = ran(what) if Path(what).exists() else []
            if names:
                tell_failures(what)
            found = len(names)
        else:
            found = sum(name.startswith(what) for name in names)
        verdict = "ok" if found >= int(least) else "TOO FEW"
        print(f"ran: {what:42} {found:5} of at least {least:>4} {verdict}")
        short = short or found < int(least)
    return 1 if short else 0


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1:]))
