# What the commands need of the system, by Debian's and Ubuntu's names of packages, and how it gets there.
# shellcheck shell=bash disable=SC2154

declare -A packages=(
  [build]="g++ make cmake ninja-build ccache pkg-config python3 openmpi-bin libopenmpi-dev libfmt-dev libpugixml-dev
           nlohmann-json3-dev libcli11-dev libxxhash-dev libutf8proc-dev
           libdeflate-dev libzstd-dev libzfp-dev libbz2-dev libhdf5-dev"
  [peer]="libpnetcdf-dev"
  [adios]="libadios-openmpi-dev libnetcdf-mpi-dev libhdf5-openmpi-dev libglib2.0-dev liblz4-dev libblosc-dev libibverbs-dev
           libbz2-dev libaec-dev"
  [test]="libgtest-dev pnetcdf-bin netcdf-bin nco cdo libnetcdf-pnetcdf-dev python3-numpy python3-scipy
          python3-h5py zsh fish m4 iproute2 gfortran"
  [python]="python3-dev python3-venv"
  [plot]="python3-dev python3-venv python3-numpy python3-matplotlib"
  [lint]="clang-format-14 clang-tidy-14 shellcheck"
  [sanitize]="clang-14 libclang-rt-14-dev"
  [mpich]="mpich libmpich-dev"
  [cluster]="openmpi-bin iproute2 util-linux mount"
  [gluster]="glusterfs-server glusterfs-client"
  [sources]="dpkg-dev xz-utils"
  [hdf5]="dpkg-dev xz-utils zlib1g-dev"
)

# os_release KEY
os_release() { sed -nE "s/^$1=\"?([^\"]*)\"?$/\1/p" /etc/os-release 2>/dev/null || true; }

# In Ubuntu 22.04 the sanitizers' run-time library comes with clang's headers, and Python is older than the package's.
adapt_package_names() {
  if [[ $(os_release ID) == ubuntu && $(os_release VERSION_ID) == 22.04 ]]; then
    packages[sanitize]="clang-14 libclang-common-14-dev"
    packages[plot]=""
  fi
}

# missing_packages NAME...: those that are not installed, one a line.
missing_packages() {
  local installed
  # shellcheck disable=SC2016
  installed=$(dpkg-query -W -f='${Package} ${db:Status-Status}\n' "$@" 2>/dev/null |
    awk '$2 == "installed" { print $1 }' || true)
  printf '%s\n' "$@" | grep -vxF -f <(printf '%s\n' "$installed" | grep .) || true
}

# ensure_packages GROUP...: installs what is missing of the named groups.
ensure_packages() {
  local group names=() missing
  adapt_package_names
  for group in "$@"; do
    read -r -d '' -a missing <<<"${packages[$group]}" || true
    names+=("${missing[@]}")
  done
  if have dpkg-query; then
    mapfile -t missing < <(missing_packages "${names[@]}")
    ((${#missing[@]} == 0)) || install_packages "${missing[@]}"
  elif [[ -z ${FOREBAY_NO_PACKAGES:-} ]]; then
    say "not a Debian or Ubuntu system: going on with what is here; the commands need the equivalents of"
    printf '%s\n' "${names[*]}" | fold -s -w 110 >&2
  fi
  ensure_cmake
}

install_packages() {
  local as_root=()
  say "installing through apt-get, which takes a minute: $*"
  if ((EUID != 0)); then
    have sudo || die "not root and no sudo here; as root, run: apt-get install --no-install-recommends $*"
    as_root=(sudo)
  fi
  if ! alone apt-get run_apt_get "$@"; then
    tail -n 20 "$cache/apt-get.log" >&2
    die "apt-get failed; all that it said is in $cache/apt-get.log"
  fi
}

# run_apt_get NAME...: with what stands before it in as_root.
run_apt_get() {
  {
    "${as_root[@]}" apt-get update -qq &&
      "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@"
  } >"$cache/apt-get.log" 2>&1
}

# Ubuntu 22.04 has CMake 3.22: there, the package "cmake" of the Python package index serves, in the cache.
ensure_cmake() {
  local wanted=3.25 venv=$cache/cmake
  [[ -x $venv/bin/cmake ]] && PATH=$venv/bin:$PATH
  have cmake && version_at_least "$(cmake --version | awk 'NR == 1 { print $3 }')" $wanted && return
  say "CMake here is older than $wanted: installing the Python package cmake in $venv"
  if have dpkg-query; then
    local missing
    mapfile -t missing < <(missing_packages python3-venv)
    ((${#missing[@]} == 0)) || install_packages "${missing[@]}"
  fi
  "$python" -m venv "$venv"
  "$venv/bin/pip" install --quiet "cmake>=$wanted,<4"
  PATH=$venv/bin:$PATH
}

cmd_setup() {
  ensure_packages build peer test python plot lint sanitize
  say "everything is there"
}
