// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief A number that tells one problem from another, so that a plan is never applied to a changed graph.
///
/// The same on every platform, compiler and run: FNV-1a with 64 bits over the problem's numbers, each taken as eight
/// bytes, least significant first, every list preceded by its length. It guards against mistakes, not against attacks.
#pragma once

#include <strata/problem/problem.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace strata {

namespace detail {

/// FNV-1a over 64-bit numbers.
class number_hash {
public:
    constexpr void add(std::int64_t n) noexcept
    {
        auto x = static_cast<std::uint64_t>(n);
        for (int i = 0; i < 8; ++i) {
            value_ = (value_ ^ (x & 0xFFU)) * 0x100000001B3U;
            x >>= 8U;
        }
    }
    [[nodiscard]] constexpr auto value() const noexcept -> std::uint64_t { return value_; }

private:
    std::uint64_t value_ = 0xCBF29CE484222325U;
};

} // namespace detail

/// The fingerprint of `p`: over alignment, tensors (bytes, whether resident), ops (cost, workspace, effects, tensors
/// read and written as sets) and targets (as a set), in that order. Names, types, phases and `backward_of` are labels and
/// do not count.
/// Complexity: O(ops + tensors + reads and writes).
template <class = void>
[[nodiscard]] auto fingerprint(problem const& p) -> std::uint64_t
{
    detail::number_hash h;
    std::vector<tensor_id> sorted;
    auto const add_set = [&](std::vector<tensor_id> const& ids) {
        sorted = ids;
        std::sort(sorted.begin(), sorted.end());
        sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
        h.add(static_cast<std::int64_t>(sorted.size()));
        for (auto const t : sorted) {
            h.add(t);
        }
    };
    auto const& s = p.spec();
    h.add(s.alignment);
    h.add(p.tensor_count());
    for (auto const& t : s.tensors) {
        h.add(t.bytes);
        h.add(is_resident(t.kind) ? 1 : 0);
    }
    h.add(p.op_count());
    for (auto const& o : s.ops) {
        h.add(o.cost);
        h.add(o.workspace);
        std::int64_t bits = 0;
        for (auto const e :
             {effect::random, effect::stateful, effect::nondeterministic, effect::collective, effect::once}) {
            bits = bits * 2 + (o.effects.has(e) ? 1 : 0);
        }
        h.add(bits);
        add_set(o.inputs);
        add_set(o.outputs);
    }
    add_set(s.targets);
    return h.value();
}

} // namespace strata
