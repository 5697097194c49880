#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Shows every check of check.sh, and the scripts beside it, a small tree that is in order and then one offence at a time. A check that lets an offence pass proves nothing about the real tree.
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
dir="$(mktemp -d)"
trap 'rm -rf "$dir"' EXIT
failures=0

make_tree() {
  rm -rf "$dir/tree"
  mkdir -p "$dir/tree" && cd "$dir/tree"
  mkdir -p include/strata/{io,cost,detail} tests/concepts examples/cli bench docs
  cp "$here/../.clang-format" .
  header() { printf '// SPDX-License-Identifier: Apache-2.0\n/// @file\n/// @brief One sentence.\n#pragma once\n\n'; }
  {
    header
    printf '#define STRATA_VERSION_MAJOR 0\n#define STRATA_VERSION_MINOR 1\n#define STRATA_VERSION_PATCH 0\n'
  } >include/strata/version.hpp
  { header && printf 'enum class errc {\n    io,         ///< one\n    not_a_graph, ///< two\n};\n'; } >include/strata/error.hpp
  cat >>include/strata/error.hpp <<'END'

/// A type that prices.
///
/// Given `C const& c`:
///   - `c.price()`
///
/// Laws:       none.
/// Not needed: copying.
/// Cost:       O(1).
/// Models:     `table`.
/// Near miss:  a model that lies.
// clang-format off
template <class C>
concept priced = requires(C const& c) { c.price(); };
// clang-format on
END
  clang-format-16 -i include/strata/error.hpp
  { header && printf '#include <strata/error.hpp>\n#include <strata/version.hpp>\n'; } >include/strata/strata.hpp
  { header && printf '#include <Eigen/Core>\n'; } >include/strata/cost/fit.hpp
  { header && printf '#include <nlohmann/json.hpp>\n'; } >include/strata/io/json.hpp
  { header && printf '#include <strata/cost/fit.hpp>\n'; } >include/strata/detail/helper.hpp
  printf '// SPDX-License-Identifier: Apache-2.0\nstatic_assert(priced<int>);\n' >tests/concepts/priced.test.cpp
  printf '// SPDX-License-Identifier: Apache-2.0\nauto main() -> int { return 0; }\n' >examples/01_one.cpp
  printf '# strata\n\n<!-- snippet: examples/01_one.cpp -->\n```cpp\nauto main() -> int { return 0; }\n```\n' >README.md
  printf '# Errors\n\n## io\n\n## `not_a_graph`\n' >docs/errors.md
  printf '# Changelog\n\n## 0.1.0 (unreleased)\n\n## 0.0.1\n' >docs/CHANGELOG.md
  printf '# Contributing\n' >docs/CONTRIBUTING.md
  find include -type f >listed.txt
  printf "// expect-error: 'int y' is (too|very) old\n// SPDX-License-Identifier: Apache-2.0\n" >misuse.cpp
  printf "static_assert(sizeof(int) == 1, \"'int y' is too old\");\n" >>misuse.cpp
  printf '#!/bin/sh\necho text\n' >program && chmod +x program && echo text >program.expected
}

run() { # CHECK
  case "$1" in
  listed) bash "$here/headers/listed.sh" listed.txt ;;
  umbrella) bash "$here/headers/umbrella.sh" io ;;
  macros) bash "$here/headers/macros.sh" include/strata/strata.hpp g++ -std=c++20 -Iinclude ;;
  compile_fail) bash "$here/compile_fail.sh" misuse.cpp g++ -std=c++20 -Iinclude ;;
  output) cmake -DPROGRAM="$dir/tree/program" -DEXPECTED=program.expected -P "$here/run_expected.cmake" ;;
  *) bash "$here/docs/check.sh" "$1" ;;
  esac
}

accepts() { # CHECK...
  make_tree
  for check in "$@"; do
    run "$check" >"$dir/said" 2>&1 || { echo "$check refuses a tree that is in order:" && cat "$dir/said" && failures=1; }
  done
}

refuses() { # CHECK EXPECTED-TEXT COMMAND: after the command, the check fails and says the text
  make_tree
  eval "$3"
  if run "$1" >"$dir/said" 2>&1; then
    echo "$1 lets this pass: $3"
    failures=1
  elif ! grep -qF -- "$2" "$dir/said"; then
    echo "$1 refuses '$3', but without the text '$2':" && cat "$dir/said"
    failures=1
  fi
}

accepts snippets concepts errors version dependencies lines anatomy names using marks format listed umbrella macros compile_fail output

