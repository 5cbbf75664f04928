# The Python package: its wheel, built and installed in a virtual environment of the cache, and its tests.
# shellcheck shell=bash disable=SC2154

# What the tests compare with, and what building a wheel without isolation needs. The tools first: a package that comes as
# source alone (pyrevolve) asks for them before pip has installed what stands beside it.
python_tools=(setuptools wheel packaging numpy)
python_packages=(scikit-build-core nanobind numpy pytest scipy netCDF4 h5py hdf5plugin==6.0.0 h5netcdf xarray dask cftime zarr fsspec matplotlib
  mpi4py xxhash ruff adios2 PyWavelets checkpoint-schedules pyrevolve pyadjoint-ad jax)

# python_environment: sets python_venv, and makes it if need be. Its packages are installed once for each list of names.
python_environment() {
  local version list
  version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
  python_venv=$cache/python-$version
  list=$(printf '%s\n' "${python_packages[@]}" "zarr>=3")
  python_environment_is_there || alone python make_python_environment
}

python_environment_is_there() {
  [[ -x $python_venv/bin/python && $(cat "$python_venv/packages" 2>/dev/null) == "$list" ]]
}

make_python_environment() {
  ! python_environment_is_there || return 0
  say "installing in $python_venv: ${python_packages[*]}"
  if ! { "$python" -m venv "$python_venv" &&
    "$python_venv/bin/pip" install --quiet --disable-pip-version-check --upgrade "${python_tools[@]}" &&
    "$python_venv/bin/pip" install --quiet --disable-pip-version-check "${python_packages[@]}" "zarr>=3"; }; then
    die "the Python packages that the tests need cannot be installed (FOREBAY_WITHOUT_PYTHON=1 ./dev test does without)"
  fi
  echo "$list" >"$python_venv/packages"
}

# plot_options: what the release build needs to have the Python package too, for `forebay plot`, one option a line. Fails
# where the interpreter is too old for it or has no matplotlib, or nanobind cannot be had.
plot_options() {
  local venv
  "$python" -c 'import sys, numpy, matplotlib; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || return 1
  venv=$cache/nanobind-$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
  if ! "$venv/bin/python" -c 'import nanobind' 2>/dev/null; then
    "$python" -m venv "$venv" >&2 && "$venv/bin/pip" install --quiet --disable-pip-version-check "nanobind>=2.1" >&2 ||
      return 1
  fi
  printf '%s\n' -DFOREBAY_PYTHON=ON "-DPython_EXECUTABLE=$(command -v "$python")" \
    "-Dnanobind_ROOT=$("$venv/bin/python" -m nanobind --cmake_dir)"
}

# python_fingerprint: one hash of all that the wheel is made of.
python_fingerprint() {
  (cd "$root" && {
    echo "$python_venv" "${SZ3_ROOT:-}"
    find CMakeLists.txt CMakePresets.json pyproject.toml README.md cmake src include python/src python/forebay -type f \
      -not -name '*.pyc' -not -name '*.so' -print0 | LC_ALL=C sort -z | xargs -0 sha256sum
  } | sha256sum)
}

# python_install NAME PIP_OPTION...: builds the wheel in build/NAME and installs it, unless that has been done. The
# build type is that of the serial build, so that the compiler cache has most of it already.
python_install() {
  local name=$1 now
  shift
  now=$(python_fingerprint)
  [[ $(cat "$root/build/$name/installed" 2>/dev/null) == "$now $*" ]] && return
  ensure_sz3
  say "building the Python wheel in build/$name"
  mkdir -p "$root/build"
  have ccache && export CMAKE_C_COMPILER_LAUNCHER=ccache CMAKE_CXX_COMPILER_LAUNCHER=ccache
  # The compiler by the name that the other builds use: Python's own name for it would miss the cache.
  CC=${CC:-cc} CXX=${CXX:-c++} CMAKE_BUILD_PARALLEL_LEVEL=$jobs "$python_venv/bin/pip" install --quiet \
    --disable-pip-version-check --no-build-isolation --no-deps --force-reinstall \
    --config-settings "build-dir=$root/build/$name" --config-settings cmake.build-type=RelWithDebInfo \
    --config-settings install.strip=true "$@" "$root" >"$root/build/$name.log" 2>&1 ||
    { tail -n 40 "$root/build/$name.log" >&2; die "the Python wheel cannot be built (build/$name.log has all of it)"; }
  echo "$now $*" >"$root/build/$name/installed"
}

# python_test PYTEST_OPTION...: the serial wheel with every test, then, without options, the parallel one on 3 ranks.
python_test() {
  local parallel=$root/build/python-mpi/site failed=0 limit=(timeout 900)
  [[ ! -t 0 ]] || limit=()  # which keeps Ctrl-C, and what is typed for a debugger, from them
  python_install python
  say "tests of the Python package"
  (cd "$root" && FOREBAY_PYTHON=$python_venv/bin/python "${limit[@]}" \
    "$python_venv/bin/python" -m pytest -q -p no:cacheprovider --junitxml "$root/build/python/junit.xml" "$@") || failed=1
  if (($# == 0)); then
    python_install python-mpi --config-settings cmake.define.FOREBAY_MPI=ON --target "$parallel" --upgrade
    say "tests of the Python package with MPI, 3 ranks"
    (cd "$root" && FOREBAY_PARALLEL_SITE=$parallel timeout 120 mpiexec --oversubscribe -n 3 \
      "$python_venv/bin/python" -m mpi4py python/tests/parallel_writing.py) || failed=1
    python_on_nodes "$parallel" || failed=1
  fi
  return "$failed"
}

# python_on_nodes SITE: the same program on two nodes, where the machine lets them be; else says why not.
python_on_nodes() {
  local status=0
  say "tests of the Python package with MPI, nodes of 2 and 1 ranks"
  (cd "$root" && FOREBAY_PARALLEL_SITE=$1 timeout 120 "$python" -B scripts/cluster.py 2,1 \
    "$python_venv/bin/python" -m mpi4py python/tests/parallel_writing.py) || status=$?
  ((status == 0 || status == 77))
}

cmd_python_test() {
  ensure_packages build test python
  python_environment
  python_test "$@" || die "Python tests failed"
}
