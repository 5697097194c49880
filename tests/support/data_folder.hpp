// SPDX-License-Identifier: Apache-2.0
// Where measurement data lies; tests that need it skip, saying so, where it does not.
#pragma once

#include <cstdlib>
#include <string>

namespace strata::test {

/// STRATA_DATA, or ../shared/data beside the project.
inline auto data_folder() -> std::string
{
    auto const* const set = std::getenv("STRATA_DATA");
    return set != nullptr ? std::string(set) : std::string(STRATA_SOURCE_DIR) + "/../shared/data";
}

} // namespace strata::test
