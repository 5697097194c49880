// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Random valid problems: same seed, same problem, on every machine.
///
/// Two shapes: `general` (any DAG, phase "other") and `training` (forward DAG with skips, backward with gradients that
/// several ops add into). Both come with everything the model allows: several outputs, outputs nobody reads, zero
/// costs, zero bytes, resident tensors and state in several versions, all effects, workspace, alignment, targets.
#pragma once

#include <strata/problem/problem.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/problems.hpp"

namespace strata::test {

/// splitmix64: unlike the distributions of <random>, it answers the same everywhere.
class dice {
public:
    explicit dice(std::uint64_t seed)
        : state_(seed)
    {
    }
    auto next() -> std::uint64_t
    {
        std::uint64_t z = (state_ += 0x9e3779b97f4a7c15ULL);
        z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9ULL;
        z = (z ^ (z >> 27U)) * 0x94d049bb133111ebULL;
        return z ^ (z >> 31U);
    }
    /// Uniform in [0, n). Requires: n > 0.
    auto below(std::int64_t n) -> std::int64_t
    {
        return static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(n));
    }
    /// Uniform in [lo, hi].
    auto between(std::int64_t lo, std::int64_t hi) -> std::int64_t { return lo + below(hi - lo + 1); }
    /// True in `percent` of 100 throws.
    auto chance(int percent) -> bool { return below(100) < percent; }
    template <class T>
    auto pick(std::vector<T> const& v) -> T const&
    {
        return v[static_cast<std::size_t>(below(static_cast<std::int64_t>(v.size())))];
    }

private:
    std::uint64_t state_;
};

/// What to throw. Percentages are chances per op or per tensor.
struct random_options {
    int ops = 10;              ///< exact number of ops; >= 1
    bool training = false;     ///< forward and backward instead of a general DAG
    int max_inputs = 3;        ///< per op of a general DAG, or per forward op
    int effects = 15;          ///< an op has an effect
    int state = 15;            ///< an op touches a resident tensor that ops write
    int second_output = 20;    ///< an op has two outputs
    int no_output = 3;         ///< an op of a general DAG writes nothing
    int shared_gradients = 25; ///< a tensor of a general DAG is one that several ops add into
    int zero_bytes = 5;
    int zero_cost = 5;
    int workspace = 25;
    int targets = 10;    ///< a tensor that is nobody's result is a target; the last output always is
    int reach = 100;     ///< inputs are taken from the last `reach` percent of what is there
    bytes_t bytes = 12;  ///< largest tensor, before alignment
    cost_t cost = 10;    ///< largest cost
    bool aligned = true; ///< sometimes an alignment other than 1
};

namespace detail {

class random_maker {
public:
    random_maker(std::uint64_t seed, random_options const& options)
        : dice_(seed)
        , opt_(options)
    {
    }

    auto make() -> problem_spec
    {
        spec_.name = "random";
        if (opt_.aligned && dice_.chance(25)) {
            spec_.alignment = dice_.pick(std::vector<bytes_t>{2, 3, 8, 64});
        }
        for (auto kind : {tensor_kind::input, tensor_kind::parameter, tensor_kind::state, tensor_kind::state}) {
            constants_.push_back(add_tensor(spec_, size(), kind));
        }
        states_ = {constants_[2], constants_[3]};
        constants_.resize(2);
        if (opt_.training && opt_.ops >= 2) {
            training();
        } else {
            general();
        }
        for (auto t : open_) { // one that only a single op writes is an ordinary tensor
            ready_.push_back(t);
        }
        choose_targets();
        return std::move(spec_);
    }

private:
    auto size() -> bytes_t { return dice_.chance(opt_.zero_bytes) ? 0 : dice_.between(1, opt_.bytes); }
    auto cost() -> cost_t { return dice_.chance(opt_.zero_cost) ? 0 : dice_.between(1, opt_.cost); }
    auto workspace() -> bytes_t { return dice_.chance(opt_.workspace) ? dice_.between(1, opt_.bytes) : 0; }

    /// Appends an op without tensors and says its index.
    auto fresh_op() -> std::size_t
    {
        auto const price = cost(); // in this order on every compiler, unlike arguments of one call
        auto const scratch = workspace();
        return static_cast<std::size_t>(add_op(spec_, price, {}, {}, {}, scratch));
    }

