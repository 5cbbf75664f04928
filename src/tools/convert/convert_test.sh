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
# netCDF-4 files that all ranks wrote, from files of every kind: ncdump reads the same as in the first one.
"$@" "$forebay" convert a.nc n.nc --to netcdf4 --verify >out.txt 2>&1
netcdf4=$?
if [ "$netcdf4" != 0 ] && grep -q -e 'need the plug-in' -e 'has no container=netcdf4' out.txt; then
  echo "this build writes no netCDF-4 files: $(cat out.txt)"
else
  [ "$netcdf4" = 0 ] || fail "to netCDF-4: $(cat out.txt)"
  [ "$(ncdump -k n.nc)" = netCDF-4 ] || fail "the output is $(ncdump -k n.nc)"
  ncdump a.nc | tail -n +2 >a.txt
  cp a.nc from-canonical.nc
  cp b.nc from-chunks.nc
  cp h.nc from-netcdf4.nc
  [ -z "$slabs" ] || "$@" "$forebay" convert a.nc from-decomposed.nc -m layout=decomposed >out.txt 2>&1 || fail "$(cat out.txt)"
  ! has_wing groups || "$@" "$forebay" convert a.nc from-bp.bp --to bp >out.txt 2>&1 || fail "$(cat out.txt)"
  for from in from-*.*[cp]; do
    [ "$from" != from-netcdf4.nc ] || "$forebay" ls h.nc >/dev/null 2>&1 || continue
    for method in "codec=shuffle,deflate:4" codec=none "codec=deflate:1,fletcher32;chunk_bytes=4096" layout=canonical; do
      [ "$from" = from-canonical.nc ] || [ "${method%deflate:4}" != "$method" ] || continue
      "$@" "$forebay" convert "$from" n.nc --to netcdf4 -f -m "$method" --verify >out.txt 2>&1 ||
        fail "$from to netCDF-4, $method: $(cat out.txt)"
      ncdump n.nc | tail -n +2 | diff -u a.txt - >out.txt || fail "$from, $method, ncdump reads something else: $(cat out.txt)"
      "$forebay" check --decode n.nc >out.txt 2>&1 || fail "$from, $method: $(cat out.txt)"
      case $method in
        *fletcher32*) grep -q 'with checksums (fletcher32)' out.txt || fail "$from, $method, checksums: $(cat out.txt)" ;;
        *deflate:4) ncdump -hs n.nc | grep -q 'P:_DeflateLevel = 4' || fail "$from, $method: P is not compressed" ;;
        *) ncdump -hs n.nc | grep -q 'P:_Storage = "contiguous"' || fail "$from, $method: P is in chunks" ;;
      esac
      "$@" "$forebay" convert n.nc c.nc --to netcdf -f --verify >out.txt 2>&1 || fail "$from, $method, and back: $(cat out.txt)"
      "$forebay" diff a.nc c.nc || fail "$from, $method: values differ on the way back"
    done
  done
  "$@" "$forebay" convert a.nc n.nc --to netcdf4 -f -m container=classic >out.txt 2>&1 && fail "two formats were asked for"
  FOREBAY_HINTS=container=classic "$forebay" convert a.nc n.nc --to netcdf4 -f >out.txt 2>&1 && fail "a classic file was written"
  grep -q 'container=classic (FOREBAY_HINTS' out.txt || fail "not told what overrules: $(cat out.txt)"
  "$@" "$forebay" convert a.nc n2.nc -m container=netcdf4 >out.txt 2>&1 || fail "by container=netcdf4: $(cat out.txt)"
  [ "$(ncdump -k n2.nc)" = netCDF-4 ] || fail "container=netcdf4 is $(ncdump -k n2.nc)"
  if [ -f from-netcdf4.nc ] && nccopy -k nc7 a.nc m.nc && "$forebay" ls m.nc >/dev/null 2>&1; then
    "$@" "$forebay" convert m.nc n2.nc --to netcdf4 -f --verify >out.txt 2>&1 || fail "of the classic model: $(cat out.txt)"
    [ "$(ncdump -k n2.nc)" = "netCDF-4 classic model" ] || fail "the classic model became $(ncdump -k n2.nc)"
  fi
  rm -rf from-* m.nc n.nc n2.nc
fi
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
