// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief What a gradient rule says about one forward op: its backward ops, and the tensors each of them needs.
///
/// A rule is any callable `rule(op, request)` that returns an `op_gradient`. It names tensors by their place at the
/// forward op, never by id:
///
/// ```cpp
/// auto rule = [](my_op const& op, strata::gradient_request const&) -> strata::op_gradient<my_op> {
///     using namespace strata::grad;
///     if (op.type == "linear") { // y = x w: {payload, reads, writes}
///         return {.ops = {{my_op{"linear.dgrad"}, {input(1), of_output(0)}, {of_input(0)}},
///                         {my_op{"linear.wgrad"}, {input(0), of_output(0)}, {of_input(1)}, {.workspace = 4096}}}};
///     }
///     if (op.type == "dropout") { // the mask is hidden: written by forward only if this backward op stays
///         return {.saved = {{.name = "mask", .bytes = op.bytes / 8}},
///                 .ops = {{my_op{"dropout.backward"}, {saved(0), of_output(0)}, {of_input(0)}}}};
///     }
///     if (op.type == "add") { // the gradient of the sum is that of both terms: {output, input, op if one is needed}
///         return {.passes = {{0, 0, my_op{"accumulate"}}, {0, 1, my_op{"accumulate"}}}};
///     }
///     return {}; // no gradient: propagation stops here
/// };
/// ```
#pragma once

#include <strata/problem/effects.hpp>
#include <strata/units.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace strata {

/// A tensor as seen from a forward op.
struct gradient_ref {
    enum class place : std::uint8_t { input, output, saved, temporary, of_output, of_input };
    place at = place::input;
    std::size_t index = 0;
    friend auto operator==(gradient_ref const&, gradient_ref const&) -> bool = default;
};

/// The spellings of `gradient_ref`.
namespace grad {
/// Input `i` of the forward op, as it was when that op ran.
[[nodiscard]] constexpr auto input(std::size_t i) noexcept -> gradient_ref { return {gradient_ref::place::input, i}; }
/// Output `k` of the forward op.
[[nodiscard]] constexpr auto output(std::size_t k) noexcept -> gradient_ref { return {gradient_ref::place::output, k}; }
/// Entry `j` of `op_gradient::saved`.
[[nodiscard]] constexpr auto saved(std::size_t j) noexcept -> gradient_ref { return {gradient_ref::place::saved, j}; }
/// Entry `j` of `op_gradient::temporaries`.
[[nodiscard]] constexpr auto temporary(std::size_t j) noexcept -> gradient_ref
{
    return {gradient_ref::place::temporary, j};
}
/// Gradient of output `k`.
[[nodiscard]] constexpr auto of_output(std::size_t k) noexcept -> gradient_ref
{
    return {gradient_ref::place::of_output, k};
}
/// Gradient of input `i`.
[[nodiscard]] constexpr auto of_input(std::size_t i) noexcept -> gradient_ref
{
    return {gradient_ref::place::of_input, i};
}
} // namespace grad

/// A tensor that only the ops of one rule use.
struct hidden_tensor {
    std::string name = {};
    bytes_t bytes = 0;
    friend auto operator==(hidden_tensor const&, hidden_tensor const&) -> bool = default;
};

/// What a backward op may be told beyond what it reads and writes.
struct backward_details {
    std::string name = {}; ///< default: the forward op's name and `.backward`
    std::string type = {}; ///< default: the forward op's type and `.backward`
    strata::effects effects = {};
    bytes_t workspace = 0;
};

/// One backward op of a forward op. Reading the gradient of an output that has none means zero: the reference is
/// dropped, and the op with it when nothing else carries a gradient into it. Writing the gradient of an input that
/// wants none is dropped likewise. What stays keeps its order, one input or output of the op per reference. An op that
/// writes nothing at all is kept for its effects.
template <class Op>
struct backward_op {
    // A constructor and no aggregate: g++ 12 fails on lists of class templates with default member initialisers.
    backward_op(Op payload,
                std::vector<gradient_ref> from = {},
                std::vector<gradient_ref> into = {},
                backward_details details = {}) // NOLINT(google-explicit-constructor)
        : op(std::move(payload))
        , reads(std::move(from))
        , writes(std::move(into))
        , more(std::move(details))
    {
    }

    Op op;
    std::vector<gradient_ref> reads;
    std::vector<gradient_ref> writes; ///< `of_input` (added into) and `temporary`
    backward_details more;
};

/// Says that the gradient of output `output` is the gradient of input `input`, byte for byte. No op is needed where one
/// buffer can serve as both; elsewhere `fallback` copies or adds it (what it reads and writes is filled in).
template <class Op>
struct pass_through {
    pass_through(std::size_t from_output, std::size_t to_input, std::optional<backward_op<Op>> otherwise = std::nullopt)
        : output(from_output)
        , input(to_input)
        , fallback(std::move(otherwise))
    {
    }

    std::size_t output;
    std::size_t input;
    std::optional<backward_op<Op>> fallback;
};

/// Answer of a gradient rule. All empty: the op has no gradient.
template <class Op>
struct op_gradient {
    using op_type = Op;
    std::vector<hidden_tensor> saved = {};       ///< written by the forward op if a backward op reads them
    std::vector<hidden_tensor> temporaries = {}; ///< handed from one backward op to another
    std::vector<backward_op<Op>> ops = {};       ///< in the order they run
    std::vector<pass_through<Op>> passes = {};
};

/// What a rule is told: which outputs have a gradient, which inputs want one. A rule may ignore it, since what is not
/// needed is dropped; it must answer the same for the same op and request.
class gradient_request {
public:
    gradient_request(op_id op, std::vector<char> output_has, std::vector<char> input_wants)
        : op_(op)
        , has_(std::move(output_has))
        , wants_(std::move(input_wants))
    {
    }
    [[nodiscard]] auto op() const noexcept -> op_id { return op_; }
    [[nodiscard]] auto output_count() const noexcept -> std::size_t { return has_.size(); }
    [[nodiscard]] auto input_count() const noexcept -> std::size_t { return wants_.size(); }
    /// True when something computed from output `k` reaches a loss.
    [[nodiscard]] auto has_output_gradient(std::size_t k) const noexcept -> bool
    {
        return k < has_.size() && has_[k] != 0;
    }
    /// True when input `i` depends on a trained parameter, or its gradient was asked for.
    [[nodiscard]] auto wants_input_gradient(std::size_t i) const noexcept -> bool
    {
        return i < wants_.size() && wants_[i] != 0;
    }

private:
    op_id op_;
    std::vector<char> has_, wants_;
};

} // namespace strata
