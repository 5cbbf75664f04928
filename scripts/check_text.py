#!/usr/bin/env python3
"""Checks the project's text files: white space at the end of a line, tabs, a missing last newline, merge markers,
paths of one machine, links between pages, and the pages and sections of docs/ that any file names. Files of more than
500 lines are named, without failing.

  check_text.py [--root DIR]
  check_text.py --self-test        show on made-up files that each rule can fail
"""

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

TEXT = {".h", ".cc", ".c", ".f90", ".F90", ".py", ".sh", ".md", ".txt", ".cmake", ".json", ".in", ".xml", ".cdl", ".toml", ".yml", ""}
DATA = {".cdl", ".txt"}  # as their makers wrote them, except our own CMakeLists.txt
LICENCES = {"LICENSE"}
LONG = 500

RULES = [
    (re.compile(r"[ \t]+$"), "white space at the end of the line"),
    (re.compile(r"\t"), "tab"),
    (re.compile(r"^(<<<<<<<|>>>>>>>)( |$)"), "merge marker"),
    (re.compile(r"(?<![\w.$}])/(root|home/\w+|work)/"), "path of one machine"),
]

FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
INDENTED = re.compile(r"(?<=\n\n)(?:(?:    .*)?\n)+")
INLINE_CODE = re.compile(r"`[^`\n]*`")
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#{1,6} +(.+?) *$", re.MULTILINE)
# docs/page.md, or docs/page.md, "Section": in comments and strings of sources the section may go on in the next line.
NAMED_PAGE = re.compile(
    r"(?<![\w/])docs/([\w/.-]+\.(?:md|svg|ipynb))(?:,\s+(?:(?://+|#) *)?\\?\"([^\"\\]+)\\?\")?")


