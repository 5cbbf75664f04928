# shellcheck shell=bash disable=SC2154

# Folder of the recorded maps of E3SM, if there is one beside the clone; FOREBAY_E3SM_DATA names another.
e3sm_data() {
  local dir
  for dir in "${FOREBAY_E3SM_DATA:-}" "$root/../shared/data/e3sm"; do
    [[ -n $dir && -f $dir/map_f_case_16p.nc ]] && { (cd "$dir" && pwd); return 0; }
  done
  return 1
}

# The main job on real input, with Forebay and with PnetCDF, and a look at what was written.
cmd_demo() {
  local data=() groups=(build peer) options folder
  [[ -n ${FOREBAY_WITHOUT_PYTHON:-} ]] || groups+=(plot)
  ensure_packages "${groups[@]}"
  if [[ -n ${FOREBAY_WITHOUT_PYTHON:-} ]]; then
    say "the map is left out, as Python is (FOREBAY_WITHOUT_PYTHON)"
  elif [[ $(in_build FOREBAY_PYTHON) == ON ]]; then
    :  # it was asked for before
  elif options=$(plot_options); then
    # shellcheck disable=SC2034  # build_first_part uses it
    mapfile -t first_part_options <<<"$options"
  else
    say "the map is left out: it needs Python 3.11, with NumPy and matplotlib, and nanobind"
  fi
  build_first_part
  if folder=$(e3sm_data); then data=(--data "$folder"); fi
  "$python" "$root/scripts/demo.py" --build "$root/build/release" --out "$root/build/demo" "${data[@]}" "$@"
}
