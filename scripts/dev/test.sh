# shellcheck shell=bash disable=SC2154,SC2034

# in_build NAME: what the release build was configured with.
in_build() { sed -nE "s/^$1:[A-Z]*=//p" "$root/build/release/CMakeCache.txt" 2>/dev/null; }

# The release build, with PnetCDF's own test programs where their sources can be had. Tests of Zarr references need a
# Python that has zarr; those of Python scripts through the HDF5 connector one whose h5py has the connector's HDF5.
configure_for_tests() {
  configure release
  local sources
  if sources=$(pnetcdf_sources); then
    [[ $(in_build FOREBAY_PNETCDF_SOURCE) == "$sources" ]] || configure release "-DFOREBAY_PNETCDF_SOURCE=$sources"
  else
    say "PnetCDF's own test programs are left out"
  fi
  [[ -n ${FOREBAY_WITHOUT_PYTHON:-} ]] && return
  local options=() h5py_venv hdf5_prefix
  [[ $(in_build FOREBAY_ZARR_PYTHON) == "$python_venv/bin/python" ]] ||
    options+=("-DFOREBAY_ZARR_PYTHON=$python_venv/bin/python")
  hdf5_prefix=$(in_build FOREBAY_HDF5_ROOT)
  if [[ -n $hdf5_prefix ]]; then
    provide_h5py
    [[ $(in_build FOREBAY_H5PY_PYTHON) == "$h5py_venv/bin/python" ]] ||
      options+=("-DFOREBAY_H5PY_PYTHON=$h5py_venv/bin/python")
  fi
  ((${#options[@]} == 0)) || configure release "${options[@]}"
}

# prepare_beside: what tests need besides HDF5, in the background while that is compiled: packages come over the network,
# and h5py keeps one processor at work. What fails here does so again, and is told, where it is needed.
prepare_beside() {
  local hdf5_prefix hdf5_origin h5py_venv
  pnetcdf_sources
  [[ -n ${FOREBAY_WITHOUT_PYTHON:-} ]] && return
  ensure_packages python
  python_environment
  # A build that is configured without the connector asks for neither.
  [[ -f $root/build/release/build.ninja && ! -f $first_part_mark && -z $(in_build FOREBAY_HDF5_ROOT) ]] && return
  provide_hdf5
  provide_h5py
}

# Jobs of Open MPI that end remove their common folder when it is empty, under the feet of one that has just begun
# ("orte_session_dir failed"). A folder in it keeps it.
keep_session_folder() {
  mkdir -p "${TMPDIR:-/tmp}/ompi.$(uname -n | cut -d. -f1).$(id -u)/keep" 2>/dev/null || true
}

# unit_tests_first: in a tree that is new or has changed, the unit tests run before all other programs of tests are built:
# whoever broke something knows it within minutes. They run again among all tests, whose records count.
unit_tests_first() {
  local program=$root/build/release/forebay_unit_tests before
  [[ $(in_build FOREBAY_UNIT_TESTS) != OFF ]] || return 0
  before=$(stat -c %Y "$program" 2>/dev/null || true)
  build release forebay_unit_tests
  [[ $(stat -c %Y "$program") != "$before" ]] || return 0
  say "unit tests, before the rest is built"
  (cd "$root/build/release" && "$program" --gtest_brief=1) || say "unit tests FAILED; going on with the rest"
}

# The tests: with MPI, without, and of the Python package. ctest's and pytest's own closing lines are the last thing that
# is printed of each. Unless FOREBAY_TEST_FULL is set, tests that run on 3 ranks do not run on 2 and 4, and tests whose
# ranks are threads, the same code in both builds, do not run without MPI (docs/testing.md).
cmd_test() {
  ensure_packages build peer test
  mkdir -p "$cache"
  prepare_beside >"$cache/beside.log" 2>&1 &
  local beside=$!
  # Interrupted, or where configuring fails: no more steps of it. In the background it does not see ^C.
  # shellcheck disable=SC2064
  trap "kill $beside 2>/dev/null || true" EXIT
  configure release
  wait "$beside" || true
  trap - EXIT
  if [[ -z ${FOREBAY_WITHOUT_PYTHON:-} ]]; then
    ensure_packages python
    python_environment
  fi
  configure_for_tests
  (($# > 0)) || [[ -n ${CI:-} ]] || unit_tests_first  # nobody waits there for the first failure
  build release
  install_tree
  keep_session_folder
  say "tests"
  local failed=0 short=
  (($# > 0)) || [[ -n ${FOREBAY_TEST_FULL:-} ]] || short=1
  run_ctest release ${short:+-LE more_ranks} "$@" || failed=1
  if (($# == 0)); then
    configure serial
    build serial
    say "tests of the build without MPI"
    run_ctest serial ${short:+-LE threads} || failed=1
    [[ -n ${FOREBAY_WITHOUT_PYTHON:-} ]] || python_test || failed=1
  fi
  ((failed == 0)) || die "tests failed"
}
