#!/bin/sh
# usage: convert_test.sh FOREBAY LAUNCHER...: a conversion by several ranks gives the same values as
# by one process. An error of all ranks is printed once, and no files are left.
forebay=$1
shift
failures=0
fail() {
  echo "$1"
  failures=$((failures + 1))
}

rm -rf ./*.nc .forebay-*
command -v ncgen >/dev/null || exit 77
{
  echo 'netcdf a { dimensions: t = UNLIMITED ; y = 200 ; x = 100 ; variables: double P(y, x) ; int n ; float T(t, y) ; data:'
  awk 'BEGIN { printf " P = "; for (i = 0; i < 20000; ++i) printf "%s%d", i ? ", " : "", i * 7; print " ;"
               printf " T = "; for (i = 0; i < 1000; ++i) printf "%s%d", i ? ", " : "", i; print " ;" }'
  echo ' n = 5 ; }'
} >a.cdl
ncgen -o a.nc a.cdl || exit 1
"$@" "$forebay" convert a.nc b.nc -m "codec=shuffle,zstd:3;chunk_bytes=8192" --verify >out.txt 2>&1 ||
  fail "conversion failed: $(cat out.txt)"
grep -q "verified: 3 variables" out.txt || fail "not verified: $(cat out.txt)"
"$forebay" diff a.nc b.nc || fail "values differ"
"$forebay" check b.nc || fail "the copy is damaged"
"$@" "$forebay" convert b.nc c.nc --to netcdf >out.txt 2>&1 || fail "conversion failed: $(cat out.txt)"
"$forebay" diff a.nc c.nc || fail "values differ on the way back"
"$@" "$forebay" convert a.nc b.nc >out.txt 2>&1 && fail "an existing file was replaced"
[ "$(grep -c 'b.nc exists' out.txt)" = 1 ] || fail "expected one message: $(cat out.txt)"
ncgen -k nc4 -o h.nc a.cdl || exit 1
if "$forebay" ls h.nc >/dev/null 2>&1; then # HDF5 is in the build
  "$@" "$forebay" convert h.nc d.nc --to netcdf --verify >out.txt 2>&1 || fail "from netCDF-4: $(cat out.txt)"
  "$forebay" diff a.nc d.nc || fail "values differ from those of the netCDF-4 file"
  "$@" "$forebay" convert a.nc e.nc --to hdf5 --verify >out.txt 2>&1 || fail "to HDF5: $(cat out.txt)"
  "$forebay" diff a.nc e.nc || fail "values differ from those of the HDF5 file"
fi
# Whether a wing is built; CTest says so.
has_wing() {
  case ,${FOREBAY_TEST_WINGS-$1}, in *,"$1",*) ;; *) return 1 ;; esac
}
# Files beside a file, or in a folder, are converted too, and replace those that were there.
has_wing decomposed && slabs="layout=decomposed layout=decomposed;container=directory" || slabs=
for from in layout=canonical $slabs container=directory; do
  for to in layout=canonical $slabs; do
    "$@" "$forebay" convert a.nc f.nc -m "$from" --format cdf5 >out.txt 2>&1 || fail "to $from: $(cat out.txt)"
    "$forebay" diff a.nc f.nc || fail "values differ by $from"
    "$@" "$forebay" convert a.nc f.nc -m "$to" -f --verify >out.txt 2>&1 || fail "$to over $from: $(cat out.txt)"
    "$forebay" diff a.nc f.nc || fail "values differ by $to over $from"
    "$forebay" check f.nc >out.txt 2>&1 || fail "damaged, $to over $from: $(cat out.txt)"
    "$forebay" dump f.nc >f.txt && "$forebay" info f.nc >out.txt 2>&1 || fail "info by $to: $(cat out.txt)"
    case $to in
      *directory) [ -f f.nc/header.nc ] && [ -f f.nc/state ] && [ ! -e f.nc.subfiles ] || fail "$to over $from: $(ls)" ;;
      *decomposed) [ -f f.nc ] && [ -f f.nc.subfiles/state ] || fail "$to over $from: $(ls)" ;;
      *) [ -f f.nc ] && [ ! -e f.nc.subfiles ] || fail "$to over $from: $(ls)" ;;
    esac
    rm -rf f.nc f.nc.subfiles
  done
done
# Holes stay holes: what no rank wrote takes no space in a copy.
ncgen -o s.nc - <<'CDL'
netcdf s { dimensions: x = 10000000 ; y = 30 ; variables: double T(x) ; int n(y) ; data: n = 1, 2, 3 ; }
CDL
rm -f sparse.nc
truncate -s "$(stat -c %s s.nc)" sparse.nc
head -c 8192 s.nc | dd of=sparse.nc conv=notrunc 2>/dev/null
rm -f s.nc
for to in layout=canonical "layout=chunked;codec=shuffle,zstd:1"; do
  "$@" "$forebay" convert sparse.nc h2.nc -m "$to" --verify >out.txt 2>&1 || fail "sparse, $to: $(cat out.txt)"
  "$forebay" diff sparse.nc h2.nc || fail "values of a sparse file differ, $to"
  [ "$(du -k h2.nc | cut -f1)" -lt 20000 ] || fail "a copy of holes takes $(du -k h2.nc) KiB, $to"
  rm -f h2.nc
done
rm -f sparse.nc
# A conversion that writes nothing is refused, and an existing output stays.
if has_wing groups; then
  "$@" "$forebay" convert a.nc g.bp --to bp >out.txt 2>&1 || fail "to bp: $(cat out.txt)"
  "$@" "$forebay" convert a.nc g.bp --to bp -f -m transport=null >out.txt 2>&1 && fail "nothing was written"
  grep -q "conversions to BP have no transport=null" out.txt || fail "transport null: $(cat out.txt)"
  "$forebay" check g.bp >out.txt 2>&1 || fail "g.bp is gone: $(cat out.txt)"
  rm -rf g.bp
fi
for left in .forebay*; do
  [ ! -e "$left" ] || fail "something was left behind: $left"
done
exit "$failures"
