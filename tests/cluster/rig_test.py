"""A cluster ends as its command does, and leaves nothing behind however it ends.

Usage: rig_test.py CLUSTER_PY MPIEXEC [OnGluster]
"""
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

NOT_RUN = 77
SOON = 20  # seconds


class Starts(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(dir=os.getcwd())
        # A word that only command lines of this test have.
        self.word = f"forebay-{os.getpid()}-{self.id().rsplit('.', 1)[-1]}"

    def tearDown(self):
        self.wait_until_all_have_ended()
        shutil.rmtree(self.folder)

    def wait_until_all_have_ended(self):
        end = time.monotonic() + SOON
        while self.processes() and time.monotonic() < end:
            time.sleep(0.01)
        self.assertEqual(self.processes(), [])

    def processes(self):
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as file:
                    said = file.read().decode(errors="replace")
            except OSError:
                continue
            if self.word in said or self.folder in said:
                found.append(f"{pid} {said}")
        return found

    def start(self, *arguments):
        command = [sys.executable, "-B", CLUSTER, *arguments[:1], "--mpiexec", MPIEXEC, *arguments[1:]]
        return subprocess.Popen(command, env=dict(os.environ, TMPDIR=self.folder), text=True, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def end(self, process, code):
        said = process.communicate(timeout=60)[0]
        self.assertEqual(process.returncode, code, said)
        return said


class Rig(Starts):
    def test_exit_code(self):
        self.end(self.start("2", "sh", "-c", "exit 5", self.word), 5)
        self.end(self.start("2", "--script", "sh", "-c", "exit 6", self.word), 6)
        self.assertEqual(os.listdir(self.folder), [])

    def test_a_killed_rank(self):
        self.end(self.start("2", "sh", "-c", "[ $OMPI_COMM_WORLD_RANK != 3 ] || kill -9 $$; sleep 60", self.word), 137)

    def wait_until_it_runs(self, ranks):
        end = time.monotonic() + SOON
        while sum(p.split(" ", 1)[1].startswith("sh\0-c") for p in self.processes()) < ranks:
            self.assertLess(time.monotonic(), end)
            time.sleep(0.01)

    def test_signals(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL):
            with self.subTest(number=number):
                process = self.start("2,1", "sh", "-c", "sleep 100; true", self.word)
                self.wait_until_it_runs(3)
                process.send_signal(number)
                self.end(process, -number if number == signal.SIGKILL else 128 + number)
                if number != signal.SIGKILL:  # nobody is left to remove it
                    self.assertEqual(os.listdir(self.folder), [])
                self.wait_until_all_have_ended()

    def test_at_the_same_time(self):
        several = [self.start("2,1", "sh", "-c", "sleep 1; hostname", self.word) for _ in range(3)]
        for process in several:
            said = self.end(process, 0).split()
            self.assertEqual(sorted(w for w in said if w.startswith("node") and ":" not in w),
                             ["node0", "node0", "node1"])

    def test_a_script_goes_round_the_nodes(self):
        script = '"$0" -n 3 sh -c \'echo "$OMPI_COMM_WORLD_RANK$(hostname)"\'; hostname'
        said = self.end(self.start("2,2", "--script", "--by-node", "sh", "-c", script, MPIEXEC, self.word), 0).split()
        for line in ("0node0", "1node1", "2node0", "head"):
            self.assertIn(line, said)

    def test_what_makes_no_sense(self):
        for arguments in (["x", "true"], ["0", "true"], ["2,0", "true"], ["2,1", "--ranks", "2", "true"], ["2"],
                          ["2", "--ranks", "0", "true"], ["2", "--shm", "0", "true"], ["2", "--shm", "x", "true"]):
            with self.subTest(arguments=arguments):
                self.end(self.start(*arguments), 2)

    def test_it_says_why_it_cannot_be(self):
        process = self.start("2", "--mpiexec", "no-such-mpiexec", "true")
        self.assertEqual(self.end(process, NOT_RUN), "cluster: not run: no no-such-mpiexec here\n")


class OnGluster(Starts):
    def test_at_the_same_time(self):
        # Each is there until both are, and sees its own volume's files.
        script = ('cd "$0"; "$3" -n 1 touch volume$1/of$1; touch is$1; '
                  'for k in $(seq 300); do [ ! -e is$2 ] || break; sleep 0.1; done; [ -e is$2 ] && "$3" -n 1 ls volume$1')
        several = [self.start("1", "--ranks", "1", "--gluster", "1", "--at", os.path.join(self.folder, f"volume{mine}"),
                              "--script", "sh", "-c", script, self.folder, mine, other, MPIEXEC)
                   for mine, other in ("01", "10")]
        for mine, process in zip("01", several):
            said = self.end(process, 0).split()
            self.assertEqual([word for word in said if re.fullmatch("of[01]", word)], [f"of{mine}"])


if __name__ == "__main__":
    CLUSTER, MPIEXEC = sys.argv[1:3]
    which = sys.argv[3:] or ["Rig"]
    trial = subprocess.run([sys.executable, "-B", CLUSTER, "1", "--mpiexec", MPIEXEC,
                            *(["--gluster", "1"] if which == ["OnGluster"] else []), "--script", "true"],
                           text=True, check=False, stdout=subprocess.PIPE)
    if trial.returncode == NOT_RUN:
        print(trial.stdout)
        sys.exit(NOT_RUN)
    unittest.main(argv=[*sys.argv[:1], *which])
