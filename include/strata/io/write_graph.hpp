// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Writes a `strata-graph` file, version 1: one tensor or op per line, keys in a fixed order, numbers exact.
#pragma once

#include <strata/io/graph_file.hpp>
#include <strata/io/json_text.hpp>
#include <strata/problem/effects.hpp>

#include <string>
#include <string_view>

namespace strata {

namespace detail {

inline void append_json_key(std::string& out, std::string_view key, std::int64_t n)
{
    out += ",\"";
    out += key;
    out += "\":";
    append_json_number(out, n);
}

inline void append_effects(std::string& out, graph_file_op const& o)
{
    if (o.effects.pure() && o.mutates.empty()) {
        return;
    }
    out += ",\"effects\":[";
    char const* separator = "";
    for (auto const e :
         {effect::random, effect::stateful, effect::nondeterministic, effect::collective, effect::once}) {
        if (o.effects.has(e)) {
            out += separator;
            append_json_string(out, to_string(e));
            separator = ",";
        }
    }
    for (auto const t : o.mutates) {
        out += separator;
        append_json_string(out, "mutates(" + std::to_string(t) + ")");
        separator = ",";
    }
    out += ']';
}

} // namespace detail

/// The text of a graph file. Optional keys that say nothing are left out, so the same graph gives the same text.
/// Complexity: O(length of the text).
[[nodiscard]] inline auto write_graph(graph_file const& g) -> std::string
{
    std::string out = "{\"format\":\"strata-graph\",\"version\":1,\"name\":";
    append_json_string(out, g.name);
    out += ",\"cost_unit\":";
    append_json_string(out, g.cost_unit);
    if (g.reference_peak_bytes) {
        detail::append_json_key(out, "reference_peak_bytes", *g.reference_peak_bytes);
    }
    if (g.alignment != 1) {
        detail::append_json_key(out, "alignment", g.alignment);
    }
    out += ",\n\"tensors\":[";
    char const* separator = "\n";
    for (auto const& t : g.tensors) {
        out += separator;
        out += "{\"name\":";
        append_json_string(out, t.name);
        detail::append_json_key(out, "bytes", t.bytes);
        out += ",\"kind\":";
        append_json_string(out, to_string(t.kind));
        if (t.view_of != none) {
            detail::append_json_key(out, "view_of", t.view_of);
        }
        out += '}';
        separator = ",\n";
    }
    out += "],\n\"ops\":[";
    separator = "\n";
    for (auto const& o : g.ops) {
        out += separator;
        out += "{\"name\":";
        append_json_string(out, o.name);
        out += ",\"type\":";
        append_json_string(out, o.type);
        out += ",\"phase\":";
        append_json_string(out, to_string(o.phase));
        detail::append_json_key(out, "cost", o.cost);
        if (o.workspace != 0) {
            detail::append_json_key(out, "workspace", o.workspace);
        }
        out += ",\"inputs\":";
        append_json_list(out, o.inputs);
        out += ",\"outputs\":";
        append_json_list(out, o.outputs);
        detail::append_effects(out, o);
        if (o.backward_of != none) {
            detail::append_json_key(out, "backward_of", o.backward_of);
        }
        out += '}';
        separator = ",\n";
    }
    out += "],\n\"targets\":";
    append_json_list(out, g.targets);
    out += "}\n";
    return out;
}

} // namespace strata
