#!/bin/sh
# usage: exit_codes_test.sh FOREBAY: checks the exit codes and streams of the command itself.
forebay=$1
failures=0

expect() { # expect CODE STREAM WORDS COMMAND...: the exit code, and words on one of the streams
  code=$1 stream=$2 words=$3
  shift 3
  "$@" >out.txt 2>err.txt
  got=$?
  if [ "$got" != "$code" ] || ! grep -q -e "$words" "$stream.txt"; then
    echo "expected exit code $code and \"$words\" on $stream, got $got from: $*"
    cat out.txt err.txt
    failures=$((failures + 1))
  fi
}

expect 0 out "^forebay [0-9]" "$forebay" --version
expect 0 out "Exit codes" "$forebay" --help
expect 0 out "FILE" "$forebay" info --help
expect 2 err "subcommand" "$forebay"
expect 2 err "FILE" "$forebay" info
expect 2 err "not expected" "$forebay" config a b c
expect 1 err "no-such-file.nc" "$forebay" info no-such-file.nc
expect 1 err "no netCDF file" "$forebay" info "$0"
expect 0 out "\-\-decode" "$forebay" check --help
expect 2 out "no-such-file.nc: unreadable" "$forebay" check no-such-file.nc
expect 2 out "no netCDF file" "$forebay" check "$0"
expect 0 out "\-\-skip-damaged" "$forebay" recover --help
expect 2 err "hexadecimal" "$forebay" recover --session xyz .
if "$forebay" --help | grep -q "^  log "; then # its wing is built
  expect 1 err "no-such-file.nc" "$forebay" recover no-such-file.nc
  expect 0 out "no staging logs" "$forebay" recover .
  expect 1 err "no-such-file.nc" "$forebay" log no-such-file.nc
  expect 0 out "no staging logs" "$forebay" log .
fi
expect 1 err "no-such-file.nc" "$forebay" ls no-such-file.nc
expect 1 err "no netCDF file" "$forebay" ls "$0"
expect 1 err "no-such-file.nc" "$forebay" dump no-such-file.nc
expect 2 err "excludes" "$forebay" dump --cdl --json "$0"
expect 1 err "no-such-file.nc" "$forebay" diff no-such-file.nc "$0"
expect 2 err "excludes" "$forebay" diff --header --data a b
expect 2 err "B is required" "$forebay" diff a
expect 0 out "3 different" "$forebay" diff --help
expect 1 err "no-such-file.nc" "$forebay" convert no-such-file.nc out.nc
expect 1 err "KEY=VALUE" "$forebay" convert "$0" out.nc --method zstd
expect 1 err "the codecs are" "$forebay" convert "$0" out.nc --method codec=sz9
expect 2 err "netcdf,zarr\|{netcdf" "$forebay" convert "$0" out.nc --to grib
expect 1 err "no-such-file.nc" "$forebay" refs no-such-file.nc
expect 2 err "is no size" "$forebay" refs "$0" --inline-limit many
expect 2 err "tcsh" "$forebay" completion tcsh
expect 0 out "complete -c forebay" "$forebay" completion fish
expect 0 out "compdef forebay" "$forebay" completion zsh
"$forebay" completion bash >bash.txt && bash -n bash.txt || failures=$((failures + 1))
exit "$failures"
