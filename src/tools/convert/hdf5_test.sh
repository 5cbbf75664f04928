#!/bin/sh
# usage: hdf5_test.sh FOREBAY NCGEN NCDUMP NCCOPY PYTHON: netCDF-4 files of netCDF-C are read as
# ncdump reads them; netCDF-4 files that forebay writes are read by ncdump, and by h5py where PYTHON has
# it; a copy of an HDF5 file holds what the original holds.
forebay=$1 ncgen=$2 ncdump=$3 nccopy=$4 python=$5
failures=0
fail() {
  echo "FAILED: $1"
  failures=$((failures + 1))
}

# Prints the part of a dump after the file's name.
body() { tail -n +2; }

rm -rf ./*.nc ./*.nc4 ./*.h5
cat >in.cdl <<'CDL'
netcdf in {
dimensions:
 time = UNLIMITED ;
 x = 3 ;
 y = 4 ;
 other = UNLIMITED ;
 s = 8 ;
variables:
 double time(time) ;
  time:units = "days since 2000-01-01" ;
 float r(time, x) ;
  r:_FillValue = -999.f ;
  r:lines = "one\ntwo\n" ;
  r:numbers = 1b, 2b ;
  r:big = 1LL, 2LL ;
 uint64 u(y, x) ;
 ubyte b(x) ;
 double two(time, other) ;
 char rows(x, s) ;
 short one ;
 int y(x) ;
 int x(x, y) ;

// global attributes:
  :title = "in" ;
data:
 time = 0, 1 ;
 r = 1, 2.5, -999, 4, 1e20, 1e-10 ;
 u = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 18446744073709551615 ;
 b = 1, 2, 255 ;
 two = {1, 2, 3}, {4} ;
 rows = "one", "a\"b", "" ;
 one = 3 ;
 y = 1, 2, 3 ;
 x = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 ;
group: g {
 dimensions:
  z = 2 ;
 variables:
  int w(z, x) ;
   w:note = "in g" ;
 // group attributes:
   :about = 1.5 ;
 data:
  w = 1, 2, 3, 4, 5, 6 ;
 group: h {
  variables:
   int v(z) ;
  data:
   v = 4, 5 ;
 }
}
}
CDL
"$ncgen" -k nc4 -o in.nc in.cdl || exit 1

"$ncdump" in.nc >theirs
"$forebay" dump in.nc >ours || fail "dump of a netCDF-4 file"
diff -u theirs ours || fail "dump differs from ncdump's"
"$ncdump" -h in.nc >theirs && "$forebay" dump --header in.nc >ours
diff -u theirs ours || fail "dump --header differs from ncdump's"

# Copies of HDF5 files, unchanged or with other chunks and filters, are read by ncdump.
"$forebay" convert in.nc copy.nc4 --verify >/dev/null || fail "copying"
"$ncdump" in.nc | body >theirs && "$ncdump" copy.nc4 | body >ours
diff -u theirs ours || fail "the copy reads otherwise in ncdump"
"$ncdump" -s -h in.nc | body >theirs && "$ncdump" -s -h copy.nc4 | body >ours
diff -u theirs ours || fail "the copy is stored otherwise"
"$forebay" convert in.nc small.nc4 -m "codec=shuffle,deflate:5;chunk_bytes=16" --verify >/dev/null ||
  fail "compressing"
"$ncdump" in.nc | body >theirs && "$ncdump" small.nc4 | body >ours
diff -u theirs ours || fail "the compressed copy reads otherwise in ncdump"
"$ncdump" -s -h small.nc4 | grep -q 'r:_DeflateLevel = 5' || fail "r is not compressed"

# Attributes with names that HDF5 and netCDF-4 reserve get other names there, and get their own names back.
cat >names.cdl <<'CDL'
netcdf names {
dimensions:
 x = 3 ;
 y = 2 ;
variables:
 int x(x) ;
  x:CLASS = "of its own" ;
  x:NAME = 1.5 ;
  x:REFERENCE_LIST = "r" ;
  x:_Netcdf4Dimid = "d" ;
 int v(y, x) ;
  v:CLASS = "DIMENSION_SCALE" ;
  v:DIMENSION_LIST = 1, 2, 3 ;
  v:DIMENSION_LABELS = "l" ;
  v:_Netcdf4Coordinates = 7, 7 ;
  v:_nc4_att_CLASS = "so called" ;
 double w(y) ;
  w:DIMENSION_LIST = 2.5 ;
  w:REFERENCE_LIST = 1 ;
 :CLASS = "global" ;
 :_nc3_strict = 1 ;
data:
 x = 1, 2, 3 ;
 v = 1, 2, 3, 4, 5, 6 ;
 w = 7, 8 ;
}
CDL
"$ncgen" -k classic -o names.nc names.cdl || exit 1
"$forebay" convert names.nc names.nc4 --to hdf5 --verify >/dev/null || fail "converting attributes with HDF5's names"
"$ncdump" names.nc4 >theirs || fail "a file with HDF5's names as attributes cannot be read"
for line in 'int v(y, x)' 'x:_nc4_att_CLASS = "of its own"' 'v:_nc4_att_DIMENSION_LIST = 1, 2, 3' ':_nc4_att_CLASS = "global"'; do
  grep -qF "$line" theirs || fail "ncdump does not show: $line"
done
"$forebay" convert names.nc4 names2.nc --to netcdf -m container=classic >/dev/null || fail "converting them back"
"$ncdump" names.nc | body >theirs && "$ncdump" names2.nc | body >ours
diff -u theirs ours || fail "attributes with HDF5's names do not come back"

# A classic file becomes netCDF-4 here and by nccopy. ncdump prints the same for both.
cat >classic.cdl <<'CDL'
netcdf classic {
dimensions:
 t = UNLIMITED ;
 x = 3 ;
 n = 5 ;
variables:
 float v(t, x) ;
  v:_FillValue = 7.f ;
  v:missing = 1.f, 2.f ;
  v:text = "grün" ;
  v:empty = "" ;
 short x(x) ;
 char c(t, n) ;
 int n(x) ;
 double alone ;
 :about = "a classic file" ;
data:
 v = 1, 2, 7, 4, 5, 6 ;
 x = 10, 20, 30 ;
 c = "ab", "cdefg" ;
 n = 3, 2, 1 ;
 alone = 1e-300 ;
}
CDL
for kind in classic 64-bit-offset 64-bit-data; do
  "$ncgen" -k "$kind" -o classic.nc classic.cdl || exit 1
  for method in "codec=none" "codec=shuffle,deflate:3" "layout=chunked;chunk_bytes=16"; do
    rm -f made.nc4 back.nc
    "$forebay" convert classic.nc made.nc4 --to hdf5 -m "$method" --verify >/dev/null ||
      fail "$kind to netCDF-4, $method"
    "$ncdump" classic.nc | body >theirs && "$ncdump" made.nc4 | body >ours
    diff -u theirs ours || fail "$kind, $method: ncdump reads something else"
    "$forebay" convert made.nc4 back.nc --to netcdf --verify >/dev/null || fail "and back"
    "$forebay" diff classic.nc back.nc >/dev/null || fail "$kind, $method: not the same when back"
  done
done
"$nccopy" -k nc4 classic.nc theirs.nc4
"$forebay" diff theirs.nc4 made.nc4 || fail "nccopy's differs"

# Only h5py can make these: references, compound types, lists, links, committed types.
if [ -n "$python" ] && "$python" -c 'import h5py' 2>/dev/null; then
  "$python" - <<'PY' || fail "h5py could not make a file"
import h5py, numpy as np
f = h5py.File('p.h5', 'w')
f['a'] = np.arange(12.).reshape(3, 4)
f['flag'] = np.array([True, False])
f['names'] = np.array([b'ab', b'cde'])
f.create_dataset('text', data=['x', 'yy'], dtype=h5py.string_dtype())
c = f.create_dataset('records', (2,), np.dtype([('i', '<i4'), ('r', h5py.ref_dtype), ('s', 'S3')]))
c[0] = (1, f['a'].ref, b'abc')
c[1] = (2, f.ref, b'z')
f['type'] = np.dtype([('u', '<u2'), ('v', '<f8')])
t = f.create_dataset('typed', (2,), dtype=f['type'])
t[...] = np.array([(1, 2.), (3, 4.)], dtype=t.dtype)
g = f.create_group('g')
g['soft'] = h5py.SoftLink('/a')
g['ext'] = h5py.ExternalLink('other.h5', '/z')
for n in range(20):  # more than the group's header takes
    g['link%d' % n] = h5py.SoftLink('/a')
g['hard'] = f['a']
g.attrs['words'] = ['a', 'b']
f['a'].attrs['region'] = f['flag'].regionref[0:1]
v = f.create_dataset('lists', (2,), dtype=h5py.vlen_dtype('i4'))
v[0] = [1, 2, 3]
v[1] = [4]
f.create_dataset('null', data=h5py.Empty('f4'))
f.create_dataset('grows', data=np.arange(1000), chunks=(100,), compression='gzip', maxshape=(None,))
f.close()
PY
  "$forebay" convert p.h5 q.h5 --verify >/dev/null || fail "copying h5py's file"
  "$forebay" convert p.h5 r.h5 -m "codec=shuffle,deflate:9" >/dev/null || fail "compressing h5py's file"
  "$python" - <<'PY' || fail "h5py reads something else"
import h5py, numpy as np
p = h5py.File('p.h5')
for name in 'q.h5', 'r.h5':
    q = h5py.File(name)
    seen = []
    p.visit(seen.append)
    for path in seen:
        a, b = p[path], q[path]
        assert type(a) is type(b), path
        if isinstance(a, h5py.Dataset):
            assert a.dtype == b.dtype and a.shape == b.shape and a.maxshape == b.maxshape, path
            if path not in ('null', 'records', 'lists'):
                assert np.array_equal(a[()], b[()]), path
    assert [list(x) for x in q['lists'][()]] == [[1, 2, 3], [4]]
    assert q[q['records'][0]['r']] == q['a'] and q[q['records'][1]['r']] == q['/']
    assert q['records'][1]['i'] == 2 and q['records'][0]['s'] == b'abc'
    assert q['typed'].id.get_type().committed() and q['typed'][1]['v'] == 4
    assert q.get('g/soft', getlink=True).path == '/a'
    assert q.get('g/ext', getlink=True).filename == 'other.h5'
    assert q['g/hard'] == q['a']
    assert list(q['g'].attrs['words']) == ['a', 'b']
    region = q['a'].attrs['region']
    assert q[region] == q['flag'] and q['flag'][region][0]
    assert q['null'].shape is None
assert q['a'].compression == 'gzip' and q['a'].shuffle
# h5py, and libraries that use it, read a file that was converted from a classic one.
m = h5py.File('made.nc4')
assert m['v'].dims[0].keys() and m['v'].dims[1][0].name == '/x'
assert m['v'].attrs['_FillValue'] == 7 and m['v'].maxshape == (None, 3)
assert np.array_equal(m['v'][...], np.array([[1, 2, 7], [4, 5, 6]], dtype='f4'))
PY
fi

# A full device gives one message, exit code 1, and no crash at the end. Writes beyond a limit on the
# size of files fail like writes to a full device.
(
  trap '' XFSZ
  ulimit -f 8
  "$forebay" convert small.nc4 full.nc4 2>full.txt
  echo $? >full.rc
)
[ "$(cat full.rc)" = 1 ] || fail "exit code $(cat full.rc) where the file cannot grow"
grep -q 'File too large' full.txt || fail "not told: $(cat full.txt)"
[ ! -e full.nc4 ] || fail "half a file was left"

# Errors name the cause, and leave no files.
"$forebay" convert in.nc no.nc --to netcdf >out.txt 2>&1 && fail "groups were lost"
grep -q '"g"' out.txt || fail "the group is not named: $(cat out.txt)"
"$forebay" convert in.nc g.nc --to netcdf --group g/h >out.txt 2>&1 || fail "--group: $(cat out.txt)"
"$ncdump" g.nc | grep -q ' v = 4, 5 ;' || fail "--group took something else"
for left in .forebay*; do
  [ ! -e "$left" ] || fail "something was left behind: $left"
done
exit "$failures"
