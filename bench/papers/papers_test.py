"""The comparisons with the papers: each entry names what exists, and the tables say what the results say.

Usage: papers_test.py. Starts no program that measures.
"""

import contextlib
import importlib.util
import io
import json
import os
import re
import sys
import tempfile
import unittest
from unittest import mock

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "driver")]
# pylint: disable=wrong-import-position
import adjoint  # noqa: E402
import bench_bundles  # noqa: E402
import bench_hdf5  # noqa: E402
import bench_staging  # noqa: E402
import readers  # noqa: E402
import run as papers  # noqa: E402
import tables  # noqa: E402
from bench_launch import Failure  # noqa: E402
from comparisons import COMPARISONS, PAPERS, RUNS, Comparison, Figure  # noqa: E402


def module(path):
    """A script of another folder that is called as ours is."""
    spec = importlib.util.spec_from_file_location("forebay_driver", path)
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


DRIVER = module(os.path.join(papers.DRIVER, "run.py"))


def source(*path):
    with open(os.path.join(papers.ROOT, *path), encoding="utf-8") as file:
        return file.read()


def driver_records(arguments):
    """What bench/driver/run.py would write for these arguments: a record of each job, backend and operation."""
    options = DRIVER.parse_arguments(arguments)
    if options.suite == "hdf5":
        jobs, suite = bench_hdf5.make_jobs(options, None), "hdf5"
    elif options.suite:
        jobs, suite = bench_staging.make_jobs(options.suite, options), options.suite
    elif options.names[0] in bench_bundles.WORKLOADS:
        return [
            {
                "suite": "bundles",
                "workload": name,
                "ranks": 4,
                "backend": backend,
                "slow_store": store,
                "seconds": [2.0],
            }
            for name in options.names
            for backend in options.backends.split(",")
            for store in (None, {"latency_ms": 0.5})
        ]
    else:
        jobs, suite = DRIVER.make_jobs(options), None
    records = []
    for job in jobs:
        for backend in job["backends"]:
            for place in options.where.split(","):
                for operation in ("write", "read"):
                    record = {
                        "of": job["title"],
                        "backend": f"{backend}/romio321",
                        "operation": operation,
                        "for_ranks": 4,
                        "seconds": [2.0],
                        "bytes": 10,
                        "file_bytes": 5,
                        "directory kind": place,
                        "phases": {"data": [1.0], "close": [1.0], "copy": [1.0]},
                        "wrong_values": 0,
                    }
                    records.append({**record, "suite": suite} if suite else record)
    return records


def made_up(name):
    """Results of a run as its program would give them, with the names that the sources have."""
    run = RUNS[name]
    words = papers.arguments_of(run, "4", "DIR", "build/release")
    if run.program == "run.py":
        return readers.of_driver(driver_records(words))
    if run.program == "adjoint.py":
        rows = [
            {"codec": codec, "seconds": 4.0, "store": 1.0, "restore": 1.0, "bytes": [1], "raw_bytes": 2}
            for codec in adjoint.CODECS
        ]
        errors = [{"codec": codec, "checkpoints": 1, "sampled": 0.5} for codec in adjoint.LOSSY]
        case = {"compared": adjoint.compared(rows)}
        return readers.of_adjoint({"a": case, "b": case, "errors a": errors, "errors b": errors})
    if run.program.startswith("forebay-bench-groups"):
        ways = re.findall(r'ways\.push_back\(\s*\{"([\w-]+)"', source("bench", "groups", "groups_bench.cc"))
        numbers = {words[i][2:]: words[i + 1] for i in range(2, len(words), 2)}
        return readers.of_groups({"ranks": 4, **numbers, "ways": [{"name": way, "all": [2.0]} for way in ways]})
    if run.program == "forebay-bench-sizes":
        names = re.search(r"names\[\] = \{(.*?)\};", source("bench", "sizes", "pipelines.cc"), re.DOTALL).group(1)
        return readers.of_sizes(
            [
                {"workload": words[0], "backend": name, "ranks": 4, "seconds": [2.0], "largest_over_mean": 2.0}
                for name in re.findall(r'"([\w-]+)"', names)
            ]
        )
    if run.program == "forebay-order":
        return readers.of_plans(
            [
                {"workload": "order", "of": of, "ratio": 2.0}
                for of in (
                    "btio 64^3, 4 ranks",
                    "btio 64^3, 16 ranks",
                    "apart, 100 requests",
                    "interleaved, 16 requests",
                )
            ]
        )
    if run.program == "forebay-patch-scale":
        owners = re.findall(r'"(ours|greedy)"', source("bench", "limits", "patch_scale.cc"))
        return readers.of_plans(
            [
                {"workload": "patch-owners", "backend": name, "ranks": 4096, "least": 1, "most": 2, "moved_percent": 3}
                for name in owners
            ]
            + [
                {
                    "workload": "patch-files",
                    "backend": "forebay",
                    "field": "flame",
                    "files": 512,
                    "ranks": 4096,
                    "largest_over_mean": 2.0,
                    "equal_counts": 3.0,
                }
            ]
        )
    if run.model:
        schemes = re.findall(r'"(off|bps|lps|ips)"', source("src", "wings", "bundles", "plan", "bundle_plan.cc"))
        return readers.of_bundle_plan(
            {
                "ranks": 32,
                "schemes": [
                    {"scheme": name, "seconds": 2.0, "files": [{"bytes": 1, "ranks": 3, "shuffle_seconds": 1.0}]}
                    for name in set(schemes)
                ],
            }
        )
    raise AssertionError(f"{name}: nobody reads {run.program}")


