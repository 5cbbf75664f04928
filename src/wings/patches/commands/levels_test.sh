#!/bin/sh
# usage: levels_test.sh FOREBAY LAUNCHER...: a level has the same values for any number of ranks, and
# an error of all ranks is printed once.
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
  echo 'netcdf a { dimensions: y = 200 ; x = 100 ; variables: double P(y, x) ; data:'
  awk 'BEGIN { printf " P = "; for (i = 0; i < 20000; ++i) printf "%s%d", i ? ", " : "", i * 7; print " ; }" }'
} >a.cdl
ncgen -o a.nc a.cdl || exit 1
"$forebay" convert a.nc p.nc -m "layout=patches;patch_edge=16" >out.txt 2>&1 || fail "to patches: $(cat out.txt)"
"$forebay" convert p.nc p1.nc --resolution-level 1 >out.txt 2>&1 || fail "a level: $(cat out.txt)"
"$@" "$forebay" convert p.nc p3.nc --resolution-level 1 --verify >out.txt 2>&1 || fail "a level, by ranks: $(cat out.txt)"
"$forebay" diff p1.nc p3.nc || fail "values of a level differ"
"$forebay" info p3.nc >out.txt 2>&1
grep -q "^ *y  *100" out.txt || fail "dimensions of a level: $(cat out.txt)"
"$@" "$forebay" convert p.nc p9.nc --resolution-level 9 >out.txt 2>&1 && fail "there is no level 9"
[ "$(grep -c 'no variable has a level 9' out.txt)" = 1 ] || fail "expected one message: $(cat out.txt)"
for left in .forebay*; do
  [ ! -e "$left" ] || fail "something was left behind: $left"
done
exit "$failures"
