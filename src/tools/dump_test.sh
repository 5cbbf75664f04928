#!/bin/sh
# usage: dump_test.sh FOREBAY NCGEN NCDUMP: forebay dump prints the same as ncdump, in all formats,
# and the same for a chunked copy as for the original.
forebay=$1 ncgen=$2 ncdump=$3
failures=0

cat >types.cdl <<'CDL'
netcdf types {
dimensions:
 time = UNLIMITED ;
 x = 3 ;
 y = 40 ;
 s = 8 ;
variables:
 int v(x) ;
  v:scale_factor = 0.5f ;
  v:bytes = 1b, -2b ;
  v:two = 3s ;
  v:doubles = 1., 2.5, 1e30, 1e6, 123456789., 1e-5 ;
  v:floats = 1.f, 1e10f, 3.3333333f, 1e7f ;
 float r(time, x) ;
  r:lines = "one\ntwo\n" ;
  r:quoted = "say \"hi\" \\ tab\t" ;
  r:_FillValue = -999.f ;
 double big(x, y) ;
 char c(s) ;
 char rows(x, s) ;
 short one ;
 byte unset(y) ;
 int my\ var-x(x) ;

// global attributes:
  :title = "types" ;
  :numbers = 1, 2, 3 ;
data:
 v = 10, _, 30 ;
 r = 1, 2.5, -999, 4, 1e20, 1e-10 ;
 big = 1.123456789012345, -2.5, 3, 1e300, 0.1, 2.3333333333333, 12345678.12345, 4545454.2323 ;
 c = "abc" ;
 rows = "one", "a\"b", "" ;
 one = 3 ;
 my\ var-x = 1, 2, 3 ;
}
CDL

compare() { # compare NAME: of NAME.nc
  "$ncdump" "$1.nc" >"$1.theirs" && "$forebay" dump "$1.nc" >"$1.ours" &&
    diff -u "$1.theirs" "$1.ours" || failures=$((failures + 1))
  "$ncdump" -h "$1.nc" >"$1.theirs" && "$forebay" dump --header "$1.nc" >"$1.ours" &&
    diff -u "$1.theirs" "$1.ours" || failures=$((failures + 1))
}

for kind in classic 64-bit-offset 64-bit-data; do
  rm -f types.nc
  "$ncgen" -k "$kind" -o types.nc types.cdl || exit 1
  compare types
  rm -rf copy && mkdir copy
  "$forebay" convert types.nc copy/types.nc --method "codec=shuffle,zstd:3" --verify &&
    "$forebay" dump copy/types.nc >copy/ours && "$ncdump" types.nc | diff -u - copy/ours ||
    failures=$((failures + 1))
done
exit "$failures"
