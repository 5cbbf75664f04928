#!/bin/sh
# The same calls with unformatted files and with Forebay's checkpoints: each rank gets the same back.
#
#   oad_cp_test.sh RANKS DIR UNFORMATTED FOREBAY LAUNCHER
set -eu
ranks=$1 dir=$2 unformatted=$3 forebay=$4 launch=$5
rm -rf "$dir"
mkdir -p "$dir"
cd "$dir"
# shellcheck disable=SC2086  # the launcher is several words
$launch "$unformatted" unformatted
# shellcheck disable=SC2086
$launch "$forebay" forebay
export FOREBAY_HINTS=checkpoint_memory=1MiB # whoever ends has states in memory
for part in ends goes_on; do
  # shellcheck disable=SC2086
  $launch "$unformatted" unformatted_divided $part
  # shellcheck disable=SC2086
  $launch "$forebay" forebay_divided $part
done
rank=0
while [ "$rank" -lt "$ranks" ]; do
  for what in "" _divided; do
    [ "$(wc -c <"unformatted$what.$rank")" -gt 40000 ]
    cmp "unformatted$what.$rank" "forebay$what.$rank"
  done
  rank=$((rank + 1))
done
[ -z "$(find . -name 'oad_cp*')" ] || { echo "checkpoints are left behind"; exit 1; }
echo "$ranks ranks: the same"
