#!/usr/bin/env bash
# HDF5's own tools on an ordinary file: what they print and write through the connector is what they do natively.
#
#   run_tools.sh BIN CONNECTOR PLUGINS FILE...    BIN: folder of h5dump and the rest
set -euo pipefail
bin=$1 connector=$2 plugins=$3
shift 3
unset HDF5_VOL_CONNECTOR

through() { HDF5_PLUGIN_PATH=$plugins HDF5_VOL_CONNECTOR=$connector "$@"; }

# same NAME COMMAND...: exit code, output and errors.
same() {
  local name=$1 native=0 other=0
  shift
  "$@" >native.out 2>&1 || native=$?
  through "$@" >through.out 2>&1 || other=$?
  [[ $native == "$other" ]] || { echo "$name: exit code $native natively, $other through the connector"; exit 1; }
  diff native.out through.out || { echo "$name: prints something else through the connector"; exit 1; }
}

# both NAME COMMAND...: the command with one more argument, the file that it writes; the two files must be alike, seen
# natively and through the connector.
both() {
  local name=$1 native=0 other=0
  shift
  rm -f native.h5 through.h5
  "$@" native.h5 >native.out 2>&1 || native=$?
  through "$@" through.h5 >through.out 2>&1 || other=$?
  [[ $native == "$other" ]] || { echo "$name: exit code $native natively, $other through"; cat through.out; exit 1; }
  [[ $native == 0 ]] || return 0
  "$bin/h5diff" -q native.h5 through.h5 || [[ $? == 2 ]] || { echo "$name: writes something else"; exit 1; }
  through "$bin/h5diff" -q native.h5 through.h5 || [[ $? == 2 ]] || { echo "$name: reads something else"; exit 1; }
}

checked=0
for file in "$@"; do
  cp "$file" input.h5
  same "h5dump $file" "$bin/h5dump" -p input.h5
  same "h5ls $file" "$bin/h5ls" -r -v input.h5
  same "h5stat $file" "$bin/h5stat" input.h5
  both "h5repack $file" "$bin/h5repack" -f GZIP=1 input.h5
  first=$("$bin/h5ls" input.h5 2>/dev/null | grep -E 'Group|Dataset' | head -n 1 | cut -d ' ' -f 1 || true)
  [[ -z $first ]] || both "h5copy $file" "$bin/h5copy" -s "/$first" -d /copy -i input.h5 -o
  same "h5diff $file" "$bin/h5diff" -v input.h5 input.h5
  checked=$((checked + 1))
done
echo "tools: $checked files alike"
