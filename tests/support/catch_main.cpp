// SPDX-License-Identifier: Apache-2.0
// The main function of every test program; compiled once per build.
#define CATCH_CONFIG_MAIN
#include "catch.hpp"

// The leak sanitizer reads these lines. Cgl 0.60, the part of CBC that prepares models, loses the rows it has strengthened
// when it then finds the model infeasible. Named by the library that allocates them: none of the three has frame pointers,
// so nothing above it is seen.
extern "C" auto __lsan_default_suppressions() -> char const* { return "leak:libOsi.so\n"; }
