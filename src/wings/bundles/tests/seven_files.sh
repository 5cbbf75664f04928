#!/bin/sh
# Seven files a step of a program that knows nothing of bundles: with one, every file is byte for
# byte what it is without, and was written with the others.
#
# Usage: seven_files.sh DIRECTORY LIBRARY "MPIEXEC ..." PROGRAM
set -e
directory=$1 library=$2 launch=$3 program=$4
rm -rf "$directory"
mkdir -p "$directory"/apart "$directory"/off
LD_PRELOAD=$library $launch "$program" "$directory/apart"
for scheme in auto joint bps lps ips balanced off; do
  for files in 7 0; do  # 0: the end of the program writes them
    mkdir -p "$directory/$scheme$files"
    cat > "$directory/run.xml" <<XML
<forebay>
  <file match="*geosgcm_*" bundle="history" bundle_files="$files" bundle_scheme="$scheme" ranks_per_node="2"/>
</forebay>
XML
    FOREBAY_CONFIG=$directory/run.xml LD_PRELOAD=$library $launch "$program" "$directory/$scheme$files"
    for file in "$directory"/apart/*.nc; do
      cmp "$file" "$directory/$scheme$files/$(basename "$file")"
    done
  done
done
# Ranks and reasons are told in the report.
FOREBAY_REPORT=json:$directory/report.json FOREBAY_CONFIG=$directory/run.xml \
  FOREBAY_HINTS="bundle_scheme=balanced;bundle_files=7" LD_PRELOAD=$library $launch "$program" "$directory/off"
test "$(grep -c '"bundle":"history"' "$directory/report.json")" = 2
grep -q '"scheme":"balanced"' "$directory/report.json"
# One message for each window and each other rank that has pieces in it, as the plan has it: no more.
rm "$directory/report.json"
FOREBAY_REPORT=json:$directory/report.json FOREBAY_CONFIG=$directory/run.xml \
  FOREBAY_HINTS="bundle_scheme=bps;bundle_files=7;exchange=message" LD_PRELOAD=$library $launch "$program" "$directory/off"
grep '"bundle":"history"' "$directory/report.json" | while read -r line; do
  messages=$(echo "$line" | sed 's/.*"messages":{"max":[0-9]*,"sum":\([0-9]*\)}.*/\1/')
  windows=$(echo "$line" | sed 's/.*"windows":{"max":\([0-9]*\),.*/\1/')
  visits=$(echo "$line" | sed 's/.*"windows":{"max":[0-9]*,"sum":\([0-9]*\)}.*/\1/')
  test "$messages" -eq $((visits - windows))
done
# A call that fails once is made again, file by file; one that goes on failing is an error of its files alone.
faulty() {
  mkdir -p "$directory/$1"
  FOREBAY_FAULT=$2 FOREBAY_CONFIG=$directory/run.xml LD_PRELOAD=$library \
    FOREBAY_HINTS="bundle_scheme=balanced;bundle_files=7;ranks_per_node=1" $launch "$program" "$directory/$1" 2> "$directory/$1.txt"
}
same() {
  count=0
  for file in "$directory"/apart/*.nc; do
    if cmp -s "$file" "$directory/$1/$(basename "$file")"; then count=$((count + 1)); fi
  done
  echo $count
}
faulty once pwrite:rank=1:call=1:errno=ENOSPC
test "$(same once)" = 14
if faulty always pwrite:rank=0:call=3:errno=ENOSPC:from; then exit 1; fi
test "$(same always)" -ge 7
test "$(same always)" -lt 14
grep -q "ncmpi_close" "$directory/always.txt"
# What the end of the program finds no call can return: it is told, by a rank that knows why.
mkdir -p "$directory/end"
FOREBAY_FAULT=pwrite:rank=1:errno=ENOSPC:from FOREBAY_CONFIG=$directory/run.xml LD_PRELOAD=$library \
  FOREBAY_HINTS="bundle_scheme=balanced;bundle_files=0;ranks_per_node=1" $launch "$program" "$directory/end" 2> "$directory/end.txt"
grep -q "forebay: bundle history was open when the program ended: .*No space left on device" "$directory/end.txt"
