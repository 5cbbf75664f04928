"""What unmodified programs are told when something is wrong with the connector's string, with the plug-in, or with a file.

    bad_input_test.py --program PROGRAM --tools DIRECTORY --plugins DIRECTORY [--other PYTHON]
                      [--serial DIRECTORY --serial-program PROGRAM]

PROGRAM FILE writes a file (log_program.c); DIRECTORY has HDF5's tools. --serial: the same HDF5 without MPI, and a program
that needs none (serial_program.c). --other: a Python whose h5py has an HDF5 of its own.
"""

import argparse
import os
import re
import shutil
import struct
import subprocess
import sys
from pathlib import Path

string = "forebay under_vol=0;under_info={}"


class Failed(Exception):
    pass


class Programs:
    def __init__(self, options):
        self.options = options
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith("HDF5_")}

    def run(self, command, connector=None, plugins=None, **more):
        environment = {**self.environment, **more}
        if connector is not None:
            environment["HDF5_VOL_CONNECTOR"] = connector
            environment["HDF5_PLUGIN_PATH"] = plugins or self.options.plugins
        command = [str(word) for word in command]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
        if done.returncode < 0:
            raise Failed(f"{command} was killed by signal {-done.returncode}\n{done.stderr}")
        return done

    def write(self, file, connector=None, **more):
        return self.run([self.options.program, file], connector, **more)

    def tool(self, name, *arguments, connector=None, **more):
        return self.run([Path(self.options.tools) / name, *arguments], connector, **more)

    def dump(self, file, dataset, **more):
        """h5dump, told to use the connector: by itself it would go on without one."""
        how = ["--vol-name=forebay", "--vol-info=under_vol=0;under_info={}", "--enable-error-stack=2"]
        return self.tool("h5dump", *how, "-d", dataset, file, connector=string, **more)


def expect(done, what, *texts, fails=True):
    """The program's outcome, and what it printed (a regular expression each)."""
    if fails == (done.returncode == 0):
        raise Failed(f"{what}: exit code {done.returncode}\n{done.stdout[-2000:]}{done.stderr}")
    for text in texts:
        if not re.search(text, done.stderr, re.S):
            raise Failed(f"{what}: the errors do not say {text!r}\n{done.stderr}")
    print(f"{what}: told")


def is_ordinary(file):
    data = Path(file).read_bytes()
    return data.startswith(b"\x89HDF") and b"_forebay_log" not in data


def strings(programs):
    """HDF5 prints why it cannot have the connector, and goes on with its native one."""
    form = re.escape("the form is under_vol=NUMBER_OR_NAME;under_info={TEXT};hints={name=value;...}")
    for text, told in {
        "undr_vol=0": r'a part that is not understood: "undr_vol=0"',
        "under_vol=": 'a part that is not understood: "under_vol="',
        "under_vol=0;under_info={": "opens a brace that is not closed",
        "under_vol=0;under_info={}}": "closes a brace that was not opened",
        "under_vol=0;under_info=none": "gives under_info without braces",
    }.items():
        done = programs.write("string.h5", f"forebay {text}")
        expect(done, f"connector string {text!r}", "Forebay-DIAG", told, form, fails=False)
        if not is_ordinary("string.h5"):
            raise Failed(f"{text}: no ordinary file was written")
    expect(programs.write("string.h5", "forebay under_vol=nosuch"), "a connector below that is not there",
           "under_vol=nosuch names no connector that can be loaded", "HDF5_PLUGIN_PATH", fails=False)
    before = Path("string.h5").read_bytes()
    for hints, told in {
        "layuot=canonical": 'there is no key "layuot".*did you mean "layout"',
        "buffer_limit=lots": '"lots" is no value of buffer_limit',
    }.items():
        done = programs.write("string.h5", f"{string};hints={{{hints}}}")
        expect(done, f"hint {hints!r}", "the connector's string", told)
        if Path("string.h5").read_bytes() != before:
            raise Failed(f"{hints}: the file that was there is gone")
    for layout in ("process-group", "null"):
        for file in ("string.h5", "layout.h5"):
            done = programs.write(file, f"{string};hints={{layout={layout}}}")
            expect(done, f"layout={layout}", f"HDF5 files through the connector have no layout={layout}",
                   r"accepted here: auto\|canonical\|chunked\|log", "docs/groups.md")
        if Path("string.h5").read_bytes() != before:
            raise Failed(f"layout={layout}: the file that was there is gone")
        if Path("layout.h5").exists():
            raise Failed(f"layout={layout}: a file is there")
    # What was named for this file is refused; what a general rule says is told where it did not reach it.
    for setting in ("codec=zstd:3", "chunk_bytes=64KiB", "stage=async;layout=canonical"):
        done = programs.write("layout.h5", f"{string};hints={{{setting}}}")
        expect(done, setting, f"the connector's string: {setting.split('=')[0]}=.* cannot be done")
        if Path("layout.h5").exists():
            raise Failed(f"{setting}: a file is there")
    settings = ["layout=patches", "layout=decomposed", "stage=burst", "transport=aggregated",
                "container=directory", "aggregators=2", "bp_version=3", "checkpoint_memory=1MiB", "bundle=b",
                "split=step"]
    for setting in settings:
        key = setting.split("=")[0]
        done = programs.write("layout.h5", f"{string};hints={{{setting}}}")
        expect(done, setting, f"the connector's string: HDF5 files through the connector have no {key}=")
        if Path("layout.h5").exists():
            raise Failed(f"{setting}: a file is there")
        for kind in ("canonical", "log"):
            if key == "layout" and kind == "log":
                continue
            general = {"FOREBAY_HINTS": setting} if key == "layout" else {"FOREBAY_HINTS": f"layout={kind};{setting}"}
            done = programs.write("layout.h5", string, FOREBAY_REPORT="1", **general)
            expect(done, f"{setting} of all files",
                   f"FOREBAY_HINTS did not reach this file: HDF5 files through the connector have no {key}=",
                   fails=False)
            Path("layout.h5").unlink()
    # The environment beats the connector's string, and the report says so.
    done = programs.write("layout.h5", f"{string};hints={{layout=log}}", FOREBAY_REPORT="1",
                          FOREBAY_HINTS="layout=canonical;codec=zstd")
    expect(done, "who is heard", "layout=log .the connector's string. is overruled by layout=canonical .FOREBAY_HINTS.",
           fails=False)
    if not is_ordinary("layout.h5"):
        raise Failed("the connector's string was heard before FOREBAY_HINTS")
    Path("layout.h5").unlink()
    # Without any text everything is as with the usual one.
    if programs.write("string.h5", "forebay").returncode != 0 or is_ordinary("string.h5"):
        raise Failed("the name alone does not do")


