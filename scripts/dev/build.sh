# Configuring, building and installing.
# shellcheck shell=bash disable=SC2154

# The core of the library and of the command, and the benchmark for this library and for PnetCDF: what can be used within
# minutes.
first_part=(forebay forebay_tool forebay-bench forebay-bench-pnetcdf)
# More options for it.
first_part_options=()
# There while the release build is configured for its first part only.
first_part_mark=$root/build/release/first-part

# run_cmake PRESET [cmake options]
run_cmake() {
  local preset=$1
  local options=(-Wno-dev "-DPython3_EXECUTABLE=$python")
  shift
  if have ccache; then
    options+=(-DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
  fi
  (cd "$root" && cmake --preset "$preset" "${options[@]}" "$@") >&2
}

# build_first_part: in a tree without a build, the first part of the release build and build/install; of a tree that
# has one, the same programs. What takes long beside them waits: the wings, HDF5, SZ3's headers unless they are there, all
# tests; the Fortran module too, whose compiler comes with what tests need.
build_first_part() {
  local targets=("${first_part[@]}")
  if [[ ! -f $root/build/release/build.ninja ]]; then
    mkdir -p "$root/build/release"
    touch "$first_part_mark"
    [[ -n ${SZ3_ROOT:-} || ! -d $cache/sz3-$sz3_version ]] || export SZ3_ROOT=$cache/sz3-$sz3_version
    say "configuring build/release: the core of library and command, and the benchmark first"
    run_cmake release -DFOREBAY_WINGS= -DFOREBAY_HDF5=OFF -DFOREBAY_FORTRAN=OFF -DFOREBAY_TESTS=OFF "${first_part_options[@]}"
  elif ((${#first_part_options[@]})) && [[ $(in_build FOREBAY_PYTHON) != ON ]]; then
    run_cmake release "${first_part_options[@]}"
  fi
  [[ $(in_build FOREBAY_PYTHON) != ON ]] || targets+=(_forebay)
  build release "${targets[@]}"
  if [[ -f $first_part_mark ]]; then
    install_tree
    say "the core of the library and the command are installed in build/install; ./dev build adds the wings"
  fi
}

# configure PRESET [cmake options]: does nothing when the build directory is there, whole, and no option is given.
configure() {
  local preset=$1 options=()
  shift
  [[ $preset != release || ! -f $first_part_mark ]] || options+=(-DFOREBAY_WINGS=all -DFOREBAY_HDF5=ON -DFOREBAY_FORTRAN=ON -DFOREBAY_TESTS=ON)
  [[ -f $root/build/$preset/build.ninja && $# == 0 && ${#options[@]} == 0 ]] && return
  ensure_sz3
  say "configuring build/$preset"
  if [[ $preset != serial && $preset != fuzz && $preset != tsan ]]; then
    local hdf5
    if hdf5=$(hdf5_options); then
      mapfile -t -O "${#options[@]}" options <<<"$hdf5"
    else
      say "no parallel HDF5: the HDF5 connector is left out (HDF5_ROOT names one)"
    fi
  fi
  run_cmake "$preset" "${options[@]}" "$@"
  [[ $preset != release ]] || rm -f "$first_part_mark"
}

# build PRESET [targets...]
build() {
  local preset=$1 targets=()
  shift
  (($# == 0)) || targets=(--target "$@")
  say "building build/$preset"
  cmake --build "$root/build/$preset" -j "$jobs" "${targets[@]}" >&2
}

# The installed tree that users and examples see: build/install.
install_tree() {
  cmake --install "$root/build/release" --prefix "$root/build/install" >"$root/build/install.log" ||
    { cat "$root/build/install.log" >&2; die "installing in build/install failed"; }
}

cmd_build() {
  local preset=${1:-release}
  ensure_packages build peer
  if [[ $preset == release && (! -f $root/build/release/build.ninja || -f $first_part_mark) ]]; then
    build_first_part
    say "going on with the wings, HDF5, the connector, the other benchmarks and the tests"
  fi
  ensure_packages test
  configure "$preset"
  build "$preset"
  if [[ $preset == release ]]; then
    install_tree
    say "installed in build/install"
  fi
}

all_wings() { (cd "$root/src/wings" && echo *); }

# What shows within minutes whether the core stands without the wings that are left out: the rest of its tests is the same
# code with all of them.
short_tests=(-R '^(unit|tool|symbols|example|install)|_np3$' -LE 'cluster|fault|peer|model')

# core_with "WING ..." TREE [ctest options]: the core with these wings, built in build/TREE and tested. Objects come from
# the compiler cache where another build has made them.
core_with() {
  local wings=$1 tree=$2 options=(-DFOREBAY_HDF5=OFF) hdf5
  shift 2
  if [[ " $wings " == *" hdf5 "* ]] && hdf5=$(hdf5_options); then
    mapfile -t options <<<"$hdf5"
    options+=(-DFOREBAY_HDF5=ON)  # another set of wings may have left it out of this tree
  fi
  ensure_sz3
  say "configuring build/$tree: the core${wings:+ with $wings}"
  run_cmake core -B "build/$tree" "-DFOREBAY_WINGS=${wings// /;}" "${options[@]}" && build "$tree" || return 1
  keep_session_folder
  say "tests of the core${wings:+ with $wings}"
  run_ctest "$tree" "$@"
}

# cmd_core [WING ...] [ctest options | --short]
cmd_core() {
  local wings=()
  while (($#)) && [[ $1 != -* ]]; do wings+=("$1") && shift; done
  [[ ${1:-} != --short ]] || set -- "${short_tests[@]}"
  ensure_packages build peer test
  local tree
  tree=$(IFS=-; echo "core${wings[*]:+-${wings[*]}}")
  core_with "${wings[*]}" "$tree" "$@" || die "the core${wings[*]:+ with ${wings[*]}} failed"
}

# The same sources with MPICH: the MPI tests at two ranks (MPICH spins when ranks outnumber cores).
# What Debian builds with Open MPI (PnetCDF, netCDF-C) cannot take part.
cmd_mpich_check() {
  ensure_packages build test mpich
  ensure_sz3
  say "configuring build/mpich"
  (cd "$root" && cmake --preset release -B build/mpich -Wno-dev "-DPython3_EXECUTABLE=$python" \
    -DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache \
    -DMPI_C_COMPILER=mpicc.mpich -DMPI_CXX_COMPILER=mpicxx.mpich -DMPI_Fortran_COMPILER=mpifort.mpich \
    -DMPIEXEC_EXECUTABLE="$(command -v mpiexec.mpich)" \
    -DFOREBAY_UNIT_TESTS=OFF -DFOREBAY_BENCH=OFF -DFOREBAY_HDF5=OFF -DFOREBAY_PEER_LIBRARY= -DFOREBAY_PEER_INCLUDE= \
    -DFOREBAY_NETCDF_LIBRARY= -DFOREBAY_NETCDF_INCLUDE=) >&2
  build mpich
  say "tests with MPICH"
  # One test at a time: ranks of MPICH that wait spin, and take the processors of those they wait for.
  run_ctest mpich -R '_np2$' -E '^fault\.injection' -j1 "$@"
}
