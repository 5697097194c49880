// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief A step whose tensors may be views of one another and whose ops may change tensors in place.
///
/// `problem` knows neither; `lower` folds both away. This is the form in between: plain numbers, ids of the caller's
/// graph. The buffer of a tensor is found by following `view_of` to a tensor that views nothing.
#pragma once

#include <strata/problem/problem.hpp>
#include <strata/result.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace strata {

/// A `problem_spec` with aliases. An output that is a view names the buffer it views and writes nothing by itself.
struct aliased_spec {
    problem_spec plain;
    std::vector<tensor_id> view_of;              ///< per tensor: the tensor it views, or `none`
    std::vector<std::vector<tensor_id>> mutates; ///< per op: tensors it changes in place
    friend auto operator==(aliased_spec const&, aliased_spec const&) -> bool = default;
};

/// Who touches the buffers of an `aliased_spec`: what `check_aliases` found on its way.
struct buffer_table {
    std::vector<tensor_id> buffer_of;             ///< per tensor: the tensor whose buffer it uses
    std::vector<std::vector<op_id>> producers;    ///< per tensor: ops that output it, ascending
    std::vector<std::vector<tensor_id>> touches;  ///< per op: buffers it reads, writes, views or changes, ascending
    std::vector<std::vector<tensor_id>> produces; ///< per op: buffers it outputs, ascending, views left out
    std::vector<std::vector<tensor_id>> changes;  ///< per op: buffers it changes in place, ascending
};

namespace detail {

/// The checks behind `check_aliases`, one member function each; `who` opens every message.
template <class = void>
class basic_alias_checker {
public:
    basic_alias_checker(aliased_spec const& spec, std::string who)
        : spec_(spec)
        , who_(std::move(who))
    {
    }

    [[nodiscard]] auto run() -> result<buffer_table>
    {
        if (auto e = check_shape()) {
            return *std::move(e);
        }
        if (auto e = find_buffers()) {
            return *std::move(e);
        }
        if (auto e = find_producers()) {
            return *std::move(e);
        }
        for (op_id o = 0; o < op_count(); ++o) {
            if (auto e = check_op(o)) {
                return *std::move(e);
            }
        }
        for (auto t : spec_.plain.targets) {
            if (!made(t)) {
                return bad("target " + label(t) + " is neither resident nor produced by any op");
            }
        }
        return std::move(table_);
    }

private:
    static auto at(std::int32_t i) noexcept -> std::size_t { return static_cast<std::size_t>(i); }
    [[nodiscard]] auto op_count() const noexcept -> op_id { return static_cast<op_id>(spec_.plain.ops.size()); }
    [[nodiscard]] auto tensor_count() const noexcept -> tensor_id
    {
        return static_cast<tensor_id>(spec_.plain.tensors.size());
    }
    [[nodiscard]] auto op_label(op_id o) const -> std::string
    {
        auto const& n = spec_.plain.ops[at(o)].name;
        return "op " + std::to_string(o) + (n.empty() ? "" : " (" + n + ")");
    }
    [[nodiscard]] auto label(tensor_id t) const -> std::string
    {
        auto const& n = spec_.plain.tensors[at(t)].name;
        return "tensor " + std::to_string(t) + (n.empty() ? "" : " (" + n + ")");
    }
    [[nodiscard]] auto bad(std::string what) const -> error
    {
        return fail(errc::malformed_graph, who_ + ": " + std::move(what));
    }
    [[nodiscard]] auto exists(tensor_id t) const noexcept -> bool { return t >= 0 && t < tensor_count(); }
    [[nodiscard]] auto buffer(tensor_id t) const noexcept -> tensor_id { return table_.buffer_of[at(t)]; }
    [[nodiscard]] auto resident(tensor_id t) const noexcept -> bool
    {
        return is_resident(spec_.plain.tensors[at(buffer(t))].kind);
    }
    [[nodiscard]] auto is_view(tensor_id t) const noexcept -> bool { return buffer(t) != t; }
    [[nodiscard]] auto made(tensor_id t) const noexcept -> bool
    {
        return resident(t) || !table_.producers[at(buffer(t))].empty();
    }

    auto check_shape() -> std::optional<error>
    {
        if (spec_.plain.ops.empty()) {
            return bad("a step needs at least one op");
        }
        for (tensor_id t = 0; t < tensor_count(); ++t) {
            auto const n = spec_.plain.tensors[at(t)].bytes;
            if (n < 0) {
                return bad(label(t) + " has " + std::to_string(n) + " bytes, must not be negative");
            }
        }
        for (op_id o = 0; o < op_count(); ++o) {
            auto const& x = spec_.plain.ops[at(o)];
            for (auto const* ids : {&x.inputs, &x.outputs, &spec_.mutates[at(o)]}) {
                for (auto t : *ids) {
                    if (!exists(t)) {
                        return bad(op_label(o) + " names tensor " + std::to_string(t) + ", but there are " +
                                   std::to_string(tensor_count()) + " tensors");
                    }
                }
            }
            if (x.workspace < 0) {
                return bad(op_label(o) + " has a workspace of " + std::to_string(x.workspace) +
                           " bytes, must not be negative");
            }
            if (x.backward_of < none || x.backward_of >= op_count()) {
                return bad(op_label(o) + " is backward of op " + std::to_string(x.backward_of) + ", but there are " +
                           std::to_string(op_count()) + " ops");
            }
        }
        for (auto t : spec_.plain.targets) {
            if (!exists(t)) {
                return bad("target " + std::to_string(t) + " does not exist; there are " +
                           std::to_string(tensor_count()) + " tensors");
            }
        }
        return {};
    }

