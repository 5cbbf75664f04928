#!/usr/bin/env bash
# How long somebody waits who has just cloned the project: ./dev demo from a new clone with empty caches, to the picture,
# and once more.
#
#   scripts/first_time.sh [--root] [--budget SECONDS] [--cache DIR]
#
# --root     in a new root with nothing but Debian's base system (debootstrap, as root), so that packages are installed
# --budget   fails where ./dev demo takes more than a fifth more processor time than that: unlike the time that passes, it
#            depends little on what else the machine does. Judged only where nothing was compiled before.
# --cache    this one in place of an empty one: what is compiled is not lost where builds follow that use it. Not with
#            --root.
#
# Prints the seconds of each part: those that passed, and those of processors.
set -euo pipefail
project=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

in_root=0 budget=0 cache=
while (($#)); do
  case $1 in
    --root) in_root=1 ;;
    --budget) budget=$2 && shift ;;
    --cache) cache=$2 && shift ;;
    *) sed -n '2,/^set/p' "$0" | grep '^#' >&2; exit 2 ;;
  esac
  shift
done

work=$(mktemp -d "${TMPDIR:-/tmp}/forebay-first.XXXXXX")
finish() {
  if ((in_root)); then for mount in proc dev; do umount -l "$work/root/$mount" 2>/dev/null || true; done; fi
  rm -rf --one-file-system "$work"
}
trap finish EXIT

# processor_seconds: what all processes that this shell has waited for took, in hundredths of a second.
processor_seconds() {
  local fields
  read -r -a fields <"/proc/$$/stat"
  echo $((100 * (fields[15] + fields[16]) / $(getconf CLK_TCK)))
}

# part NAME COMMAND...: its seconds are printed, those of processors kept in used.
used=0
part() {
  local name=$1 begin=$EPOCHREALTIME before
  before=$(processor_seconds)
  shift
  "$@" >"$work/log" 2>&1 || { tail -n 40 "$work/log" >&2; echo "first_time: $name failed" >&2; exit 1; }
  used=$((($(processor_seconds) - before) / 100))
  awk -v name="$name" -v begin="$begin" -v end="$EPOCHREALTIME" -v used="$used" \
    'BEGIN { printf "first_time: %-28s %6.1f s  %5d s of processors\n", name, end - begin, used }'
}

# A copy of a tree without a repository does as well.
clone_project() {
  if [[ -e $project/.git ]]; then
    git -c safe.directory='*' clone --quiet "$project" "$clone"
    return
  fi
  mkdir -p "$clone"
  tar -C "$project" --exclude=./build -cf - . | tar -C "$clone" -xf -
}

within=()
clone=$work/clone
if ((in_root)); then
  command -v debootstrap >/dev/null || { echo "first_time: --root needs the package debootstrap" >&2; exit 2; }
  mirror=$(sed -nE 's/^(URIs:|deb(-src)? (\[[^]]*\] )?) *([a-z]+:[^ ]+).*/\4/p' /etc/apt/sources.list \
    /etc/apt/sources.list.d/* 2>/dev/null | head -n 1 || true)
  suite=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
  part "a new root" debootstrap --variant=minbase --include=ca-certificates,bash,git "$suite" "$work/root" "$mirror"
  cp -r /etc/apt/. "$work/root/etc/apt/"
  [[ ! -f /etc/resolv.conf ]] || cp -L /etc/resolv.conf "$work/root/etc/resolv.conf"
  mount -t proc proc "$work/root/proc" && mount --rbind /dev "$work/root/dev" && mount --make-rslave "$work/root/dev"
  clone=$work/root/clone
  within=(chroot "$work/root")
fi
export XDG_CACHE_HOME=${cache:-$work/cache}
unset CCACHE_BASEDIR
[[ -n $cache ]] || unset FOREBAY_CACHE CCACHE_DIR
compiled=${CCACHE_DIR:-${FOREBAY_CACHE:-$XDG_CACHE_HOME/forebay}/ccache}
if [[ -d $compiled ]] && ((budget > 0)); then
  echo "first_time: the budget is not judged: $compiled has what was compiled before"
  budget=0
fi
part "git clone" clone_project
if ((in_root)); then
  XDG_CACHE_HOME=/cache
  within+=(/clone/dev)
else
  within=("$clone/dev")
fi
part "./dev demo" "${within[@]}" demo
((budget == 0 || used * 5 <= budget * 6)) ||
  { echo "first_time: FAILED: $used s of processors, more than a fifth above $budget" >&2; exit 1; }
part "./dev demo again" "${within[@]}" demo
