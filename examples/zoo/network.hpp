// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Where layers write their ops: a graph under construction in which every op brings its gradient along.
///
/// A layer states forward and backward in one place, in the words of graph/gradient_rule.hpp:
///
/// ```cpp
/// inline auto gelu(network& n, value const& x) -> value
/// {
///     return n.add({"gelu", op_kind::elementwise, per_number(8, x)}, {x}, {x},
///                  {.ops = {{op{"gelu.backward", op_kind::elementwise, per_number(16, x)},
///                            {input(0), of_output(0)}, {of_input(0)}}}});
/// }
/// ```
/// C++ leaves open in which order arguments are evaluated: at most one argument of a call may add to the network, or
/// compilers would disagree about the order of ops. Layers throw `model_error` when shapes do not fit; `zoo::make` turns it into an answer.
#pragma once

#include <strata/graph/builder.hpp>
#include <strata/graph/differentiate.hpp>
#include <strata/graph/gradient_rule.hpp>
#include <strata/graph/training_graph.hpp>
#include <strata/result.hpp>
#include <strata/units.hpp>

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "examples/zoo/op.hpp"
#include "examples/zoo/options.hpp"

namespace strata::zoo {

using grad::input;
using grad::of_input;
using grad::of_output;
using grad::output;
using grad::saved;

/// Thrown by layers; says what does not fit, and ends up as the error that `zoo::make` answers.
class model_error : public std::runtime_error {
public:
    explicit model_error(std::string const& what, errc code = errc::invalid_argument)
        : std::runtime_error("strata::zoo: " + what)
        , code_(code)
    {
    }
    [[nodiscard]] auto why() const -> error { return fail(code_, what()); }

private:
    errc code_;
};

/// Lengths of a tensor's axes, outermost first.
using shape = std::vector<std::int64_t>;

/// `[8, 1024]`, for messages.
[[nodiscard]] inline auto to_string(shape const& s) -> std::string
{
    std::string text = "[";
    for (auto n : s) {
        text += (text.size() > 1 ? ", " : "") + std::to_string(n);
    }
    return text + "]";
}

/// How many numbers a tensor of this shape has. Throws: `model_error` when they do not fit 64 bits.
[[nodiscard]] inline auto count(shape const& s) -> std::int64_t
{
    std::int64_t n = 1;
    for (auto length : s) {
        if (__builtin_mul_overflow(n, length, &n)) {
            throw model_error("a tensor of shape " + to_string(s) + " has more numbers than fit 64 bits",
                              errc::overflow);
        }
    }
    return n;
}

/// A tensor of the network: which one, its shape, bytes per number.
struct value {
    tensor_id id = none;
    shape dims = {};
    bytes_t element = 0;

    /// Length of axis `axis`; negative counts from the innermost.
    [[nodiscard]] auto size(int axis) const -> std::int64_t
    {
        return dims.at(axis < 0 ? dims.size() - static_cast<std::size_t>(-axis) : static_cast<std::size_t>(axis));
    }
    /// The shape with another innermost axis.
    [[nodiscard]] auto with_last(std::int64_t n) const -> shape
    {
        auto s = dims;
        s.back() = n;
        return s;
    }
};

[[nodiscard]] inline auto count(value const& v) -> std::int64_t { return count(v.dims); }

/// Flops of an op that spends `n` of them on every number of `v`.
template <class T>
[[nodiscard]] auto per_number(double n, T const& v) -> double
{
    return n * static_cast<double>(count(v));
}

/// Bytes of `n` numbers of `element` bytes. Throws: `model_error` when they do not fit 64 bits.
[[nodiscard]] inline auto bytes_of(std::int64_t n, bytes_t element) -> bytes_t
{
    bytes_t b = 0;
    if (__builtin_mul_overflow(n, element, &b)) {
        throw model_error(std::to_string(n) + " numbers of " + std::to_string(element) +
                              " bytes take more bytes than fit 64 bits",
                          errc::overflow);
    }
    return b;
}

/// What `network::add` makes: a shape, and where it differs from the network's number type or from a new buffer, how.
struct made {
    made(shape s, bytes_t element_bytes = 0, tensor_id view = none) // NOLINT(google-explicit-constructor)
        : dims(std::move(s))
        , element(element_bytes)
        , view_of(view)
    {
    }
    made(value const& like) // NOLINT(google-explicit-constructor)
        : made(like.dims, like.element)
    {
    }
    /// A view of the buffer of `base`.
    static auto view(shape s, value const& base) -> made { return {std::move(s), base.element, base.id}; }

    shape dims;
    bytes_t element; ///< 0: that of the network's number type
    tensor_id view_of;
};

/// What `network::add` answers. Stands for its only output where one tensor is wanted.
struct added {
    std::vector<value> outputs;

