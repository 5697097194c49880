// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Normalisations, each with the statistics that its backward reads instead of computing them again; softmax.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "examples/zoo/network.hpp"

namespace strata::zoo {

namespace detail {

/// y = normalised x, times weight, plus bias if `trained` is 2. `statistics` numbers of fp32 are saved.
inline auto normalise(network& n,
                      char const* type,
                      char const* backward,
                      std::string const& name,
                      value const& x,
                      std::int64_t channels,
                      std::int64_t statistics,
                      int trained = 2,
                      details more = {}) -> value
{
    std::vector reads{x, n.parameter(name + ".weight", {channels})};
    std::vector writes{of_input(0), of_input(1)};
    if (trained == 2) {
        reads.push_back(n.parameter(name + ".bias", {channels}));
        writes.push_back(of_input(2));
    }
    more.name = name;
    return n.add({type, op_kind::normalisation, per_number(8, x)},
                 reads,
                 {x},
                 {.saved = {{.name = "statistics", .bytes = bytes_of(statistics, 4)}},
                  .ops = {{op{backward, op_kind::normalisation, per_number(12, x)},
                           {input(0), input(1), saved(0), of_output(0)},
                           writes}}},
                 std::move(more));
}

} // namespace detail

/// Over the innermost axis. Backward reads x, weight, and mean and inverse deviation of each row.
inline auto layer_norm(network& n, std::string const& name, value const& x) -> value
{
    auto const rows = count(x) / x.size(-1);
    return detail::normalise(n, "layer_norm", "layer_norm.backward", name, x, x.size(-1), 2 * rows);
}

/// Over the innermost axis, no bias. Backward reads x, weight, and the inverse root mean square of each row.
inline auto rms_norm(network& n, std::string const& name, value const& x) -> value
{
    return detail::normalise(n, "rms_norm", "rms_norm.backward", name, x, x.size(-1), count(x) / x.size(-1), 1);
}

/// Over samples and pixels of x [batch, channels, ...]. Backward reads x, weight, and mean and inverse deviation of each
/// channel. Forward also writes the running statistics: state that a replay must leave alone.
inline auto batch_norm(network& n, std::string const& name, value const& x) -> value
{
    auto const c = x.size(1);
    auto const mean = n.state(name + ".running_mean", {c}, 4);
    auto const variance = n.state(name + ".running_variance", {c}, 4);
    auto const batches = n.state(name + ".batches", {1}, 8);
    return detail::normalise(n,
                             "batch_norm",
                             "batch_norm.backward",
                             name,
                             x,
                             c,
                             2 * c,
                             2,
                             {.effects = effect::stateful, .writes = {mean.id, variance.id, batches.id}});
}

/// Over groups of channels of x [batch, channels, ...]. Backward reads x, weight, and two numbers per sample and group.
inline auto group_norm(network& n, std::string const& name, value const& x, std::int64_t groups) -> value
{
    if (x.size(1) % groups != 0) {
        throw model_error(std::to_string(x.size(1)) + " channels do not divide into " + std::to_string(groups) +
                          " groups; choose another width");
    }
    return detail::normalise(n, "group_norm", "group_norm.backward", name, x, x.size(1), 2 * x.size(0) * groups);
}

/// Over the innermost axis, with scale and causal mask inside; a padding mask is read if given. Backward reads the output.
inline auto softmax(network& n, value const& x, std::optional<value> const& mask = std::nullopt) -> value
{
    return n.add({"softmax", op_kind::normalisation, per_number(6, x)},
                 mask ? std::vector{x, *mask} : std::vector{x},
                 {x},
                 {.ops = {{op{"softmax.backward", op_kind::normalisation, per_number(5, x)},
                           {output(0), of_output(0)},
                           {of_input(0)}}}});
}

} // namespace strata::zoo
