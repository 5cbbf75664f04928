#!/bin/sh
# usage: plot_test.sh FOREBAY: `forebay plot` becomes the Python that is given or found, with its
# arguments unchanged, and says what is missing. python/tests/test_plot.py tests the drawings.
forebay=$1
failures=0

expect() { # expect CODE TEXT COMMAND...: the exit code, and all that is printed
  code=$1 text=$2
  shift 2
  said=$("$@" 2>&1)
  got=$?
  if [ "$got" != "$code" ] || ! printf '%s\n' "$said" | grep -qF -e "$text"; then
    printf 'expected exit code %s and "%s", got %s from: %s\n%s\n' "$code" "$text" "$got" "$*" "$said"
    failures=$((failures + 1))
  fi
}

mkdir -p fake empty && rm -rf forebay
cat >fake/python3 <<'SH'
#!/bin/sh
shift 2 # -c and the program
for word; do printf '<%s>' "$word"; done
printf '\n'
exit 7
SH
chmod +x fake/python3

# The exit code is Python's. No shell interprets the words.
FOREBAY_PYTHON=$PWD/fake/python3
export FOREBAY_PYTHON
expect 7 '<--output=a b.png><--slice=x=-1, 2:><--level=-1><--coords=lat,lon><--range=-5,1e3><--chunks><-->' \
  "$forebay" plot -l -1 --chunks -o 'a b.png' --range -5,1e3 -c lat,lon -s 'x=-1, 2:'
expect 7 "<--output=p><--><\$(date)><it's \"T\">" "$forebay" plot '$(date)' "it's \"T\"" -o p
expect 7 '<--output=p><--><-f.nc><T>' "$forebay" plot -o p -- -f.nc T
expect 2 'output is required' "$forebay" plot f.nc T
expect 2 'level' "$forebay" plot f.nc T -o p --level high
expect 0 'PICTURE' "$forebay" plot --help
FOREBAY_PYTHON=python3 PATH=$PWD/fake:$PATH expect 7 '<--output=p>' "$forebay" plot f.nc T -o p

# Python is missing; then the package is missing, and a folder of its name does not replace it.
FOREBAY_PYTHON=$PWD/none expect 1 "cannot start $PWD/none" "$forebay" plot f.nc T -o p
mkdir forebay && echo 'print("wrong")' >forebay/__init__.py
cat >empty/python3 <<'SH'
#!/bin/sh
exec python3 -I -S "$@"
SH
chmod +x empty/python3
FOREBAY_PYTHON=$PWD/empty/python3 expect 1 'pip install "forebay[plot]"' "$forebay" plot f.nc T -o p
FOREBAY_PYTHON=$PWD/empty/python3 expect 1 'cannot draw: No module named' "$forebay" plot f.nc T -o p
exit "$failures"