refuses snippets '+auto main' "sed -i 's/return 0/return 1/' README.md"
refuses snippets 'there is no file' "sed -i 's/01_one/02_two/' README.md"
refuses snippets 'shows no file' "sed -i /snippet/d README.md"
refuses snippets 'docs/more.md' "printf '<!-- snippet: examples/01_one.cpp#part -->\n\`\`\`cpp\nx\n\`\`\`\n' >docs/more.md"
refuses concepts '"Laws:"' "sed -i '/Laws:/d' include/strata/error.hpp"
refuses concepts '"Cost:"' "sed -i '/Cost:/d; /Models:/i /// Models: x' include/strata/error.hpp"
refuses concepts 'priced' "sed -i 's/^template <class C>/int gap;\n&/' include/strata/error.hpp"
refuses concepts 'names' "sed -i 's/priced/other/' tests/concepts/priced.test.cpp"
refuses errors '< not_a_graph' "sed -i '/not_a_graph/d' docs/errors.md"
refuses errors '> gone' "echo '## gone' >>docs/errors.md"
refuses version '0.1.1' "sed -i 's/PATCH 0/PATCH 1/' include/strata/version.hpp"
refuses version '0.2.0' "sed -i 's/## 0.1.0/## 0.2.0/' docs/CHANGELOG.md"
refuses dependencies 'Eigen' "echo '#include <Eigen/Core>' >>include/strata/io/json.hpp"
refuses dependencies 'hana' "echo '#include <boost/hana/tuple.hpp>' >>include/strata/error.hpp"
refuses dependencies 'small headers' "echo '#include <boost/hana.hpp>' >>include/strata/cost/fit.hpp"
refuses dependencies 'small headers' "echo '#include <boost/graph/x.hpp>' >>include/strata/cost/fit.hpp"
refuses dependencies 'nlohmann' "echo '#include <nlohmann/json.hpp>' >>include/strata/error.hpp"
refuses dependencies 'CLI' "echo '#include <CLI/CLI.hpp>' >>examples/01_one.cpp"
refuses dependencies 'glpk' "echo '#include <glpk.h>' >>include/strata/error.hpp"
refuses dependencies 'coin' "echo '#include <coin/CbcModel.hpp>' >>include/strata/error.hpp"
refuses dependencies 'cuda' "echo '#include <cuda_runtime_api.h>' >>include/strata/error.hpp"
refuses dependencies 'cuda/' "echo '#include <cuda/memory_resource>' >>include/strata/error.hpp"
refuses dependencies 'torch' "echo '#include <torch/torch.h>' >>include/strata/error.hpp"
refuses dependencies 'ranges' "echo '#include <ranges>' >>include/strata/error.hpp"
refuses dependencies 'umbrella' "echo '#include <strata/strata.hpp>' >>include/strata/error.hpp"
refuses dependencies 'included as' "echo '#include \"version.hpp\"' >>include/strata/error.hpp"
refuses lines '501' "seq -f '// %g' \$((501 - \$(wc -l <include/strata/error.hpp))) >>include/strata/error.hpp"
refuses lines 'README.md' "seq 151 >README.md"
refuses lines 'CONTRIBUTING.md' "seq 101 >docs/CONTRIBUTING.md"
refuses anatomy 'error.hpp' "sed -i 1d include/strata/error.hpp"
refuses anatomy '01_one.cpp' "sed -i 1d examples/01_one.cpp"
refuses anatomy 'pragma' "sed -i '/pragma/d' include/strata/error.hpp"
refuses anatomy '@brief' "sed -i '/@brief/d' include/strata/error.hpp"
refuses anatomy 'some.sh' "touch some.sh"
refuses anatomy 'README.md begins with something else' "sed -i '1i | a row |' README.md"
refuses anatomy 'README.md:3 is a row of no table' "sed -i '2a | a row |\n' README.md"
refuses names 'a; b' "echo 'TEST_CASE(\"a; b\")' >tests/concepts/a.test.cpp"
refuses using 'error.hpp' "echo 'using namespace std;' >>include/strata/error.hpp"
refuses marks '01_one.cpp' "echo '// TO''DO: more' >>examples/01_one.cpp"
refuses format 'fit.hpp' "echo 'int   x ;' >>include/strata/cost/fit.hpp"
refuses listed '< include/strata/error.hpp' "rm include/strata/error.hpp"
refuses listed '> include/strata/new.hpp' "touch include/strata/new.hpp"
refuses umbrella 'no umbrella includes strata/error.hpp' "sed -i '/error/d' include/strata/strata.hpp"
refuses umbrella 'reaches Eigen/Core' "echo '#include <strata/cost/fit.hpp>' >>include/strata/strata.hpp"
refuses umbrella 'reaches Eigen/Core' "echo '#include <strata/detail/helper.hpp>' >>include/strata/strata.hpp"
refuses umbrella 'belongs to component io' "echo '#include <strata/io/json.hpp>' >>include/strata/strata.hpp"
refuses umbrella 'error.hpp is in strata/' "printf '#include <strata/error.hpp>\\n' >include/strata/hierarchy.hpp"
refuses macros 'macro LEAK' "echo '#define LEAK 1' >>include/strata/error.hpp"
refuses macros 'macro CALL' "echo '#define CALL(x) x' >>include/strata/error.hpp"
refuses compile_fail 'compiles, but must' "sed -i 3d misuse.cpp"
refuses compile_fail 'is refused, but without' "sed -i '3s/old/young/' misuse.cpp"
refuses compile_fail 'line 1 must be' "sed -i 1d misuse.cpp"
refuses output 'got' "echo more >>program.expected"
refuses output 'exit status 3' "echo 'exit 3' >>program"

exit "$failures"
