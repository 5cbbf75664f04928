"""Makes the grids of sizes in this folder: two fields, compressed as patches, and what their blocks take.

    python3 bench/sizes/make_size_grids.py --build build/release

The fields are made, for want of H's: a flame, whose progress changes within a thin, wrinkled sheet and is constant on
both sides of it, and turbulence, a sum of waves whose energy falls as k^(-11/3) a volume of wave numbers. The same
seeds give the same fields.
"""
import argparse
import os
import subprocess
import tempfile

import numpy as np
from scipy.io import netcdf_file

EDGE, BLOCKS = 256, 8


def waves(seed, falls):
    """A periodic field of random phases on the cube, whose power falls as k**falls."""
    k = np.fft.fftfreq(EDGE, 1 / EDGE)
    norm = np.sqrt(k[:, None, None] ** 2 + k[None, :, None] ** 2 + k[None, None, :EDGE // 2 + 1] ** 2)
    norm[0, 0, 0] = 1
    noise = np.fft.rfftn(np.random.default_rng(seed).standard_normal((EDGE,) * 3))
    noise *= norm ** (falls / 2)
    noise[0, 0, 0] = 0
    field = np.fft.irfftn(noise, (EDGE,) * 3, axes=(0, 1, 2))
    return field / field.std()


def flame():
    """Progress from 0 to 1 across a sheet that eddies move to and fro, and a little noise where it burns."""
    eddies = waves(1, -11 / 3)
    sheet = np.linspace(0, 1, EDGE)[None, :, None] - 0.4 - 0.08 * eddies[:, :1, :]
    progress = 1 / (1 + np.exp(np.clip(-sheet / 0.01, -50, 50)))
    return progress + 0.2 * progress * (1 - progress) * eddies


def capture(build, name, field, out):
    with tempfile.TemporaryDirectory() as folder:
        plain, patches = (os.path.join(folder, end) for end in ("plain.nc", name + ".nc"))
        with netcdf_file(plain, "w", version=2) as file:
            for dim in "zyx":
                file.createDimension(dim, EDGE)
            file.createVariable(name, "f4", ("z", "y", "x"))[:] = field
        method = f"layout=patches;codec=zfp:relative=1e-3;patch_edge={EDGE // BLOCKS}"
        subprocess.run([os.path.join(build, "bin", "forebay"), "convert", "-m", method, plain, patches], check=True)
        subprocess.run([os.path.join(build, "bench", "forebay-bench-sizes"), "capture-sizes", patches, "--grid",
                        f"{BLOCKS}x{BLOCKS}x{BLOCKS}", "--out", out], check=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build/release")
    parser.add_argument("--out", default=os.path.dirname(os.path.abspath(__file__)))
    options = parser.parse_args()
    for name, field in (("flame", flame()), ("turbulence", waves(2, -11 / 3))):
        capture(options.build, name, field.astype("f4"), os.path.join(options.out, name + ".json"))


if __name__ == "__main__":
    main()
