#!/bin/sh
# usage: refs_test.sh FOREBAY NCGEN PYTHON: references and Zarr stores open in zarr and xarray with
# the values of the classic file. PYTHON has zarr, fsspec, xarray and netCDF4.
forebay=$1 ncgen=$2 python=$3
here=$(dirname "$0")
set -e

{
  echo 'netcdf field { dimensions: t = UNLIMITED ; y = 37 ; x = 53 ; variables:'
  echo ' float T(t, y, x) ; T:_FillValue = -999.f ; T:units = "K" ; double P(y, x) ; short m(y, x) ; short k(t) ; byte b(x) ; char c(x) ; int n ;'
  echo ' int64 l(y) ; uint64 u(x) ; :title = "field" ; data:'
  awk 'BEGIN { printf " T = "; for (i = 0; i < 3 * 37 * 53; ++i) printf "%s%d", i ? ", " : "", i % 91 ? i * 7 % 1000 : -999; print " ;"
               printf " P = "; for (i = 0; i < 37 * 53; ++i) printf "%s%.3f", i ? ", " : "", i * 31 % 997 / 8; print " ;"
               printf " m = "; for (i = 0; i < 37 * 53; ++i) printf "%s%d", i ? ", " : "", i; print " ;" }'
  echo ' n = 7 ; k = 4, 5, 6 ; c = "words" ; l = 1, -2, 3 ; u = 18446744073709551000 ; b = 1, -1 ; }'
} >field.cdl
"$ncgen" -k 64-bit-data -o field.nc field.cdl

check() { "$python" -W ignore "$here/check_refs.py" "$1" field.nc; }

"$forebay" refs field.nc -o plain.json && check plain.json
# The values have fewer bits than 20, so that quantising leaves them as they are.
for codec in shuffle,zstd:3 deflate:6 shuffle,deflate:1 zstd:1 bitround:bits=20,shuffle,zstd:1 none; do
  "$forebay" convert field.nc chunked.nc --force -m "layout=chunked;codec=$codec;chunk_bytes=4096"
  "$forebay" refs chunked.nc -o chunked.json && check chunked.json
  "$forebay" convert chunked.nc field.zarr --force --to zarr --verify && check field.zarr
done

case ,${FOREBAY_TEST_WINGS-patches}, in *,patches,*) ;; *) exit 0 ;; esac
"$forebay" convert field.nc patches.nc --force -m "layout=patches;patch_edge=16"
"$forebay" convert patches.nc levels.zarr --force --to zarr --levels --verify
for level in 0 1 2; do
  "$forebay" convert patches.nc "level$level.nc" --force --to netcdf --resolution-level "$level"
done
"$forebay" diff level0.nc field.nc
"$python" -W ignore "$here/check_levels.py" levels.zarr level0.nc level1.nc level2.nc
