// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Reads a `strata-plan` file, version 1, for the problem it was made for.
///
/// Reading checks that the file is whole and speaks of things that exist. Whether the plan is right is for `validate`
/// and for the checker of placements to say.
#pragma once

#include <strata/io/json_events.hpp>
#include <strata/pipeline/certificate.hpp>
#include <strata/pipeline/plan_graph.hpp>
#include <strata/problem/fingerprint.hpp>
#include <strata/problem/lowering.hpp>
#include <strata/problem/problem.hpp>
#include <strata/result.hpp>

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace strata {

/// What a `strata-plan` file says, not yet held against a problem.
struct plan_file {
    certified_plan plan;
    std::string graph; ///< name of the graph it was made for; may be empty
    friend auto operator==(plan_file const&, plan_file const&) -> bool = default;
};

namespace detail {

class plan_reader : public json_events<plan_reader> {
public:
    explicit plan_reader(std::vector<std::string>* warnings)
        : json_events("strata::read_plan", errc::malformed_plan, warnings)
    {
    }

    [[nodiscard]] auto take() && -> plan_file { return std::move(file_); }

private:
    friend class json_events<plan_reader>;
    enum : json_state { refused = 0, top, proof, steps, step_pair, place, lifetimes, lifetime_row, offsets };
    enum : unsigned { f_format = 1, f_version, f_graph, f_fingerprint, f_budget, f_certificate, f_steps, f_placement };
    enum : unsigned {
        c_peak = 1,
        c_keep_all,
        c_resident,
        c_cost,
        c_base,
        c_bound,
        c_reach,
        c_orders,
        c_solver,
        c_seconds
    };
    enum : unsigned { p_arena = 1, p_alignment, p_lifetimes, p_offsets };
    static constexpr std::int64_t last_id = 99'999'999;

    static auto keys(json_state s) -> std::span<json_key const>;
    auto open(bool array) -> json_state;
    auto value(json_scalar const& v) -> bool;
    auto close(json_state s) -> bool;
    auto top_value(json_scalar const& v) -> bool;
    auto proof_value(json_scalar const& v) -> bool;
    auto step_value(json_scalar const& v) -> bool;
    auto place_value(json_scalar const& v) -> bool;
    auto lifetime_value(json_scalar const& v) -> bool;

    plan_file file_;
};

inline auto plan_reader::keys(json_state s) -> std::span<json_key const>
{
    static constexpr std::array<json_key, 8> top_keys{{{"format", f_format, true},
                                                       {"version", f_version, true},
                                                       {"graph", f_graph, false},
                                                       {"fingerprint", f_fingerprint, true},
                                                       {"budget_bytes", f_budget, true},
                                                       {"certificate", f_certificate, true},
                                                       {"steps", f_steps, true},
                                                       {"placement", f_placement, true}}};
    static constexpr std::array<json_key, 10> proof_keys{{{"peak_bytes", c_peak, true},
                                                          {"keep_all_peak_bytes", c_keep_all, true},
                                                          {"resident_bytes", c_resident, true},
                                                          {"cost", c_cost, true},
                                                          {"base_cost", c_base, true},
                                                          {"lower_bound", c_bound, true},
                                                          {"bound_reach", c_reach, false},
                                                          {"bound_orders", c_orders, false},
                                                          {"solver", c_solver, true},
                                                          {"seconds", c_seconds, true}}};
    static constexpr std::array<json_key, 4> place_keys{{{"arena_bytes", p_arena, true},
                                                         {"alignment", p_alignment, true},
                                                         {"lifetimes", p_lifetimes, true},
                                                         {"offsets", p_offsets, true}}};
    switch (s) {
    case top: return top_keys;
    case proof: return proof_keys;
    case place: return place_keys;
    default: return {};
    }
}

inline auto plan_reader::open(bool array) -> json_state
{
    auto const only_if = [](bool fits, json_state s) { return fits ? s : json_state(refused); };
    switch (state()) {
    case 0: return only_if(!array, top);
    case top:
        switch (field()) {
        case f_certificate: return only_if(!array, proof);
        case f_steps: return only_if(array, steps);
        case f_placement: return only_if(!array, place);
        default: return refused;
        }
    case steps: file_.plan.schedule.steps.emplace_back(); return only_if(array, step_pair);
    case place: return only_if(array, field() == p_lifetimes ? lifetimes : field() == p_offsets ? offsets : refused);
    case lifetimes: file_.plan.placement.lifetimes.emplace_back(); return only_if(array, lifetime_row);
    default: return refused;
    }
}

inline auto plan_reader::value(json_scalar const& v) -> bool
{
    switch (state()) {
    case top: return top_value(v);
    case proof: return proof_value(v);
    case steps: return wrong_type(v, R"(a step such as ["run",3] or ["free",7])");
    case step_pair: return step_value(v);
    case place: return place_value(v);
    case lifetimes: return wrong_type(v, "a lifetime [begin, end, bytes, tensor]");
    case lifetime_row: return lifetime_value(v);
    default: return whole(v, file_.plan.placement.offsets.emplace_back(), "a whole number of bytes");
    }
}

inline auto plan_reader::close(json_state s) -> bool
{
    if (s == step_pair && index() != 2) {
        return set(errc::malformed_plan,
                   "steps[" + std::to_string(file_.plan.schedule.steps.size() - 1) + "] has " +
                       std::to_string(index()) + R"( elements, must be a pair such as ["run",3] or ["free",7])");
    }
    if (s == lifetime_row && index() != 4) {
        return set(errc::malformed_plan,
                   "placement.lifetimes[" + std::to_string(file_.plan.placement.lifetimes.size() - 1) + "] has " +
                       std::to_string(index()) + " elements, must be [begin, end, bytes, tensor]");
    }
    return true;
}

inline auto plan_reader::top_value(json_scalar const& v) -> bool
{
    switch (field()) {
    case f_format: return format_is(v, "strata-plan");
    case f_version: return version_is(v, 1);
    case f_graph: return text(v, file_.graph, "a string");
    case f_budget: return whole(v, file_.plan.certificate.budget, "a whole number of bytes");
    case f_fingerprint: {
        auto const* s = std::get_if<std::string_view>(&v);
        if (s == nullptr) {
            return wrong_type(v, "a string of 16 hexadecimal digits");
        }
        auto const r = std::from_chars(s->data(), s->data() + s->size(), file_.plan.fingerprint, 16);
        return (s->size() == 16 && r.ec == std::errc() && r.ptr == s->data() + s->size()) ||
               reject("is " + json_quoted(*s) + ", must be 16 hexadecimal digits");
    }
    default: return wrong_type(v, field() == f_steps ? "an array" : "an object");
    }
}

inline auto plan_reader::proof_value(json_scalar const& v) -> bool
{
    auto& c = file_.plan.certificate;
    constexpr std::string_view bytes = "a whole number of bytes";
    constexpr std::string_view cost = "a whole number in the graph's cost unit";
    switch (field()) {
    case c_peak: return whole(v, c.peak, bytes);
    case c_keep_all: return whole(v, c.keep_all_peak, bytes);
    case c_resident: return whole(v, c.resident, bytes);
    case c_cost: return whole(v, c.cost, cost);
    case c_base: return whole(v, c.base_cost, cost);
    case c_bound: return whole(v, c.lower_bound, cost);
    case c_reach: return whole(v, c.bound_reach, cost);
    case c_orders: {
        auto const* s = std::get_if<std::string_view>(&v);
        if (s == nullptr) {
            return wrong_type(v, R"("given" or "any")");
        }
        c.bound_orders = *s == "any" ? first_run_orders::any : first_run_orders::given;
        return *s == "given" || *s == "any" || reject("is " + json_quoted(*s) + R"(, must be "given" or "any")");
    }
    case c_solver: return text(v, c.solver, "a string");
    default: return real(v, c.seconds, "a number of seconds");
    }
}

inline auto plan_reader::step_value(json_scalar const& v) -> bool
{
    auto& x = file_.plan.schedule.steps.back();
    if (index() == 0) {
        auto const* s = std::get_if<std::string_view>(&v);
        if (s == nullptr) {
            return wrong_type(v, R"("run" or "free")");
        }
        x.action = *s == "free" ? action::free : action::run;
        return *s == "run" || *s == "free" || reject("is " + json_quoted(*s) + R"(, must be "run" or "free")");
    }
    if (index() > 1) {
        return reject("is one element too many, a step is a pair");
    }
    return whole(v, x.id, x.action == action::run ? "the index of an op" : "the index of a tensor", 0, last_id);
}

inline auto plan_reader::place_value(json_scalar const& v) -> bool
{
    auto& p = file_.plan.placement;
    switch (field()) {
    case p_arena: return whole(v, p.arena, "a whole number of bytes");
    case p_alignment: return whole(v, p.alignment, "a whole number of bytes", 1);
    default: return wrong_type(v, "an array");
    }
}

inline auto plan_reader::lifetime_value(json_scalar const& v) -> bool
{
    auto& x = file_.plan.placement.lifetimes.back();
    switch (index()) {
    case 0: return whole(v, x.begin, "the index of a step");
    case 1: return whole(v, x.end, "the index of a step");
    case 2: return whole(v, x.size, "a whole number of bytes");
    case 3: return whole(v, x.tensor, "the index of a tensor, -1 for workspace", none, last_id);
    default: return reject("is one element too many, a lifetime is [begin, end, bytes, tensor]");
    }
}

/// Holds a plan against a graph of so many ops and tensors: everything it names exists, its placement is whole.
[[nodiscard]] inline auto check_plan(certified_plan const& x, op_id ops, tensor_id tensors)
    -> std::optional<strata::error>
{
    auto const bad = [](std::string const& what) { return fail(errc::malformed_plan, "strata::read_plan: " + what); };
    auto const count = [](std::int32_t n, char const* what) {
        return ", but the graph has " + std::to_string(n) + " " + what + ", counted from 0";
    };
    auto const& steps = x.schedule.steps;
    for (std::size_t i = 0; i < steps.size(); ++i) {
        bool const runs = steps[i].action == action::run;
        if (steps[i].id < 0 || steps[i].id >= (runs ? ops : tensors)) {
            return bad("steps[" + std::to_string(i) + "][1] is " + std::to_string(steps[i].id) +
                       (runs ? count(ops, "ops") : count(tensors, "tensors")));
        }
    }
    auto const& place = x.placement;
    if (place.lifetimes.size() != place.offsets.size()) {
        return bad("placement.lifetimes has " + std::to_string(place.lifetimes.size()) +
                   " elements and placement.offsets " + std::to_string(place.offsets.size()) +
                   ", every lifetime needs one offset");
    }
    for (std::size_t i = 0; i < place.lifetimes.size(); ++i) {
        auto const& l = place.lifetimes[i];
        auto const here = "placement.lifetimes[" + std::to_string(i) + "]";
        if (l.tensor >= tensors) {
            return bad(here + "[3] is " + std::to_string(l.tensor) + count(tensors, "tensors"));
        }
        if (l.begin > l.end || l.end > steps.size()) {
            return bad(here + " is the range of steps " + std::to_string(l.begin) + " to " + std::to_string(l.end) +
                       ", must lie within the " + std::to_string(steps.size()) + " steps of the plan");
        }
        bytes_t last = place.offsets[i];
        if (!checked_add(last, l.size) || last > place.arena) {
            return bad("placement.offsets[" + std::to_string(i) + "] is " + std::to_string(place.offsets[i]) +
                       ", which with the buffer's " + std::to_string(l.size) + " bytes is past the arena of " +
                       std::to_string(place.arena) + " bytes");
        }
    }
    return {};
}

/// `wrong_graph` unless `file` was made for `p`.
[[nodiscard]] inline auto check_graph(plan_file const& file, problem const& p) -> std::optional<strata::error>
{
    auto const hex = [](std::uint64_t n) {
        std::string s;
        append_json_hex(s, n);
        return s;
    };
    if (auto const mine = fingerprint(p); file.plan.fingerprint != mine) {
        return fail(errc::wrong_graph,
                    "strata::read_plan: the plan was made for graph " + json_quoted(file.graph) + " with fingerprint " +
                        hex(file.plan.fingerprint) + ", but graph " + json_quoted(p.name()) + " has " + hex(mine) +
                        "; plan this graph anew");
    }
    return {};
}

} // namespace detail

/// Reads the text of a plan file without a problem to hold it against: what a tool needs to learn which alignment and
/// graph a plan was made for.
/// Errors: `malformed_file`, `malformed_plan`, `overflow`, as for `read_graph`.
[[nodiscard]] inline auto read_plan_file(std::string_view text, std::vector<std::string>* warnings = nullptr)
    -> result<plan_file>
{
    detail::plan_reader reader(warnings);
    if (auto e = reader.run(text)) {
        return *std::move(e);
    }
    return std::move(reader).take();
}

/// Holds a plan file against the problem it is to be used for.
/// Errors: `wrong_graph` if it was made for another problem; `malformed_plan` if it names an op, tensor, step or byte
/// that does not exist.
[[nodiscard]] inline auto plan_for(plan_file file, problem const& p) -> result<certified_plan>
{
    if (auto e = detail::check_graph(file, p)) {
        return *std::move(e);
    }
    if (auto e = detail::check_plan(file.plan, p.op_count(), p.tensor_count())) {
        return *std::move(e);
    }
    return std::move(file.plan);
}

/// Holds a plan file, which speaks in the ids of a graph, against that graph, lowered; the answer speaks in the ids of
/// `from.problem()`. See `in_graph_ids`.
/// Errors: those above, and those of `in_problem_ids`.
[[nodiscard]] inline auto plan_for(plan_file file, lowering const& from) -> result<certified_plan>
{
    if (auto e = detail::check_graph(file, from.problem())) {
        return *std::move(e);
    }
    if (auto e = detail::check_plan(file.plan, from.graph_op_count(), from.graph_tensor_count())) {
        return *std::move(e);
    }
    return in_problem_ids(std::move(file.plan), from);
}

/// Reads the text of a plan file made for `p`.
/// Errors: those of `read_plan_file` and `plan_for`.
/// Complexity: O(length of the text + ops + tensors).
[[nodiscard]] inline auto read_plan(std::string_view text,
                                    problem const& p,
                                    std::vector<std::string>* warnings = nullptr) -> result<certified_plan>
{
    auto file = read_plan_file(text, warnings);
    if (!file) {
        return std::move(file).error();
    }
    return plan_for(*std::move(file), p);
}

/// Reads the text of a plan file made for the graph that `from` was lowered from.
[[nodiscard]] inline auto read_plan(std::string_view text,
                                    lowering const& from,
                                    std::vector<std::string>* warnings = nullptr) -> result<certified_plan>
{
    auto file = read_plan_file(text, warnings);
    if (!file) {
        return std::move(file).error();
    }
    return plan_for(*std::move(file), from);
}

} // namespace strata
