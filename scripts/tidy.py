#!/usr/bin/env python3
"""Runs clang-tidy on sources, several at a time, and remembers what passed.

  tidy.py --build DIR --cache DIR [--jobs N] [--tidy clang-tidy-14] FILE...

A file is checked again only when something changed that the outcome depends on: its text, the text of what it includes
(preprocessed), how it is compiled, the settings in .clang-tidy, or clang-tidy itself. Only success is remembered.
"""

import argparse
import concurrent.futures
import hashlib
import json
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TIME_LIMIT = 600  # seconds a file


def compile_commands(build):
    """{path of a source: (arguments, folder)} from compile_commands.json; the first command of a source counts."""
    commands = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        path = (Path(entry["directory"]) / entry["file"]).resolve()
        commands.setdefault(path, (shlex.split(entry["command"]), entry["directory"]))
    return commands


def preprocessor_command(arguments):
    """The same compilation, stopped after preprocessing."""
    out, skip = [], False
    for argument in arguments:
        if skip:
            skip = False
        elif argument == "-o":
            skip = True
        elif argument != "-c" and not argument.endswith("ccache"):
            out.append(argument)
    return out + ["-E", "-P"]


def digest(path, arguments, folder, settings):
    """Name of all that the outcome depends on, or None when the file does not even preprocess."""
    done = subprocess.run(preprocessor_command(arguments), cwd=folder, capture_output=True)
    if done.returncode != 0:
        return None
    sha = hashlib.sha256()
    for part in (settings, str(path.relative_to(ROOT)).encode(), path.read_bytes(), done.stdout):
        sha.update(len(part).to_bytes(8, "little"))
        sha.update(part)
    return sha.hexdigest()


def check(path, arguments, folder, options, settings):
    """(whether it passed, whether that was known, what clang-tidy said)"""
    key = digest(path, arguments, folder, settings)
    mark = options.cache / key if key else None
    if mark and mark.exists():
        mark.touch()
        return True, True, ""
    try:
        done = subprocess.run([options.tidy, "-p", str(options.build), "--quiet", str(path)], cwd=ROOT,
                              capture_output=True, text=True, timeout=TIME_LIMIT)
    except subprocess.TimeoutExpired:
        return False, False, f"{path}: clang-tidy took more than {TIME_LIMIT} s"
    passed = done.returncode == 0
    if passed and mark:
        mark.touch()
    return passed, False, done.stdout if passed else done.stdout + done.stderr


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--tidy", default="clang-tidy-14")
    parser.add_argument("files", type=Path, nargs="*")
    options = parser.parse_args()
    options.build = options.build.resolve()
    options.cache.mkdir(parents=True, exist_ok=True)
    commands = compile_commands(options.build)
    files = [path.resolve() for path in options.files]
    known = [path for path in files if path in commands]
    version = subprocess.run([options.tidy, "--version"], capture_output=True).stdout
    settings = version + (ROOT / ".clang-tidy").read_bytes()
    failed = remembered = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        jobs = [pool.submit(check, path, *commands[path], options, settings) for path in known]
        for job in concurrent.futures.as_completed(jobs):
            passed, was_known, text = job.result()
            failed += not passed
            remembered += was_known
            if not passed:
                print(text.strip(), flush=True)
    print(f"clang-tidy: {len(known)} files, {failed} failed, {remembered} unchanged since they passed"
          + (f"; {len(files) - len(known)} not in this build" if len(files) > len(known) else ""))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
