#!/bin/sh
# Seven netCDF-4 files a step of a program that knows nothing of bundles: with one, other readers find in every file what
# they find in that which was written alone, and all chunks of a step went out in one operation.
#
# Usage: seven_netcdf4.sh DIRECTORY LIBRARY NCDUMP "MPIEXEC ..." PROGRAM
set -e
directory=$1 library=$2 ncdump=$3 launch=$4 program=$5
rm -rf "$directory"
mkdir -p "$directory/apart"
netcdf4="container=netcdf4;codec=shuffle,deflate:4;chunk_bytes=4k;ranks_per_node=2"
FOREBAY_HINTS=$netcdf4 LD_PRELOAD=$library $launch "$program" "$directory/apart"
for scheme in auto balanced off; do
  for files in 7 0; do  # 0: the end of the program writes them
    mkdir "$directory/$scheme$files"
    cat > "$directory/run.xml" <<XML
<forebay>
  <file match="*geosgcm_*" bundle="history" bundle_files="$files" bundle_scheme="$scheme"/>
</forebay>
XML
    FOREBAY_REPORT=json:$directory/$scheme$files.json FOREBAY_CONFIG=$directory/run.xml FOREBAY_HINTS=$netcdf4 \
      LD_PRELOAD=$library $launch "$program" "$directory/$scheme$files"
    for file in "$directory"/apart/*.nc; do
      "$ncdump" -hs "$file" > "$directory/apart.txt"
      "$ncdump" "$file" >> "$directory/apart.txt"
      together=$directory/$scheme$files/$(basename "$file")
      "$ncdump" -hs "$together" > "$directory/together.txt"
      "$ncdump" "$together" >> "$directory/together.txt"
      cmp "$directory/apart.txt" "$directory/together.txt"
    done
  done
done
# One operation for the seven files of each step.
test "$(grep '"bundle":"history"' "$directory/auto7.json" | grep -c '"encoded_together":\["')" = 2
test "$(grep '"bundle":"history"' "$directory/auto7.json" | sed 's/"one_after_another".*//' | grep -o 'geosgcm_[a-z]*.[01].nc' | wc -l)" = 14
echo "netCDF-4 files of bundles are what they are alone"