def plugins(programs):
    for where in ("/nowhere", "."):
        done = programs.write("plugin.h5", string, plugins=where)
        expect(done, f"HDF5_PLUGIN_PATH={where}", "can't find plugin.*HDF5_PLUGIN_PATH", fails=False)
        if not is_ordinary("plugin.h5"):
            raise Failed("without the plug-in no ordinary file was written")


def patched(source, target, change):
    data = bytearray(Path(source).read_bytes())
    change(data)
    Path(target).write_bytes(data)


def attribute_at(data):
    """Where the log's attribute lies: version 1, session, index 1."""
    return re.search(rb"_forebay_file\0.*?(\x01\0{7}.{8}\x01\0{7})", data, re.S).start(1)


def without_index(data):
    """As a job leaves it that was killed before it closed the file."""
    data[attribute_at(data) + 16] = 0


def newer_versions(programs):
    def version_of(magic):
        def change(data):
            if magic != b"FBLI":
                without_index(data)
            data[data.rindex(magic) + 5] = 9

        return change

    def attribute(data):
        data[attribute_at(data)] = 9

    cases = {
        "the log of this file": attribute,
        "the index": version_of(b"FBLI"),
        "the table of a block of metadata": version_of(b"FBLT"),
        "a section": version_of(b"FBLS"),
    }
    for part, change in cases.items():
        patched("log.h5", "newer.h5", change)
        expect(programs.dump("newer.h5", "/g/big_endian"), f"a newer version of {part}",
               f"newer.h5: {part} has version 9, this build reads up to {2 if part == 'the index' else 1}",
               "written by a newer Forebay")
    shutil.copytree("sub.h5.subfiles", "newer_sub.h5.subfiles", dirs_exist_ok=True)
    shutil.copy("sub.h5", "newer_sub.h5")

    def subfile(data):
        data[11] = 9

    patched("sub.h5.subfiles/0", "newer_sub.h5.subfiles/0", subfile)
    expect(programs.dump("newer_sub.h5", "/g/big_endian"), "a newer version of a subfile",
           "a subfile has version 9, this build reads up to 1")