    /// Effects and resident tensors of an op; most have none.
    void decorate(op_spec& o)
    {
        if (dice_.chance(40)) {
            o.inputs.push_back(dice_.pick(constants_));
        }
        if (dice_.chance(opt_.effects)) {
            constexpr effect all[]{effect::random,
                                   effect::random,
                                   effect::stateful,
                                   effect::nondeterministic,
                                   effect::collective,
                                   effect::once};
            o.effects |= all[dice_.below(6)];
        }
        if (dice_.chance(opt_.state)) {
            auto const t = dice_.pick(states_);
            switch (dice_.below(4)) {
            case 0: // running statistics
                o.effects |= effect::stateful;
                o.outputs.push_back(t);
                o.inputs.push_back(t);
                break;
            case 1: o.outputs.push_back(t); break;
            default: o.inputs.push_back(t);
            }
        }
    }

    auto some_ready() -> tensor_id
    {
        auto const n = static_cast<std::int64_t>(ready_.size());
        auto const reach = std::max<std::int64_t>(1, n * opt_.reach / 100);
        return ready_[static_cast<std::size_t>(n - 1 - dice_.below(reach))];
    }

    void read_some(op_spec& o)
    {
        auto const n = ready_.empty() ? 0 : dice_.between(0, opt_.max_inputs);
        for (std::int64_t i = 0; i < n; ++i) {
            o.inputs.push_back(some_ready()); // a tensor read twice is legal
        }
    }

    void general()
    {
        for (int i = 0; i < opt_.ops; ++i) {
            auto const o = fresh_op();
            read_some(spec_.ops[o]);
            decorate(spec_.ops[o]);
            auto const open_before = open_;
            std::vector<tensor_id> fresh;
            for (int k = dice_.chance(opt_.second_output) ? 2 : 1; k > 0; --k) {
                if (!dice_.chance(opt_.no_output)) {
                    fresh.push_back(write_one(spec_.ops[o], open_before));
                }
            }
            for (auto t : fresh) {
                settle(t);
            }
        }
    }

    /// A new tensor, or one more op that adds into an open gradient.
    auto write_one(op_spec& o, std::vector<tensor_id> const& open_before) -> tensor_id
    {
        if (!open_before.empty() && dice_.chance(50)) {
            auto const t = dice_.pick(open_before);
            if (dice_.chance(30)) {
                o.inputs.push_back(t); // it reads what it adds into; legal since another op wrote it before
            }
            o.outputs.push_back(t);
            return t;
        }
        bool const shared = dice_.chance(opt_.shared_gradients);
        auto const t = add_tensor(spec_, size(), shared ? tensor_kind::gradient : tensor_kind::activation);
        o.outputs.push_back(t);
        if (shared) {
            open_.push_back(t);
            return none; // stays open for later ops
        }
        return t;
    }

    /// Makes a written tensor readable: a plain one at once, an open gradient when the dice say that it is complete.
    void settle(tensor_id t)
    {
        auto const open = std::find(open_.begin(), open_.end(), t);
        if (t == none || (open != open_.end() && dice_.chance(50))) {
            return;
        }
        if (open != open_.end()) {
            open_.erase(open);
        }
        if (std::find(ready_.begin(), ready_.end(), t) == ready_.end()) {
            ready_.push_back(t);
        }
    }

    void training()
    {
        int const forward = opt_.ops / 2;
        struct made {
            std::vector<tensor_id> reads;
            tensor_id out = none;
            tensor_id saved = none;
        };
        std::vector<made> f;
        for (int i = 0; i < forward; ++i) {
            auto const o = fresh_op();
            auto& x = spec_.ops[o];
            x.phase = phase::forward;
            made m;
            if (i > 0) {
                m.reads.push_back(dice_.chance(70) ? ready_.back() : some_ready());
                while (static_cast<int>(m.reads.size()) < opt_.max_inputs && dice_.chance(25)) {
                    m.reads.push_back(some_ready());
                }
            }
            x.inputs = m.reads;
            decorate(x);
            m.out = add_tensor(spec_, size());
            x.outputs.push_back(m.out);
            if (dice_.chance(opt_.second_output)) {
                m.saved = add_tensor(spec_, size(), tensor_kind::saved);
                x.outputs.push_back(m.saved);
            }
            ready_.push_back(m.out);
            f.push_back(std::move(m));
        }
        backward(f);
    }

