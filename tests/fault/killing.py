"""What the kill tests share: programs of several ranks that are started, watched and killed."""
import os
import signal
import subprocess
import time


def ended(pid):
    try:
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rsplit(")", 1)[1].split()[0] == "Z"
    except OSError:
        return True


def kill(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


class Log:
    """What the writer said until it was killed."""

    def __init__(self, path):
        self.path = path

    def clear(self):
        if os.path.exists(self.path):
            os.unlink(self.path)

    def lines(self):
        try:
            with open(self.path) as f:
                return [line.split(None, 1) for line in f.read().splitlines()]
        except FileNotFoundError:
            return []

    def last(self, word):
        numbers = [int(line[1]) for line in self.lines() if line[0] == word and len(line) > 1]
        return numbers[-1] if numbers else None

    def has(self, word):
        return any(line[0] == word for line in self.lines())

    def errors(self):
        return [" ".join(line) for line in self.lines() if line[0] == "error"]

    def pids(self):
        return {int(a): int(b) for line in self.lines() if line[0] == "pid"
                for a, b in [line[1].split()]}


def launch(command, changes=None):
    """Starts a program under mpiexec, whose ranks end at once when one of them does."""
    environment = dict(os.environ, OMPI_MCA_odls_base_sigkill_timeout="0")
    environment.update(changes or {})
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)


class Victim:
    """A program that notes "pid RANK PID" and "ready" in a log, and is to be killed."""

    def __init__(self, process, log):
        self.process, self.log = process, log
        deadline = time.monotonic() + 60
        while not log.has("ready") and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.002)
        self.pids = log.pids()

    def kill_now(self, random):
        """All ranks at once, or one and the others a moment later."""
        first = random.choice(sorted(self.pids.values())) if self.pids else None
        if first and random.random() < 0.5:
            kill(first)
            time.sleep(random.uniform(0, 0.02))
        for pid in self.pids.values():
            kill(pid)

    def wait(self):
        """Returns what the program printed, and False if it had to be ended."""
        in_time = True
        try:
            output = self.process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            for pid in self.pids.values():
                kill(pid)
            self.process.kill()
            output = self.process.communicate()
            in_time = False
        while any(not ended(pid) for pid in self.pids.values()):
            time.sleep(0.002)
        return output, in_time
