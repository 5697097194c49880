// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Reads a `strata-graph` file, version 1.
///
/// One pass over the text; memory is that of the answer. Keys may stand in any order.
#pragma once

#include <strata/io/graph_file.hpp>
#include <strata/io/json_events.hpp>
#include <strata/problem/effects.hpp>
#include <strata/result.hpp>

#include <algorithm>
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

namespace detail {

class graph_reader : public json_events<graph_reader> {
public:
    explicit graph_reader(std::vector<std::string>* warnings)
        : json_events("strata::read_graph", errc::malformed_graph, warnings)
    {
    }

    [[nodiscard]] auto take() && -> graph_file { return std::move(file_); }
    /// Checks what one value cannot show: ids of tensors and ops that may stand later in the file.
    [[nodiscard]] auto check_ids() -> std::optional<strata::error>;

private:
    friend class json_events<graph_reader>;
    enum : json_state { refused = 0, top, tensors, tensor, ops, op, inputs, outputs, effect_list, targets };
    enum : unsigned { f_format = 1, f_version, f_name, f_unit, f_peak, f_alignment, f_tensors, f_ops, f_targets };
    enum : unsigned { t_name = 1, t_bytes, t_kind, t_view };
    enum : unsigned { o_name = 1, o_type, o_phase, o_cost, o_workspace, o_inputs, o_outputs, o_effects, o_backward };
    static constexpr std::int64_t last_id = 99'999'999;

    static auto keys(json_state s) -> std::span<json_key const>;
    auto open(bool array) -> json_state;
    auto value(json_scalar const& v) -> bool;
    auto close(json_state s) -> bool;
    auto top_value(json_scalar const& v) -> bool;
    auto tensor_value(json_scalar const& v) -> bool;
    auto op_value(json_scalar const& v) -> bool;
    auto add_effect(json_scalar const& v) -> bool;
    auto id(json_scalar const& v, std::vector<tensor_id>& to) -> bool
    {
        to.push_back(0);
        return whole(v, to.back(), "the index of a tensor", 0, last_id);
    }
    template <class E, std::size_t N>
    auto word(json_scalar const& v, E& to, std::array<E, N> const& all, std::string_view what) -> bool;
    [[nodiscard]] auto tensor_error(std::string const& path, tensor_id t) const -> std::optional<strata::error>;

