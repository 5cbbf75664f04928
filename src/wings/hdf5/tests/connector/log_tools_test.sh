#!/bin/sh
# The command on files in the log layout: what a program writes through the connector must come out as what it writes
# without it.
#
#   log_tools_test.sh FOREBAY PROGRAM PLUGINS H5DIFF LAUNCH...
#
# PROGRAM FILE writes the same at each run (log_program.c); PLUGINS is the connector's folder; LAUNCH starts it in parallel.
set -eu
forebay=$1 program=$2 plugins=$3 h5diff=$4
shift 4
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

fail() {
  echo "FAILED: $1" >&2
  exit 1
}

# logged HINTS FILE...: the program through the connector
logged() {
  hints=$1 file=$2
  shift 2
  HDF5_PLUGIN_PATH=$plugins HDF5_VOL_CONNECTOR="forebay under_vol=0;under_info={};hints={$hints}" "$@" "$program" "$file"
}

"$@" "$program" native.h5
logged layout=log log.h5 "$@"
logged 'layout=log;subfiling=ranks;subfile_ranks=2' sub.h5 "$@"

for file in log.h5 sub.h5; do
  "$forebay" diff native.h5 $file || fail "$file has other values"
  "$forebay" ls $file | grep -q _forebay_ && fail "$file shows what is hidden"
  "$forebay" dump native.h5 2>/dev/null | sed 1d >native.cdl
  "$forebay" dump $file 2>/dev/null | sed 1d | diff native.cdl - || fail "$file prints otherwise"

  "$forebay" convert $file plain.h5 --to hdf5 --verify >out.txt || fail "$file is not converted"
  "$h5diff" -v native.h5 plain.h5 >out.txt || { cat out.txt; fail "$file converted is not what was written"; }
  grep -q _forebay_ plain.h5 && fail "$file converted has what is hidden"
  "$@" "$forebay" convert $file parallel.h5 --to hdf5 --verify >out.txt || fail "$file is not converted in parallel"
  "$h5diff" native.h5 parallel.h5 || fail "$file converted in parallel is not what was written"
  "$forebay" convert $file small.h5 --to hdf5 --method 'codec=shuffle,deflate:1' >out.txt
  "$h5diff" native.h5 small.h5 || fail "$file converted with filters is not what was written"
  "$forebay" convert $file out.nc --to netcdf --group / --skip >out.txt
  "$forebay" convert native.h5 native.nc --to netcdf --group / --skip >out.txt
  "$forebay" diff native.nc out.nc || fail "$file as netCDF has other values"
  rm -f plain.h5 parallel.h5 small.h5 out.nc native.nc

  "$forebay" info $file | grep -q '^ *shared' || fail "info of $file does not tell of its log"
  "$forebay" info --json $file | grep -q '"packed_bytes"' || fail "info --json of $file does not tell of its log"
  "$forebay" check --decode $file || fail "$file is not in order"
done

# compact=close: an ordinary file.
"$@" "$program" native_large.h5 large
HDF5_PLUGIN_PATH=$plugins HDF5_VOL_CONNECTOR="forebay under_vol=0;under_info={};hints={compact=close}" "$@" "$program" compact.h5 large
"$h5diff" -v native_large.h5 compact.h5 >out.txt || { cat out.txt; fail "the ordinary file is not what was written"; }
native=$(stat -c %s native_large.h5) compact=$(stat -c %s compact.h5)
test "$compact" -lt $((native + native / 20)) || fail "the ordinary file has $compact bytes, written natively $native"
rm -f native_large.h5 compact.h5

# A byte of data, one of metadata, and a subfile that is not there.
damage() { # damage FILE BLOCK
  place=$(python3 -c '
import sys
data = open(sys.argv[1], "rb").read()
print(data.rindex(b"FBLS") + 40 if sys.argv[2] == "metadata" else int(sys.argv[2]))' "$1" "$2")
  printf '\377' | dd of="$1" bs=1 seek="$place" conv=notrunc 2>/dev/null
}
cp log.h5 metadata.h5
damage metadata.h5 metadata
"$forebay" check metadata.h5 >out.txt && fail 'damaged metadata is not found'
grep -q 'log: .*section' out.txt || { cat out.txt; fail 'damaged metadata is not told'; }
damage sub.h5.subfiles/0 5000
"$forebay" check sub.h5 >out.txt && fail 'damaged data is not found'
grep -q 'checksum of [0-9]* bytes of data' out.txt || { cat out.txt; fail 'damaged data is not told'; }
rm -r sub.h5.subfiles
"$forebay" check sub.h5 >out.txt && fail 'a missing subfile is not found'
"$forebay" convert sub.h5 plain.h5 --to hdf5 2>out.txt && fail 'a file without its subfiles is converted'
grep -q 'subfile 0' out.txt || { cat out.txt; fail 'a missing subfile is not told'; }
[ ! -e plain.h5 ] || fail 'half an output is left behind'
echo 'log files: as written'