class TheList(unittest.TestCase):
    def test_each_comparison_has_one_way_or_a_reason(self):
        for c in COMPARISONS:
            with self.subTest(f"{c.paper} {c.place}"):
                self.assertIn(c.paper, PAPERS)
                self.assertEqual(1, sum(map(bool, (c.run, c.by_hand, c.absent))))
                self.assertEqual(bool(c.run), bool(c.figures))
                self.assertTrue(c.theirs and c.what and (c.differs or c.absent))
                for f in c.figures:
                    self.assertEqual(1, bool(f.divide) + bool(f.value))
        places = [(c.paper, c.place) for c in COMPARISONS]
        self.assertEqual(len(places), len(set(places)))

    def test_each_run_serves_a_comparison(self):
        self.assertEqual(set(RUNS), {c.run for c in COMPARISONS if c.run})

    def test_programs_exist(self):
        targets = source("bench", "CMakeLists.txt")
        for name, run in RUNS.items():
            with self.subTest(name):
                if run.program.endswith(".py"):
                    self.assertTrue(os.path.isfile(os.path.join(papers.DRIVER, run.program)))
                elif run.program != "forebay":
                    self.assertRegex(targets, rf"(add_executable|forebay_add_groups_bench)\({run.program} ")

    def test_arguments_are_those_of_the_driver_also_quick(self):
        for name, run in RUNS.items():
            if run.program != "run.py":
                continue
            for quick in (False, True):
                with self.subTest(name, quick=quick):
                    words = papers.arguments_of(run, "4", "DIR", "build/release", quick=quick)
                    self.assertTrue(driver_records(words))

    def test_the_command_is_told_with_the_ranks_and_rounds_that_it_had(self):
        self.assertIn("--ranks 2 --rounds 7", papers.shown_command(RUNS["arrays"], "2", 7))
        self.assertRegex(papers.shown_command(RUNS["flame"], "8", 7), r"-n 8 .*--files 2 .*--rounds 7$")
        self.assertTrue(papers.shown_command(RUNS["bundles"]).endswith("-- --steps 8 --nx 144 --ny 91"))

    def test_files_of_arguments_exist(self):
        for name, run in RUNS.items():
            for word in papers.arguments_of(run, "4", "DIR", "build/release"):
                if word.startswith(papers.ROOT):
                    self.assertTrue(os.path.isfile(word), f"{name}: {word}")

    def test_every_figure_finds_its_results(self):
        results = {name: made_up(name) for name in RUNS}
        for c in COMPARISONS:
            for f in c.figures:
                with self.subTest(f"{c.paper} {c.place}, {f.label}"):
                    self.assertTrue(tables.values(f, results[c.run]))

    def test_only_comparisons_that_are_there_can_be_chosen(self):
        self.assertEqual(set(papers.chosen(["B"])), {c for c in COMPARISONS if c.paper == "B"})
        self.assertEqual({c.place[:6] for c in papers.chosen(["D5 §5.5.3"])}, {"§5.5.3"})
        with self.assertRaises(Failure):
            papers.chosen(["D5 §9"])


