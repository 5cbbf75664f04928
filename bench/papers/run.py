#!/usr/bin/env python3
"""Measures what the papers measured, as far as this machine can, and writes the tables of docs/papers.md.

    ./dev bench papers                      all comparisons, on a machine that does nothing else
    ./dev bench papers D5                   those of one paper (bench/papers/comparisons.py has their short names)
    ./dev bench papers "D5 §5.5.3" "B"      those that begin so
    ./dev bench papers --quick D6           tiny sizes, one round: shows that all runs go; nothing is written
    ./dev bench papers --list               what there is, and the commands
    ./dev bench papers --tables             writes the tables of what was measured before, without a run

Each command is run once, whatever number of comparisons it serves. Its results, all samples of them, replace those of
the same command in --results. The tables between the markers of --page are made of that file and of
bench/papers/comparisons.py alone. Without a result a row shows the paper's number, and our figures in docs if there
are any.
"""

import argparse
import datetime
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
DRIVER = os.path.join(ROOT, "bench", "driver")
sys.path[:0] = [HERE, DRIVER]
# pylint: disable=wrong-import-position
import bench_slow_store  # noqa: E402
import readers  # noqa: E402
import tables  # noqa: E402
from bench_launch import Failure, Launcher  # noqa: E402
from comparisons import COMPARISONS, PAPERS, RUNS  # noqa: E402

PAGE = os.path.join(ROOT, "docs", "papers.md")
RESULTS = os.path.join(HERE, "results.json")


def chosen(names):
    """The comparisons that the names choose: all of them, a paper's, or those whose place begins so."""
    if not names:
        return list(COMPARISONS)
    found = []
    for name in names:
        some = [c for c in COMPARISONS if c.paper == name or f"{c.paper} {c.place}".startswith(name)]
        if not some:
            raise Failure(f"no comparison begins with {name}; --list names them all")
        found += [c for c in some if c not in found]
    return found


