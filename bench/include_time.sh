#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# include_time.sh [COMPILER]: seconds of processor time to include each public header, and the ratio to the three
# standard headers that every program has anyway. Fastest of five runs each. Arguments for include paths: STRATA_FLAGS.
set -euo pipefail
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
compiler="${1:-g++}"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT

# fastest FILE: processor seconds of the fastest of five compilations.
fastest() {
  local best="" t
  for _ in 1 2 3 4 5; do
    t="$({ TIMEFORMAT='%U %S'; time "$compiler" -std=c++20 -fsyntax-only -I"$root/include" -isystem /usr/include/eigen3 ${STRATA_FLAGS:-} "$1" >/dev/null; } 2>&1 | awk '{ print $1 + $2 }')"
    best="$(awk -v a="${best:-999}" -v b="$t" 'BEGIN { print a < b ? a : b }')"
  done
  echo "$best"
}

printf '#include <vector>\n#include <string>\n#include <algorithm>\n' >"$work/base.cpp"
base="$(fastest "$work/base.cpp")"
echo "$("$compiler" --version | head -1), -fsyntax-only"
echo "| header | s | ratio |"
echo "|---|---|---|"
echo "| <vector> + <string> + <algorithm> | $base | 1.0 |"
cd "$root/include"
for h in strata/strata.hpp strata/hierarchy.hpp strata/execute.hpp strata/fwd.hpp strata/problem/problem.hpp strata/graph/builder.hpp strata/graph/differentiate.hpp \
  strata/bound/lower_bound.hpp strata/pipeline/plan.hpp strata/pipeline/plan_graph.hpp strata/place/place.hpp \
  strata/cost/by_type.hpp strata/cost/calibrate.hpp; do
  printf '#include <%s>\n' "$h" >"$work/one.cpp"
  t="$(fastest "$work/one.cpp")"
  echo "| $h | $t | $(awk -v a="$t" -v b="$base" 'BEGIN { printf "%.1f", a / b }') |"
done
