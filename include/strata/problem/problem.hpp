// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief The plain numbers that every solver works on: one step, its ops in first-run order, its tensors.
///
/// `problem_spec` is what a caller fills in; `problem::make` checks every rule of the model once and freezes it.
/// Whatever holds a `problem` may rely on those rules; nothing below this header checks them again.
#pragma once

#include <strata/detail/id_lists.hpp>
#include <strata/problem/effects.hpp>
#include <strata/result.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace strata {

/// One op of a `problem_spec`. Its index in the spec is its place in first-run order.
struct op_spec {
    std::string name = {}; ///< for people; may be empty
    std::string type = {}; ///< operator class, for reports; may be empty
    strata::phase phase = phase::other;
    cost_t cost = 0;                     ///< >= 0
    bytes_t workspace = 0;               ///< >= 0; scratch bytes while the op runs
    std::vector<tensor_id> inputs = {};  ///< read; a tensor read twice counts once
    std::vector<tensor_id> outputs = {}; ///< written; may be empty
    strata::effects effects = {};
    op_id backward_of = none; ///< the forward op this one belongs to, if any
    friend auto operator==(op_spec const&, op_spec const&) -> bool = default;
};

/// One tensor (buffer) of a `problem_spec`.
struct tensor_spec {
    std::string name = {};
    bytes_t bytes = 0; ///< >= 0
    tensor_kind kind = tensor_kind::activation;
    friend auto operator==(tensor_spec const&, tensor_spec const&) -> bool = default;
};

/// A step as a caller describes it; see `problem::make` for the rules.
struct problem_spec {
    std::string name = {};
    std::vector<op_spec> ops = {}; ///< in first-run order
    std::vector<tensor_spec> tensors = {};
    std::vector<tensor_id> targets = {}; ///< must be there at the end
    bytes_t alignment = 1;               ///< sizes and workspaces are rounded up to a multiple of it
    friend auto operator==(problem_spec const&, problem_spec const&) -> bool = default;
};

/// One step, checked and frozen.
///
/// Ops are numbered in first-run order and tensors as in the spec. Sizes and workspaces are aligned. A tensor that is
/// not resident has at least one producer; only gradients have several, and then each producer adds into the buffer.
class problem {
public:
    /// Checks `spec` and freezes it.
    ///
    /// Rules: at least one op; ids in range; numbers not negative; alignment >= 1; a non-resident tensor has exactly one
    /// producer unless it is a gradient; every non-resident input is completely produced by earlier ops (so the order
    /// is topological); an op reads a tensor it also writes only if that is resident or a gradient with several
    /// producers; targets are produced or resident.
    /// Errors: `malformed_graph` naming the op or tensor and the rule; `overflow` if the sum of all costs or of all
    /// bytes leaves the 64-bit range.
    /// Complexity: O(ops + tensors + reads and writes).
    template <class = void>
    [[nodiscard]] static auto make(problem_spec spec) -> result<problem>;

    [[nodiscard]] auto name() const noexcept -> std::string const& { return spec_.name; }
    [[nodiscard]] auto op_count() const noexcept -> op_id { return static_cast<op_id>(spec_.ops.size()); }
    [[nodiscard]] auto tensor_count() const noexcept -> tensor_id
    {
        return static_cast<tensor_id>(spec_.tensors.size());
    }
    [[nodiscard]] auto alignment() const noexcept -> bytes_t { return spec_.alignment; }
    [[nodiscard]] auto targets() const noexcept -> std::span<tensor_id const> { return spec_.targets; }
    [[nodiscard]] auto spec() const noexcept -> problem_spec const& { return spec_; }
    [[nodiscard]] auto op(op_id o) const noexcept -> op_spec const& { return spec_.ops[at(o)]; }
    [[nodiscard]] auto tensor(tensor_id t) const noexcept -> tensor_spec const& { return spec_.tensors[at(t)]; }

    [[nodiscard]] auto cost(op_id o) const noexcept -> cost_t { return cost_[at(o)]; }
    [[nodiscard]] auto workspace(op_id o) const noexcept -> bytes_t { return workspace_[at(o)]; }

    /// Non-resident tensors read by `o`, ascending, without those it only adds into.
    [[nodiscard]] auto inputs(op_id o) const noexcept -> std::span<tensor_id const> { return inputs_[at(o)]; }
    /// Non-resident tensors written by `o`, ascending.
    [[nodiscard]] auto outputs(op_id o) const noexcept -> std::span<tensor_id const> { return outputs_[at(o)]; }