def arguments_of(run, ranks, directory, build, root=ROOT + os.sep, quick=False):
    """The words of a run's arguments. `ranks`: the text of --ranks, or one number."""
    sizes = {name: pair[quick] for name, pair in run.sizes.items()}
    files = max(int(ranks) // 4, 1) if ranks.isdigit() else 1
    return shlex.split(
        run.arguments.format(
            ranks=ranks, dir=directory, root=root, connector=os.path.join(build, "lib"), files=files, **sizes
        )
    )


def shown_command(run, ranks=None, rounds=None):
    """As a person types it, with other ranks and rounds than the run's own where they are given."""
    ranks, rounds = ranks or run.ranks, rounds or run.rounds
    words = " ".join(arguments_of(run, ranks, "DIR", "build/release", root=""))
    if run.program == "run.py":
        words, _, extra = words.partition(" -- ")
        return f"./dev bench {words} --ranks {ranks} --rounds {rounds}" + (f" -- {extra}" if extra else "")
    if run.program == "adjoint.py":
        return f"./dev bench adjoint {words}"
    if run.model:
        return f"{run.program} {words.replace(ranks, 'N')}"
    program = f"build/release/bench/{run.program} {words}".rstrip() + (f" --rounds {rounds}" if rounds else "")
    return (f"mpiexec --oversubscribe -n {ranks.replace(',', '|')} " if ranks else "") + program


class Runner:
    """Carries runs out, in an empty folder each."""

    def __init__(self, options):
        self.options = options

    def carry_out(self, name):
        """The results of a run (readers.py): all samples."""
        run, quick = RUNS[name], self.options.quick
        ranks = run.ranks
        if ranks and not run.model:
            ranks = self.options.ranks or (run.quick_ranks if quick else run.ranks)
        rounds = min(run.rounds, 1) if quick else run.rounds and (self.options.rounds or run.rounds)
        load = os.getloadavg()[0]
        directory = tempfile.mkdtemp(prefix="forebay-papers-", dir=self.options.dir)
        try:
            if run.program in ("run.py", "adjoint.py"):
                found = self.script(run, ranks, rounds, directory)
            else:
                found = []
                for count in ranks.split(",") if ranks else [""]:
                    found += self.program(run, count, rounds, directory)
        finally:
            shutil.rmtree(directory, ignore_errors=True)
        if not found:
            raise Failure(f"{name}: there are no results")
        return {
            "command": shown_command(run, ranks, rounds),
            "date": datetime.date.today().isoformat(),
            "load": round(load, 1),
            "results": found,
        }

    def script(self, run, ranks, rounds, directory):
        """A script of bench/driver, which starts the ranks."""
        words = arguments_of(run, ranks, directory, self.options.build, quick=self.options.quick)
        out = os.path.join(directory, "records.json")
        own = ["--build", self.options.build, "--json", out]
        if run.program == "run.py":
            own += ["--ranks", ranks, "--rounds", str(rounds)]
        else:
            own += ["--dir", directory]
        cut = words.index("--") if "--" in words else len(words)
        command = [sys.executable, os.path.join(DRIVER, run.program), *words[:cut], *own, *words[cut:]]
        subprocess.run(command, check=True)
        with open(out, encoding="utf-8") as file:
            records = json.load(file)
        return readers.of_adjoint(records) if run.program == "adjoint.py" else readers.of_driver(records)

    def program(self, run, ranks, rounds, directory):
        """A program of the build tree, under mpiexec where it takes ranks."""
        place = "bin" if run.program == "forebay" else "bench"
        path = os.path.join(self.options.build, place, run.program)
        if not os.access(path, os.X_OK):
            raise Failure(f"there is no {path}: it was not built")
        words = arguments_of(run, ranks, directory, self.options.build, quick=self.options.quick)
        words += ["--rounds", str(rounds)] if run.rounds else []
        if run.model:
            return readers.of_bundle_plan(json.loads(self.said([path, *words])))
        if run.program.startswith("forebay-bench-groups"):
            launcher = Launcher(self.options)
            return readers.of_groups(
                json.loads(self.said(launcher.command(path, words + ["--json"], ranks), launcher.environment))
            )
        if run.slow:
            return readers.of_sizes(self.slowed(run).run(path, words, ranks))
        out = os.path.join(directory, "records.json")
        self.said([path, *words, "--json", out])
        with open(out, encoding="utf-8") as file:
            return readers.of_plans(json.load(file))

    def slowed(self, run):
        """A launcher whose programs find --dir slow."""
        parser = argparse.ArgumentParser()
        bench_slow_store.add_options(parser.add_argument)
        options = parser.parse_args(shlex.split(run.slow))
        for name in ("mpiexec", "timeout", "build"):
            setattr(options, name, getattr(self.options, name))
        return bench_slow_store.SlowLauncher(options, self.options.dir)

    def said(self, command, environment=None):
        done = subprocess.run(
            command,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
            cwd=ROOT,
            check=False,
            timeout=self.options.timeout,
        )
        if done.returncode != 0:
            raise Failure(f"exit code {done.returncode}: {shlex.join(command)}")
        return done.stdout


def read_results(path):
    if not os.path.exists(path):
        return {}
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def write_results(path, results):
    """One line a result."""
    runs = []
    for name, run in results.items():
        head = json.dumps({key: value for key, value in run.items() if key != "results"})[1:-1]
        body = ",\n".join(json.dumps(r) for r in run["results"])
        runs.append(f'"{name}": {{{head}, "results": [\n{body}\n]}}')
    with open(path, "w", encoding="utf-8") as file:
        file.write("{\n" + ",\n".join(runs) + "\n}\n")


def write_page(path, results):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    for paper in PAPERS:
        text = tables.replaced(text, paper, tables.section(paper, results, shown_command))
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def parse_arguments(argv):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("names", nargs="*", metavar="NAME", help="a paper, or the beginning of a paper and place (default: all)")
    add("--rounds", type=int, help="samples of each (default: each command's own)")
    add("--ranks", help="with commas (default: each command's own)")
    add("--quick", action="store_true", help="tiny sizes and one round; no table is written")
    add("--list", action="store_true", help="print comparisons and commands, and run nothing")
    add("--tables", action="store_true", help="write the tables of --results, and run nothing")
    add("--results", default=RESULTS, metavar="FILE", help="all samples (default: bench/papers/results.json)")
    add("--page", default=PAGE, metavar="FILE", help="whose tables are written (default: docs/papers.md)")
    add("--build", default=os.path.join(ROOT, "build", "release"), help="build tree (default: %(default)s)")
    add("--dir", default="/dev/shm", help="a folder in memory (default: %(default)s)")
    add("--mpiexec", default="mpiexec", help="(default: %(default)s)")
    add("--timeout", type=float, default=3600, help="seconds for one start of a program (default: %(default)s)")
    options = parser.parse_args(argv)
    options.build = os.path.abspath(options.build)
    return options


def main(argv):
    options = parse_arguments(argv)
    comparisons = chosen(options.names)
    if options.list:
        for c in comparisons:
            command = f"by hand: {c.by_hand}" if c.by_hand else f"not here: {c.absent}"
            command = shown_command(RUNS[c.run]) if c.run else command
            print(f"{c.paper} {c.place}: {c.what}\n    {command}")
        return 0
    if options.tables:
        write_page(options.page, read_results(options.results))
        return 0
    os.environ.setdefault("OMPI_ALLOW_RUN_AS_ROOT", "1")
    os.environ.setdefault("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
    results = {} if options.quick else read_results(options.results)
    runner, failed = Runner(options), []
    for name in dict.fromkeys(c.run for c in comparisons if c.run):
        tiny = ", with tiny sizes and one round" if options.quick else ""
        print(f"papers: {name}{tiny}: {shown_command(RUNS[name])}", flush=True)
        try:
            results[name] = runner.carry_out(name)
        except (Failure, OSError, subprocess.SubprocessError) as fault:
            failed.append(name)  # what was measured before stays
            print(f"papers: {name} failed: {fault}", file=sys.stderr, flush=True)
            continue
        if not options.quick:
            write_results(options.results, results)
    for c in comparisons:
        print("\n".join(tables.lines(c, results)))
    if not options.quick:
        write_page(options.page, results)
    if failed:
        print(f"papers: failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except Failure as fault:
        sys.exit(f"papers: {fault}")