    template <class Made>
    void backward(std::vector<Made> const& f)
    {
        std::vector<tensor_id> gradient(spec_.tensors.size(), none);
        auto const gradient_of = [&](tensor_id t) {
            auto& g = gradient[static_cast<std::size_t>(t)];
            if (g == none) {
                g = add_tensor(spec_, size(), tensor_kind::gradient);
            }
            return g;
        };
        auto const weights = add_tensor(spec_, size(), tensor_kind::parameter_gradient);
        int left = opt_.ops - static_cast<int>(f.size());
        for (auto i = f.size(); i-- > 0 && left > 0; --left) {
            auto const o = fresh_op();
            auto& x = spec_.ops[o];
            x.phase = phase::backward;
            x.backward_of = static_cast<op_id>(i);
            auto const arriving = gradient[static_cast<std::size_t>(f[i].out)];
            x.inputs.push_back(arriving != none ? arriving : f[i].out);
            for (auto t : f[i].reads) {
                if (dice_.chance(60)) {
                    x.inputs.push_back(t);
                }
                x.outputs.push_back(gradient_of(t)); // twice if it was read twice: one op, one addition
            }
            if (dice_.chance(30)) {
                x.inputs.push_back(f[i].out);
            }
            if (f[i].saved != none) {
                x.inputs.push_back(f[i].saved);
            }
            if (dice_.chance(20)) {
                x.outputs.push_back(weights);
            }
            if (dice_.chance(30)) {
                decorate(x);
            }
            if (x.outputs.empty()) {
                x.outputs.push_back(add_tensor(spec_, size(), tensor_kind::gradient));
            }
        }
        for (; left > 0; --left) { // an odd number of ops leaves one: an optimizer's step
            auto const out = add_tensor(spec_, size());
            auto const o = fresh_op();
            spec_.ops[o].inputs = {weights};
            spec_.ops[o].outputs = {out};
        }
    }

    void choose_targets()
    {
        for (auto o = spec_.ops.rbegin(); o != spec_.ops.rend() && spec_.targets.empty(); ++o) {
            if (!o->outputs.empty()) {
                spec_.targets.push_back(o->outputs.front()); // may be resident: legal and void
            }
        }
        for (std::size_t t = 0; t < spec_.tensors.size(); ++t) {
            if (dice_.chance(opt_.targets)) {
                spec_.targets.push_back(static_cast<tensor_id>(t));
            }
        }
    }

    dice dice_;
    random_options opt_;
    problem_spec spec_;
    std::vector<tensor_id> constants_; ///< resident, never written
    std::vector<tensor_id> states_;    ///< resident, written by some ops
    std::vector<tensor_id> ready_;     ///< complete, may be read
    std::vector<tensor_id> open_;      ///< gradients that more ops may add into
};

} // namespace detail

/// A spec that `problem::make` accepts.
inline auto random_spec(std::uint64_t seed, random_options const& options = {}) -> problem_spec
{
    return detail::random_maker(seed, options).make();
}

/// A random problem.
inline auto random_problem(std::uint64_t seed, random_options const& options = {}) -> problem
{
    return make(random_spec(seed, options));
}

/// One of a varied stream of problems of at most `max_ops` ops: general and training, with and without effects, narrow
/// and wide, with ordinary and with huge costs.
inline auto varied_problem(std::uint64_t seed, int max_ops) -> problem
{
    dice d(seed * 2 + 1);
    random_options o;
    o.ops = static_cast<int>(d.between(1, max_ops));
    o.training = d.chance(50);
    if (d.chance(40)) {
        o.effects = 0;
        o.state = 0;
    }
    if (d.chance(30)) {
        o.max_inputs = 2;
        o.reach = 30;
    }
    if (d.chance(10)) {
        o.cost = 10'000'000'000'000;
    }
    if (d.chance(10)) {
        o.zero_cost = 60;
        o.zero_bytes = 40;
    }
    return random_problem(d.next(), o);
}

} // namespace strata::test
