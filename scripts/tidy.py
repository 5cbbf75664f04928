#!/usr/bin/env python3
"""Runs clang-tidy on sources, several at a time, and remembers what passed.

  tidy.py --build DIR --cache DIR [--jobs N] [--tidy clang-tidy-14] FILE...

A file is checked again only when something changed that the outcome depends on: its text, the text of what it includes
(preprocessed), how it is compiled, the settings in .clang-tidy, or clang-tidy itself. Only success is remembered.

Most of the time goes into headers, so sources that are compiled alike are checked some at a time, included by one file.
What fails together is checked in halves, down to single files: these have the last word.
"""

import argparse
import concurrent.futures
import hashlib
import itertools
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TIME_LIMIT = 600  # seconds a run of clang-tidy
TOGETHER = 12  # files of a run: more gain little, and leave a processor without work at the end
KEYWORDS = {"alignas", "const", "decltype", "default", "noexcept", "override", "requires", "return", "sizeof",
            "static_assert", "template", "void"}


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


def own_names(path):
    """Names that a source may declare for itself, at the beginning of a line as in all that clang-format has seen: two
    sources with one in common cannot be compiled together. A name too much costs little, one missed an attempt."""
    names = set()
    for line in path.read_text().splitlines():
        if define := re.match(r"# *define (\w+)", line):
            names.add(define[1])
        elif not re.match(r"[\s#/}]|$|(using )?namespace\b", line):
            names.update(re.findall(r"(?<!:)\b([A-Za-z_]\w*)(?= *(?:[({=;\[]|$))", line))
    return names - KEYWORDS


def apart(paths, commands):
    """Batches of sources that are compiled alike and have no name of their own in common."""
    batches = []
    for path in paths:
        arguments, folder = commands[path]
        how, names = (tuple(plain_arguments(arguments, path)), folder), own_names(path)
        for batch in batches:
            if batch["how"] == how and len(batch["paths"]) < TOGETHER and not names & batch["names"]:
                break
        else:
            batch = {"how": how, "paths": [], "names": set()}
            batches.append(batch)
        batch["paths"].append(path)
        batch["names"] |= names
    return [batch["paths"] for batch in batches]


def plain_arguments(arguments, path):
    """How a source is compiled, without compiler, source and output."""
    out, skip = [], True
    for argument in arguments:
        if skip:
            skip = argument.endswith("ccache")
        elif argument == "-o":
            skip = True
        elif argument != "-c" and not argument.endswith("/" + path.name):
            out.append(argument)
    return out


def run_tidy(paths, arguments, folder, options):
    """(whether all passed, what clang-tidy said)"""
    source = paths[0]
    if len(paths) > 1:
        options.batches.mkdir(parents=True, exist_ok=True)
        source = options.batches / f"{next(options.numbers)}.cc"
        source.write_text("".join(f'#include "{path}"  // NOLINT(bugprone-suspicious-include)\n' for path in paths))
    try:
        done = subprocess.run([options.tidy, f"--config-file={ROOT / '.clang-tidy'}", "--quiet", str(source), "--",
                               *plain_arguments(arguments, paths[0])], cwd=folder, capture_output=True, text=True,
                              timeout=TIME_LIMIT)
    except subprocess.TimeoutExpired:
        return False, f"{source}: clang-tidy took more than {TIME_LIMIT} s"
    return done.returncode == 0, done.stdout if done.returncode == 0 else done.stdout + done.stderr


def check(marks, commands, options):
    """What clang-tidy said of each of the sources in `marks`, {path: where success is remembered}, that failed."""
    paths = list(marks)
    passed, text = run_tidy(paths, *commands[paths[0]], options)
    if passed:
        for mark in filter(None, marks.values()):
            mark.touch()
        return []
    if len(paths) == 1:
        return [text]
    halves = paths[: len(paths) // 2], paths[len(paths) // 2 :]
    return [text for half in halves for text in check({path: marks[path] for path in half}, commands, options)]


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
    options.batches, options.numbers = options.build / "tidy", itertools.count()
    marks, remembered, failed = {}, 0, 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        keys = pool.map(lambda path: digest(path, *commands[path], settings), known)
        for path, key in zip(known, keys):
            mark = options.cache / key if key else None
            if mark and mark.exists():
                mark.touch()
                remembered += 1
            else:
                marks[path] = mark
        jobs = [pool.submit(check, {path: marks[path] for path in batch}, commands, options)
                for batch in apart(marks, commands)]
        for job in concurrent.futures.as_completed(jobs):
            for text in job.result():
                failed += 1
                print(text.strip(), flush=True)
    print(f"clang-tidy: {len(known)} files, {failed} failed, {remembered} unchanged since they passed"
          + (f"; {len(files) - len(known)} not in this build" if len(files) > len(known) else ""))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
