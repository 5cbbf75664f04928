# h5py, built against the parallel HDF5 that the connector is built for: what tests an ordinary Python script through it.
# shellcheck shell=bash disable=SC2154

# Pinned: what a test finds should not change by itself.
h5py_packages=(h5py==3.16.0 "mpi4py>=4.1,<5" "numpy>=2,<3")

# hdf5_folder PREFIX NAME: the folder below PREFIX that holds the file NAME, where Debian has several the parallel one's.
hdf5_folder() {
  local all found
  all=$(find -H "$1" -maxdepth 6 -name "$2" 2>/dev/null | sort)
  found=$(grep -E '/(openmpi|mpich)/' <<<"$all" | head -n 1 || true)
  found=${found:-$(head -n 1 <<<"$all")}
  [[ -n $found ]] && dirname "$found"
}

# provide_h5py: sets h5py_venv, a virtual environment of the cache whose h5py has the HDF5 in hdf5_prefix and
# MPI, with pytest for h5py's own tests.
provide_h5py() {
  provide_h5py_itself
  "$h5py_venv/bin/python" -c 'import pytest' 2>/dev/null ||
    "$h5py_venv/bin/pip" install --quiet --disable-pip-version-check "pytest>=8,<9" >&2 ||
    die "pytest cannot be installed in $h5py_venv"
}

# provide_h5py_itself: the environment without pytest; made once for each HDF5 and each list of packages.
provide_h5py_itself() {
  local version stamp include library
  version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
  h5py_venv=$cache/h5py/$(basename "$hdf5_prefix")-python$version
  stamp=$(printf '%s\n' "$hdf5_prefix" "${h5py_packages[@]}")
  [[ -x $h5py_venv/bin/python && $(cat "$h5py_venv/packages" 2>/dev/null) == "$stamp" ]] && return
  if ! { include=$(hdf5_folder "$hdf5_prefix" H5pubconf.h) && library=$(hdf5_folder "$hdf5_prefix" libhdf5.so); }; then
    die "the HDF5 in $hdf5_prefix has no H5pubconf.h or no libhdf5.so that h5py could be built with"
  fi
  ensure_packages build python hdf5
  say "building h5py with the HDF5 in $hdf5_prefix, in $h5py_venv"
  rm -rf "$h5py_venv"
  mkdir -p "$cache/h5py"
  if ! { "$python" -m venv "$h5py_venv" &&
    CC=mpicc HDF5_MPI=ON HDF5_INCLUDEDIR=$include HDF5_LIBDIR=$library CFLAGS=-O1 \
      LDFLAGS="-Wl,-rpath,$library" "$h5py_venv/bin/pip" install --disable-pip-version-check \
      --no-binary=h5py "${h5py_packages[@]}"; } >"$cache/h5py/build.log" 2>&1; then
    tail -n 40 "$cache/h5py/build.log" >&2
    die "h5py cannot be built (FOREBAY_WITHOUT_PYTHON=1 ./dev test does without); see $cache/h5py/build.log"
  fi
  "$h5py_venv/bin/python" -c 'import h5py; assert h5py.get_config().mpi' ||
    die "the h5py that was built in $h5py_venv has no MPI"
  echo "$stamp" >"$h5py_venv/packages"
}
