#!/bin/sh
# Builds an unmodified PnetCDF program with the installed compat folder and runs it.
#
# Usage: with_compat.sh PREFIX CC "MPIEXEC ..." SOURCE DIRECTORY
set -e
prefix=$1 cc=$2 launch=$3 source=$4 directory=$5
mkdir -p "$directory"
lib=$(dirname "$(find "$prefix" -path '*compat/lib*' -name 'libpnetcdf.so' | head -n 1)")
include=$(dirname "$(find "$prefix" -path '*compat/include*' -name 'pnetcdf.h' | head -n 1)")
"$cc" -I"$include" -L"$lib" "$source" -o "$directory/program" -lpnetcdf
libforebay=$(dirname "$(find "$prefix" -name 'libforebay.so' | head -n 1)")
LD_LIBRARY_PATH="$lib:$libforebay:$LD_LIBRARY_PATH" $launch "$directory/program" \
  "$directory/compat.nc" forebay
