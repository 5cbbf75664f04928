# SZ3's headers, for the codec sz3: SZ3_ROOT, or fetched once into the cache. No system package has them; the source
# archive of the Python package hdf5plugin does, under SZ3's own (BSD) license.
# shellcheck shell=bash disable=SC2154

sz3_version=3.1.7
sz3_carrier=hdf5plugin==6.0.0
sz3_carrier_sha256=847ed9e96b451367a110f0ba64a3b260d38d64bbf3f25751858d3b56e094cfe0

# sz3_fetch PREFIX: PREFIX/include/SZ3 and the license.
sz3_fetch() {
  local prefix=$1 work=$cache/sz3-work archive
  [[ ! -f $prefix/include/SZ3/def.hpp ]] || return 0
  archive=$(fetch_python_source "$sz3_carrier" "$sz3_carrier_sha256" "$work") &&
    tar -xzf "$archive" -C "$work/source" --strip-components=3 --wildcards '*/lib/SZ3/include/*' \
      '*/lib/SZ3/copyright-and-BSD-license.txt' || return 1
  # Only a whole copy takes its place.
  rm -rf "$prefix"
  mv "$work/source" "$prefix" && rm -rf "$work"
}

# ensure_sz3: exports SZ3_ROOT, by which the configuration finds the headers. Where they cannot be had it says so, and
# the build goes on without the codec.
ensure_sz3() {
  local prefix=$cache/sz3-$sz3_version log=$cache/sz3.log missing
  [[ -z ${SZ3_ROOT:-} ]] || return 0
  if [[ ! -f $prefix/include/SZ3/def.hpp ]]; then
    say "fetching SZ3's headers (in the source archive of $sz3_carrier, 66 MB) through pip"
    mkdir -p "$cache"
    if have dpkg-query && ! "$python" -c 'import ensurepip' 2>/dev/null; then
      mapfile -t missing < <(missing_packages python3-venv)
      ((${#missing[@]} == 0)) || (install_packages "${missing[@]}") || true
    fi
    if ! alone sz3 sz3_fetch "$prefix" >"$log" 2>&1; then
      say "SZ3's headers cannot be fetched (see $log): building without the codec sz3"
      return 0
    fi
  fi
  export SZ3_ROOT=$prefix
}
