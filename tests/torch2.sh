#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The tests of strata::torch against a current libtorch 2.x: bash tests/torch2.sh [VERSION]
#
# Headers and libraries come out of PyPI's wheel, into build/torch2; no Python runs in the tests. The wheel is built for
# CUDA, of which the CPU part needs nothing.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
here=build/torch2
mkdir -p "$here"
if [ ! -d "$here/torch/include" ]; then
  pip download --quiet --no-deps --dest "$here" "torch${1:+==$1}"
  unzip -q -o "$here"/torch-*.whl 'torch/include/*' 'torch/lib/libtorch_cpu.so' 'torch/lib/libc10.so' 'torch/lib/libgomp*' -d "$here"
  rm "$here"/torch-*.whl
fi
torch="$PWD/$here/torch"
flags=(-std=c++20 -O1 -D_GLIBCXX_ASSERTIONS -Iinclude -I. -isystem "$torch/include"
  -isystem "$torch/include/torch/csrc/api/include")
# All tests are one translation unit: reading the headers takes longer than anything else.
for source in tests/torch/*.test.cpp; do
  echo "#include \"$source\""
done >"$here/tests.cpp"
objects=()
for source in tests/support/catch_main.cpp examples/torch_finetune/models.cpp "$here/tests.cpp"; do
  objects+=("$here/$(basename "$source" .cpp).o")
  echo "== compile $source"
  g++ "${flags[@]}" -c "$source" -o "${objects[-1]}"
done
# The library `torch` itself would ask for the CUDA part.
g++ "${objects[@]}" -o "$here/tests" -L"$torch/lib" -Wl,-rpath,"$torch/lib" -Wl,--no-as-needed -ltorch_cpu -lc10
"$here/tests"
