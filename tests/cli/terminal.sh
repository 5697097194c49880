#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A bar on a terminal and nothing in a pipe; Ctrl-C gives the best plan so far.
source "$(dirname "${BASH_SOURCE[0]}")/support.bash"

expect 0 plan chain.json -b 75% --json
silent err
expect 0 sweep chain.json --points 3
silent err
if command -v script >/dev/null; then
  last="strata on a terminal"
  script -qec "'$program' plan chain.json -b 75% --json" /dev/null >out </dev/null
  grep -q '%' out && grep -q $'\r' out || fail "no progress bar on a terminal"
  says '"valid":true'
  script -qec "'$program' plan chain.json -b 75% --json --quiet" /dev/null >out </dev/null
  grep -q '\[#' out && fail "a progress bar in spite of --quiet"
fi

# A signal that comes before there is a plan ends with status 4, one that comes later with the plan so far: in both cases the
# program ends by itself. A large graph leaves time for the signal.
"$program" model gpt2-small --layers 60 --batch 1 --seq 64 --out large.json --quiet
set +e
"$program" plan large.json -b 30% --json >out 2>err &
pid=$!
sleep 0.1
kill -INT "$pid" 2>/dev/null
wait "$pid"
status=$?
set -e
last="strata plan, interrupted"
case "$status" in
  0) says '"valid":true' ;;
  4) complains "stopped before any plan" ;;
  130) ;; # it was still reading the graph
  *) fail "exit status $status" ;;
esac

# Block characters only where the locale has them.
LC_ALL=C "$program" plan chain.json -b 75% >out
LC_ALL=C grep -q '[^ -~]' out && fail "characters beyond ASCII in the C locale"
finish
