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

# bench_groups [--ranks LIST] [--dirs LIST] [options of forebay-bench-groups]: the works of docs/internals/performance.md, "Groups", on the
# disk and in memory, against ADIOS 1, then against ADIOS2 and parallel HDF5.
bench_groups() {
  local list=4,16 dirs=build/bench_groups,/dev/shm ranks dir work program
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
        for program in forebay-bench-groups forebay-bench-groups-peers; do
          mpiexec --oversubscribe --bind-to none -n "$ranks" "$root/build/release/bench/$program" \
            --dir "$dir/forebay-bench-groups" --variables "${work[0]}" --elements "${work[1]}" --steps "${work[2]}" "$@"
        done
      done
    done
    bench_groups_index "$dir/forebay-bench-groups"
    bench_groups_one "$dir/forebay-bench-groups"
  done
}

# What an index costs: 16 ranks with 16 MiB each, in 1,000 variables and in one; how long entries and heads of groups are
# made, and md.0 is written.
bench_groups_index() {
  local work report="$1.json" program="$root/build/release/bench/forebay-bench-groups-peers"
  say "groups: the index of 16 ranks, $1"
  for work in "1 2048000" "1000 2048"; do
    read -r -a work <<<"$work"
    rm -f "$report"
    FOREBAY_REPORT="json:$report" mpiexec --oversubscribe --bind-to none -n 16 "$program" --dir "$1" --ways forebay-later \
      --variables "${work[0]}" --elements "${work[1]}" --steps 5 --rounds 5
  done
  python3 -c '
import json, statistics, sys
steps = [line["steps"] for line in map(json.loads, open(sys.argv[1])) if line["steps"]["header"]["max"] > 0]
for name, step in (("entries and heads", "define"), ("writing md.0", "header")):
    share = statistics.median(100 * s[step]["max"] / s["total"]["max"] for s in steps)
    print(f"{name}: {share:.1f} % of the time, of the rank that takes longest")' "$report"
  rm -f "$report"
}

# bench_groups_one DIR: one of 1.2 million blocks, each way in processes of its own, whose memory is told.
bench_groups_one() {
  local way one=("$root/build/release/bench/forebay-bench-groups-one" --dir "$1") ways=(forebay)
  [[ -z $adios2_prefix ]] || ways+=(adios2-bp4 adios2-of-groups)
  mpiexec --oversubscribe --bind-to none -n 4 "${one[@]}" --make --rounds 0
  for way in "${ways[@]}"; do
    mpiexec --oversubscribe --bind-to none -n 4 "${one[@]}" --way "$way"
  done
  rm -rf "$1"
}

# bench_sizes capture-sizes FILE [options], bench_sizes extrapolated [--ranks N] SIZES [options]: bytes of compressed
# blocks, and what pipelines do with them (docs/internals/patches.md, "Sizes of larger runs").
bench_sizes() {
  local program=$root/build/release/bench/forebay-bench-sizes launch=()
  if [[ $1 == extrapolated && ${2:-} == --ranks ]]; then
    launch=(mpiexec --oversubscribe --bind-to none -n "${3:?--ranks N}")
    set -- "$1" "${@:4}"
  fi
  "${launch[@]}" "$program" "$@"
}

# bench_papers [options of bench/papers/run.py]: what the papers measured; the peers of the papers that are named are built.
bench_papers() {
  local argument named="" folder known=(-UFOREBAY_BENCH_HDF5_INCLUDE -UFOREBAY_BENCH_HDF5_LIBRARY)
  for argument in "$@"; do
    case $argument in
      --list | --tables | --help | -h) named=none ;;
      A | "A "*) [[ $named == none ]] || named=adios ;;
      [BDH]*) named=${named:-others} ;;
    esac
  done
  if [[ $named != none ]]; then
    ensure_packages build peer test
    if [[ ${named:-adios} == adios ]]; then
      ensure_packages adios
      provide_adios2
      known+=("-DFOREBAY_ADIOS2_ROOT=$adios2_prefix")
    fi
    provide_hdf5
    configure release "-DHDF5_ROOT=$hdf5_prefix" "${known[@]}"
    build release
    install_tree
    if folder=$(e3sm_data); then export FOREBAY_E3SM_DATA=$folder; fi
  fi
  "$python" "$root/bench/papers/run.py" --build "$root/build/release" "$@"
}

# One benchmark by name, or a short list of them.
cmd_bench() {
  if [[ ${1:-} == --help || ${1:-} == -h ]]; then
    "$python" "$root/bench/driver/run.py" --help # nothing needs to be built for it
    return
  fi
  if [[ ${1:-} == adjoint ]]; then
    ensure_packages build test
    configure release
    build release
    shift
    "$python" "$root/bench/driver/adjoint.py" --build "$root/build/release" --dir "$root/build" "$@"
    return
  fi
  if [[ ${1:-} == hdf5-async ]]; then
    ensure_packages build test
    provide_hdf5
    configure release "-DFOREBAY_HDF5_ROOT=$hdf5_prefix"
    build release
    shift
    "$python" "$root/bench/driver/hdf5_async.py" --build "$root/build/release" "$@"
    return
  fi
  if [[ ${1:-} == capture-sizes || ${1:-} == extrapolated ]]; then
    ensure_packages build test
    configure release
    build release forebay-bench-sizes
    bench_sizes "$@"
    return
  fi
  if [[ ${1:-} == patch-figures ]]; then
    ensure_packages build test plot
    configure release
    build release forebay-bench-sizes forebay_slow_store
    shift
    "$python" "$root/bench/sizes/draw_figures.py" --build "$root/build/release" "$@"
    return
  fi
  if [[ ${1:-} == patches || ${1:-} == patches-python ]]; then
    local name=bench_${1//-/_}
    ensure_packages build test python
    shift
    "$name" "$@"
    return
  fi
  if [[ ${1:-} == papers ]]; then
    shift
    bench_papers "$@"
    return
  fi
  if [[ ${1:-} == groups ]]; then
    ensure_packages build peer test adios
    provide_adios2
    provide_hdf5
    configure release "-DFOREBAY_ADIOS2_ROOT=$adios2_prefix" "-DHDF5_ROOT=$hdf5_prefix" -UFOREBAY_BENCH_HDF5_INCLUDE \
      -UFOREBAY_BENCH_HDF5_LIBRARY
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
