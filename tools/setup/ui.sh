# shellcheck shell=bash
# How quickstart talks: one line per step with its time, progress on a terminal, plain lines elsewhere, and one
# clear error. Everything here goes to stderr, so that stdout holds only the answer.
: "${log_dir:?set by quickstart}"

say() { printf '%s\n' "$*" >&2; }

# usage_error TEXT: exit code 2. die TEXT: exit code 1.
usage_error() {
  say "quickstart: $*"
  exit 2
}
die() {
  say "quickstart: error: $*"
  exit 1
}

# The ticker shows that a long command is alive: the last line of its log, every half second on a terminal,
# every 30 seconds elsewhere.
ticker_pid=""
start_ticker() {
  local what=$1 log=$2 begin=$SECONDS
  set -m
  if [[ -t 2 ]]; then
    while sleep 0.5; do
      printf '\r\033[K%s ... %d s  %.60s' "$what" $((SECONDS - begin)) "$(last_line "$log")" >&2
    done &
  else
    while sleep 30; do
      say "  $what: $((SECONDS - begin)) s, $(last_line "$log")"
    done &
  fi
  ticker_pid=$!
  set +m
}

stop_ticker() {
  [[ -n $ticker_pid ]] || return 0
  kill -KILL -- "-$ticker_pid" 2>/dev/null || true  # a process this young may lose a milder signal
  wait "$ticker_pid" 2>/dev/null || true
  ticker_pid=""
  if [[ -t 2 ]]; then printf '\r\033[K' >&2; fi
}

last_line() { tail -n 1 "$1" 2>/dev/null | tr '\r\033' '\n ' | tail -n 1 | cut -c 1-100; }

# run_step WHAT COMMAND...: runs the command with its output in a log file; dies with the reason if it fails.
# The command is a process group of its own, so that an interrupt ends it with all its children.
child_pid=""
run_step() {
  local what=$1 log begin=$SECONDS status=0
  shift
  log="$log_dir/$(tr -cs '[:alnum:]' - <<<"$what" | sed 's/-*$//').log"
  : 2>/dev/null >"$log" || die "cannot write $log: is the disk full, or the folder read-only?"
  if [[ ! -t 2 ]]; then say "$what ..."; fi
  start_ticker "$what" "$log"
  set -m
  "$@" >"$log" 2>&1 </dev/null &
  child_pid=$!
  set +m
  wait "$child_pid" || status=$?
  child_pid=""
  stop_ticker
  if ((status != 0)); then explain_failure "$what" "$status" "$log"; fi
  say "$what: done in $((SECONDS - begin)) s"
}

# on_exit, on_signal: nothing that was started stays behind.
on_exit() {
  if [[ -n $child_pid ]]; then
    kill -TERM -- "-$child_pid" 2>/dev/null || true
    wait "$child_pid" 2>/dev/null || true
  fi
  stop_ticker
  drop_fetch_dir
}
drop_fetch_dir() { :; }  # tools/setup/model.sh has more to do
trap_exits() {
  trap on_exit EXIT
  trap 'say "interrupted"; exit 130' INT
  trap 'exit 143' TERM
}

# explain_failure WHAT STATUS LOG: turns a failed command into one clear error. work_dir is where the step writes.
work_dir=$log_dir
explain_failure() {
  local what=$1 status=$2 log=$3
  if grep -qiE 'no space left on device|enough free space|disk quota exceeded' "$log"; then
    die "$what: the disk that holds $work_dir is full (see $log). Make room, then run it again."
  fi
  if grep -qiE 'temporary failure (in name )?resolv|could not resolve|name or service not known|network is unreachable|could not connect|connection (timed out|refused)|failed to establish a new connection|from versions: none|failed to fetch' "$log"; then
    die "$what: there is no network, or the package registry cannot be reached (see $log). Connect, then run it again: what is already there is kept."
  fi
  tail -n 40 "$log" >&2
  die "$what failed with exit code $status; the whole output is in $log"
}

# free_space DIR: free space there, for people. free_bytes DIR: the same as a number.
free_space() { df -h --output=avail "$1" 2>/dev/null | tail -n 1 | tr -d ' '; }
free_bytes() { df -B1 --output=avail "$1" | tail -n 1 | tr -d ' '; }