    auto find_buffers() -> std::optional<error>
    {
        constexpr tensor_id unknown = -2;
        constexpr tensor_id on_path = -3;
        auto& of = table_.buffer_of;
        of.assign(at(tensor_count()), unknown);
        std::vector<tensor_id> path;
        for (tensor_id t = 0; t < tensor_count(); ++t) {
            auto end = t;
            for (path.clear(); of[at(end)] == unknown; end = spec_.view_of[at(end)]) {
                of[at(end)] = on_path;
                path.push_back(end);
                auto const base = spec_.view_of[at(end)];
                if (base == none) {
                    of[at(end)] = end;
                    break;
                }
                if (!exists(base)) {
                    return bad(label(end) + " is a view of tensor " + std::to_string(base) + ", but there are " +
                               std::to_string(tensor_count()) + " tensors");
                }
            }
            if (of[at(end)] == on_path) {
                return bad(label(end) + " is a view of itself; a chain of views must end at a buffer");
            }
            for (auto p : path) {
                of[at(p)] = of[at(end)];
            }
        }
        return {};
    }

    auto find_producers() -> std::optional<error>
    {
        table_.producers.resize(at(tensor_count()));
        for (op_id o = 0; o < op_count(); ++o) {
            for (auto t : spec_.plain.ops[at(o)].outputs) {
                auto& p = table_.producers[at(t)];
                if (!p.empty() && p.back() == o) {
                    continue;
                }
                p.push_back(o);
                bool const several = is_view(t) || spec_.plain.tensors[at(t)].kind != tensor_kind::gradient;
                if (p.size() > 1 && several && !(resident(t) && !is_view(t))) {
                    return bad(label(t) + " is produced by " + op_label(p[0]) + " and by " + op_label(p[1]) +
                               "; only a gradient may have several producers, and an op that changes a tensor in " +
                               "place names it in mutates, not in outputs");
                }
            }
        }
        return {};
    }

    auto check_read(op_id o, tensor_id t, char const* verb) -> std::optional<error>
    {
        if (is_view(t) && !table_.producers[at(t)].empty() && table_.producers[at(t)][0] > o) {
            return bad(op_label(o) + " " + verb + " " + label(t) + " before " + op_label(table_.producers[at(t)][0]) +
                       " makes this view: ops must stand in first-run order");
        }
        if (resident(t)) {
            return {};
        }
        auto const b = buffer(t);
        auto const& p = table_.producers[at(b)];
        if (p.empty()) {
            return bad(op_label(o) + " " + verb + " " + label(t) + ", which no op produces and which is not resident");
        }
        if (p.back() > o) {
            return bad(op_label(o) + " " + verb + " " + label(t) + " before " + op_label(p.back()) +
                       " has produced it: ops must stand in first-run order");
        }
        return {};
    }

    auto check_op(op_id o) -> std::optional<error>
    {
        auto const& x = spec_.plain.ops[at(o)];
        std::vector<tensor_id> touched, produced, changed;
        for (auto t : x.outputs) {
            touched.push_back(buffer(t));
            if (is_view(t)) {
                if (auto e = check_read(o, t, "views")) {
                    return e;
                }
            } else {
                produced.push_back(t);
            }
        }
        auto const produces = [&](tensor_id t) {
            return !resident(t) && std::find(produced.begin(), produced.end(), buffer(t)) != produced.end();
        };
        for (auto t : x.inputs) {
            touched.push_back(buffer(t));
            if (!produces(t)) {
                if (auto e = check_read(o, t, "reads")) {
                    return e;
                }
            } else if (table_.producers[at(buffer(t))].size() == 1) {
                return bad(op_label(o) + " reads " + label(t) +
                           ", which it produces itself; an op that works in place names the tensor in mutates");
            }
        }
        for (auto t : spec_.mutates[at(o)]) {
            touched.push_back(buffer(t));
            changed.push_back(buffer(t));
            if (produces(t)) {
                return bad(op_label(o) + " changes " + label(t) +
                           " in place and produces it too; name it in outputs or in mutates, not in both");
            }
            if (auto e = check_read(o, t, "changes")) {
                return e;
            }
        }
        for (auto* ids : {&touched, &produced, &changed}) {
            std::sort(ids->begin(), ids->end());
            ids->erase(std::unique(ids->begin(), ids->end()), ids->end());
        }
        table_.touches.push_back(std::move(touched));
        table_.produces.push_back(std::move(produced));
        table_.changes.push_back(std::move(changed));
        return {};
    }

    aliased_spec const& spec_;
    std::string who_;
    buffer_table table_;
};

using alias_checker = basic_alias_checker<>;

} // namespace detail

/// Checks every rule that views, in-place ops and the order of ops must obey, and finds the buffers.
///
/// Rules: at least one op; ids in range; sizes not negative; chains of views end; a view is made by one op at most, a
/// buffer that is neither resident nor a gradient by exactly one if it is read; nothing is read, viewed or changed
/// before it is completely produced; an op neither reads nor changes in place what it produces (a gradient with several
/// producers may be read by one of them). `who` opens each message, as in `strata::lower`.
/// Requires: `view_of` has one entry per tensor and `mutates` one per op.
/// Errors: `malformed_graph` naming the op or tensor and the rule.
/// Complexity: O(n log n) in the number of ops, tensors, reads and writes.
template <class Lazy = void>
[[nodiscard]] auto check_aliases(aliased_spec const& spec, std::string who) -> result<buffer_table>
{
    return detail::basic_alias_checker<Lazy>(spec, std::move(who)).run();
}

} // namespace strata
