// SPDX-License-Identifier: Apache-2.0
// Random lifetimes and random users of memory on several streams, for any runtime.
#pragma once

#include <strata/place/first_fit.hpp>
#include <strata/place/placement.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "tests/support/random_problem.hpp"

namespace strata::test {

/// `n` lifetimes during as many steps, some of them empty, placed.
[[nodiscard]] inline auto random_placement(dice& d, std::size_t n, bytes_t alignment) -> placement
{
    std::vector<lifetime> all;
    for (std::size_t i = 0; i < n; ++i) {
        auto const length = static_cast<std::size_t>(d.between(1, 6));
        auto const size = d.chance(10) ? 0 : alignment * d.between(1, 8);
        all.push_back({i, std::min(i + length, n), size, static_cast<tensor_id>(i)});
    }
    return first_fit(std::move(all), alignment);
}

/// One step of a placement: each lifetime is acquired on a stream, used on it, and released. `stream_of(i)` says which;
/// `acquire(i, s)`, `use(i, s)` and `release(i, s)` do it.
template <class StreamOf, class Acquire, class Use, class Release>
void play(placement const& p, StreamOf const& stream_of, Acquire const& acquire, Use const& use, Release const& release)
{
    auto const& all = p.lifetimes;
    for (std::size_t step = 0; step <= all.size(); ++step) {
        for (std::size_t i = 0; i < all.size(); ++i) {
            if (all[i].end == step) {
                release(i, stream_of(i));
            }
        }
        for (std::size_t i = 0; i < all.size(); ++i) {
            if (all[i].begin == step) {
                acquire(i, stream_of(i));
                use(i, stream_of(i));
            } else if (all[i].begin < step && step < all[i].end) {
                use(i, stream_of(i));
            }
        }
    }
}

} // namespace strata::test
