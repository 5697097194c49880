// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief A unit in the form in which it runs: few arrays, in the order in which they are read.
///
/// To run a short op takes less time than to look its arguments up all over the memory.
#pragma once

#include <strata/torch/compat.hpp>
#include <strata/torch/trace.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace strata::torch::detail {

/// What the ops of a unit read and make, op by op.
struct unit_code {
    /// One op. Its operands, answers and ends come behind those of the op before.
    struct call {
        c10::OperatorHandle handle;
        captured_op const* op; ///< all of it
        std::int32_t operands; ///< elements of lists left out
        std::int32_t answers;  ///< likewise
        std::int32_t ends;     ///< uses, as ~k, and locals that no later op reads; results left out
        bool grad_mode, own, compares;
    };
    struct operand {
        enum class kind : std::uint8_t { constant, tensor, absent, tensors, optional_tensors };
        kind what = kind::constant;
        bool statistic = false; ///< running statistics that the op updates
        std::int32_t from = 0;  ///< tensor: a local, or ~k for the use k; a list: how many of the next are its elements
        c10::IValue constant = {};
    };

    std::vector<call> calls;
    std::vector<operand> operands;
    /// Per answer: a local, `none` to drop it, or `list(n)` with its elements behind it.
    std::vector<std::int32_t> answers;
    std::vector<std::int32_t> ends;

    [[nodiscard]] static constexpr auto list(std::int32_t n) noexcept -> std::int32_t { return none - 1 - n; }
    [[nodiscard]] static constexpr auto elements(std::int32_t list) noexcept -> std::int32_t { return none - 1 - list; }

    /// The code of `ops` of `t`. `reads`: per op, per tensor argument that is there, a local or ~k; `locals`: their values,
    /// in the order in which they are made, `results` those of them that stay; `uses`: how many there are.
    [[nodiscard]] static auto of(trace const& t,
                                 std::vector<std::int32_t> const& ops,
                                 std::vector<std::vector<std::int32_t>> const& reads,
                                 std::vector<std::int32_t> const& locals,
                                 std::vector<std::int32_t> const& results,
                                 std::size_t uses) -> unit_code
    {
        unit_code code;
        std::vector<std::size_t> last_use(uses, 0);
        std::vector<std::size_t> last(locals.size(), 0);
        std::size_t made = 0;
        for (std::size_t k = 0; k < ops.size(); ++k) {
            auto const& op = t.ops[at(ops[k])];
            code.calls.push_back({op.handle,
                                  &op,
                                  static_cast<std::int32_t>(op.arguments.size()),
                                  static_cast<std::int32_t>(op.answers.size()),
                                  0,
                                  op.grad_mode,
                                  op.own != nullptr,
                                  op.expected.isBool()});
            code.add_operands(t, op, reads[k]);
            for (auto r : reads[k]) {
                (r < 0 ? last_use[at(~r)] : last[at(r)]) = k;
            }
            for (auto const& a : op.answers) {
                if (a.list) {
                    code.answers.push_back(list(static_cast<std::int32_t>(a.values.size())));
                } else if (a.values.empty()) {
                    code.answers.push_back(none);
                }
                for (auto v : a.values) {
                    bool const wanted = v != none && made < locals.size() && locals[made] == v;
                    code.answers.push_back(wanted ? static_cast<std::int32_t>(made) : none);
                    if (wanted) {
                        last[made++] = k;
                    }
                }
            }
        }
        for (auto r : results) {
            last[at(r)] = ops.size();
        }
        code.add_ends(last_use, last);
        return code;
    }

private:
    void add_operands(trace const& t, captured_op const& op, std::vector<std::int32_t> const& reads)
    {
        using kind = operand::kind;
        auto read = reads.begin();
        auto const add_tensor = [&](std::int32_t v) {
            if (v == none) {
                operands.push_back({.what = kind::absent});
                return;
            }
            auto const& list = op.statistics;
            bool const statistic = std::find(list.begin(), list.end(), t.values[at(v)].group) != list.end();
            operands.push_back({.what = kind::tensor, .statistic = statistic, .from = *read++});
        };
        for (auto const& a : op.arguments) {
            auto const n = static_cast<std::int32_t>(a.values.size());
            switch (a.what) {
            case argument::kind::constant: operands.push_back({.what = kind::constant, .constant = a.constant}); break;
            case argument::kind::tensor: add_tensor(a.values[0]); break;
            case argument::kind::tensors:
            case argument::kind::optional_tensors:
                operands.push_back(
                    {.what = a.what == argument::kind::tensors ? kind::tensors : kind::optional_tensors, .from = n});
                std::for_each(a.values.begin(), a.values.end(), add_tensor);
                break;
            }
        }
    }

    /// `last_use`, `last`: per use and per local, the last op that reads it.
    void add_ends(std::vector<std::size_t> const& last_use, std::vector<std::size_t> const& last)
    {
        std::vector<std::vector<std::int32_t>> of_op(calls.size() + 1);
        for (std::size_t j = 0; j < last_use.size(); ++j) {
            of_op[last_use[j]].push_back(~static_cast<std::int32_t>(j));
        }
        for (std::size_t j = 0; j < last.size(); ++j) {
            of_op[last[j]].push_back(static_cast<std::int32_t>(j));
        }
        for (std::size_t k = 0; k < calls.size(); ++k) {
            calls[k].ends = static_cast<std::int32_t>(of_op[k].size());
            ends.insert(ends.end(), of_op[k].begin(), of_op[k].end());
        }
    }
};

} // namespace strata::torch::detail
