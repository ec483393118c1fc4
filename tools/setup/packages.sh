# shellcheck shell=bash
# Debian packages: which of deps.lock are missing, and how they get installed.
: "${root:?set by quickstart}"

# lock_rows KIND [GROUP]: the lines of deps.lock of one kind (and group), without kind, group and remark.
lock_rows() {
  sed -e 's/ *#.*//' "$root/deps.lock" | awk -v kind="$1" -v group="${2:-}" \
    '$1 == kind && (group == "" || $2 == group) { $1 = ""; if (group != "") $2 = ""; sub(/^ +/, ""); print }'
}

# Dies unless this is the release and architecture that deps.lock names.
check_system() {
  local id version codename arch got_id got_version got_arch
  read -r id version codename arch < <(lock_rows release)
  # shellcheck disable=SC1091
  got_id=$(. /etc/os-release 2>/dev/null && printf '%s' "${ID:-}") || true
  # shellcheck disable=SC1091
  got_version=$(. /etc/os-release 2>/dev/null && printf '%s' "${VERSION_ID:-}") || true
  if [[ $got_id != "$id" || $got_version != "$version" ]]; then
    die "this is made for $id $version ($codename), here is ${got_id:-an unknown system} ${got_version:-}. Use a $id $version machine, container or chroot."
  fi
  got_arch=$(dpkg --print-architecture)
  [[ $got_arch == "$arch" ]] || die "this is made for $arch processors, here is $got_arch. Use an $arch machine."
}

# missing_packages GROUP...: names of the packages that are not installed, one a line.
missing_packages() {
  local group names
  names=$(for group; do lock_rows apt "$group"; done | cut -d ' ' -f 1)
  # shellcheck disable=SC2086
  comm -23 <(sort <<<"$names") \
    <(dpkg-query -W -f '${db:Status-Status} ${Package}\n' $names 2>/dev/null | sed -n 's/^installed //p' | sort)
}

# need_packages GROUP...: installs what is missing of these groups, and nothing else.
need_packages() {
  local -a missing as_root=()
  mapfile -t missing < <(missing_packages "$@")
  if ((${#missing[@]} == 0)); then return 0; fi
  say "packages to install: ${missing[*]}"
  if ((EUID != 0)); then
    command -v sudo >/dev/null ||
      die "packages are missing and this is neither root nor is there sudo. As root: apt-get update && apt-get install --no-install-recommends ${missing[*]}"
    sudo -v || die "sudo refused. As root: apt-get update && apt-get install --no-install-recommends ${missing[*]}"
    as_root=(sudo)
  fi
  run_step "Installing packages" install_packages "${missing[@]}"
}

# install_packages PACKAGE...: reads as_root of need_packages. A failed update is not the end: another source of
# this machine may be out of order while ours is fine.
install_packages() {
  local -a apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300)
  "${apt[@]}" update || true
  "${apt[@]}" install -y --no-install-recommends "$@"
}
