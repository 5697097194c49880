#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The tests of strata::torch against a current libtorch 2.x: bash tests/torch2.sh [VERSION]
#
# Headers and libraries come out of PyPI's wheel, into build/torch2; no Python runs in the tests. The wheel is built for
# CUDA, of which the CPU part needs nothing. What is for CUDA is compiled where there is a toolkit, and runs where there is
# a device, with the libraries that the wheel asks for beside it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
here=build/torch2
wheel="torch${1:+==$1}"
mkdir -p "$here"
if [ ! -d "$here/torch/include" ]; then
  pip download --quiet --no-deps --dest "$here" "$wheel"
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

toolkit="${CUDA_HOME:-/usr/local/cuda}"
if [ ! -e "$toolkit/include/cuda_runtime_api.h" ]; then
  echo "== left out: what is for CUDA, there is no toolkit at $toolkit (CUDA_HOME)"
  exit 0
fi
echo "== compile tests/torch/cuda.cpp"
g++ "${flags[@]}" -isystem "$toolkit/include" -c tests/torch/cuda.cpp -o "$here/cuda.o"
if ! nvidia-smi -L >/dev/null 2>&1; then
  echo "== left out: tests/torch/cuda.cpp does not run, there is no CUDA device"
  exit 0
fi
site="$PWD/$here/site"
[ -d "$site/torch" ] || pip install --quiet --target "$site" "$wheel" # the wheel whole, and what it links
cudart=("$site"/nvidia/*/lib/libcudart.so.*)
g++ "$here/cuda.o" -o "$here/cuda" -L"$site/torch/lib" -Wl,-rpath,"$site/torch/lib" -Wl,-rpath,"$(dirname "${cudart[0]}")" \
  -Wl,--no-as-needed -ltorch_cuda -ltorch_cpu -lc10_cuda -lc10 "${cudart[0]}"
"$here/cuda"
