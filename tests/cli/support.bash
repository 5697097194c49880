# SPDX-License-Identifier: Apache-2.0
# Sourced by the tests of the program, each of which is called as `bash cli/<what>.sh PROGRAM`.
set -euo pipefail
export LC_ALL=C.UTF-8
program="$(realpath "$1")"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
cd "$work"
failures=0

fail() {
  printf 'FAILED: %s\n' "$1"
  printf -- '--- standard output\n%s\n--- standard error\n%s\n' "$(head -c 2000 out 2>/dev/null)" "$(head -c 2000 err 2>/dev/null)"
  failures=$((failures + 1))
}

# expect STATUS ARGUMENT...: runs the program with empty standard input; its output is in the files out and err.
expect() {
  local wanted="$1" status=0
  shift
  "$program" "$@" >out 2>err </dev/null || status=$?
  last="strata $*"
  [ "$status" -eq "$wanted" ] || fail "$last: exit status $status, not $wanted"
}

says() { grep -qF -- "$1" out || fail "$last: standard output lacks: $1"; }
complains() { grep -qF -- "$1" err || fail "$last: standard error lacks: $1"; }
silent() { [ ! -s "$1" ] || fail "$last: $1 is not empty"; }
same() { [ "$1" = "$2" ] || fail "$last: $3: '$1' is not '$2'"; }
# number KEY: the value of a key in the JSON object of the last run.
number() { sed -nE "s/.*\"$1\":(-?[0-9.e+-]+)[,}].*/\1/p" out | head -n 1; }
holds() { awk "BEGIN { exit !($1) }" || fail "$last: $1 does not hold"; }

finish() {
  [ "$failures" -eq 0 ] || { echo "$failures checks failed" && exit 1; }
  echo "all checks passed"
}

# A chain of four forward and four backward ops; every backward op reads what its forward op read. The keep-all peak is
# 100 bytes of parameter and 1000 + 4 * 1000 more.
chain() {
  cat <<'G'
{"format":"strata-graph","version":1,"name":"chain","cost_unit":"ns",
"tensors":[
{"name":"w","bytes":100,"kind":"parameter"},
{"name":"a1","bytes":1000,"kind":"activation"},
{"name":"a2","bytes":1000,"kind":"activation"},
{"name":"a3","bytes":1000,"kind":"activation"},
{"name":"a4","bytes":1000,"kind":"activation"},
{"name":"g4","bytes":1000,"kind":"gradient"},
{"name":"g3","bytes":1000,"kind":"gradient"},
{"name":"g2","bytes":1000,"kind":"gradient"},
{"name":"g1","bytes":1000,"kind":"gradient"}],
"ops":[
{"name":"f1","type":"f","phase":"forward","cost":10,"inputs":[0],"outputs":[1]},
{"name":"f2","type":"f","phase":"forward","cost":10,"inputs":[0,1],"outputs":[2]},
{"name":"f3","type":"f","phase":"forward","cost":10,"inputs":[0,2],"outputs":[3]},
{"name":"f4","type":"f","phase":"forward","cost":10,"inputs":[0,3],"outputs":[4]},
{"name":"b4","type":"b","phase":"backward","cost":20,"inputs":[4],"outputs":[5],"backward_of":3},
{"name":"b3","type":"b","phase":"backward","cost":20,"inputs":[3,5],"outputs":[6],"backward_of":2},
{"name":"b2","type":"b","phase":"backward","cost":20,"inputs":[2,6],"outputs":[7],"backward_of":1},
{"name":"b1","type":"b","phase":"backward","cost":20,"inputs":[1,7],"outputs":[8],"backward_of":0}],
"targets":[8]}
G
}
chain >chain.json
