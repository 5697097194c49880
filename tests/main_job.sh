#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The command that the README begins with, as a newcomer calls it: without arguments, with a file of the caller's folder
# and a budget, and wrongly.
set -euo pipefail
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
dir="$(mktemp -d)"
trap 'rm -rf "$dir"' EXIT

expect() { # TEXT FILE
  grep -qE -- "$1" "$2" || { echo "no '$1' in the output:" && cat "$2" && exit 1; }
}
report_of() { sed -n 's/^report: //p' "$1"; }
run() { bash "$root/examples/run.sh" "$@"; }

cd "$dir"
rm -f "$root/out/gpt2-medium.html"
run >first || { cat first && exit 1; }
expect 'gpt2-medium' first
expect '50 ?%' first
expect '^report: /.*gpt2-medium.html$' first
grep -qi '<html' "$(report_of first)"

"$root/build/release/strata" model gpt2-medium --out mine.json
run mine.json 60% >second || { cat second && exit 1; }
expect '60 ?%' second
expect '^report: /.*mine.html$' second
grep -qi '<html' "$(report_of second)"

for wrong in "missing.json" "no-such-model" "gpt2-medium nonsense" "--help me"; do
  status=0
  # shellcheck disable=SC2086 # the words are separate arguments
  run $wrong >said 2>&1 || status=$?
  [ "$status" -eq 2 ] || { echo "examples/run.sh $wrong: exit status $status, not 2" && cat said && exit 1; }
done
