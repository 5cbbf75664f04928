#!/usr/bin/env python3
"""Makes a Jupyter notebook of a Markdown page: its python and sh blocks become cells, the rest text between them.

  notebook.py PAGE.md NOTEBOOK.ipynb            writes the notebook
  notebook.py --check PAGE.md NOTEBOOK.ipynb    exit code 1 if it is not the page's
  notebook.py --run PAGE.md|NOTEBOOK.ipynb      runs the cells in this folder, one after another

A cell that runs prints what it prints; the first error ends the run. Lines of sh stand behind "!" in the notebook.
"""

import argparse
import ast
import hashlib
import json
import re
import subprocess
import sys
from pathlib import Path

BLOCK = re.compile(r"^```(python|sh)\n(.*?)^```\n", re.MULTILINE | re.DOTALL)


def cells_of_page(text):
    """[(kind, source)]: kind is text, python or sh."""
    cells, at = [], 0
    for block in BLOCK.finditer(text):
        cells += [("text", text[at : block.start()].strip("\n")), (block[1], block[2].rstrip("\n"))]
        at = block.end()
    cells.append(("text", text[at:].strip("\n")))
    return [(kind, source) for kind, source in cells if source]


def notebook_of(cells):
    """The notebook's text, without outputs. The same cells give the same bytes."""
    made = []
    for number, (kind, source) in enumerate(cells):
        if kind == "sh":
            source = "\n".join("!" + line for line in source.splitlines())
        name = hashlib.sha256(f"{number} {source}".encode()).hexdigest()[:12]
        lines = source.splitlines(keepends=True)
        cell = {"cell_type": "markdown" if kind == "text" else "code", "id": name, "metadata": {}, "source": lines}
        if kind != "text":
            cell |= {"execution_count": None, "outputs": []}
        made.append(cell)
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    book = {"cells": made, "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}}}
    return json.dumps(book | {"nbformat": 4, "nbformat_minor": 5}, indent=1, ensure_ascii=False) + "\n"


def cells_of_notebook(text):
    """As cells_of_page."""
    cells = []
    for cell in json.loads(text)["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            cells.append(("text", source))
        elif source.startswith("!"):
            cells.append(("sh", "\n".join(line.removeprefix("!") for line in source.splitlines())))
        else:
            cells.append(("python", source))
    return cells


def run_python(source, names, label):
    """Runs a cell; a last line that is an expression is shown, as in a notebook."""
    tree = ast.parse(source, label)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, label, "exec"), names)
    if last is not None:
        value = eval(compile(ast.Expression(last.value), label, "eval"), names)
        if value is not None:
            html = getattr(value, "_repr_html_", None)
            print(repr(value))
            if html is not None:
                html()


def run(cells):
    names = {"__name__": "__main__"}
    for number, (kind, source) in enumerate(cells):
        if kind == "python":
            run_python(source, names, f"cell {number}")
        elif kind == "sh":
            subprocess.run(["sh", "-ec", source], check=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--run", action="store_true")
    parser.add_argument("page", type=Path)
    parser.add_argument("notebook", type=Path, nargs="?")
    options = parser.parse_args()
    text = options.page.read_text(encoding="utf-8")
    cells = cells_of_notebook(text) if options.page.suffix == ".ipynb" else cells_of_page(text)
    if options.run:
        run(cells)
        return 0
    if options.notebook is None:
        parser.error("name the notebook")
    made = notebook_of(cells)
    if not options.check:
        options.notebook.write_text(made, encoding="utf-8")
    elif not options.notebook.exists() or options.notebook.read_text(encoding="utf-8") != made:
        print(f"{options.notebook} is not that of the page: scripts/notebook.py {options.page} {options.notebook}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
