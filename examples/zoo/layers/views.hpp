// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Layers that move or rename bytes: split and slice as views, concatenation and transposition as copies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "examples/zoo/network.hpp"

namespace strata::zoo {

/// The same tensor read with other axes; no op.
[[nodiscard]] inline auto reshaped(value const& x, shape s) -> value
{
    if (count(x) != count(s)) {
        throw model_error("cannot read " + to_string(x.dims) + " as " + to_string(s));
    }
    return {x.id, std::move(s), x.element};
}

/// Parts of the innermost axis, as views. Backward writes the gradients of the parts side by side and reads nothing else.
inline auto split(network& n, value const& x, std::vector<std::int64_t> const& widths) -> added
{
    if (std::accumulate(widths.begin(), widths.end(), std::int64_t{0}) != x.size(-1)) {
        throw model_error("the parts of a split do not add up to its input " + to_string(x.dims));
    }
    std::vector<made> parts;
    std::vector<gradient_ref> gradients;
    for (std::size_t k = 0; k < widths.size(); ++k) {
        parts.push_back(made::view(x.with_last(widths[k]), x));
        gradients.push_back(of_output(k));
    }
    return n.add({"split", op_kind::view},
                 {x},
                 parts,
                 {.ops = {{op{"split.backward", op_kind::movement}, gradients, {of_input(0)}}}});
}

/// A part of `x`, of shape `s`, as a view. Backward writes the gradient into zeros.
inline auto slice(network& n, value const& x, shape s) -> value
{
    return n.add({"slice", op_kind::view},
                 {x},
                 {made::view(std::move(s), x)},
                 {.ops = {{op{"slice.backward", op_kind::movement}, {of_output(0)}, {of_input(0)}}}});
}

/// The parts side by side along `axis`, copied. Backward takes the gradient apart again and reads nothing else.
inline auto concat(network& n, std::vector<value> const& parts, std::size_t axis) -> value
{
    auto s = parts.at(0).dims;
    std::vector<gradient_ref> gradients;
    for (std::size_t k = 0; k < parts.size(); ++k) {
        gradients.push_back(of_input(k));
        auto other = parts[k].dims;
        other.at(axis) = s.at(axis);
        if (other != s) {
            throw model_error("cannot join " + to_string(parts[k].dims) + " to " + to_string(parts[0].dims) +
                              "; does the image size divide by the strides of the network?");
        }
    }
    s[axis] = 0;
    for (auto const& p : parts) {
        s[axis] += p.dims[axis];
    }
    return n.add({"concat", op_kind::movement},
                 parts,
                 {s},
                 {.ops = {{op{"concat.backward", op_kind::movement}, {of_output(0)}, gradients}}});
}

/// A trained token [width] in front of the tokens of every sample.
inline auto prepend_token(network& n, value const& x, value const& token) -> value
{
    return n.add(
        {"prepend_token", op_kind::movement},
        {x, token},
        {shape{x.size(0), x.size(1) + 1, x.size(2)}},
        {.ops = {{op{"prepend_token.backward", op_kind::movement}, {of_output(0)}, {of_input(0), of_input(1)}}}});
}

/// The two innermost axes exchanged, copied.
inline auto transpose(network& n, value const& x) -> value
{
    auto s = x.dims;
    std::swap(s.at(s.size() - 1), s.at(s.size() - 2));
    return n.add({"transpose", op_kind::movement},
                 {x},
                 {s},
                 {.ops = {{op{"transpose.backward", op_kind::movement}, {of_output(0)}, {of_input(0)}}}});
}

} // namespace strata::zoo
