# shellcheck shell=bash disable=SC2154

# The release build; its tests of Zarr references need a Python that has zarr.
configure_for_tests() {
  configure release
  [[ -n ${FOREBAY_WITHOUT_PYTHON:-} ]] && return
  grep -qx "FOREBAY_ZARR_PYTHON:[A-Z]*=$python_venv/bin/python" "$root/build/release/CMakeCache.txt" ||
    configure release "-DFOREBAY_ZARR_PYTHON=$python_venv/bin/python"
}

# Every test: with MPI, without, and of the Python package. ctest's and pytest's own closing lines are the last thing
# that is printed of each.
cmd_test() {
  ensure_packages build peer test
  if [[ -z ${FOREBAY_WITHOUT_PYTHON:-} ]]; then
    ensure_packages python
    python_environment
  fi
  configure_for_tests
  build release
  install_tree
  say "tests"
  local failed=0
  ctest --test-dir "$root/build/release" --output-on-failure --no-tests=error "$@" || failed=1
  if (($# == 0)); then
    configure serial
    build serial
    say "tests of the build without MPI"
    ctest --test-dir "$root/build/serial" --output-on-failure --no-tests=error || failed=1
    [[ -n ${FOREBAY_WITHOUT_PYTHON:-} ]] || python_test || failed=1
  fi
  ((failed == 0)) || die "tests failed"
}