def damage(programs):
    def spoil(at, index=True):
        def change(data):
            if not index:
                without_index(data)
            data[at(data)] ^= 0xFF

        return change

    value = struct.pack(">d", 1 / 7)
    cases = {
        "the index": (spoil(lambda data: data.rindex(b"FBLI") + 60), "the checksum of the index's directory does not hold"),
        "a table": (spoil(lambda data: data.index(b"FBLT") + 40, False), "the checksum of a table does not hold"),
        "a section": (spoil(lambda data: data.rindex(b"FBLS") + 50, False), "the checksum of a section does not hold"),
        "data": (spoil(lambda data: data.index(value)), "the checksum of data at byte [0-9]+ does not hold"),
    }
    for part, (change, told) in cases.items():
        patched("log.h5", "damaged.h5", change)
        expect(programs.dump("damaged.h5", "/g/big_endian"), f"damage of {part}", f"damaged.h5: the log is damaged: {told}",
               "forebay check tells what can still be read")

    def attribute(data):  # of every dataset, in the creation properties
        for found in re.finditer(rb"_forebay_dataset\0.*?\x01\0{7}.{8}\x02\0{7}", bytes(data), re.S):
            data[found.end() + 50] ^= 0xFF

    patched("log.h5", "damaged.h5", attribute)
    expect(programs.dump("damaged.h5", "/g/big_endian"), "damage of a dataset's attribute",
           "the checksum of a dataset's attribute does not hold")
    patched("log.h5", "damaged.h5", lambda data: data.__delitem__(slice(len(data) // 2, None)))
    expect(programs.dump("damaged.h5", "/g/big_endian"), "a file that was cut", "DIAG")


def subfiles(programs):
    shutil.copy("sub.h5", "alone.h5")
    expect(programs.dump("alone.h5", "/g/big_endian"), "a missing subfile",
           r"subfile 0 of \S*alone\.h5 cannot be read", "move the folder of subfiles along with the file")
    programs.write("other.h5", f"{string};hints={{subfiling=node}}")
    shutil.copytree("other.h5.subfiles", "alone.h5.subfiles")
    expect(programs.dump("alone.h5", "/g/big_endian"), "a subfile of another file", "alone.h5.subfiles/0")
    patched("sub.h5.subfiles/0", "alone.h5.subfiles/0", lambda data: data.__delitem__(slice(5000, None)))
    expect(programs.dump("alone.h5", "/g/big_endian"), "a subfile that was cut", "alone.h5.subfiles/0 ends before byte")


def serial_library(programs):
    """An HDF5 without MPI loads the connector too: what a serial program writes and reads is logged."""
    library = {"LD_LIBRARY_PATH": programs.options.serial}
    program = programs.options.serial_program
    if programs.options.serial not in programs.run(["ldd", program], **library).stdout:
        raise Failed(f"{program} does not take the HDF5 in {programs.options.serial}")
    for how in (library, {}):
        expect(programs.run([program, "write", "serial.h5"], string, **how), "a program without MPI writes", fails=False)
        if is_ordinary("serial.h5"):
            raise Failed("nothing was logged")
        for again in (library, {}):
            expect(programs.run([program, "read", "serial.h5"], string, **again), "a program without MPI reads", fails=False)
    if b"H5Pset_fapl_mpio" in (Path(programs.options.serial) / "libhdf5.so").read_bytes():
        raise Failed(f"the HDF5 in {programs.options.serial} has MPI")
    patched("serial.h5", "damaged.h5", lambda data: data.__setitem__(data.rindex(b"FBLI") + 60, 255))
    expect(programs.run([program, "read", "damaged.h5"], string, **library), "damage with a serial HDF5",
           "damaged.h5: the log is damaged")


def other_library(programs):
    """A program with an HDF5 of its own must not get a connector that calls another."""
    # Not more than that: HDF5 2.0 itself does not survive a connector that it cannot have.
    done = programs.run([programs.options.other, "-c", "import h5py"], string)
    if not re.search("the program has the HDF5 in .*this connector calls the one in .*FOREBAY_HDF5_ROOT", done.stderr):
        raise Failed(f"another HDF5 than the connector's is not told\n{done.stderr}")
    print("a program with another HDF5: told")


def main():
    parser = argparse.ArgumentParser()
    for name in ("program", "tools", "plugins"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--serial")
    parser.add_argument("--serial-program")
    parser.add_argument("--other")
    programs = Programs(parser.parse_args())
    try:
        shutil.rmtree("bad_input", ignore_errors=True)
        Path("bad_input").mkdir()
        os.chdir("bad_input")
        expect(programs.write("log.h5", string), "a log", fails=False)
        expect(programs.write("sub.h5", f"{string};hints={{subfiling=node}}"), "a log in subfiles", fails=False)
        for part in (strings, plugins, newer_versions, damage, subfiles):
            part(programs)
        if programs.options.serial:
            serial_library(programs)
        if programs.options.other:
            other_library(programs)
    except Failed as failed:
        print(f"FAILED: {failed}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
