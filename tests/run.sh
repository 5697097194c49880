#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The whole suite: bash tests/run.sh [--gpu] [CTEST ARGUMENT...]
#
# With --gpu only what runs on a CUDA device is built and run; without a device it is skipped.
#
# Builds tests with g++, and with clang++-16 under the sanitizers; the program, examples and benches optimised; then runs
# everything in one ctest run, whose summary is the end of the output. Arguments are handed to ctest:
# `bash tests/run.sh -L unit`.
set -euo pipefail
# shellcheck source=../cmake/packages.sh
cd "$(dirname "${BASH_SOURCE[0]}")/.." && source cmake/packages.sh

need_packages "${strata_build_packages[@]}" "${strata_test_packages[@]}"
want_packages "${strata_optional_packages[@]}"
export CMAKE_GENERATOR="${CMAKE_GENERATOR:-Ninja}"
jobs="$(nproc)"
other_builds=(asan release)

status=0
build() { # PRESET [CONFIGURE ARGUMENT...]: what fails here fails again below as a test, so that the summary has it
  echo "== build $1"
  if ! cmake --preset "$@" >"build/$1.log" 2>&1; then
    cat "build/$1.log"
    status=1
    return
  fi
  local keep_going=(-k)
  [ ! -f "build/$1/build.ninja" ] || keep_going=(-k 0)
  cmake --build --preset "$1" --parallel "$jobs" -- "${keep_going[@]}" || status=1
}
mkdir -p build
if [ "${1-}" = --gpu ]; then
  shift
  cmake --preset dev >build/dev.log || { cat build/dev.log && exit 1; }
  cmake --build --preset dev --parallel "$jobs" --target strata_gpu
  exec ctest --test-dir build/dev -L '^gpu$' --output-on-failure --no-tests=error "$@"
fi
build dev "-DSTRATA_TEST_BUILDS=$(IFS=';' && echo "${other_builds[*]}")"
for preset in "${other_builds[@]}"; do
  build "$preset" -DSTRATA_WERROR=ON
done

echo "== ctest"
ctest --test-dir build/dev --output-on-failure --no-tests=error --parallel "$jobs" "$@" || status=1
exit "$status"
