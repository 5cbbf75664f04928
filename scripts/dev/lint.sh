# Formatting and static checks.
# shellcheck shell=bash disable=SC2154

# Sources that are formatted and checked, relative to the root, NUL-separated.
sources() {
  (cd "$root" && find src bench tests examples include python \( -name '*.h' -o -name '*.cc' -o -name '*.c' \) \
    -not -path '*/generated/*' -print0 2>/dev/null | sort -z)
}

# Sources that differ from the last commit, with those not yet in it.
changed_sources() {
  (cd "$root" && { git diff --name-only -z HEAD; git ls-files -z --others --exclude-standard; } |
    grep -zE '^(src|bench|tests|examples|include|python)/.*\.(h|cc|c)$' | grep -zv /generated/ | sort -zu |
    while IFS= read -r -d '' f; do [[ -f $f ]] && printf '%s\0' "$f"; done) || true
}

cmd_format() {
  ensure_packages lint
  if [[ ${1:-} == --check ]]; then
    (cd "$root" && sources | xargs -0 -r clang-format-14 --dry-run --Werror)
  else
    (cd "$root" && sources | xargs -0 -r clang-format-14 -i)
    if [[ -z ${FOREBAY_WITHOUT_PYTHON:-} ]]; then
      ensure_packages python
      python_environment
      (cd "$root" && "$python_venv/bin/ruff" format --quiet --no-cache python)
    fi
  fi
}

lint_shell() {
  local scripts=("$root/dev" "$root/.ci/run" "$root"/scripts/*.sh "$root"/scripts/dev/*.sh) script
  for script in "${scripts[@]}"; do bash -n "$script" || return 1; done
  ! have shellcheck || shellcheck -x -e SC1091 "${scripts[@]}"
}

lint_python() {
  "$python" - "$root" <<'PY'
import ast, pathlib, sys
root = pathlib.Path(sys.argv[1])
for folder in ("scripts", "bench", "cmake", "tests", "src", "docs", "python"):
    for path in sorted((root / folder).rglob("*.py")):
        ast.parse(path.read_text(encoding="utf-8"), str(path))
PY
}

# The Python package is formatted and checked by ruff (pyproject.toml has the rules).
lint_package() {
  python_environment
  (cd "$root" && "$python_venv/bin/ruff" check --quiet --no-cache python &&
    "$python_venv/bin/ruff" format --check --quiet --no-cache python)
}

# clang-tidy over sources (arguments), with the compile commands of a build that takes each by itself.
lint_tidy() {
  (($# > 0)) || return 0
  configure lint
  # The generated headers must be there; they alone are quicker than a whole build.
  cmake --build "$root/build/lint" -j "$jobs" --target forebay_pnetcdf_generated >/dev/null
  "$python" "$root/scripts/tidy.py" --build "$root/build/lint" --cache "$cache/tidy" --jobs "$jobs" "${@/#/$root/}"
}

# step NAME COMMAND...: runs it and says how it ended; the lint goes on so that one run shows all that is wrong.
step() {
  local name=$1 start=$SECONDS
  shift
  if "$@"; then
    printf 'lint: %-12s ok (%d s)\n' "$name" $((SECONDS - start))
  else
    printf 'lint: %-12s FAILED (%d s)\n' "$name" $((SECONDS - start))
    lint_failed+=("$name")
  fi
}

cmd_lint() {
  local quick=0 files=() lint_failed=()
  [[ ${1:-} == --quick ]] && quick=1
  ensure_packages build peer test lint
  [[ -n ${FOREBAY_WITHOUT_PYTHON:-} ]] || ensure_packages python
  step format cmd_format --check
  step rooms "$python" "$root/scripts/check_rooms.py"
  step rooms-self "$python" "$root/scripts/check_rooms.py" --self-test
  step text "$python" "$root/scripts/check_text.py"
  step text-self "$python" "$root/scripts/check_text.py" --self-test
  step shell lint_shell
  step python lint_python
  [[ -n ${FOREBAY_WITHOUT_PYTHON:-} ]] || step package lint_package
  if ((quick)); then
    mapfile -d '' -t files < <(changed_sources | grep -zE '\.cc$')
  else
    mapfile -d '' -t files < <(sources | grep -zE '^src/.*\.cc$' | grep -zvE '_test\.cc$|^src/wings/[^/]*/tests/')
  fi
  step clang-tidy lint_tidy "${files[@]}"
  if ((${#lint_failed[@]})); then
    die "lint failed: ${lint_failed[*]}"
  fi
  echo "lint: all ok"
}
