"""Compares canonical files of Forebay with those that the peer library wrote for the same calls.

Usage: compare.py OURS THEIRS

Both are directories that hold files of the same names. Required of each pair:
  - the same header bytes, so also the same begin of every variable and the same number of records;
  - in ours, the right value of every element (of s<number>.nc by the formula in workload.c, of
    others by the .expect file that the model test wrote beside it);
  - the same bytes as theirs in every element that theirs has right;
  - in ours, zero in every byte that belongs to no element, and an end at the last element,
    with the padding of its record or without, or where theirs ends.
Elements that theirs has wrong are counted and reported, and are no failure.
"""
import os
import struct
import sys

SIZES = {1: 1, 2: 1, 3: 2, 4: 4, 5: 4, 6: 8, 7: 1, 8: 2, 9: 4, 10: 8, 11: 8}
PACK = {1: "b", 2: "B", 3: ">h", 4: ">i", 5: ">f", 6: ">d", 7: "B", 8: ">H", 9: ">I", 10: ">q",
        11: ">Q"}


class Header:
    """Parses a classic header: dims, variables with type, shape, begin, and the header's size."""

    def __init__(self, data):
        if data[:3] != b"CDF" or data[3] not in (1, 2, 5):
            raise ValueError("not a classic file")
        self.data, self.at, self.version = data, 4, data[3]
        self.count_size = 8 if self.version == 5 else 4
        self.offset_size = 4 if self.version == 1 else 8
        self.numrecs = self.number(self.count_size)
        self.dims = [(self.name(), self.number(self.count_size)) for _ in range(self.items())]
        self.atts()
        self.vars = []
        for _ in range(self.items()):
            name = self.name()
            dims = [self.number(self.count_size) for _ in range(self.number(self.count_size))]
            self.atts()
            kind = self.number(4)
            self.number(self.count_size)  # vsize
            begin = self.number(self.offset_size)
            record = bool(dims) and self.dims[dims[0]][1] == 0
            slot = 1
            for d in dims[1 if record else 0:]:
                slot *= self.dims[d][1]
            self.vars.append(dict(name=name, type=kind, record=record, slot=slot, begin=begin))
        self.size = self.at
        records = [v for v in self.vars if v["record"]]
        padded = [-(-v["slot"] * SIZES[v["type"]] // 4) * 4 for v in records]
        self.recsize = sum(padded)
        if len(records) == 1:
            self.recsize = records[0]["slot"] * SIZES[records[0]["type"]]

    def number(self, size):
        value = int.from_bytes(self.data[self.at:self.at + size], "big")
        self.at += size
        return value

    def items(self):
        self.number(4)
        return self.number(self.count_size)

    def name(self):
        length = self.number(self.count_size)
        text = self.data[self.at:self.at + length].decode()
        self.at += -(-length // 4) * 4
        return text

    def atts(self):
        for _ in range(self.items()):
            self.name()
            kind = self.number(4)
            length = self.number(self.count_size) * SIZES[kind]
            self.at += -(-length // 4) * 4

    def pieces(self, var):
        """(offset, first element, elements) of each contiguous piece of a variable."""
        if not var["record"]:
            return [(var["begin"], 0, var["slot"])]
        return [(var["begin"] + r * self.recsize, r * var["slot"], var["slot"])
                for r in range(self.numrecs)]


def by_formula(header):
    """Expected bytes of every variable of a workload file."""
    out = {}
    for number, var in enumerate(header.vars):
        n = var["slot"] * (header.numrecs if var["record"] else 1)
        values = [(31 * number + 7 * e) % 100 for e in range(n)]
        if var["type"] == 2:
            values = [ord("a") + v % 26 for v in values]
        code = PACK[var["type"]]
        out[var["name"]] = b"".join(struct.pack(code, v) for v in values), None
    return out


def by_expectation(header, path):
    """Expected bytes, and a mask of those that are known, from the model's own words."""
    out = {}
    types = {v["name"]: v["type"] for v in header.vars}
    for line in open(path):
        words = line.split()
        if words[0] != "data":
            continue
        text = "" if words[2] == "." else words[2]
        size = SIZES[types[words[1]]]
        values, mask = bytearray(), bytearray()
        for i in range(0, len(text), 2 * size):
            element = text[i:i + 2 * size]
            known = element[0] != "-"
            values += bytes.fromhex(element)[::-1] if known else bytes(size)
            mask += (b"\1" if known else b"\0") * size
        out[words[1]] = bytes(values), bytes(mask)
    return out


def slice_of(data, offset, n):
    return data[offset:offset + n].ljust(n, b"\0")


def compare(name, ours, theirs, expectation):
    """Returns (list of failures, number of variables that theirs has wrong)."""
    failures, peer_wrong = [], 0
    header, other = Header(ours), Header(theirs)
    if ours[:header.size] != theirs[:other.size]:
        at = next((i for i in range(min(header.size, other.size)) if ours[i] != theirs[i]),
                  min(header.size, other.size))
        mine = [(v["name"], v["begin"]) for v in header.vars]
        peer = [(v["name"], v["begin"]) for v in other.vars]
        return [f"{name}: headers differ at byte {at} (sizes {header.size}, {other.size});"
                f" records {header.numrecs}, {other.numrecs}; begins {mine}, {peer}"], 0
    expected = by_expectation(header, expectation) if expectation else by_formula(header)
    covered = bytearray(len(ours))
    covered[:header.size] = b"\1" * header.size
    end = header.size
    for var in header.vars:
        width = SIZES[var["type"]]
        values, mask = expected[var["name"]]
        wrong_there = False
        for offset, first, count in header.pieces(var):
            n = count * width
            want = values[first * width:first * width + n]
            known = mask[first * width:first * width + n] if mask else b"\1" * n
            got, peer = slice_of(ours, offset, n), slice_of(theirs, offset, n)
            covered[offset:offset + n] = b"\1" * max(0, min(n, len(covered) - offset))
            end = max(end, offset + n)
            for i in range(n):
                if known[i] and got[i] != want[i]:
                    failures.append(f"{name}: variable {var['name']} element {first + i // width} "
                                    f"(byte {offset + i}) is {got[i]:02x}, expected {want[i]:02x}")
                    break
            wrong_there |= any(known[i] and peer[i] != want[i] for i in range(n))
        peer_wrong += wrong_there
    dirty = [i for i in range(min(len(ours), len(covered))) if not covered[i] and ours[i]]
    if dirty:
        failures.append(f"{name}: padding at byte {dirty[0]} is not zero ({len(dirty)} such bytes)")
    last = [v for v in header.vars if v["record"]]
    padded = min(v["begin"] for v in last) + header.numrecs * header.recsize if last else end
    if len(ours) not in (end, max(end, padded), len(theirs)):
        failures.append(f"{name}: {len(ours)} bytes long, its last element ends at {end}, "
                        f"the peer's file at {len(theirs)}")
    return failures, peer_wrong


def main():
    ours_dir, theirs_dir = sys.argv[1:3]
    names = sorted(n for n in os.listdir(ours_dir) if n.endswith(".nc"))
    failures, compared, peer_wrong = [], 0, []
    for name in names:
        ours = open(os.path.join(ours_dir, name), "rb").read()
        path = os.path.join(theirs_dir, name.replace("model_test.", "model_test_peer."))
        expectation = os.path.join(ours_dir, name + ".expect")
        if not os.path.exists(path):
            failures.append(f"{name}: the peer wrote no such file")
            continue
        theirs = open(path, "rb").read()
        found, wrong = compare(name, ours, theirs,
                               expectation if os.path.exists(expectation) else None)
        failures += found
        compared += 1
        if wrong:
            peer_wrong.append(name)
    for line in failures[:40]:
        print(line)
    if peer_wrong:
        print(f"the peer has wrong values in {len(peer_wrong)} files: {' '.join(peer_wrong[:8])}")
    print(f"{compared} pairs compared, {len(failures)} differences")
    return 1 if failures or not compared else 0


if __name__ == "__main__":
    sys.exit(main())
