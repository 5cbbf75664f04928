# shellcheck shell=bash disable=SC2154

# Sanitizers over the tests, and the fuzz targets: all of it, or one part.
cmd_sanitize() {
  local part=${1:-all}
  shift || true
  ensure_packages build peer test sanitize
  case $part in
    all)
      sanitize_address "$@"
      sanitize_threads "$@"
      sanitize_fuzz
      ;;
    address) sanitize_address "$@" ;;
    threads) sanitize_threads "$@" ;;
    fuzz) sanitize_fuzz ;;
    *) die "./dev sanitize takes address, threads or fuzz, not $part" ;;
  esac
}

# sanitize_address [ctest options]: unit tests and two-rank tests of this library, not of what it is compared with, and
# not those that repeat a program for each of its system calls.
sanitize_address() {
  configure asan
  build asan
  rm -rf "$root/build/asan/gtests"  # records of an earlier run
  say "unit tests and two-rank tests with the address and undefined-behaviour sanitizers"
  run_ctest asan -R '^unit|^tool|_np2$' -E '^hdf5\.native|^fault\.injection' -LE 'peer|install|preload|dropin' "$@"
}

# sanitize_threads [ctest options]: the tests whose ranks are threads.
sanitize_threads() {
  configure tsan
  build tsan thread_ranks_test parts_test
  say "ranks as threads with the thread sanitizer"
  run_ctest tsan -L threads "$@"
}

fuzz_targets=(fuzz_classic fuzz_codec fuzz_chunk_index fuzz_staging_log fuzz_logged fuzz_decomposed fuzz_bp fuzz_checkpoint fuzz_bp_groups fuzz_hierarchy
  fuzz_config fuzz_group_code)

# sanitize_fuzz: every fuzz target, for FOREBAY_FUZZ_SECONDS.
sanitize_fuzz() {
  local target
  configure fuzz
  build fuzz "${fuzz_targets[@]}"
  for target in "${fuzz_targets[@]}"; do fuzz_run "$target" "${FOREBAY_FUZZ_SECONDS:-60}"; done
}

# cmd_soak MINUTES [soak.py options]: the core with each single wing, which ./dev test and .ci/run do not try; then the
# tests of the release build and the fuzz targets with seeds that are new.
cmd_soak() {
  local minutes=${1:-}
  [[ $minutes =~ ^[0-9]+$ ]] || die "./dev soak takes a number of minutes"
  shift
  export FOREBAY_TEST_FULL=1
  ensure_packages build peer test sanitize
  configure release
  build release
  configure fuzz
  build fuzz "${fuzz_targets[@]}"
  keep_session_folder
  local wing failed=()
  for wing in $(all_wings); do core_with "$wing" core-soak "${short_tests[@]}" || failed+=("$wing"); done
  ((${#failed[@]} == 0)) || die "the core with one wing alone failed: ${failed[*]}"
  "$python" "$root/scripts/soak.py" --build "$root/build/release" --minutes "$minutes" --jobs "$jobs" \
    --fuzz "$root/build/fuzz" --corpus "$cache/fuzz" "$@"
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
