# shellcheck shell=bash disable=SC2154

# Every test, with MPI and without. ctest's own closing lines are the last thing that is printed of each.
cmd_test() {
  ensure_packages build peer test
  configure release
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
  fi
  ((failed == 0)) || die "tests failed"
}
