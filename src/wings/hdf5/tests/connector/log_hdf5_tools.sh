#!/bin/sh
# HDF5's own tools on a log file, through the connector: they must show what they show of a file that was written
# without it, and make ordinary files of it.
#
#   log_hdf5_tools.sh TOOLS PROGRAM PLUGINS LAUNCH...
#
# TOOLS is the folder of HDF5's tools; PROGRAM FILE writes the same at each run (log_program.c); PLUGINS is the
# connector's folder; LAUNCH starts PROGRAM in parallel.
set -eu
tools=$1 program=$2 plugins=$3
shift 3
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

fail() {
  echo "FAILED: $1" >&2
  exit 1
}

# through LAYOUT COMMAND...: new files get that layout; a log is read in either case
through() {
  layout=$1
  shift
  HDF5_PLUGIN_PATH=$plugins HDF5_VOL_CONNECTOR="forebay under_vol=0;under_info={};hints={layout=$layout}" "$@"
}

"$@" "$program" native.h5
through log "$@" "$program" log.h5
grep -q _forebay_log log.h5 || fail 'there is no log'

for how in '' '-H' '-d /g/big_endian -s 3,7 -c 5,4' '-d /grows -s 90,500 -c 11,12' '-d /pairs -s 0,0 -S 2,3 -c 2,4' '-a /g/big_endian/units'; do
  # shellcheck disable=SC2086
  "$tools/h5dump" $how native.h5 | sed 1d >native.txt
  # shellcheck disable=SC2086
  through log "$tools/h5dump" $how log.h5 | sed 1d >log.txt
  diff native.txt log.txt || fail "h5dump $how"
done
for how in -r '-r -d' '-r -S'; do
  # shellcheck disable=SC2086
  "$tools/h5ls" $how native.h5 >native.txt
  # shellcheck disable=SC2086
  through log "$tools/h5ls" $how log.h5 | diff native.txt - || fail "h5ls $how"
done
through log "$tools/h5diff" -v native.h5 log.h5 >out.txt || { cat out.txt; fail 'h5diff'; }
through log "$tools/h5stat" log.h5 >out.txt || fail 'h5stat'

through canonical "$tools/h5repack" log.h5 ordinary.h5
grep -q _forebay_ ordinary.h5 && fail 'h5repack copies what is hidden'
"$tools/h5diff" -v native.h5 ordinary.h5 >out.txt || { cat out.txt; fail 'h5repack into an ordinary file'; }
through canonical "$tools/h5repack" -f SHUF -f GZIP=1 log.h5 smaller.h5
"$tools/h5diff" native.h5 smaller.h5 || fail 'h5repack with filters'
through log "$tools/h5repack" native.h5 again.h5
grep -q _forebay_log again.h5 || fail 'h5repack writes no log'
through log "$tools/h5diff" native.h5 again.h5 || fail 'h5repack into a log file'

for object in g grows some nothing pairs scalar; do
  through canonical "$tools/h5copy" -i log.h5 -o copied.h5 -s $object -d $object
done
"$tools/h5diff" -v native.h5 copied.h5 >out.txt || { cat out.txt; fail 'h5copy into an ordinary file'; }
"$tools/h5dump" copied.h5 | grep -q _forebay_ && fail 'h5copy copies what is hidden'
through log "$tools/h5copy" -i log.h5 -o log.h5 -s grows -d g/twin
through log "$tools/h5diff" log.h5 log.h5 /grows /g/twin || fail 'h5copy within the log file'
echo "HDF5's tools: as without the connector"
