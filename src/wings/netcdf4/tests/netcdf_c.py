"""Plays the calls of netcdf4_client against netCDF-C, so that both make the same file.

usage: netcdf_c.py LIBRARY (CALLS FILE)...

LIBRARY is netCDF-C's shared library, or `python`: the one that netCDF4-python brings. What ranks
share in netcdf4_client is done at once here, and what netCDF-C cannot do (`independent`) as `put`.
"""
import ctypes
import sys
from ctypes import byref, c_char_p, c_int, c_size_t
from urllib.parse import unquote_to_bytes

TYPES = ["nat", "byte", "char", "short", "int", "float", "double", "ubyte", "ushort", "uint",
         "int64", "uint64"]
WIDTHS = [0, 1, 1, 2, 4, 4, 8, 1, 2, 4, 8, 8]
# The classic formats stand for netCDF-4 with their types, as container=netcdf4 takes them.
MODES = {"nc4": 0x1000, "nc4classic": 0x1100, "cdf1": 0x1100, "cdf2": 0x1100, "cdf5": 0x1000}
NC_GLOBAL, NC_WRITE, NC_CHUNKED, NC_CONTIGUOUS = -1, 1, 0, 1


def library_of_python():
    """Where the netCDF-C of netCDF4-python is."""
    import netCDF4  # noqa: F401
    with open("/proc/self/maps") as maps:
        found = {line.split()[-1] for line in maps if "/libnetcdf" in line}
    if len(found) != 1:
        raise RuntimeError(f"libraries of netCDF-C in this process: {found}")
    return found.pop()


class Player:
    def __init__(self, path, library):
        self.path = path.encode()
        self.lib = ctypes.CDLL(library)
        self.lib.nc_strerror.restype = c_char_p
        self.lib.nc_inq_libvers.restype = c_char_p
        self.id = None

    def call(self, name, *arguments):
        code = getattr(self.lib, name)(*arguments)
        if code != 0:
            raise RuntimeError(f"{name}{arguments}: {self.lib.nc_strerror(code).decode()}")

    def lookup(self, function, *arguments):
        found = c_int()
        self.call(function, *arguments, byref(found))
        return found.value

    def var(self, word):
        return NC_GLOBAL if word == "*" else self.lookup("nc_inq_varid", self.id, name(word))

    def dim(self, word):
        return self.lookup("nc_inq_dimid", self.id, name(word))

    def ndims(self, var):
        return self.lookup("nc_inq_varndims", self.id, var)

    def play(self, line):
        words = line.split()
        if words:
            getattr(self, "do_" + words[0])(*words[1:])

    def do_create(self, form):
        self.id = self.lookup("nc_create", self.path, MODES[form])

    def do_open(self):
        self.id = self.lookup("nc_open", self.path, NC_WRITE)

    def do_redef(self):
        self.lib.nc_redef(self.id)  # netCDF-4 files without the classic model do without

    def do_enddef(self):
        self.call("nc_enddef", self.id)

    def do_sync(self):
        self.call("nc_sync", self.id)

    def do_close(self):
        self.call("nc_close", self.id)

    def do_fill(self):
        pass  # netCDF-C fills unless it is told not to

    def do_nofill(self, var):
        self.call("nc_def_var_fill", self.id, self.var(var), 1, None)

    def do_dim(self, word, length):
        self.lookup("nc_def_dim", self.id, name(word), c_size_t(int(length)))

    def do_var(self, word, kind, count, *dims):
        ids = (c_int * max(1, int(count)))(*[self.dim(d) for d in dims])
        self.lookup("nc_def_var", self.id, name(word), TYPES.index(kind), int(count), ids)

    def do_att(self, var, word, kind, count, values=""):
        self.call("nc_put_att", self.id, self.var(var), name(word), TYPES.index(kind),
                  c_size_t(int(count)), bytes.fromhex(values))

    def do_chunk(self, var, *shape):
        sizes = (c_size_t * len(shape))(*map(int, shape))
        self.call("nc_def_var_chunking", self.id, self.var(var), NC_CHUNKED, sizes)

    def do_contiguous(self, var):
        self.call("nc_def_var_chunking", self.id, self.var(var), NC_CONTIGUOUS, None)

    def do_filter(self, var, pipeline):
        its = self.var(var)
        stages = pipeline.split(",")
        level = [s for s in stages if s.startswith("deflate")]
        if level or "shuffle" in stages:
            self.call("nc_def_var_deflate", self.id, its, int("shuffle" in stages), len(level),
                      int(level[0].split(":")[1]) if level else 0)
        if "fletcher32" in stages:
            self.call("nc_def_var_fletcher32", self.id, its, 1)

    def do_rename_dim(self, old, new):
        self.call("nc_rename_dim", self.id, self.dim(old), name(new))

    def do_rename_var(self, old, new):
        self.call("nc_rename_var", self.id, self.var(old), name(new))

    def do_rename_att(self, var, old, new):
        self.call("nc_rename_att", self.id, self.var(var), name(old), name(new))

    def do_delete_att(self, var, word):
        self.call("nc_del_att", self.id, self.var(var), name(word))

    def do_put(self, var, *words):
        its = self.var(var)
        n = self.ndims(its)
        numbers = [int(w) for w in words[:2 * n]]
        start, count = (c_size_t * max(1, n))(*numbers[:n]), (c_size_t * max(1, n))(*numbers[n:])
        values = bytes.fromhex(words[2 * n]) if len(words) > 2 * n else b""
        self.call("nc_put_vara", self.id, its, start, count, values)

    do_independent = do_put


def name(word):
    return unquote_to_bytes(word)


def main():
    library = library_of_python() if sys.argv[1] == "python" else sys.argv[1]
    for calls, path in zip(sys.argv[2::2], sys.argv[3::2]):
        player = Player(path, library)
        with open(calls) as lines:
            for line in lines:
                player.play(line)
    print(player.lib.nc_inq_libvers().decode())


if __name__ == "__main__":
    main()