    graph_file file_;
};

inline auto graph_reader::keys(json_state s) -> std::span<json_key const>
{
    static constexpr std::array<json_key, 9> top_keys{{{"format", f_format, true},
                                                       {"version", f_version, true},
                                                       {"name", f_name, false},
                                                       {"cost_unit", f_unit, true},
                                                       {"reference_peak_bytes", f_peak, false},
                                                       {"alignment", f_alignment, false},
                                                       {"tensors", f_tensors, true},
                                                       {"ops", f_ops, true},
                                                       {"targets", f_targets, true}}};
    static constexpr std::array<json_key, 4> tensor_keys{
        {{"name", t_name, false}, {"bytes", t_bytes, true}, {"kind", t_kind, true}, {"view_of", t_view, false}}};
    static constexpr std::array<json_key, 9> op_keys{{{"name", o_name, false},
                                                      {"type", o_type, true},
                                                      {"phase", o_phase, true},
                                                      {"cost", o_cost, true},
                                                      {"workspace", o_workspace, false},
                                                      {"inputs", o_inputs, true},
                                                      {"outputs", o_outputs, true},
                                                      {"effects", o_effects, false},
                                                      {"backward_of", o_backward, false}}};
    switch (s) {
    case top: return top_keys;
    case tensor: return tensor_keys;
    case op: return op_keys;
    default: return {};
    }
}

inline auto graph_reader::open(bool array) -> json_state
{
    switch (state()) {
    case 0: return array ? refused : top;
    case top:
        if (array) {
            return field() == f_tensors ? tensors : field() == f_ops ? ops : field() == f_targets ? targets : refused;
        }
        return refused;
    case tensors:
        if (!array) {
            file_.tensors.emplace_back();
            return tensor;
        }
        return refused;
    case ops:
        if (!array) {
            file_.ops.emplace_back();
            return op;
        }
        return refused;
    case op:
        if (array) {
            return field() == o_inputs    ? inputs
                   : field() == o_outputs ? outputs
                   : field() == o_effects ? effect_list
                                          : refused;
        }
        return refused;
    default: return refused;
    }
}

inline auto graph_reader::value(json_scalar const& v) -> bool
{
    switch (state()) {
    case top: return top_value(v);
    case tensors: return wrong_type(v, "an object that describes a tensor");
    case tensor: return tensor_value(v);
    case ops: return wrong_type(v, "an object that describes an op");
    case op: return op_value(v);
    case inputs: return id(v, file_.ops.back().inputs);
    case outputs: return id(v, file_.ops.back().outputs);
    case effect_list: return add_effect(v);
    default: return id(v, file_.targets);
    }
}

inline auto graph_reader::close(json_state s) -> bool
{
    return (s != tensors && s != ops) || index() <= static_cast<std::size_t>(last_id) ||
           reject("is past the largest index, " + std::to_string(last_id));
}

inline auto graph_reader::top_value(json_scalar const& v) -> bool
{
    switch (field()) {
    case f_format: return format_is(v, "strata-graph");
    case f_version: return version_is(v, 1);
    case f_name: return text(v, file_.name, "a string");
    case f_unit: return text(v, file_.cost_unit, "a string such as \"ns\"");
    case f_peak: return whole(v, file_.reference_peak_bytes.emplace(), "a whole number of bytes");
    case f_alignment: return whole(v, file_.alignment, "a whole number of bytes", 1);
    default: return wrong_type(v, "an array");
    }
}

inline auto graph_reader::tensor_value(json_scalar const& v) -> bool
{
    constexpr std::array kinds{tensor_kind::input,
                               tensor_kind::parameter,
                               tensor_kind::parameter_gradient,
                               tensor_kind::state,
                               tensor_kind::activation,
                               tensor_kind::saved,
                               tensor_kind::gradient};
    auto& t = file_.tensors.back();
    switch (field()) {
    case t_name: return text(v, t.name, "a string");
    case t_bytes: return whole(v, t.bytes, "a whole number of bytes");
    case t_kind: return word(v, t.kind, kinds, "a tensor kind");
    default: return whole(v, t.view_of, "the index of a tensor", 0, last_id);
    }
}

inline auto graph_reader::op_value(json_scalar const& v) -> bool
{
    constexpr std::array phases{phase::forward, phase::backward, phase::other};
    auto& o = file_.ops.back();
    switch (field()) {
    case o_name: return text(v, o.name, "a string");
    case o_type: return text(v, o.type, "a string");
    case o_phase: return word(v, o.phase, phases, "a phase");
    case o_cost: return whole(v, o.cost, "a whole number in the graph's cost unit");
    case o_workspace: return whole(v, o.workspace, "a whole number of bytes");
    case o_backward: return whole(v, o.backward_of, "the index of an op", 0, last_id);
    default: return wrong_type(v, "an array");
    }
}

template <class E, std::size_t N>
auto graph_reader::word(json_scalar const& v, E& to, std::array<E, N> const& all, std::string_view what) -> bool
{
    std::string choices;
    auto const* s = std::get_if<std::string_view>(&v);
    for (auto const e : all) {
        if (s != nullptr && *s == to_string(e)) {
            to = e;
            return true;
        }
        choices += (choices.empty() ? "" : ", ") + std::string(to_string(e));
    }
    auto const wanted = std::string(what) + " (" + choices + ")";
    return s == nullptr ? wrong_type(v, wanted) : reject("is " + json_quoted(*s) + ", must be " + wanted);
}

inline auto graph_reader::add_effect(json_scalar const& v) -> bool
{
    constexpr std::array all{
        effect::random, effect::stateful, effect::nondeterministic, effect::collective, effect::once};
    auto& o = file_.ops.back();
    if (auto const* s = std::get_if<std::string_view>(&v)) {
        if (*s == "pure") {
            return true;
        }
        constexpr std::string_view mutates = "mutates(";
        if (s->starts_with(mutates) && s->ends_with(")")) {
            auto const* const first = s->data() + mutates.size();
            auto const* const last = s->data() + s->size() - 1;
            tensor_id t = none;
            auto const r = std::from_chars(first, last, t);
            if (r.ec == std::errc() && r.ptr == last && t >= 0 && t <= last_id) {
                o.mutates.push_back(t);
                return true;
            }
            return reject("is " + json_quoted(*s) + ", must name one tensor by its index, as in \"mutates(7)\"");
        }
        for (auto const e : all) {
            if (*s == to_string(e)) {
                o.effects |= e;
                return true;
            }
        }
    }
    auto const wanted = std::string(
        "an effect (pure, random, stateful, nondeterministic, collective, once, or mutates(t) with a tensor's index)");
    auto const* s = std::get_if<std::string_view>(&v);
    return s == nullptr ? wrong_type(v, wanted) : reject("is " + json_quoted(*s) + ", must be " + wanted);
}

inline auto graph_reader::tensor_error(std::string const& path, tensor_id t) const -> std::optional<strata::error>
{
    if (static_cast<std::size_t>(t) < file_.tensors.size()) {
        return {};
    }
    auto const n = file_.tensors.size();
    return fail(errc::malformed_graph,
                "strata::read_graph: " + path + " names tensor " + std::to_string(t) + ", but there are " +
                    std::to_string(n) + " tensors" + (n == 0 ? "" : ", counted from 0"));
}

inline auto graph_reader::check_ids() -> std::optional<strata::error>
{
    auto const list = [&](std::string const& owner, char const* key, std::vector<tensor_id> const& ids) {
        for (std::size_t i = 0; i < ids.size(); ++i) {
            if (static_cast<std::size_t>(ids[i]) >= file_.tensors.size()) {
                return tensor_error(owner + key + "[" + std::to_string(i) + "]", ids[i]);
            }
        }
        return std::optional<strata::error>();
    };
    for (std::size_t i = 0; i < file_.tensors.size(); ++i) {
        if (auto const v = file_.tensors[i].view_of; v != none) {
            if (auto e = tensor_error("tensors[" + std::to_string(i) + "].view_of", v)) {
                return e;
            }
        }
    }
    for (std::size_t i = 0; i < file_.ops.size(); ++i) {
        auto const& o = file_.ops[i];
        auto const owner = "ops[" + std::to_string(i) + "].";
        for (auto e : {list(owner, "inputs", o.inputs), list(owner, "outputs", o.outputs)}) {
            if (e) {
                return e;
            }
        }
        for (auto const t : o.mutates) {
            if (auto e = tensor_error(owner + "effects: mutates(" + std::to_string(t) + ")", t)) {
                return e;
            }
        }
        if (o.backward_of != none && static_cast<std::size_t>(o.backward_of) >= file_.ops.size()) {
            return fail(errc::malformed_graph,
                        "strata::read_graph: " + owner + "backward_of names op " + std::to_string(o.backward_of) +
                            ", but there are " + std::to_string(file_.ops.size()) + " ops, counted from 0");
        }
    }
    return list("", "targets", file_.targets);
}

} // namespace detail

/// Reads the text of a graph file.
///
/// Returns: the file as plain values, every id in range.
/// `warnings`, if given, receives one sentence per unknown key.
/// Errors: `malformed_file` for broken syntax, missing keys, wrong types, format or version; `malformed_graph` for a
/// value out of its range or an unknown word; `overflow` for a number beyond 64 bits. Messages name the place.
/// Complexity: O(length of the text).
[[nodiscard]] inline auto read_graph(std::string_view text, std::vector<std::string>* warnings = nullptr)
    -> result<graph_file>
{
    detail::graph_reader reader(warnings);
    if (auto e = reader.run(text)) {
        return *std::move(e);
    }
    if (auto e = reader.check_ids()) {
        return *std::move(e);
    }
    return std::move(reader).take();
}

} // namespace strata
