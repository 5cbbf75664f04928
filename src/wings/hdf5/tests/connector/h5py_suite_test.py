"""h5py's own tests, natively and through the connector: those that pass natively alone must be the ones listed in a file.

    h5py_suite_test.py --python PYTHON --plugins DIRECTORY [--hints TEXT] [--differences FILE]

PYTHON has pytest, and an h5py with the HDF5 that the connector was built for. FILE (JSON) has tests by why they do not pass;
without it all must. A test that is listed and passes is a failure too: then the list is too long. Without
FOREBAY_TEST_FULL a fifth of the tests runs (tests/support/cases.py).
"""

import argparse
import json
import os
import re
import resource
import subprocess
import sys

SUPPORT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../../../tests/support")
sys.path.insert(0, SUPPORT)
import cases  # noqa: E402  pylint: disable=wrong-import-position

LEAST = 800  # pass natively, or the comparison says little
MEMORY = 16 << 30  # of the address space: a wrong shape must not take the machine down

VERDICT = re.compile(r"^(?:\S*tests/)?(test_\S+\.py::\S.*?) (PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS)\b", re.MULTILINE)


def passed(python, settings):
    """The tests that ran, those that passed, and what pytest said."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("HDF5_", "FOREBAY_"))} | settings
    options = ["--tb=line", "-p", "no:cacheprovider", "-W", "ignore"]
    if not cases.all_cases():
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, [SUPPORT, environment.get("PYTHONPATH")]))
        options += ["-p", "cases"]
    done = subprocess.run(
        [python, "-B", "-m", "pytest", "--pyargs", "h5py", "-v", *options],
        env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY)),
    )
    verdicts = dict(VERDICT.findall(done.stdout))
    print(f"{len(verdicts)} tests, exit code {done.returncode}: {done.stdout.strip().splitlines()[-1]}")
    return set(verdicts), {test for test, verdict in verdicts.items() if verdict == "PASSED"}, done.stdout


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--python", required=True)
    parser.add_argument("--plugins", required=True)
    parser.add_argument("--hints", default="")
    parser.add_argument("--differences", type=argparse.FileType())
    options = parser.parse_args()
    chosen, native, _ = passed(options.python, {})
    connector = "forebay under_vol=0;under_info={}" + (f";hints={{{options.hints}}}" if options.hints else "")
    _, through, output = passed(options.python, {"HDF5_PLUGIN_PATH": options.plugins, "HDF5_VOL_CONNECTOR": connector})
    reasons = json.load(options.differences) if options.differences else {}
    expected = {test for tests in reasons.values() for test in tests if cases.all_cases() or test in chosen}
    lost = native - through
    for test in sorted(lost - expected):
        print(f"passes natively, not through the connector, and is not listed: {test}")
    for test in sorted(expected - lost):
        print(f"is listed, but passes through the connector, or does not pass natively: {test}")
    if lost == expected and len(native) >= cases.few_of(LEAST):
        print(f"{len(native)} pass natively, {len(native & through)} of them through the connector")
        return 0
    print(output[-20000:])
    return 1


if __name__ == "__main__":
    sys.exit(main())
