# ADIOS2 with MPI, a peer of ./dev bench groups: built once into the cache from the source archive of its Python package
# (the wheel has no MPI), with the engines for BP files alone.
# shellcheck shell=bash disable=SC2154

adios2_version=2.12.1
adios2_carrier=adios2==2.12.1.1001
adios2_carrier_sha256=f3bf3a6e64b800351a091d4fc70cc8437041c36c81f90f01697b81f168b6adb0
adios2_without=(SST Python Fortran ZeroMQ HDF5 DataMan DataSpaces Profiling BZip2 Blosc2 ZFP SZ SZ3 PNG Campaign Catalyst
  Derived_Variable UCX DAOS MGARD LIBPRESSIO MHS AWSSDK XRootD Kokkos CUDA Sodium IME)

# adios2_build PREFIX
adios2_build() {
  local prefix=$1 work=$cache/adios2-work archive part options=()
  [[ ! -d $prefix/lib/cmake/adios2 ]] || return 0
  archive=$(fetch_python_source "$adios2_carrier" "$adios2_carrier_sha256" "$work") &&
    tar -xzf "$archive" -C "$work/source" --strip-components=1 || return 1
  for part in "${adios2_without[@]}"; do options+=("-DADIOS2_USE_$part=OFF"); done
  cmake -S "$work/source" -B "$work/build" -G Ninja -Wno-dev -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_INSTALL_PREFIX="$prefix" -DBUILD_SHARED_LIBS=ON -DBUILD_TESTING=OFF -DADIOS2_BUILD_EXAMPLES=OFF \
    -DADIOS2_USE_MPI=ON "${options[@]}" &&
    nice cmake --build "$work/build" -j "$jobs" && DESTDIR=$work/stage cmake --install "$work/build" || return 1
  # Only a whole build takes its place.
  rm -rf "$prefix"
  mv "$work/stage$prefix" "$prefix" && rm -rf "$work"
}

# provide_adios2: sets adios2_prefix; to nothing where it cannot be had, which it says.
provide_adios2() {
  local log=$cache/adios2.log
  # shellcheck disable=SC2034
  adios2_prefix=$cache/adios2-$adios2_version
  [[ ! -d $adios2_prefix/lib/cmake/adios2 ]] || return 0
  say "building ADIOS2 $adios2_version in $adios2_prefix, once; it takes some ten minutes"
  mkdir -p "$cache"
  alone adios2 adios2_build "$adios2_prefix" >"$log" 2>&1 && return 0
  say "ADIOS2 cannot be built (see $log): measuring without it"
  adios2_prefix=
}
