// SPDX-License-Identifier: Apache-2.0
// Every public header, in the order in which they are listed; b.cpp has them in the opposite order. A function that
// should have been inline is defined twice in this program, and does not link.
#include "all_forward.hpp"

auto version_seen_by_a() -> int { return STRATA_VERSION_MINOR; }
