# A parallel HDF5 >= 1.14 for the parts that need one: HDF5_ROOT, the system's, or built once in the cache.
# shellcheck shell=bash disable=SC2154

hdf5_wanted=1.14.0
# Debian's own source package, pinned; its suite is fetched apart from the suites that the system uses.
hdf5_package_suite=${FOREBAY_HDF5_SUITE:-trixie}
hdf5_package_version=${FOREBAY_HDF5_VERSION-1.14.5+repack-3}

# hdf5_is_good PREFIX: parallel, and new enough.
hdf5_is_good() {
  local header version
  header=$(find "$1/include" -maxdepth 2 -name H5pubconf.h 2>/dev/null | head -n 1)
  [[ -n $header ]] && grep -qE '^ *# *define +H5_HAVE_PARALLEL +1' "$header" || return 1
  version=$(sed -nE 's/^ *# *define +H5_(PACKAGE_)?VERSION +"([0-9.]+).*/\2/p' "$header" | head -n 1)
  [[ -n $version ]] && version_at_least "$version" $hdf5_wanted
}

# Debian keeps the system's parallel HDF5 in folders of its own.
hdf5_system_prefix() {
  local header
  for header in /usr/include/hdf5/openmpi /usr/include/hdf5/mpich; do
    local version
    [[ -f $header/H5pubconf.h ]] || continue
    version=$(sed -nE 's/^ *# *define +H5_(PACKAGE_)?VERSION +"([0-9.]+).*/\2/p' "$header/H5pubconf.h" | head -n 1)
    [[ -n $version ]] && version_at_least "$version" $hdf5_wanted && { echo /usr; return 0; }
  done
  return 1
}

# hdf5_build PREFIX
hdf5_build() {
  local prefix=$1 work source
  ! hdf5_is_good "$prefix" || return 0
  work=$cache/hdf5-work
  rm -rf "$work"
  mkdir -p "$work"
  source=$(fetch_source_package hdf5 "$hdf5_package_version" "$hdf5_package_suite" "$work")
  say "building HDF5 in $prefix, once; it takes some minutes"
  logged "$work/build.log" hdf5_compile "$source" "$work" "$prefix" ||
    { tail -n 40 "$work/build.log" >&2; die "building HDF5 failed; see $work/build.log"; }
  # Only a whole build takes its place.
  rm -rf "$prefix"
  mkdir -p "$(dirname "$prefix")"
  mv "$work/stage$prefix" "$prefix"
  rm -rf "$work"
}

# hdf5_compile SOURCE WORK PREFIX: in WORK/stage, for PREFIX.
hdf5_compile() {
  local source=$1 work=$2 prefix=$3
  cmake -S "$source" -B "$work/build" -G Ninja -Wno-dev -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_INSTALL_PREFIX="$prefix" -DCMAKE_INSTALL_RPATH="\$ORIGIN/../lib" \
    -DCMAKE_C_COMPILER=mpicc -DHDF5_ENABLE_PARALLEL=ON -DHDF5_ENABLE_Z_LIB_SUPPORT=ON \
    -DHDF5_ENABLE_SZIP_SUPPORT=OFF -DHDF5_BUILD_TOOLS=ON -DHDF5_BUILD_HL_LIB=ON -DHDF5_BUILD_CPP_LIB=OFF \
    -DHDF5_BUILD_FORTRAN=OFF -DHDF5_BUILD_EXAMPLES=OFF -DBUILD_TESTING=OFF -DBUILD_STATIC_LIBS=OFF &&
    cmake --build "$work/build" -j "$jobs" && DESTDIR=$work/stage cmake --install "$work/build"
}

# provide_hdf5: sets hdf5_prefix, and hdf5_origin to where it is from.
provide_hdf5() {
  local built=$cache/hdf5/${hdf5_package_version:-$hdf5_package_suite}
  if [[ -n ${HDF5_ROOT:-} ]]; then
    hdf5_is_good "$HDF5_ROOT" || die "HDF5_ROOT=$HDF5_ROOT holds no parallel HDF5 >= $hdf5_wanted"
    hdf5_prefix=$HDF5_ROOT hdf5_origin=HDF5_ROOT
  elif hdf5_prefix=$(hdf5_system_prefix); then
    hdf5_origin="the system"
  else
    hdf5_prefix=$built hdf5_origin="built here"
    if ! hdf5_is_good "$built"; then
      ensure_packages build hdf5
      alone hdf5 hdf5_build "$built"
    fi
    hdf5_is_good "$built" || die "the HDF5 in $built is not parallel or older than $hdf5_wanted"
  fi
}