class Tables(unittest.TestCase):
    RUN = "checkerboard"

    def comparison(self, *figures, **more):
        return Comparison("D5", "Fig. 1", "writes", "up to 3", "scale", self.RUN, figures, **more)

    @staticmethod
    def record(backend, seconds, ranks=4, of="board random-50", **more):
        return {
            "of": of,
            "backend": backend,
            "operation": "write",
            "for_ranks": ranks,
            "seconds": seconds,
            "bytes": 80,
            "file_bytes": 20,
            "directory kind": "memory",
            "phases": {},
            "wrong_values": 0,
            **more,
        }

    def here(self, records, *figures, **more):
        measured = {self.RUN: {"results": readers.of_driver(records)}}
        return tables.here(self.comparison(*figures, **more), measured)

    def test_the_ratio_is_that_of_the_medians_for_each_number_of_ranks(self):
        records = [
            self.record("hdf5/romio321", [9.0, 3.0, 4.0]),
            self.record("forebay-chunked", [2.0, 1.0, 7.0]),
            self.record("hdf5/romio321", [30.0], 16),
            self.record("forebay-chunked", [2.0], 16),
        ]
        figure = Figure("half", ("random-50",), ("hdf5", "forebay-chunked"))
        self.assertEqual("half 2.00×, 15× (4, 16 ranks)", self.here(records, figure))

    def test_the_quicker_module_counts(self):
        records = [self.record("hdf5/ompio", [8.0]), self.record("hdf5/romio321", [4.0]), self.record("forebay", [2.0])]
        self.assertEqual("2.00× (4 ranks)", self.here(records, Figure("", (), ("hdf5", "forebay"))))

    def test_what_was_read_back_wrongly_is_no_result(self):
        records = [self.record("hdf5", [4.0]), self.record("forebay", [2.0], wrong_values=1)]
        self.assertEqual("no result of `forebay`", self.here(records, Figure("", (), ("hdf5", "forebay"))))

    def test_other_titles_places_and_operations_do_not_fit(self):
        records = [
            self.record("hdf5", [4.0], of="board random-5"),
            self.record("forebay", [2.0]),
            self.record("forebay", [2.0], of="board random-5", operation="read"),
        ]
        self.assertEqual("no result", self.here(records, Figure("", ("random-5",), ("hdf5", "forebay"))))

    def test_a_backend_that_is_missing_is_said_beside_what_is_there(self):
        records = [self.record("hdf5", [4.0]), self.record("forebay", [2.0])]
        figures = (Figure("a", (), ("hdf5", "forebay")), Figure("b", (), ("adios", "forebay")))
        self.assertEqual("a 2.00× (4 ranks); b: no result", self.here(records, *figures))

    def test_a_peer_that_was_not_built_is_named_beside_the_figure_of_the_docs(self):
        figures = (Figure("a", (), ("adios-mpi", "forebay")), Figure("b", (), ("adios-posix", "forebay")))
        self.assertEqual(
            "no result of `adios-mpi`, `adios-posix`; earlier: [2](a.md)",
            self.here([self.record("forebay", [2.0])], *figures, docs="[2](a.md)"),
        )

    def test_bytes_are_divided_by_bytes(self):
        figure = Figure("", (), ("forebay:bytes", "forebay:file_bytes"))
        self.assertEqual("4.00× (4 ranks)", self.here([self.record("forebay", [2.0])], figure))

    def test_phases_of_staging_are_results(self):
        records = [
            self.record(name, [9.0], suite="staging", phases={"copy": [6.0, 8.0], "close": [2.0]})
            for name in ("out", "log")
        ]
        self.assertEqual("3.50× (4 ranks)", self.here(records, Figure("", (), ("out:copy", "log:close"))))

    def test_values_of_several_results_are_a_range(self):
        study = {"errors a": [{"codec": "zfp:accuracy=1", "checkpoints": n, "sampled": n / 1000} for n in (1, 2, 4)]}
        figure = Figure("zfp", ("errors a",), value="zfp:error", operation="run", unit=" %", scale=100)
        self.assertEqual("zfp 0.10 to 0.40 %", tables.shown(figure, readers.of_adjoint(study)))

    def test_what_cannot_be_had_has_a_reason_and_no_number(self):
        c = Comparison("D3", "§1", "peer", "2", "", absent="nobody has it")
        self.assertEqual("not here: nobody has it", tables.here(c, {"": {"results": made_up("order")}}))

    def test_without_a_result_there_is_the_figure_of_the_docs_only(self):
        figure = Figure("", (), ("hdf5", "forebay"))
        self.assertEqual("earlier: [2](a.md)", tables.here(self.comparison(figure, docs="[2](a.md)"), {}))
        records = [self.record("hdf5", [4.0]), self.record("forebay", [2.0])]
        self.assertEqual("2.00× (4 ranks)", self.here(records, figure, docs="[2](a.md)"))

    def test_the_papers_number_has_a_column_of_its_own(self):
        row = tables.row(self.comparison(Figure("", (), ("hdf5", "forebay"))), {})
        self.assertEqual(
            "| Fig. 1 | writes: `hdf5` ÷ `forebay` (*checkerboard*) | up to 3 | not measured yet | scale |", row
        )

    def test_the_savings_of_codecs_are_those_of_the_study(self):
        rows = [
            {"codec": "none", "seconds": 10.0, "store": 3.0, "restore": 1.0, "bytes": [8, 8], "raw_bytes": 8},
            {"codec": "zfp:accuracy=1", "seconds": 9.0, "store": 0.5, "restore": 0.5, "bytes": [2, 2], "raw_bytes": 8},
        ]
        saved = adjoint.compared(rows)[1]
        self.assertEqual(
            (6.0, 10.0 / 7.0, 75.0, 75.0),
            tuple(saved[key] for key in ("computing", "ratio", "bytes_saved", "time_saved")),
        )


