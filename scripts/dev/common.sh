# Shared by the commands of ./dev. Uses: root, cache, jobs, python.
# shellcheck shell=bash disable=SC2154

say() { printf '\n== %s\n' "$*" >&2; }
die() { printf 'dev: %s\n' "$*" >&2; exit 1; }
have() { command -v "$1" >/dev/null 2>&1; }

# version_at_least HAVE WANTED
version_at_least() { [[ $(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1) == "$2" ]]; }

# What every command runs under: the compiler cache, and what Open MPI asks of root and of a machine with few cores.
export_environment() {
  export CCACHE_DIR=${CCACHE_DIR:-$cache/ccache}
  export CCACHE_BASEDIR=${CCACHE_BASEDIR:-$root}
  export CCACHE_NOHASHDIR=1 CCACHE_COMPILERCHECK=content
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
  export CTEST_PARALLEL_LEVEL=${CTEST_PARALLEL_LEVEL:-$jobs}
  # The system's own Python sees the system's NumPy; another one first in PATH need not.
  export FOREBAY_PYTHON=$python
}
