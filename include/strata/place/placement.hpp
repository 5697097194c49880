// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Where each buffer of a step lives: lifetimes and their offsets in one slab.
#pragma once

#include <strata/units.hpp>

#include <cstddef>
#include <vector>

namespace strata {

/// One buffer of a step: `size` bytes during the half-open range of step indices [begin, end).
///
/// A tensor that is freed and produced again has one lifetime per production. Workspace has one per run.
struct lifetime {
    std::size_t begin = 0;
    std::size_t end = 0;
    bytes_t size = 0;
    tensor_id tensor = none; ///< `none` for workspace
    friend auto operator==(lifetime const&, lifetime const&) -> bool = default;
};

/// Offsets of lifetimes in one slab (the arena), and the slab's size.
struct placement {
    std::vector<lifetime> lifetimes = {}; ///< ordered by begin, then as allocated within the step
    std::vector<bytes_t> offsets = {};    ///< of each lifetime; multiples of `alignment`
    bytes_t arena = 0;                    ///< max(offset + size); resident tensors are outside
    bytes_t alignment = 1;
    friend auto operator==(placement const&, placement const&) -> bool = default;
};

} // namespace strata
