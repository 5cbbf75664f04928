# shellcheck shell=bash disable=SC2154

# bench_run ARGS...: the driver, with the programs of the release build and the recorded maps, if they are here.
bench_run() {
  local folder
  if folder=$(e3sm_data); then export FOREBAY_E3SM_DATA=$folder; fi
  "$python" "$root/bench/run.py" --build "$root/build/release" "$@"
}

# One benchmark by name, or a short list of them.
cmd_bench() {
  ensure_packages build peer test
  configure release
  build release
  install_tree
  bench_run "$@"
}
