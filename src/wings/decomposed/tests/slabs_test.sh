#!/bin/sh
# usage: slabs_test.sh FOREBAY BENCH NCDUMP PYTHON LAUNCHER...: history by decompositions, converted by its slabs, is
# what ncdump shows as forebay dump shows the source; and references to slabs give the same values. PYTHON has zarr,
# fsspec, xarray and netCDF4, or is -.
forebay=$1 bench=$2 ncdump=$3 python=$4
here=$(dirname "$0")
shift 4
failures=0
fail() {
  echo "$1"
  failures=$((failures + 1))
}

rm -rf ./*.nc ./*.nc.subfiles ./folder
FOREBAY_HINTS="layout=decomposed;subfiling=ranks;subfile_ranks=2" \
  "$@" "$bench" e3sm --generate ne=2 --records 3 --dir . --file history.nc --op write --keep >out.txt 2>&1 ||
  fail "not written: $(cat out.txt)"
[ -e history.nc.subfiles/0 ] || fail "there are no data files"
for method in layout=canonical "layout=chunked;codec=shuffle,zstd:1"; do
  "$@" "$forebay" convert history.nc out.nc --force --json --verify -m "$method;buffer_limit=64k" >out.txt 2>&1 ||
    fail "$method: conversion failed: $(cat out.txt)"
  grep -q '"by_slabs": [1-9]' out.txt || fail "$method: nothing went by slabs: $(cat out.txt)"
  "$forebay" diff history.nc out.nc || fail "$method: values differ"
  "$forebay" check out.nc || fail "$method: the copy is damaged"
  [ "$method" = layout=canonical ] || continue
  mkdir -p dumps
  mv out.nc dumps/history.nc
  "$ncdump" dumps/history.nc >ncdump.txt || fail "ncdump cannot read the copy"
  "$forebay" dump history.nc | diff - ncdump.txt >dump.diff || fail "dumps differ: $(head -20 dump.diff)"
done
# The same as one directory.
mkdir folder
cp history.nc folder/header.nc
cp history.nc.subfiles/* folder
"$forebay" diff history.nc folder || fail "the directory differs"
for source in history.nc folder; do
  "$forebay" refs "$source" -o history.json >out.txt 2>&1 || fail "$source: no references: $(cat out.txt)"
  [ "$python" != - ] || continue
  "$python" -W ignore "$here/check_gathered.py" history.json dumps/history.nc >out.txt 2>&1 ||
    fail "references of $source: $(cat out.txt)"
done
# Records by maps of other ranks: an array for each, and no record has values in all.
if [ "$python" != - ]; then
  "$forebay" convert history.nc other.nc -m "layout=decomposed;subfiling=none;buffer_limit=64k" >out.txt 2>&1 &&
    "$forebay" refs other.nc -o other.json >out.txt 2>&1 || fail "other maps: $(cat out.txt)"
  "$python" -W ignore "$here/check_gathered.py" other.json dumps/history.nc >out.txt 2>&1 ||
    fail "references of other maps: $(cat out.txt)"
fi
exit "$failures"
