#!/bin/sh
# The adjoint of an ocean gyre with unformatted files and with Forebay's checkpoints: the same gradient, bit by bit. Lossy
# checkpoints give nearly the same one, and are smaller.
#
#   gyre_test.sh RANKS DIR UNFORMATTED FOREBAY LAUNCHER
set -eu
ranks=$1 dir=$2 unformatted=$3 forebay=$4 launch=$5
rm -rf "$dir"
mkdir -p "$dir"
cd "$dir"
steps=60 interval=8
# shellcheck disable=SC2086  # the launcher is several words
$launch "$unformatted" unformatted $steps $interval
for codec in none zstd:1 zfp:reversible; do
  # shellcheck disable=SC2086
  FOREBAY_HINTS="checkpoint_memory=20KiB;codec=$codec" $launch "$forebay" forebay $steps $interval
  rank=0
  while [ "$rank" -lt "$ranks" ]; do
    [ "$(wc -l <"unformatted.$rank")" -eq 3600 ]
    cmp "unformatted.$rank" "forebay.$rank"
    rm "forebay.$rank"
    rank=$((rank + 1))
  done
done
# shellcheck disable=SC2086
FOREBAY_HINTS="checkpoint_memory=20KiB;codec=zfp:precision=24" $launch "$forebay" lossy $steps $interval 1e-3
cmp -s unformatted.0 lossy.0 && { echo "lossy checkpoints lost nothing"; exit 1; }
[ -z "$(find . -name 'oad_cp*')" ] || { echo "checkpoints are left behind"; exit 1; }
echo "$ranks ranks: the same gradient"
