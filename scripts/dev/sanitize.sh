# shellcheck shell=bash disable=SC2154

# Address and undefined-behaviour sanitizers over the unit tests and the two-rank MPI tests, then the fuzz targets.
cmd_sanitize() {
  local seconds=${FOREBAY_FUZZ_SECONDS:-60}
  ensure_packages build peer test sanitize
  configure asan
  build asan
  say "unit tests and two-rank tests with both sanitizers"
  ctest --test-dir "$root/build/asan" --output-on-failure --no-tests=error -R '^unit|^tool|_np2$' -LE 'peer|install|preload' "$@"
  configure fuzz
  local target targets=(fuzz_classic fuzz_codec fuzz_chunk_index fuzz_log_record fuzz_logged)
  build fuzz "${targets[@]}"
  for target in "${targets[@]}"; do fuzz_run "$target" "$seconds"; done
}

# fuzz_run TARGET SECONDS: new inputs are kept in the cache and begin the next run.
fuzz_run() {
  local target=$1 seconds=$2 program corpus=$cache/fuzz/$1 found=$root/build/fuzz/findings
  program=$(find "$root/build/fuzz" -name "$target" -type f -perm -u+x | head -n 1)
  [[ -n $program ]] || die "no fuzz target $target in build/fuzz"
  mkdir -p "$corpus" "$found"
  local inputs=("$corpus")
  [[ -d $program.corpus ]] && inputs+=("$program.corpus")  # written by the build
  say "fuzzing $target for $seconds s"
  "$program" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -max_len=65536 -print_final_stats=1 \
    -verbosity=0 -artifact_prefix="$found/" "${inputs[@]}" >"$found/log" 2>&1 ||
    { tail -n 60 "$found/log" >&2; die "fuzzing $target found a fault; its input is in $found"; }
  grep '^stat::' "$found/log"
  echo "fuzz: $target ran $seconds s without a fault"
}
