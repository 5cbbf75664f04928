# Debian's source packages, by apt itself, from suites other than the system's too; and source archives of Python packages.
# shellcheck shell=bash disable=SC2154

# private_apt DIR SUITE: an apt that reads only source packages of one suite, with lists and cache of its own, from the
# mirror and with the keyring that this system's apt is configured with. Prints the path of its configuration.
private_apt() {
  local dir=$1 suite=$2 uri entry keyring options
  mkdir -p "$dir"/{state/lists/partial,cache/archives/partial,parts}
  # The main archive, not the security one, which holds no suite as a whole.
  # shellcheck disable=SC2016
  read -r uri entry < <(apt-get indextargets --format '$(REPO_URI) $(SOURCESENTRY)' 'Created-By: Packages' 2>/dev/null |
    grep -v security | head -n 1) || true
  [[ -n $uri ]] || die "apt knows no archive here to fetch source packages from"
  keyring=$(sed -nE 's/^Signed-By: *(\/[^ ]+).*/\1/p; s/^deb.*\[.*signed-by=([^] ]+).*/\1/p' "${entry%:*}" | head -n 1)
  options=${keyring:+"[signed-by=$keyring] "}
  echo "deb-src $options$uri $suite main" >"$dir/sources.list"
  cat >"$dir/apt.conf" <<CONF
Dir::State "$dir/state";
Dir::State::Status "/var/lib/dpkg/status";
Dir::Cache "$dir/cache";
Dir::Etc::SourceList "$dir/sources.list";
Dir::Etc::SourceParts "$dir/parts";
APT::Sandbox::User "$(id -un)";
CONF
  echo "$dir/apt.conf"
}

# fetch_source_package NAME VERSION SUITE WORK: unpacks a source package in the folder WORK; prints where its sources
# are. An empty version takes the suite's.
fetch_source_package() {
  local name=$1${2:+=$2} suite=$3 work=$4 conf
  conf=$(private_apt "$cache/apt-$suite" "$suite")
  say "fetching the source package $name of $suite through apt"
  alone "apt-$suite" unpack_source_package "$name" "$work" "$conf" >"$work/fetch.log" 2>&1 ||
    { cat "$work/fetch.log" >&2; die "fetching $name failed"; }
  echo "$work/source"
}

# unpack_source_package NAME WORK CONF: by the apt of that configuration, which one process uses at a time.
unpack_source_package() (
  export APT_CONFIG=$3
  cd "$2" && apt-get update -qq && apt-get source --download-only -qq "$1" && dpkg-source --no-check -x ./*.dsc source
)

# fetch_python_source NAME==VERSION SHA256 WORK: the source archive of a Python package, through pip, in the folder WORK, made
# anew; prints its path.
fetch_python_source() {
  local carrier=$1 name=${1%%==*} work=$3 archive
  rm -rf "$work"
  mkdir -p "$work/source"
  echo "$carrier --hash=sha256:$2" >"$work/requirements.txt"
  "$python" -m venv "$work/venv" >&2 &&
    "$work/venv/bin/pip" download --quiet --disable-pip-version-check --no-deps --no-binary="$name" \
      --require-hashes --retries 1 --dest "$work" --requirement "$work/requirements.txt" >&2 || return 1
  archive=$(find "$work" -maxdepth 1 -name "$name-*.tar.gz" | head -n 1)
  [[ -n $archive ]] && echo "$archive"
}