    /// Bytes of the buffer of `t`, aligned; 0 is possible.
    [[nodiscard]] auto size(tensor_id t) const noexcept -> bytes_t { return size_[at(t)]; }
    [[nodiscard]] auto resident(tensor_id t) const noexcept -> bool { return is_resident(tensor(t).kind); }
    /// Ops that write `t`, ascending. Empty for a resident tensor.
    [[nodiscard]] auto producers(tensor_id t) const noexcept -> std::span<op_id const> { return producers_[at(t)]; }
    /// Ops that read `t`, ascending. Empty for a resident tensor.
    [[nodiscard]] auto consumers(tensor_id t) const noexcept -> std::span<op_id const> { return consumers_[at(t)]; }
    /// The only producer of `t`. Requires: `t` is not resident and not accumulated.
    [[nodiscard]] auto producer(tensor_id t) const noexcept -> op_id { return producers(t).front(); }
    /// True when several ops add into `t`; it then lives from its first to its last use, once.
    [[nodiscard]] auto accumulated(tensor_id t) const noexcept -> bool { return producers(t).size() > 1; }
    /// True when `t` is not resident and must be there at the end.
    [[nodiscard]] auto is_target(tensor_id t) const noexcept -> bool { return is_target_[at(t)] != 0; }

    /// True when `o` may run more than once: no effect forbids it, it adds into no tensor that others add into, it
    /// writes no resident tensor (unless stateful: then a replay leaves that tensor alone), and no later op rewrites a
    /// resident tensor that it reads.
    [[nodiscard]] auto replayable(op_id o) const noexcept -> bool { return replayable_[at(o)] != 0; }
    /// True when `t` has one producer and that may run again: dropped, it can be made again.
    [[nodiscard]] auto remakeable(tensor_id t) const noexcept -> bool
    {
        auto const makers = producers(t);
        return makers.size() == 1 && replayable(makers.front());
    }

    /// Bytes that are always there.
    [[nodiscard]] auto resident_bytes() const noexcept -> bytes_t { return resident_bytes_; }
    /// Cost of running every op once.
    [[nodiscard]] auto base_cost() const noexcept -> cost_t { return base_cost_; }

    friend auto operator==(problem const& a, problem const& b) -> bool { return a.spec_ == b.spec_; }

private:
    problem() = default;
    static constexpr std::size_t max_count = 100'000'000;
    static auto at(std::int32_t i) noexcept -> std::size_t { return static_cast<std::size_t>(i); }
    template <class = void>
    auto check_numbers() -> std::optional<strata::error>;
    template <class = void>
    auto check_structure() -> std::optional<strata::error>;
    template <class = void>
    void derive_replayable();
    template <class = void>
    [[nodiscard]] auto op_label(op_id o) const -> std::string;
    template <class = void>
    [[nodiscard]] auto tensor_label(tensor_id t) const -> std::string;

    problem_spec spec_;
    std::vector<cost_t> cost_;
    std::vector<bytes_t> workspace_;
    std::vector<bytes_t> size_;
    detail::id_lists inputs_, outputs_, producers_, consumers_;
    std::vector<char> replayable_, is_target_;
    bytes_t resident_bytes_ = 0;
    cost_t base_cost_ = 0;
};

template <class>
auto problem::op_label(op_id o) const -> std::string
{
    auto const& n = op(o).name;
    return "op " + std::to_string(o) + (n.empty() ? "" : " (" + n + ")");
}

template <class>
auto problem::tensor_label(tensor_id t) const -> std::string
{
    auto const& n = tensor(t).name;
    return "tensor " + std::to_string(t) + (n.empty() ? "" : " (" + n + ")");
}

template <class>
auto problem::check_numbers() -> std::optional<strata::error>
{
    auto const bad = [&](std::string what) {
        return fail(errc::malformed_graph, "strata::problem: " + std::move(what));
    };
    auto const over = [&](std::string what) { return fail(errc::overflow, "strata::problem: " + std::move(what)); };
    if (spec_.ops.empty()) {
        return bad("a step needs at least one op");
    }
    if (spec_.ops.size() > max_count || spec_.tensors.size() > max_count) {
        return bad("more than " + std::to_string(max_count) + " ops or tensors");
    }
    if (spec_.alignment < 1) {
        return bad("alignment is " + std::to_string(spec_.alignment) + ", must be at least 1");
    }
    bytes_t all_bytes = 0;
    for (tensor_id t = 0; t < tensor_count(); ++t) {
        auto const n = tensor(t).bytes;
        if (n < 0) {
            return bad(tensor_label(t) + " has " + std::to_string(n) + " bytes, must not be negative");
        }
        size_.push_back(align_up(n, spec_.alignment));
        if (size_.back() % spec_.alignment != 0 || !checked_add(all_bytes, size_.back())) {
            return over("the bytes of all tensors do not fit 64 bits; " + tensor_label(t) + " has " +
                        std::to_string(n));
        }
        if (resident(t)) {
            resident_bytes_ += size_.back();
        }
    }
    for (op_id o = 0; o < op_count(); ++o) {
        auto const& x = op(o);
        if (x.cost < 0 || x.workspace < 0) {
            return bad(op_label(o) + " has cost " + std::to_string(x.cost) + " and workspace " +
                       std::to_string(x.workspace) + ", neither may be negative");
        }
        cost_.push_back(x.cost);
        workspace_.push_back(align_up(x.workspace, spec_.alignment));
        bytes_t worst = all_bytes;
        if (!checked_add(base_cost_, x.cost) || workspace_.back() % spec_.alignment != 0 ||
            !checked_add(worst, workspace_.back())) {
            return over("costs, or bytes with workspace, do not fit 64 bits at " + op_label(o));
        }
        if (x.backward_of != none && (x.backward_of < 0 || x.backward_of >= op_count())) {
            return bad(op_label(o) + " is backward of op " + std::to_string(x.backward_of) + ", which does not exist");
        }
    }
    return {};
}

