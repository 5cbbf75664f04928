# Configuring, building and installing.
# shellcheck shell=bash disable=SC2154

# configure PRESET [cmake options]: does nothing when the build directory is there and no option is given.
configure() {
  local preset=$1
  shift
  [[ -f $root/build/$preset/build.ninja && $# == 0 ]] && return
  ensure_sz3
  say "configuring build/$preset"
  local options=(-Wno-dev "-DPython3_EXECUTABLE=$python")
  if have ccache; then
    options+=(-DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
  fi
  if [[ $preset != serial && $preset != fuzz ]]; then
    local hdf5
    if hdf5=$(hdf5_options); then
      mapfile -t -O "${#options[@]}" options <<<"$hdf5"
    else
      say "no parallel HDF5: the HDF5 connector is left out (HDF5_ROOT names one)"
    fi
  fi
  (cd "$root" && cmake --preset "$preset" "${options[@]}" "$@") >&2
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
  ensure_packages build peer test
  configure "$preset"
  build "$preset"
  if [[ $preset == release ]]; then
    install_tree
    say "installed in build/install"
  fi
}

# The same sources with MPICH: unit tests, and the MPI tests at two ranks (MPICH spins when ranks outnumber cores).
# What Debian builds with Open MPI (PnetCDF, netCDF-C) cannot take part.
cmd_mpich_check() {
  ensure_packages build test mpich
  ensure_sz3
  say "configuring build/mpich"
  (cd "$root" && cmake --preset release -B build/mpich -Wno-dev "-DPython3_EXECUTABLE=$python" \
    -DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache \
    -DMPI_C_COMPILER=mpicc.mpich -DMPI_CXX_COMPILER=mpicxx.mpich -DMPIEXEC_EXECUTABLE="$(command -v mpiexec.mpich)" \
    -DFOREBAY_BENCH=OFF -DFOREBAY_PEER_LIBRARY= -DFOREBAY_PEER_INCLUDE= -DFOREBAY_NETCDF_LIBRARY= \
    -DFOREBAY_NETCDF_INCLUDE=) >&2
  build mpich
  say "tests with MPICH"
  ctest --test-dir "$root/build/mpich" --output-on-failure --no-tests=error -R '^unit|_np2$' "$@"
}
