# The sources of PnetCDF's own test programs, which tests/pnetcdf-suite compiles against Forebay.
# shellcheck shell=bash disable=SC2154

# Pinned: the version whose interface Forebay has.
pnetcdf_package_suite=bookworm
pnetcdf_package_version=1.12.3-1

# pnetcdf_sources: prints the folder of PnetCDF's sources, fetched once into the cache.
pnetcdf_sources() {
  local sources=$cache/pnetcdf/$pnetcdf_package_version work
  if [[ ! -f $sources/test/common/testutils.c ]]; then
    have apt-get || die "no apt-get here to fetch PnetCDF's test programs with"
    ensure_packages sources
    mkdir -p "$cache/pnetcdf"
    work=$(mktemp -d "$cache/pnetcdf/work.XXXXXX")
    fetch_source_package pnetcdf "$pnetcdf_package_version" "$pnetcdf_package_suite" "$work" >/dev/null
    # Only a whole copy takes its place.
    rm -rf "$sources"
    mv "$work/source" "$sources"
    rm -rf "$work"
  fi
  echo "$sources"
}