    [[nodiscard]] auto operator[](std::size_t k) const -> value const& { return outputs.at(k); }
    operator value() const { return outputs.at(0); } // NOLINT(google-explicit-constructor)
};

/// What `network::add` may be told beyond.
struct details {
    std::string name = {}; ///< default: type, a hash sign and the op's number
    strata::effects effects = {};
    bytes_t workspace = 0;
    std::vector<tensor_id> mutates = {};
    std::vector<tensor_id> writes = {}; ///< states written
};

/// A network while its layers are added.
class network {
public:
    network(std::string name, zoo::dtype type)
        : builder_(std::move(name))
        , element_(size_of(type))
    {
    }

    /// While it lives, names begin with those of all open scopes, as in `encoder.3.attention.query`.
    class scope {
    public:
        scope(network& n, std::string const& name)
            : n_(n)
            , length_(n.prefix_.size())
        {
            n.prefix_ += name + ".";
        }
        scope(scope const&) = delete;
        auto operator=(scope const&) -> scope& = delete;
        ~scope() { n_.prefix_.resize(length_); }

    private:
        network& n_;
        std::size_t length_;
    };

    [[nodiscard]] auto element() const noexcept -> bytes_t { return element_; }

    auto input(std::string const& name, shape s, bytes_t element = 0) -> value
    {
        return declare(name, std::move(s), element, tensor_kind::input);
    }
    /// A trained weight, in the network's number type.
    auto parameter(std::string const& name, shape s) -> value
    {
        return declare(name, std::move(s), 0, tensor_kind::parameter);
    }
    auto state(std::string const& name, shape s, bytes_t element) -> value
    {
        return declare(name, std::move(s), element, tensor_kind::state);
    }

    /// Appends an op, with its gradient.
    auto add(op what,
             std::vector<value> const& reads,
             std::vector<made> const& makes,
             op_gradient<op> gradient = {},
             details more = {}) -> added
    {
        auto name = prefix_ + (more.name.empty() ? std::string(what.type) + "#" + std::to_string(builder_.op_count())
                                                 : more.name);
        std::vector<tensor_id> ids;
        for (auto const& v : reads) {
            ids.push_back(v.id);
        }
        std::vector<graph_tensor> tensors;
        for (auto const& m : makes) {
            auto const element = m.element == 0 ? element_ : m.element;
            tensors.push_back({.name = makes.size() == 1 ? name : name + ":" + std::to_string(tensors.size()),
                               .bytes = bytes_of(count(m.dims), element),
                               .view_of = m.view_of});
        }
        for (auto& b : gradient.ops) {
            b.more.type = b.op.type;
        }
        for (auto& p : gradient.passes) {
            if (p.fallback) {
                p.fallback->more.type = p.fallback->op.type;
            }
        }
        auto const made_op = builder_.add(what,
                                          std::move(ids),
                                          std::move(tensors),
                                          {.name = std::move(name),
                                           .type = what.type,
                                           .effects = more.effects,
                                           .workspace = more.workspace,
                                           .mutates = std::move(more.mutates),
                                           .writes = std::move(more.writes)});
        gradients_.push_back(std::move(gradient));
        added answer;
        for (std::size_t k = 0; k < makes.size(); ++k) {
            answer.outputs.push_back({made_op[k], makes[k].dims, makes[k].element == 0 ? element_ : makes[k].element});
        }
        return answer;
    }

    /// The training step: forward as added, backward from `loss`.
    /// Errors: see `differentiate`.
    [[nodiscard]] auto train(value const& loss) && -> result<training_graph<op>>
    {
        builder_.target(loss.id);
        auto forward = std::move(builder_).build();
        if (!forward) {
            return std::move(forward).error();
        }
        auto const rule = [this](op const&, gradient_request const& ask) -> op_gradient<op> const& {
            return gradients_[static_cast<std::size_t>(ask.op())];
        };
        backward_op<op> seed(op{"loss.gradient", op_kind::elementwise, 1});
        seed.more.type = seed.op.type;
        return differentiate(*forward, rule, {.losses = {loss.id}, .seed = std::move(seed)});
    }

    /// The inference pass: forward as added, `output` to be there at the end. Gradients are left aside.
    /// Errors: see `graph_builder::build`.
    [[nodiscard]] auto infer(value const& output) && -> result<training_graph<op>>
    {
        builder_.target(output.id);
        return std::move(builder_).build();
    }

private:
    auto declare(std::string const& name, shape s, bytes_t element, tensor_kind kind) -> value
    {
        element = element == 0 ? element_ : element;
        auto const bytes = bytes_of(count(s), element);
        return {builder_.tensor({prefix_ + name, bytes, kind, none}), std::move(s), element};
    }

    graph_builder<op> builder_;
    bytes_t element_;
    std::string prefix_;
    std::vector<op_gradient<op>> gradients_; // per forward op
};

/// The pass-through of a gradient from output 0 to input `i`; where it needs an op, one that adds.
[[nodiscard]] inline auto pass_to(std::size_t i) -> pass_through<op>
{
    return {0, i, backward_op<op>(op{"accumulate", op_kind::elementwise})};
}

} // namespace strata::zoo
