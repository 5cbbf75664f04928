"""Starts the programs of the benchmark."""

import json
import os
import shlex
import subprocess
import tempfile


class Failure(Exception):
    pass


class Launcher:
    """Starts programs under mpiexec and returns the records that they write."""

    def __init__(self, options):
        self.options = options
        version = subprocess.run([options.mpiexec, "--version"], capture_output=True, text=True, check=False).stdout
        self.is_open_mpi = "Open MPI" in version or "OpenRTE" in version
        self.environment = dict(os.environ)
        if self.is_open_mpi and os.geteuid() == 0:
            # Open MPI refuses to start as root unless told twice.
            self.environment["OMPI_ALLOW_RUN_AS_ROOT"] = "1"
            self.environment["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1"

    def command(self, program, arguments, ranks, module=None):
        command = [self.options.mpiexec]
        if self.is_open_mpi:
            command += ["--oversubscribe"]
            if module:
                command += ["--mca", "io", module]
        return command + ["-n", str(ranks), program] + arguments

    def run(self, program, arguments, ranks, module=None, environment=None):
        command = self.command(program, arguments, ranks, module)
        with tempfile.NamedTemporaryFile(suffix=".json", prefix="forebay-bench-") as out:
            code, said = self.wait_for(command + ["--json", out.name], {**self.environment, **(environment or {})})
            text = out.read()
        if not text:
            tail = "\n".join(said.splitlines()[:12])
            raise Failure(f"exit code {code}: {shlex.join(command)}\n{tail}")
        records = json.loads(text)
        for record in records:
            record["command"] = shlex.join(command)
        return records

    def wait_for(self, command, environment):
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              env=environment) as process:
            try:
                said, _ = process.communicate(timeout=self.options.timeout)
                return process.returncode, said
            except subprocess.TimeoutExpired as fault:
                raise Failure(f"no end after {self.options.timeout:.0f} s: {shlex.join(command)}") from fault
            finally:
                if process.poll() is None:
                    self.stop(process)

    @staticmethod
    def stop(process):
        process.terminate()  # lets mpiexec end its ranks
        try:
            process.communicate(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()