# hdf5_build_serial SOURCE WORK: the library alone, without MPI, in WORK/stage/serial: what a serial program has.
hdf5_build_serial() {
  local source=$1 work=$2
  cmake -S "$source" -B "$work/serial" -G Ninja -Wno-dev -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_FLAGS_RELEASE="-O1 -DNDEBUG" \
    -DCMAKE_INSTALL_PREFIX="$work/stage/serial" -DHDF5_ENABLE_PARALLEL=OFF -DHDF5_ENABLE_Z_LIB_SUPPORT=ON \
    -DHDF5_ENABLE_SZIP_SUPPORT=OFF -DHDF5_BUILD_TOOLS=OFF -DHDF5_BUILD_HL_LIB=OFF -DHDF5_BUILD_CPP_LIB=OFF \
    -DHDF5_BUILD_FORTRAN=OFF -DHDF5_BUILD_EXAMPLES=OFF -DBUILD_TESTING=OFF -DBUILD_STATIC_LIBS=OFF &&
    cmake --build "$work/serial" -j "$jobs" && cmake --install "$work/serial"
}

# provide_hdf5_tests: sets hdf5_tests to HDF Group's tests of HDF5's interface and a serial libhdf5, built once from the
# sources of the HDF5 that was built here; empty for an HDF5 from elsewhere, whose sources are not at hand. After
# provide_hdf5.
provide_hdf5_tests() {
  hdf5_tests=
  [[ $hdf5_origin == "built here" ]] || return 0
  hdf5_tests=$cache/hdf5-api-tests/$(basename "$hdf5_prefix")
  hdf5_tests_are_there || alone hdf5-tests hdf5_build_tests
}

hdf5_tests_are_there() { [[ -x $hdf5_tests/h5_api_test && -f $hdf5_tests/serial/lib/libhdf5.so ]]; }

# hdf5_build_tests: in hdf5_tests.
hdf5_build_tests() {
  ! hdf5_tests_are_there || return 0
  ensure_packages build hdf5
  local work source
  work=$(mktemp -d "$cache/hdf5-tests.XXXXXX")
  source=$(fetch_source_package hdf5 "$hdf5_package_version" "$hdf5_package_suite" "$work")
  say "building HDF5's tests and a serial HDF5 in $hdf5_tests, once; it takes some minutes"
  logged "$work/build.log" hdf5_compile_tests "$source" "$work" ||
    { tail -n 40 "$work/build.log" >&2; die "building HDF5's tests failed"; }
  rm -rf "$hdf5_tests"
  mkdir -p "$(dirname "$hdf5_tests")"
  mv "$work/stage" "$hdf5_tests"
  rm -rf "$work"
}

# hdf5_compile_tests SOURCE WORK: the tests and a serial library, in WORK/stage.
hdf5_compile_tests() {
  local source=$1 work=$2
  cmake -S "$root/src/wings/hdf5/tests/connector/suite" -B "$work/build" -G Ninja -Wno-dev -DHDF5_SOURCE="$source" \
    -DHDF5_ROOT="$hdf5_prefix" -DCMAKE_C_COMPILER=mpicc -DCMAKE_INSTALL_PREFIX="$work/stage" &&
    cmake --build "$work/build" -j "$jobs" && cmake --install "$work/build" && hdf5_build_serial "$source" "$work"
}

# hdf5_options: the options of a build that has the HDF5 connector, one a line; none, and a word of why, without HDF5.
hdf5_options() {
  local hdf5_prefix hdf5_origin hdf5_tests
  provide_hdf5
  provide_hdf5_tests
  printf '%s\n' "-DFOREBAY_HDF5_ROOT=$hdf5_prefix" "-DFOREBAY_HDF5_TESTS=$hdf5_tests"
}

cmd_hdf5() {
  local hdf5_prefix hdf5_origin
  provide_hdf5
  say "HDF5 ($hdf5_origin)"
  echo "$hdf5_prefix"
}
