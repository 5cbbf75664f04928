"""What xarray's encoding says of how a variable is stored, as chunks and codecs."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any

import numpy as np

# What xarray's engines leave in an encoding that says nothing of how to store a variable here.
_NOTES = {"source", "original_shape", "preferred_chunks", "char_dim_name", "dtype"}
_FLAGS = ("zlib", "zstd", "szip", "bzip2", "blosc")  # netCDF4's, each the name of a compression
_CODECS = {"zlib": "deflate", "gzip": "deflate", "zstd": "zstd"}
_KEYS = {
    "chunks", "codec", "chunksizes", "contiguous", "complevel", "compression", "compression_opts", "shuffle",
    "fletcher32", "endian", "least_significant_digit", "significant_digits", "quantize_mode", *_FLAGS,
}  # fmt: skip
_REFUSED = {"szip_coding", "szip_pixels_per_block", "blosc_shuffle"}
# netCDF4's quantize_mode as codecs; the first is its default.
_QUANTISERS = {"BitGroom": "bitgroom:digits", "GranularBitRound": "granularbr:digits", "BitRound": "bitround:bits"}
_NETCDF4_STAGES = {"none", "shuffle", "deflate", "zstd", "fletcher32", "bitgroom", "granularbr", "bitround"}


class Storage:
    """How one variable is stored.

    `encoding` is what CF's coders left of it. `shape` is that in the file, where strings of characters have a dimension
    more than their `own` ones. `given`: the encoding is what the caller of to_netcdf() said, not what the variable
    brought along from a file; what is wrong in it, or impossible, is a ValueError then, and else left out. `netcdf4`:
    the file is netCDF-4.
    """

    def __init__(
        self,
        name: str,
        encoding: Mapping[str, Any],
        shape: tuple[int, ...],
        dtype: np.dtype,
        own: int,
        given: bool,
        netcdf4: bool,
    ):
        self._name, self._shape, self._dtype, self._own = name, shape, dtype, own
        self._given, self._netcdf4 = given, netcdf4
        self._keys = {key: value for key, value in encoding.items() if key not in _NOTES and value is not None}
        if given:
            self._check_names()
        self.contiguous: bool = given and bool(self._keys.get("contiguous", False))
        self.least_significant_digit: int | None = self._keys.get("least_significant_digit") if given else None
        #: As create_variable() takes them. Scalars have neither, as netCDF4 has it.
        self.codec: str | None = self._quantising(self._checked(self._codec())) if shape else None
        self.chunks: Any = self._chunks(encoding.get("original_shape")) if shape else None
        if given and self.contiguous and (self.codec or self.chunks):
            raise ValueError(f"encoding of {name!r}: contiguous=True, and chunks or a codec, cannot both be")

    def _check_names(self) -> None:
        for key, value in self._keys.items():
            if key in _REFUSED and value:
                raise ValueError(
                    f"encoding of {self._name!r}: {key} is not supported (codec='zfp:accuracy=1e-3', with the error "
                    "that may be, or least_significant_digit make values cheaper to store)"
                )
            if key not in _KEYS and key not in _REFUSED:
                close = difflib.get_close_matches(key, _KEYS, n=1)
                hint = f"did you mean {close[0]!r}?" if close else "accepted are: " + ", ".join(sorted(_KEYS))
                raise ValueError(f"unexpected encoding {key!r} of {self._name!r} ({hint})")
        has = ("netCDF-4 files", "little") if self._netcdf4 else ("classic files", "big")
        if self._keys.get("endian", "native") not in ("native", has[1]):
            raise ValueError(
                f"encoding of {self._name!r}: values of {has[0]} are {has[1]}-endian, whatever endian says"
            )

    def _codec(self) -> str | None:
        keys = self._keys
        asked = [flag for flag in _FLAGS if keys.get(flag)]
        if keys.get("compression"):
            asked.append(keys["compression"])
        if keys.get("codec") is not None:
            if self._given and asked:
                raise ValueError(f"encoding of {self._name!r}: codec and {asked[0]} cannot both be")
            stages = {stage.partition(":")[0] for stage in keys["codec"].split(",")}
            return keys["codec"] if self._given or not self._netcdf4 or stages <= _NETCDF4_STAGES else None
        if asked:
            return self._netcdf4_codec(asked[-1])
        return None

    def _checked(self, codec: str | None) -> str | None:
        """The codec with a checksum, where one is asked for. Chunks of classic files have one, whatever their codec."""
        if not self._keys.get("fletcher32"):
            return codec
        if not self._netcdf4:
            return "none" if codec is None and self._given else codec
        if codec in (None, "none"):
            return "fletcher32"
        return codec if "fletcher32" in codec.split(",") else codec + ",fletcher32"

    def _quantising(self, codec: str | None) -> str | None:
        """The codec behind one that quantises, where significant_digits ask for that. What comes from a file that was
        quantised stays as it is."""
        number = self._keys.get("significant_digits")
        if not self._given or not number:
            return codec
        mode = self._keys.get("quantize_mode", "BitGroom")
        if mode not in _QUANTISERS:
            raise ValueError(
                f"encoding of {self._name!r}: quantize_mode {mode!r} is not known (accepted are "
                f"{', '.join(_QUANTISERS)})"
            )
        if self._dtype.kind != "f":
            raise ValueError(
                f"encoding of {self._name!r}: significant_digits are for floating-point values, not for {self._dtype}"
            )
        stage = f"{_QUANTISERS[mode]}={number}"
        return stage if codec in (None, "none") else f"{stage},{codec}"

    def _netcdf4_codec(self, compression: str) -> str | None:
        if compression not in _CODECS:
            if not self._given:
                return None
            raise ValueError(
                f"encoding of {self._name!r}: {compression} is not supported (accepted are {', '.join(_CODECS)}; codec "
                "takes all others that there are here)"
            )
        level = self._keys.get("complevel", self._keys.get("compression_opts", 4))
        if level == 0:
            return None
        stages = ["shuffle"] if self._keys.get("shuffle", True) else []
        return ",".join([*stages, f"{_CODECS[compression]}:{level}"])

    def _chunks(self, original: tuple[int, ...] | None) -> Any:
        if self._given and self._keys.get("chunks") is not None:
            return self._keys["chunks"]
        chunks = self._keys.get("chunksizes")
        if chunks is None:
            return None
        chunks = tuple(chunks)
        if len(chunks) == self._own < len(self._shape):
            chunks, original = (*chunks, self._shape[-1]), None
        if self._given:
            return chunks
        # Of a file that was read chunks alone are how its format has records: in a classic file they would hide the
        # variable from other readers.
        hidden = self.codec is None and original is not None and not self._netcdf4
        if len(chunks) != len(self._shape) or hidden:
            return None
        return chunks if original is None or tuple(original) == self._shape else None

    def quantised(self, values: np.ndarray) -> np.ndarray:
        """Values of as many decimal digits as least_significant_digit says, as netCDF4 has them."""
        if self.least_significant_digit is None or values.dtype.kind != "f":
            return values
        scale = 2.0 ** np.ceil(np.log2(10.0**self.least_significant_digit))
        return (np.around(values.astype("f8") * scale) / scale).astype(values.dtype)
