# shellcheck shell=bash disable=SC2154

# bench_run ARGS...: the driver, with the programs of the release build and the recorded maps, if they are here.
bench_run() {
  local folder
  if folder=$(e3sm_data); then export FOREBAY_E3SM_DATA=$folder; fi
  "$python" "$root/bench/driver/run.py" --build "$root/build/release" "$@"
}

# bench_wants_hdf5 ARGS...: whether run.py would measure HDF5, by name or because a workload of compressed arrays does.
bench_wants_hdf5() {
  local argument before="" arrays=1 chosen=""
  for argument in "$@"; do
    case $argument in
      --) break ;;
      --backends=*) chosen=${argument#*=} ;;
      checkerboard2d | flash | pandana) arrays=0 ;;
    esac
    [[ $before != --backends ]] || chosen=$argument
    before=$argument
  done
  ((arrays == 0)) || return 1
  [[ -z $chosen || $chosen == *hdf5* ]]
}

# bench_configure ARGS...: the release build, with HDF5 where it is wanted and not known yet.
bench_configure() {
  local hdf5_prefix
  # shellcheck disable=SC2034  # provide_hdf5 sets it
  local hdf5_origin
  configure release
  if bench_wants_hdf5 "$@"; then
    provide_hdf5
    grep -qx "HDF5_ROOT:[A-Z]*=$hdf5_prefix" "$root/build/release/CMakeCache.txt" ||
      configure release "-DHDF5_ROOT=$hdf5_prefix" -UFOREBAY_BENCH_HDF5_INCLUDE -UFOREBAY_BENCH_HDF5_LIBRARY
  fi
}

# bench_groups [--ranks LIST] [--dirs LIST] [options of forebay-bench-groups]: the works of docs/performance.md, "Groups", on the
# disk and in memory.
bench_groups() {
  local list=4,16 dirs=build/bench_groups,/dev/shm ranks dir work
  while (($# > 1)) && [[ $1 == --ranks || $1 == --dirs ]]; do
    [[ $1 == --ranks ]] && list=$2 || dirs=$2
    shift 2
  done
  for dir in ${dirs//,/ }; do
    for ranks in ${list//,/ }; do
      say "groups: $ranks ranks, $dir"
      mkdir -p "$dir"
      for work in "8 1048576 2" "80 1440 10" "2000 1000 5"; do
        read -r -a work <<<"$work"
        mpiexec --oversubscribe --bind-to none -n "$ranks" "$root/build/release/bench/forebay-bench-groups" \
          --dir "$dir/forebay-bench-groups" --variables "${work[0]}" --elements "${work[1]}" --steps "${work[2]}" "$@"
      done
    done
  done
}

# One benchmark by name, or a short list of them.
cmd_bench() {
  if [[ ${1:-} == adjoint ]]; then
    ensure_packages build test
    configure release
    build release
    shift
    "$python" "$root/bench/driver/adjoint.py" --build "$root/build/release" --dir "$root/build" "$@"
    return
  fi
  if [[ ${1:-} == groups ]]; then
    ensure_packages build peer test adios
    configure release
    build release
    shift
    bench_groups "$@"
    return
  fi
  ensure_packages build peer test
  bench_configure "$@"
  build release
  install_tree
  bench_run "$@"
}