class ThePage(unittest.TestCase):
    def test_it_has_what_the_command_writes(self):
        page, results = source("docs", "papers.md"), papers.read_results(papers.RESULTS)
        for paper in PAPERS:
            begin, end = tables.between(page, paper)
            self.assertEqual(
                page[begin:end],
                tables.section(paper, results, papers.shown_command),
                f"{paper}: run ./dev bench papers --tables",
            )

    def test_markers_must_be_there_once(self):
        page = source("docs", "papers.md")
        for broken in (page.replace("<!-- B: end -->", ""), page + page):
            with self.assertRaises(ValueError):
                tables.replaced(broken, "B", "text")


class TheCommand(unittest.TestCase):
    """main(), with results that are made up in place of runs."""

    def setUp(self):
        folder = self.enterContext(tempfile.TemporaryDirectory())
        self.page, self.results = os.path.join(folder, "papers.md"), os.path.join(folder, "results.json")
        with open(self.page, "w", encoding="utf-8") as file:
            file.write(source("docs", "papers.md"))
        papers.write_page(self.page, {})  # as if nothing had been measured
        with open(self.page, encoding="utf-8") as file:
            self.before = file.read()

    def main(self, *arguments, fail=()):
        def carry_out(_, name):
            if name in fail:
                raise Failure("made to fail")
            return {"date": "2026-01-02", "command": "as it was typed", "load": 0.5, "results": made_up(name)}

        with (
            mock.patch.object(papers.Runner, "carry_out", carry_out),
            contextlib.redirect_stdout(io.StringIO()) as said,
            contextlib.redirect_stderr(io.StringIO()),
        ):
            code = papers.main([*arguments, "--page", self.page, "--results", self.results])
        with open(self.page, encoding="utf-8") as file:
            return code, said.getvalue(), file.read()

    def test_results_are_kept_and_the_table_is_written(self):
        code, said, page = self.main("D5 §5.5.3")
        self.assertEqual(0, code)
        self.assertIn("write 1.00× (4 ranks); read 1.00× (4 ranks)", said)
        self.assertIn("write 1.00× (4 ranks); read 1.00× (4 ranks) | ", page)
        self.assertIn("*arrays* (measured 2026-01-02, load 0.5 before):\n\n    as it was typed\n", page)
        kept = papers.read_results(self.results)
        self.assertEqual(["arrays"], list(kept))
        self.assertEqual([2.0], kept["arrays"]["results"][0]["seconds"])
        begin, end = tables.between(page, "B")
        self.assertEqual(page[begin:end], self.before[slice(*tables.between(self.before, "B"))])

    def test_a_second_run_keeps_what_the_first_one_measured(self):
        self.main("D5 §5.5.3")
        self.main("B Table I")
        self.assertEqual({"arrays", "bundle-plans"}, set(papers.read_results(self.results)))

    def test_a_run_that_fails_leaves_its_earlier_results_and_is_told(self):
        self.main("B")
        kept = papers.read_results(self.results)
        code, _, _ = self.main("B", fail=("bundles",))
        self.assertEqual(1, code)
        self.assertEqual(kept, papers.read_results(self.results))

    def test_quick_writes_nothing(self):
        code, said, page = self.main("B", "--quick")
        self.assertEqual(0, code)
        self.assertIn("1.00×", said)
        self.assertEqual(self.before, page)
        self.assertFalse(os.path.exists(self.results))

    def test_tables_are_made_of_the_file_of_results_alone(self):
        _, _, page = self.main("B")
        with open(self.page, "w", encoding="utf-8") as file:
            file.write(self.before)
        self.assertEqual(page, self.main("--tables")[2])
        with open(self.results, encoding="utf-8") as file:
            json.load(file)


if __name__ == "__main__":
    unittest.main()