def project_files(root):
    """Files that git keeps or would keep; outside a repository, all but those in build/ and hidden folders."""
    git = ["git", "-c", f"safe.directory={root}", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        listed = subprocess.run(git, cwd=root, capture_output=True, check=True).stdout.decode().split("\0")
        paths = [root / name for name in listed if name]
    except (OSError, subprocess.CalledProcessError):
        paths = [p for p in root.rglob("*")
                 if not any(part == "build" or part.startswith(".") for part in p.relative_to(root).parts[:-1])]
    return sorted({path for path in paths if path.is_file()})


def is_checked(path):
    if path.name in LICENCES or path.suffix not in TEXT:
        return False
    return path.suffix not in DATA or path.name == "CMakeLists.txt"


def check_file(root, path):
    name = path.relative_to(root)
    raw = path.read_bytes()
    if b"\0" in raw:
        return
    text = raw.decode("utf-8", errors="replace")
    if "\ufffd" in text:
        yield f"{name}:1: not UTF-8"
    if text and not text.endswith("\n"):
        yield f"{name}:{text.count(chr(10)) + 1}: no newline at the end of the file"
    for number, line in enumerate(text.splitlines(), 1):
        for pattern, what in RULES:
            if pattern.search(line):
                yield f"{name}:{number}: {what}"


def blank(match):
    return re.sub(r"[^\n]", " ", match.group())


def prose(text):
    """The text of a page without its code, every line at its place."""
    return INLINE_CODE.sub(blank, INDENTED.sub(blank, FENCE.sub(blank, text)))


def headings(path):
    return HEADING.findall(FENCE.sub(blank, path.read_text(encoding="utf-8", errors="replace")))


def anchor(heading):
    """The name that a link uses for a heading: lower case, hyphens for spaces, no punctuation."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def check_links(root, path):
    """Relative links of a page: the file must exist, and have the heading that the link names."""
    text = prose(path.read_text(encoding="utf-8", errors="replace"))
    for match in LINK.finditer(text):
        target, _, fragment = match.group(1).partition("#")
        if re.match(r"[a-z]+:", target):
            continue
        where = f"{path.relative_to(root)}:{text.count(chr(10), 0, match.start()) + 1}"
        file = path.parent / target if target else path
        if not file.exists():
            yield f"{where}: the link leads to no file: {target}"
        elif fragment and fragment not in map(anchor, headings(file)):
            yield f"{where}: {file.name} has no heading for #{fragment}"


def check_named_pages(root, path):
    """Pages of docs/ that a file names must exist, and have the section that stands in quotes behind the name."""
    text = path.read_text(encoding="utf-8", errors="replace")
    for match in NAMED_PAGE.finditer(text):
        page, section = root / "docs" / match.group(1), match.group(2)
        where = f"{path.relative_to(root)}:{text.count(chr(10), 0, match.start()) + 1}"
        if not page.exists():
            yield f"{where}: there is no docs/{match.group(1)}"
        elif section and re.sub(r"\s+(?:(?://+|#) )?", " ", section) not in headings(page):
            yield f"{where}: docs/{match.group(1)} has no section \"{section}\""


# A path of the tree between backticks, from its top or from a room or wing of src.
NAMED_PATH = re.compile(r"`((?:src|tests|cmake|scripts|bench|python|examples|include)/[\w./*-]+)`")


def check_named_paths(root, path):
    """What a page of docs/ names in the tree must exist."""
    text = FENCE.sub(blank, path.read_text(encoding="utf-8", errors="replace"))
    for match in NAMED_PATH.finditer(text):
        if not any(root.glob(match.group(1).rstrip("/"))):
            yield f"{path.relative_to(root)}:{text.count(chr(10), 0, match.start()) + 1}: there is no {match.group(1)}"


def check(root):
    """(files, faults) of a tree."""
    files = [path for path in project_files(root) if is_checked(path)]
    faults = []
    for path in files:
        faults.extend(check_file(root, path))
        if path.suffix == ".md":
            faults.extend(check_links(root, path))
            if path.relative_to(root).parts[0] == "docs":
                faults.extend(check_named_paths(root, path))
        if path != Path(__file__).resolve() and path.name != "CHANGELOG.md":  # its own cases; what was true then
            faults.extend(check_named_pages(root, path))
    return files, faults


def self_test():
    """Each case: a file, its text, and whether it must be reported."""
    page = "# Page\n\n## A first `word`, and more\n\n## Speed\n"
    cases = [
        ("a.h", "int x;\n", False),
        ("a.h", "int x; \n", True),
        ("a.h", "\tint x;\n", True),
        ("a.h", "int x;", True),
        ("a.h", "<" * 7 + " ours\n", True),
        ("a.md", "see /" + "root/file\n", True),
        ("a.md", "[page](docs/page.md), [out](https://example.org/no.md)\n", False),
        ("a.md", "[page](docs/page.md#a-first-word-and-more)\n", False),
        ("a.md", "[page](docs/pages.md)\n", True),
        ("docs/a.md", "see `src/no/such.h`\n", True),
        ("docs/a.md", "see `docs/page.md`\n", False),
        ("a.md", "[page](docs/page.md#second)\n", True),
        ("docs/a.md", "![picture](page.svg)\n", True),
        ("docs/a.md", "## Here\n\n[here](#here)\n", False),
        ("docs/a.md", "## Here\n\n[there](#there)\n", True),
        ("a.md", "`array[i](none.md)`\n\n    v[0](none.md)\n\n```c\nv[0](none.md)\n```\n", False),
        ("a.h", "// see docs/page.md, \"A first `word`, and\n// more\"\n", False),
        ("a.h", "// see docs/page.md, \"A second\n// word\"\n", True),
        ("a.cc", 'f("(docs/page.md, \\"Speed\\")");\n', False),
        ("a.cc", 'f("(docs/page.md, \\"Sped\\")");\n', True),
        ("a.cc", "// docs/pages.md\n", True),
    ]
    wrong = 0
    for name, text, expected in cases:
        with tempfile.TemporaryDirectory() as directory:
            root = Path(directory)
            (root / "docs").mkdir()
            (root / "docs" / "page.md").write_text(page)
            (root / name).write_text(text)
            found = check(root)[1]
        if bool(found) != expected:
            wrong += 1
            print(f"wrong: {name} with {text!r}: {found or 'nothing reported'}")
    print(f"text: self-test, {len(cases)} cases, {wrong} wrong")
    return wrong == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent)
    parser.add_argument("--self-test", action="store_true")
    options = parser.parse_args()
    if options.self_test:
        return 0 if self_test() else 1
    root = options.root
    files, faults = check(root)
    for fault in faults:
        print(fault)
    for path in files:
        lines = path.read_bytes().count(b"\n")
        if lines > LONG and path.suffix in {".h", ".cc", ".c", ".py", ".sh"}:
            print(f"note: {path.relative_to(root)} has {lines} lines")
    print(f"text: {len(files)} files, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
