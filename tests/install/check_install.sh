#!/usr/bin/env bash
# Installs the build into a temporary prefix, moves it, and builds consumer.c against it from outside, three ways; each
# program runs under mpiexec. Fails when one does not build, does not run, or does not get its answer from Forebay.
#
#   check_install.sh BUILD_DIR CMAKE MPICC MPIFORT LAUNCHER...     (MPIFORT: or none; LAUNCHER starts two ranks)
set -euo pipefail

build=$1 cmake=$2 mpicc=$3 mpifort=$4
shift 4
launch=("$@")
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

fail() { echo "FAILED: $*" >&2; exit 1; }
within() { echo "$1" >&2; shift; "$@" >log 2>&1 || { cat log >&2; fail "$*"; }; }

# run NAME PROGRAM: the program's values are right, and the library that answered is Forebay's.
run() {
  local output
  output=$("${launch[@]}" "$2" "$work/$1.nc" 2>&1) || { echo "$output" >&2; fail "$1: the program failed"; }
  grep -q 'wrong values: 0;' <<<"$output" || fail "$1: $output"
  [[ $(ldd "$2") =~ libforebay\.so\.0\ =\>\ $prefix/ ]] || fail "$1: not linked to Forebay: $(ldd "$2")"
  # Three bytes of the classic format's name, then every value in its place.
  [[ $(head -c 3 "$1.nc") == CDF ]] || fail "$1: $1.nc is not a netCDF file"
  echo "$1: $output"
}

# The tree must not depend on where it was installed first.
within "install" "$cmake" --install "$build" --prefix "$work/first"
mv first prefix
prefix=$work/prefix
libdir=$(dirname "$(find "$prefix" -name libforebay.so -not -path '*/compat/*')")
[[ -n $libdir ]] || fail "no libforebay.so"
unset LD_LIBRARY_PATH LD_PRELOAD
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

for file in bin/forebay compat/include/pnetcdf.h compat/lib/libpnetcdf.so compat/lib/libpnetcdf.so.0d \
  compat/lib/libpnetcdf.so.{4,5,6,7,8} compat/lib/pkgconfig/pnetcdf.pc compat/bin/pnetcdf-config include/forebay.h; do
  [[ -e $prefix/$file ]] || fail "$file is not installed"
done
within "the installed command runs" "$prefix/bin/forebay" --version
! grep -rIl --include='*.pc' --include='*.cmake' -e "$work" -e "$build" "$prefix" || fail "a path of the build is installed"

# 1. pkg-config forebay
flags=$(PKG_CONFIG_PATH=$libdir/pkgconfig pkg-config --cflags --libs forebay)
# shellcheck disable=SC2086
within "pkg-config forebay" "$mpicc" -DWITH_FOREBAY "$here/consumer.c" $flags -Wl,-rpath,"$libdir" -o consumer_pkgconfig
run pkgconfig ./consumer_pkgconfig
# shellcheck disable=SC2086
within "pkg-config forebay, with a compiler that knows no MPI" "${CC:-cc}" -DWITH_FOREBAY "$here/consumer.c" $flags \
  -Wl,-rpath,"$libdir" -o consumer_cc
run pkgconfig_cc ./consumer_cc

# 2. find_package(forebay)
within "configure with find_package(forebay)" "$cmake" -S "$here/project" -B project "-DCMAKE_PREFIX_PATH=$prefix" \
  "-DMPI_C_COMPILER=$mpicc"
within "build with find_package(forebay)" "$cmake" --build project
run findpackage project/consumer

# 3. what a build for PnetCDF changes: -I, -L and -lpnetcdf; one folder on the library path is enough to run
within "compat -lpnetcdf" "$mpicc" "$here/consumer.c" -I "$prefix/compat/include" -L "$prefix/compat/lib" -lpnetcdf \
  -o consumer_compat
export LD_LIBRARY_PATH=$prefix/compat/lib
run compat ./consumer_compat
unset LD_LIBRARY_PATH

# 4. pkg-config pnetcdf and pnetcdf-config name that same folder; what --libs names builds look for elsewhere, too
[[ -z $("$prefix/compat/bin/pnetcdf-config" --libs) ]] || fail "pnetcdf-config --libs names libraries, PnetCDF's does not"
for flags in "$(PKG_CONFIG_PATH=$prefix/compat/lib/pkgconfig pkg-config --cflags --libs pnetcdf)" \
  "$("$prefix/compat/bin/pnetcdf-config" --cflags --ldflags --libs | tr '\n' ' ') -lpnetcdf"; do
  # shellcheck disable=SC2086
  within "pnetcdf's own ways" "$mpicc" "$here/consumer.c" $flags -Wl,-rpath,"$prefix/compat/lib" -o consumer_own
  run own ./consumer_own
done

# 5. the Fortran module, by pkg-config, by find_package(forebay), and compiled by somebody else from its source
examples=$here/../../examples
[[ ! -e $prefix/include/forebay_groups.h || -e $prefix/share/forebay/forebay.F90 ]] ||
  fail "the module's source is not installed"
if [[ $mpifort != none ]]; then
  flags=$(PKG_CONFIG_PATH=$libdir/pkgconfig pkg-config --cflags --libs forebay-fortran)
  # shellcheck disable=SC2086
  within "pkg-config forebay-fortran" "$mpifort" "$examples/groups.f90" $flags -Wl,-rpath,"$libdir" -o groups_pkgconfig
  within "configure in Fortran" "$cmake" -S "$here/fortran_project" -B fortran "-DCMAKE_PREFIX_PATH=$prefix" \
    "-DMPI_Fortran_COMPILER=$mpifort" "-DMPI_C_COMPILER=$mpicc"
  within "build in Fortran" "$cmake" --build fortran
  modules=("$prefix/share/forebay/forebay.F90")
  [[ ! -e $prefix/share/forebay/forebay_checkpoint.F90 ]] || modules+=("$prefix/share/forebay/forebay_checkpoint.F90")
  within "the module's source" "$mpifort" -DFOREBAY_MPI_F08 "${modules[@]}" "$examples/groups.f90" \
    -L"$libdir" -lforebay -Wl,-rpath,"$libdir" -o groups_source
  for program in ./groups_pkgconfig fortran/groups ./groups_source; do
    within "$program runs" "${launch[@]}" "$program" "$examples/groups_fortran.xml" groups.bp
    [[ $("$prefix/bin/forebay" ls groups.bp) == *run* ]] || fail "$program has not written its file"
    rm -r groups.bp
  done
fi

echo "installed tree: all ways work"
