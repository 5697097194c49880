// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Reads any `task_graph` through its access points into plain numbers.
#pragma once

#include <strata/graph/access.hpp>
#include <strata/graph/concepts.hpp>
#include <strata/problem/aliased_spec.hpp>
#include <strata/result.hpp>
#include <strata/units.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace strata {

namespace detail {

/// A number given by a user's type as a 64-bit one; nothing when it does not fit (or is not a number at all).
/// Floating point is rounded to nearest.
template <class N>
[[nodiscard]] constexpr auto to_int64(N const& n) -> std::optional<std::int64_t>
{
    if constexpr (std::integral<N>) {
        if constexpr (std::unsigned_integral<N> && sizeof(N) >= sizeof(std::int64_t)) {
            if (n > static_cast<N>(INT64_MAX)) {
                return {};
            }
        }
        return static_cast<std::int64_t>(n);
    } else if constexpr (std::floating_point<N>) {
        // 2^63 is a floating point number; every double below it fits, and NaN compares false.
        constexpr N limit = 9223372036854775808.0;
        if (!(n > -limit && n < limit)) {
            return {};
        }
        auto const whole = static_cast<std::int64_t>(n);
        auto const rest = n - static_cast<N>(whole);
        return whole + (rest >= N(0.5) ? 1 : rest <= N(-0.5) ? -1 : 0);
    } else {
        return static_cast<std::int64_t>(n);
    }
}

template <class R>
[[nodiscard]] auto to_ids(R&& range) -> std::vector<std::int32_t>
{
    std::vector<std::int32_t> ids;
    auto const end = std::end(range);
    for (auto it = std::begin(range); it != end; ++it) {
        ids.push_back(access::detail::to_id(*it));
    }
    return ids;
}

template <class G>
[[nodiscard]] auto read_tensors(G const& g, aliased_spec& spec, std::string const& who) -> std::optional<error>
{
    constexpr bool knows_kinds = access::detail::kind_of_::point::template answered<G, tensor_id>;
    auto const n = static_cast<tensor_id>(spec.view_of.size());
    std::vector<char> produced(spec.view_of.size(), 0);
    for (auto const& o : spec.plain.ops) {
        for (auto t : o.outputs) {
            if (t >= 0 && t < n) {
                produced[static_cast<std::size_t>(t)] = 1;
            }
        }
    }
    for (tensor_id t = 0; t < n; ++t) {
        auto& x = spec.plain.tensors[static_cast<std::size_t>(t)];
        x.name = std::string(std::string_view(access::tensor_name(g, t)));
        auto const named = [&](char const* before, char const* after) {
            return who + before + "tensor " + std::to_string(t) + (x.name.empty() ? "" : " (" + x.name + ")") + after;
        };
        auto const bytes = to_int64(access::tensor_bytes(g, t));
        if (!bytes) {
            return fail(errc::overflow, named(": the bytes of ", " do not fit 64 bits"));
        }
        x.bytes = *bytes;
        if constexpr (knows_kinds) {
            x.kind = access::kind_of(g, t);
        } else {
            x.kind = produced[static_cast<std::size_t>(t)] != 0 ? tensor_kind::activation : tensor_kind::input;
        }
        auto const base = access::detail::to_id(access::view_of(g, t));
        if (base < none) {
            return fail(errc::malformed_graph, named(": ", " is a view of a tensor that does not exist"));
        }
        spec.view_of[static_cast<std::size_t>(t)] = base;
    }
    return {};
}

} // namespace detail

/// Everything `g` answers, without costs and with alignment 1; nothing is checked but that numbers fit.
/// Errors: `overflow` or `malformed_graph` when a number that `g` gives does not fit, naming the op or tensor.
/// Complexity: one call per op, tensor and question.
template <class G>
    requires task_graph<G>
[[nodiscard]] auto to_spec(G const& g, std::string const& who) -> result<aliased_spec>
{
    auto const ops = detail::to_int64(access::op_count(g)).value_or(-1);
    auto const tensors = detail::to_int64(access::tensor_count(g)).value_or(-1);
    constexpr std::int64_t most = 100'000'000;
    if (ops < 0 || ops > most || tensors < 0 || tensors > most) {
        return fail(errc::malformed_graph,
                    who + ": a graph has from 0 to " + std::to_string(most) + " ops and as many tensors");
    }
    aliased_spec spec;
    spec.plain.name = std::string(std::string_view(access::graph_name(g)));
    spec.plain.ops.resize(static_cast<std::size_t>(ops));
    spec.mutates.resize(static_cast<std::size_t>(ops));
    spec.plain.tensors.resize(static_cast<std::size_t>(tensors));
    spec.view_of.assign(static_cast<std::size_t>(tensors), none);
    for (op_id o = 0; o < static_cast<op_id>(ops); ++o) {
        auto& x = spec.plain.ops[static_cast<std::size_t>(o)];
        x.name = std::string(std::string_view(access::op_name(g, o)));
        x.type = std::string(std::string_view(access::type_name(g, o)));
        x.phase = access::phase_of(g, o);
        x.effects = access::effects_of(g, o);
        x.backward_of = access::detail::to_id(access::backward_of(g, o));
        x.inputs = detail::to_ids(access::inputs(g, o));
        x.outputs = detail::to_ids(access::outputs(g, o));
        spec.mutates[static_cast<std::size_t>(o)] = detail::to_ids(access::mutates(g, o));
        auto const workspace = detail::to_int64(access::op_workspace(g, o));
        if (!workspace) {
            return fail(errc::overflow,
                        who + ": the workspace of op " + std::to_string(o) +
                            (x.name.empty() ? "" : " (" + x.name + ")") + " does not fit 64 bits");
        }
        x.workspace = *workspace;
    }
    spec.plain.targets = detail::to_ids(access::targets(g));
    if (auto e = detail::read_tensors(g, spec, who)) {
        return *std::move(e);
    }
    return spec;
}

} // namespace strata
