"""Reads chunked variables by the grammar in docs/formats.md, and by nothing else of Forebay.

Every name here is one of that chapter. Numbers are kept as Python has them; a variable is a flat
list of its elements, row-major. Checksums are verified where libxxhash can be loaded, zstd is
decoded where libzstd can.
"""
import ctypes
import ctypes.util
import itertools
import math
import struct
import zlib

TYPES = {1: "b", 2: "s", 3: "h", 4: "i", 5: "f", 6: "d",
         7: "B", 8: "H", 9: "I", 10: "q", 11: "Q"}
WIDTHS = {1: 1, 2: 1, 3: 2, 4: 4, 5: 4, 6: 8, 7: 1, 8: 2, 9: 4, 10: 8, 11: 8}
FILLS = {1: -127, 2: b"\0", 3: -32767, 4: -2147483647, 5: 9.969209968386869e+36,
         6: 9.969209968386869e+36, 7: 255, 8: 65535, 9: 4294967295,
         10: -9223372036854775806, 11: 18446744073709551614}
ENTRY, REF, ROOT_BYTES, COPY_STRIDE, SLOT_STRIDE, PAGE = 32, 24, 96, 256, 512, 512


def library(name):
    found = ctypes.util.find_library(name)
    return ctypes.CDLL(found) if found else None


XXHASH, ZSTD = library("xxhash"), library("zstd")
if XXHASH:
    XXHASH.XXH3_64bits.restype = ctypes.c_uint64
    XXHASH.XXH3_64bits.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
if ZSTD:
    ZSTD.ZSTD_decompress.restype = ctypes.c_size_t
    ZSTD.ZSTD_decompress.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p,
                                     ctypes.c_size_t]


def verify(data, wanted, what):
    if XXHASH and XXHASH.XXH3_64bits(data, len(data)) != wanted:
        raise ValueError(f"wrong checksum of {what}")
    return data


class Cursor:
    """Reads one number after another."""

    def __init__(self, data, at=0):
        self.data, self.at = data, at

    def get(self, code):
        values = struct.unpack_from(">" + code, self.data, self.at)
        self.at += struct.calcsize(">" + code)
        return values[0] if len(values) == 1 else values

    def bytes(self, n):
        self.at += n
        return self.data[self.at - n:self.at]


class Header(Cursor):
    """A classic header: dims [(name, length)], atts, variables [dict]."""

    def __init__(self, data):
        super().__init__(data, 4)
        self.version = data[3]
        self.wide = self.version == 5
        self.numrecs = self.count()
        self.dims = self.listed(lambda: (self.name(), self.count()))
        self.atts = self.attributes()
        self.vars = self.listed(self.variable)

    def count(self):
        return self.get("q" if self.wide else "i")

    def name(self):
        n = self.count()
        text = self.bytes(n).decode()
        self.at += -n % 4
        return text

    def listed(self, item):
        self.get("i")
        return [item() for _ in range(self.count())]

    def attributes(self):
        def one():
            name, kind, n = self.name(), self.get("i"), self.count()
            raw = self.bytes(n * WIDTHS[kind])
            self.at += -len(raw) % 4
            value = raw if kind == 2 else list(struct.unpack(f">{n}{TYPES[kind]}", raw))
            return name, (kind, value)
        return dict(self.listed(one))

    def variable(self):
        name, rank = self.name(), self.count()
        dims = [self.count() for _ in range(rank)]
        atts = self.attributes()
        kind = self.get("i")
        self.count()
        return dict(name=name, dims=dims, atts=atts, type=kind,
                    begin=self.get("i" if self.version == 1 else "q"))


