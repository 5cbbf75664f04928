"""What adios2_operators.tar.xz has, and the program that made it: adios2 2.12.1 with zfp 1.0.0, bzip2 1.0.8 and c-blosc2
(adios2 of PyPI has no operators).

  adios2_operators.py DIRECTORY.bp
"""

import sys

import numpy as np

STEPS = 5
LONG = np.arange(300000.0) // 50  # of step 3 alone

SHUFFLES = ("NOSHUFFLE", "SHUFFLE", "BITSHUFFLE")


def variables():
    """(name, operator, parameters, type, extents of a block), two of which are behind one another along the first one."""
    yield "plain", None, {}, "f8", (8, 10)
    for compressor in ("blosclz", "lz4", "lz4hc", "zlib", "zstd"):
        for shuffle in SHUFFLES:
            parameters = {"compressor": compressor, "clevel": "5", "doshuffle": "BLOSC_" + shuffle}
            yield f"{compressor}_{shuffle.lower()}", "blosc", parameters, "f8", (24, 10)
    for kind in ("i2", "u1", "f4", "c16"):
        for shuffle in SHUFFLES[1:]:
            yield f"blosc_{kind}_{shuffle.lower()}", "blosc", {"doshuffle": "BLOSC_" + shuffle}, kind, (24, 10)
    yield "blosc_stored", "blosc", {"clevel": "0"}, "f8", (24, 10)
    yield "blosc_tiny", "blosc", {}, "f8", (3,)
    yield "bzip2", "bzip2", {}, "f8", (24, 10)
    yield "bzip2_9", "bzip2", {"blockSize100k": "9"}, "i4", (24, 10)
    yield "zfp_accuracy", "zfp", {"accuracy": "1e-3"}, "f8", (6, 5, 4)
    yield "zfp_flat", "zfp", {"accuracy": "0.01"}, "f4", (24, 1, 10)
    yield "zfp_rate", "zfp", {"rate": "24"}, "f4", (24, 10)
    yield "zfp_precision", "zfp", {"precision": "26"}, "f8", (120,)
    yield "zfp_all", "zfp", {}, "i4", (24, 10)
    yield "zfp_five", "zfp", {}, "f8", (2, 3, 4, 3, 4)
    yield "zfp_complex", "zfp", {"precision": "40"}, "c16", (24, 10)


def block_of(kind, extents, step, block):
    n = np.arange(int(np.prod(extents)))
    values = ((n // 3 + 5 * step + block) % 23 - 7) if kind[0] in "iu" else (n - 50) ** 2 / 64 + step + block / 2
    values = values.astype(kind)
    if kind == "c16":
        values += 1j * values[::-1]
    return values.reshape(extents)


def main():
    import adios2

    adios = adios2.Adios()
    io = adios.declare_io("io")
    io.set_engine("BP4")
    made = []
    for name, operator, parameters, kind, extents in variables():
        whole = [2 * extents[0], *extents[1:]]
        variable = io.define_variable(name, np.zeros(1, kind), whole, [0] * len(extents), list(extents))
        if operator:
            variable.add_operation(adios.define_operator(name, operator), parameters)
        made.append((variable, kind, extents))
    long = io.define_variable("long", np.zeros(1), [], [], [LONG.size])
    long.add_operation(adios.define_operator("long", "blosc"), {"compressor": "lz4"})
    engine = io.open(sys.argv[1], adios2.bindings.Mode.Write)
    for step in range(STEPS):
        engine.begin_step()
        for variable, kind, extents in made:
            for block in range(2):
                variable.set_selection([[block * extents[0], *[0] * (len(extents) - 1)], list(extents)])
                engine.put(variable, block_of(kind, extents, step, block), adios2.bindings.Mode.Sync)
        if step == 3:
            engine.put(long, LONG, adios2.bindings.Mode.Sync)
        engine.end_step()
    engine.close()


if __name__ == "__main__":
    main()
