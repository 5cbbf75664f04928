# Shared by the commands of ./dev. Uses: root, cache, jobs, python.
# shellcheck shell=bash disable=SC2154

say() { printf '\n== %s\n' "$*" >&2; }
die() { printf 'dev: %s\n' "$*" >&2; exit 1; }
have() { command -v "$1" >/dev/null 2>&1; }

# run_ctest PRESET [ctest options]: the tests of a build tree; what ran is recorded in its junit.xml. ctest's own closing
# lines are the last that it prints. Tests without a limit of their own get one; ctest would give them 25 minutes.
run_ctest() {
  local tree=$root/build/$1
  shift
  [[ -n ${FOREBAY_TEST_FULL:-} ]] || say "the short form; with FOREBAY_TEST_FULL=1 tests try all their cases"
  ctest --test-dir "$tree" --output-on-failure --no-tests=error --timeout 300 --output-junit "$tree/junit.xml" "$@"
}

# logged LOG COMMAND...: runs it with all that it says in LOG; every ten seconds the last step of a build in it is shown.
logged() {
  local log=$1 reporter status=0
  shift
  : >"$log"
  while sleep 10 >/dev/null 2>&1 && kill -0 $$ 2>/dev/null; do
    grep -oE '^\[[0-9]+/[0-9]+[^]]*\]' "$log" | tail -n 1 || true
  done >&2 &
  reporter=$!
  "$@" >>"$log" 2>&1 || status=$?
  kill "$reporter" 2>/dev/null || true
  return "$status"
}

# alone NAME COMMAND...: what makes something that all checkouts share, one process at a time; the command looks first
# whether another has made it meanwhile.
alone() {
  local name=$1 lock status=0
  shift
  mkdir -p "$cache"
  exec {lock}>"$cache/$name.lock"
  if have flock && ! flock -n "$lock"; then
    say "waiting for another process that makes or uses: $name"
    flock "$lock"
  fi
  "$@" || status=$?
  exec {lock}>&-
  return "$status"
}

# version_at_least HAVE WANTED
version_at_least() { [[ $(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1) == "$2" ]]; }

# What every command runs under: the compiler cache, and what Open MPI asks of root and of a machine with few cores.
export_environment() {
  export CCACHE_DIR=${CCACHE_DIR:-$cache/ccache}
  export CCACHE_BASEDIR=${CCACHE_BASEDIR:-$root}
  export CCACHE_NOHASHDIR=1 CCACHE_COMPILERCHECK=content
  export CCACHE_SLOPPINESS=pch_defines,time_macros  # what it asks of builds with precompiled headers
  export NINJA_STATUS="[%f/%t, %e s] "
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
  # Ranks count as processors, but wait for each other most of the time, and leave the core to others then.
  export CTEST_PARALLEL_LEVEL=${CTEST_PARALLEL_LEVEL:-$((6 * jobs))}
}