class ChunkedFile:
    def __init__(self, path):
        with open(path, "rb") as f:
            self.data = f.read()
        self.header = Header(self.data)
        place = self.header.atts["__chunk_root"][1].decode()
        begin = "forebay chunk index 1 at byte "
        assert place.startswith(begin) and len(place) == len(begin) + 20
        self.root = max((r for r in self.roots(int(place[len(begin):]))),
                        key=lambda r: r["generation"])
        self.shift = self.root["shift"]
        self.items = self.directory()

    def roots(self, at):
        for slot in range(3):
            for copy in range(2):
                raw = self.data[at + slot * SLOT_STRIDE + copy * COPY_STRIDE:][:ROOT_BYTES]
                c = Cursor(raw)
                magic, version, flags, generation, _, shift = c.get("8sIIIIq")
                directory, journal = c.get("qqQ"), c.get("qqQ")
                if magic != b"FBCHROOT":
                    continue
                verify(raw[:-8], struct.unpack(">Q", raw[-8:])[0], "a root")
                assert version == 4 and journal[0] == -1
                yield dict(generation=generation, synced=bool(flags & 1), shift=shift,
                           directory=directory)
                break

    def block(self, ref, what):
        offset, n, checksum = ref
        return verify(self.data[offset + self.shift:offset + self.shift + n], checksum, what)

    def directory(self):
        c = Cursor(self.block(self.root["directory"], "the directory"))
        magic, _, self.numrecs, n = c.get("8sqqI")
        assert magic == b"FBCHDIR1"
        items = {}
        for _ in range(n):
            var, kind = c.get("II")
            lengths = [c.get("q") for _ in range(c.get("I"))]
            codec = c.bytes(c.get("I")).decode()
            shape = [c.get("q") for _ in range(c.get("I"))]
            reason = c.bytes(c.get("I")).decode()
            pages = [c.get("qqQ") for _ in range(c.get("q"))]
            boxes = [c.get("I" + 2 * len(shape) * "q") for _ in range(c.get("I"))]
            assert not boxes, "a file whose chunks lie in it has boxes"
            stored = self.header.vars[var]
            dims = stored["atts"]["__chunk_dims"][1]
            assert kind == stored["type"]
            assert codec == stored["atts"]["__filters"][1].decode()
            assert lengths == [self.header.dims[d][1] for d in dims]
            items[var] = dict(shape=shape, reason=reason, pages=pages)
        assert c.at == len(c.data), "the directory ends elsewhere"
        return items

    def entries(self, item):
        found = {}
        for p, ref in enumerate(item["pages"]):
            if ref[0] == -1:
                continue
            page = self.block(ref, "a page")
            assert len(page) % ENTRY == 0
            for i in range(len(page) // ENTRY):
                offset, n, checksum, skipped, _ = struct.unpack_from(">qqQII", page, i * ENTRY)
                if offset != -1:
                    found[p * PAGE + i] = (offset, n, checksum, skipped)
        return found

    def read(self, name):
        """All elements of a chunked variable, flat."""
        number, var = next((i, v) for i, v in enumerate(self.header.vars) if v["name"] == name)
        dims = var["atts"]["__chunk_dims"][1]
        records = self.numrecs
        lengths = [self.header.dims[d][1] or records for d in dims]
        record = self.header.dims[dims[0]][1] == 0
        kind = var["type"]
        own = var["atts"].get("_FillValue")
        fill = own[1][0] if own and own[0] == kind else FILLS[kind]
        values = [fill] * math.prod(lengths)
        item = self.items.get(number, dict(shape=[], pages=[]))
        if not item["shape"]:
            return values
        shape = [s if record and d == 0 else min(s, n)
                 for d, (s, n) in enumerate(zip(item["shape"], lengths))]
        grid = [-(-n // s) for n, s in zip(lengths, shape)]
        filters = var["atts"]["__filters"][1].decode()
        for id, entry in self.entries(item).items():
            at, rest = [], id
            for d in reversed(range(1, len(grid))):
                at.insert(0, rest % grid[d])
                rest //= grid[d]
            at.insert(0, rest)
            first = [a * s for a, s in zip(at, shape)]
            extent = [s if record and d == 0 else min(s, n - f)
                      for d, (f, s, n) in enumerate(zip(first, shape, lengths))]
            elements = self.decode(entry, filters, kind, math.prod(extent))
            for index, value in zip(itertools.product(*map(range, extent)), elements):
                index = [f + i for f, i in zip(first, index)]
                if index[0] >= lengths[0]:
                    continue  # a record that does not exist yet
                place = 0
                for i, n in zip(index, lengths):
                    place = place * n + i
                values[place] = value
        return values

    def decode(self, entry, filters, kind, n):
        offset, size, checksum, skipped = entry
        data = self.block((offset, size, checksum), "a chunk")
        # Forwards: which stages there are, and of what width elements are before each.
        stages, width = [], WIDTHS[kind]
        for stage in [] if filters == "none" else filters.split(","):
            word = stage.split(":")[0]
            if word == "float32" and kind != 6 or word.endswith("shuffle") and WIDTHS[kind] == 1:
                continue
            if not skipped >> len(stages) & 1:
                stages.append((word, width))
                width = 4 if word == "float32" else width
            else:
                stages.append((None, width))
        for word, width in reversed(stages):
            if word:
                data = UNDO[word](data, n, width)
        assert len(data) == n * WIDTHS[kind], "a chunk decodes to another size"
        return struct.unpack(f">{n}{TYPES[kind]}", data)


def undo_shuffle(data, n, width):
    out = bytearray(len(data))
    for b in range(width):
        out[b::width] = data[b * n:(b + 1) * n]
    return bytes(out)


def undo_bitshuffle(data, n, width):
    m = n // 8 * 8
    out = bytearray(m * width)
    for b in range(width):
        for k in range(8):
            plane = data[(8 * b + k) * m // 8:][:m // 8]
            for i, byte in enumerate(plane):
                for e in range(8):
                    if byte >> e & 1:
                        out[(8 * i + e) * width + b] |= 1 << k
    return bytes(out) + data[m * width:]


def undo_float32(data, n, width):
    return struct.pack(f">{n}d", *struct.unpack(f">{n}f", data))


def undo_deflate(data, n, width):
    return zlib.decompress(data)


def undo_zstd(data, n, width):
    if not ZSTD:
        raise RuntimeError("libzstd is not here")
    out = ctypes.create_string_buffer(8 * n + 1)
    got = ZSTD.ZSTD_decompress(out, 8 * n + 1, data, len(data))
    if got > 8 * n:
        raise ValueError("no zstd frame")
    return out.raw[:got]


UNDO = {"shuffle": undo_shuffle, "bitshuffle": undo_bitshuffle, "float32": undo_float32,
        "deflate": undo_deflate, "zstd": undo_zstd}
