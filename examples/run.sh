#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Plans one training step: bash examples/run.sh [GRAPH] [BUDGET]
#
# GRAPH is a strata-graph file or the name of a model of the built-in zoo (default: gpt2-medium); BUDGET is a share of
# the memory the plain step needs beside its parameters, or an amount (default: 50%; for instance 60% or 8GiB).
set -euo pipefail

graph="${1:-gpt2-medium}"
budget="${2:-50%}"
if [ $# -gt 2 ] || [ "${graph#-}" != "$graph" ]; then
  echo "usage: bash examples/run.sh [GRAPH] [BUDGET]" >&2
  exit 2
fi
# A path is the caller's; everything below runs in the project's folder.
if [ -f "$graph" ]; then
  graph="$(realpath "$graph")"
elif [[ "$graph" == */* || "$graph" == *.json ]]; then
  echo "$graph: no such graph file" >&2
  exit 2
fi
# shellcheck source=../cmake/packages.sh
cd "$(dirname "${BASH_SOURCE[0]}")/.." && source cmake/packages.sh

need_packages "${strata_build_packages[@]}"
export CMAKE_GENERATOR="${CMAKE_GENERATOR:-Ninja}"
mkdir -p build out
log=build/examples.log
echo "== building the program (log: $log)"
{ cmake --preset release && cmake --build --preset release --parallel "$(nproc)" --target strata_cli; } >"$log" 2>&1 || {
  cat "$log" >&2
  exit 1
}

name="$(basename "${graph%.json}")"
build/release/strata plan "$graph" --budget "$budget" --out "out/$name.plan.json" --report "out/$name.html"
echo "report: $(realpath "out/$name.html")"
