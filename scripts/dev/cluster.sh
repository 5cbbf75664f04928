# Nodes on this machine.
# shellcheck shell=bash disable=SC2154

# cmd_cluster NODES [options] COMMAND...: see scripts/cluster.py --help.
cmd_cluster() {
  local groups=(cluster) word
  for word in "$@"; do
    [[ $word != --gluster* ]] || groups+=(gluster)
  done
  ensure_packages "${groups[@]}"
  exec "$python" -B "$root/scripts/cluster.py" "$@"
}
