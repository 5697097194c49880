// SPDX-License-Identifier: Apache-2.0
#include "all_backward.hpp"

auto version_seen_by_a() -> int;

auto main() -> int { return version_seen_by_a() == STRATA_VERSION_MINOR ? 0 : 1; }
