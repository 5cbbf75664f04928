#!/usr/bin/env python3
"""Fails where fewer tests ran than there are: a test that nobody builds any more fails nobody. Repeats what tests that
failed said first of what is wrong and said last, so that it stands at the end of a long log.

  ran.py FILE.xml=LEAST [NAME=LEAST ...] [NAME=LEAST,or=SENTENCE ...] ...

FILE is a JUnit record of ctest, pytest or googletest, or a pattern of several (gtests/*.xml); LEAST how many tests of it
must have run: those that were skipped or left out do not count. NAME=LEAST says the same of the tests of the last FILE
whose names begin so; with ",or=SENTENCE" none of them need have run if all say why in a line that begins with SENTENCE,
which is repeated.
"""

import glob
import re
import sys
import xml.etree.ElementTree as ElementTree


TAIL = 25  # lines of what a failed test said last
FINDING = 40  # lines from where it said first what is wrong
FINDINGS = re.compile(r"^WARNING: ThreadSanitizer|ERROR: \w+Sanitizer|runtime error:|: Failure$|^\[  FAILED  \]")


def cases(pattern):
    """The tests of all records that there are."""
    for path in sorted(glob.glob(pattern)):
        yield from ElementTree.parse(path).getroot().iter("testcase")


def ran(pattern):
    """Names of the tests that ran, whether they passed or not, and what the others said, by name."""
    names, skipped = [], {}
    for case in cases(pattern):
        left_out = case.find("skipped") is not None or case.get("status") in ("notrun", "disabled")
        if left_out:
            skipped[case.get("name")] = case.findtext("system-out") or ""
        else:
            names.append(case.get("name"))
    return names, skipped


def reason(skipped, sentence):
    """The line that begins with the sentence, if each of what was skipped said one, and something was."""
    lines = [next((line for line in said.splitlines() if line.startswith(sentence)), None) for said in skipped]
    return lines[0] if lines and all(lines) else None


def tell_failures(pattern):
    for case in cases(pattern):
        failure = case.find("failure")
        if failure is None:
            continue
        said = ((failure.text or "") + "\n" + (case.findtext("system-out") or "")).strip().splitlines()
        tail = max(0, len(said) - TAIL)
        first = next((number for number, line in enumerate(said[:tail]) if FINDINGS.search(line)), tail)
        finding = said[first : min(first + FINDING, tail)]
        how = f"{failure.get('message') or 'no reason told'}, after {case.get('time')} s"
        lines = [*finding, *(["..."] if finding else []), *said[tail:]]
        print(f"ran: {case.get('name')} FAILED ({how}):", *lines, sep="\n  | ")


def main(arguments):
    short, names, skipped = False, [], {}
    for argument in arguments:
        argument, _, sentence = argument.partition(",or=")
        what, least = argument.rsplit("=", 1)
        if what.endswith(".xml"):
            names, skipped = ran(what)
            tell_failures(what)
            found = len(names)
        else:
            found = sum(name.startswith(what) for name in names)
            why = reason([said for name, said in skipped.items() if name.startswith(what)], sentence)
            if sentence and found == 0 and why:
                print(f"ran: {why}")
                continue
        verdict = "ok" if found >= int(least) else "TOO FEW"
        print(f"ran: {what:42} {found:5} of at least {least:>4} {verdict}")
        short = short or found < int(least)
    return 1 if short else 0


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1:]))