template <class>
auto problem::check_structure() -> std::optional<strata::error>
{
    auto const bad = [&](std::string what) {
        return fail(errc::malformed_graph, "strata::problem: " + std::move(what));
    };
    std::vector<std::vector<tensor_id>> in(spec_.ops.size());
    std::vector<std::vector<tensor_id>> out(spec_.ops.size());
    for (op_id o = 0; o < op_count(); ++o) {
        for (auto const* ids : {&op(o).inputs, &op(o).outputs}) {
            for (auto t : *ids) {
                if (t < 0 || t >= tensor_count()) {
                    return bad(op_label(o) + " names tensor " + std::to_string(t) + ", but there are " +
                               std::to_string(tensor_count()) + " tensors");
                }
            }
        }
        auto const collect = [&](std::vector<tensor_id> ids, std::vector<tensor_id>& to) {
            std::sort(ids.begin(), ids.end());
            ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
            std::copy_if(ids.begin(), ids.end(), std::back_inserter(to), [&](tensor_id t) { return !resident(t); });
        };
        collect(op(o).outputs, out[at(o)]);
        collect(op(o).inputs, in[at(o)]);
        outputs_.push_back(out[at(o)]);
    }
    producers_ = outputs_.transposed(size_.size());
    for (op_id o = 0; o < op_count(); ++o) {
        auto& reads = in[at(o)];
        for (auto t : reads) {
            bool const writes = std::binary_search(out[at(o)].begin(), out[at(o)].end(), t);
            if (writes && !accumulated(t)) {
                return bad(op_label(o) + " reads " + tensor_label(t) + ", which it produces itself");
            }
            if (!writes && producers(t).empty()) {
                return bad(op_label(o) + " reads " + tensor_label(t) +
                           ", which no op produces and which is not resident");
            }
            if (!writes && producers(t).back() >= o) {
                return bad(op_label(o) + " reads " + tensor_label(t) + " before " + op_label(producers(t).back()) +
                           " produces it: ops must stand in topological order");
            }
        }
        std::erase_if(reads, [&](tensor_id t) { return std::binary_search(out[at(o)].begin(), out[at(o)].end(), t); });
        inputs_.push_back(reads);
    }
    consumers_ = inputs_.transposed(size_.size());
    for (tensor_id t = 0; t < tensor_count(); ++t) {
        if (!resident(t) && producers(t).empty()) {
            return bad(tensor_label(t) + " is produced by no op and is not resident");
        }
        if (accumulated(t) && tensor(t).kind != tensor_kind::gradient) {
            return bad(tensor_label(t) + " is produced by " + op_label(producers(t)[0]) + " and by " +
                       op_label(producers(t)[1]) + "; only a gradient may have several producers");
        }
    }
    is_target_.assign(size_.size(), 0);
    for (auto t : spec_.targets) {
        if (t < 0 || t >= tensor_count()) {
            return bad("target " + std::to_string(t) + " does not exist; there are " + std::to_string(tensor_count()) +
                       " tensors");
        }
        is_target_[at(t)] = resident(t) ? 0 : 1;
    }
    return {};
}

template <class>
void problem::derive_replayable()
{
    std::vector<op_id> last_writer(size_.size(), none); // of resident tensors only
    for (op_id o = 0; o < op_count(); ++o) {
        for (auto t : op(o).outputs) {
            if (resident(t)) {
                last_writer[at(t)] = o;
            }
        }
    }
    replayable_.assign(spec_.ops.size(), 1);
    for (op_id o = 0; o < op_count(); ++o) {
        auto const& x = op(o);
        auto const writes_resident = [&](tensor_id t) { return resident(t) && !x.effects.has(effect::stateful); };
        auto const overwritten = [&](tensor_id t) { return resident(t) && last_writer[at(t)] > o; };
        auto const adds = [&](tensor_id t) { return accumulated(t); };
        if (x.effects.forbids_replay() || std::any_of(x.outputs.begin(), x.outputs.end(), writes_resident) ||
            std::any_of(x.inputs.begin(), x.inputs.end(), overwritten) ||
            std::any_of(outputs(o).begin(), outputs(o).end(), adds)) {
            replayable_[at(o)] = 0;
        }
    }
}

template <class>
auto problem::make(problem_spec spec) -> result<problem>
{
    problem p;
    p.spec_ = std::move(spec);
    if (auto e = p.check_numbers()) {
        return *std::move(e);
    }
    if (auto e = p.check_structure()) {
        return *std::move(e);
    }
    p.derive_replayable();
    return p;
}

} // namespace strata
