// SPDX-License-Identifier: Apache-2.0
// What the archetypes of concepts have in common: that they can next to nothing.
#pragma once

#include <string_view>

namespace strata::test {

/// No default construction, no copy, no assignment, no address, no comma.
struct bare {
    explicit bare(int /*only_way*/) {}
    bare(bare const&) = delete;
    bare(bare&&) = default;
    auto operator=(bare const&) -> bare& = delete;
    auto operator=(bare&&) -> bare& = delete;
    ~bare() = default;
    auto operator&() const = delete;
    template <class T>
    void operator,(T const&) const = delete;
};

/// A name that converts, and is nothing else.
struct archetype_name {
    operator std::string_view() const { return "archetype"; }
};

} // namespace strata::test
