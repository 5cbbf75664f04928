"""Runs one workload with Forebay and with the peer library, and compares the files they write.

Usage: run_identity.py --launch "MPIEXEC ..." --ours PROGRAM --theirs PROGRAM --dir DIRECTORY
                       [--validate N] [--files N] -- ARGUMENT...

In the arguments, {dir} stands for the directory of the library at work; --files adds one, how many files it writes:
those of ../support/cases.py of N. After compare.py, the
peer's own tools judge our files: ncvalidator all of them, ncmpidiff and ncmpidump N of them.
"""
import argparse
import os
import shlex
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../support"))
import cases


def run(command, timeout=300):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=timeout)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--launch", required=True)
    parser.add_argument("--ours", required=True)
    parser.add_argument("--theirs", required=True)
    parser.add_argument("--dir", required=True)
    parser.add_argument("--validate", type=int, default=6)
    parser.add_argument("--files", type=int)
    parser.add_argument("arguments", nargs="*")
    options = parser.parse_args()
    if options.files:
        options.arguments.append(str(cases.few_of(options.files)))
    launch = shlex.split(options.launch)
    directories = {}
    for side, program in (("ours", options.ours), ("theirs", options.theirs)):
        directory = os.path.join(options.dir, side)
        shutil.rmtree(directory, ignore_errors=True)
        os.makedirs(directory)
        directories[side] = directory
        arguments = [a.replace("{dir}", directory) for a in options.arguments]
        done = run(launch + [program] + arguments)
        if done.returncode != 0:
            print(f"{side} failed with {done.returncode}:\n{done.stdout[-3000:]}")
            return 1
    compared = run([sys.executable, os.path.join(HERE, "compare.py"), directories["ours"],
                    directories["theirs"]])
    print(compared.stdout, end="")
    failures = compared.returncode
    files = sorted(n for n in os.listdir(directories["ours"]) if n.endswith(".nc"))
    if shutil.which("ncvalidator"):
        for name in files:
            done = run(["ncvalidator", os.path.join(directories["ours"], name)])
            if done.returncode != 0:
                theirs = os.path.join(directories["theirs"],
                                      name.replace("model_test.", "model_test_peer."))
                if run(["ncvalidator", theirs]).returncode != 0:
                    continue  # the peer's own file, byte for byte the same, is refused too
                print(f"ncvalidator refuses {name}: {done.stdout[-500:]}")
                failures = 1
        print(f"ncvalidator read {len(files)} files")
    else:
        print("ncvalidator is not installed: not run")
    for name in files[::max(1, len(files) // max(1, options.validate))][:options.validate]:
        ours = os.path.join(directories["ours"], name)
        theirs = os.path.join(directories["theirs"],
                              name.replace("model_test.", "model_test_peer."))
        for command in (["ncmpidiff", "-h", ours, theirs], ["ncmpidump", ours]):
            if not shutil.which(command[0]):
                print(f"{command[0]} is not installed: not run")
                continue
            done = run(command)
            if done.returncode != 0:
                print(f"{' '.join(command)} returned {done.returncode}: {done.stdout[-500:]}")
                failures = 1
    return failures


if __name__ == "__main__":
    sys.exit(main())
