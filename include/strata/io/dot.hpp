// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief A problem as a picture for Graphviz: ops are boxes, tensors are ellipses, a plan's recomputed ops stand out.
///
/// `strata inspect GRAPH --dot g.dot && dot -Tsvg g.dot -o g.svg`. Graphviz copes with some hundred ops.
#pragma once

#include <strata/io/format.hpp>
#include <strata/io/json_text.hpp>
#include <strata/problem/problem.hpp>
#include <strata/schedule/schedule.hpp>
#include <strata/units.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace strata {

/// What `to_dot` shows.
struct dot_options {
    schedule const* plan = nullptr; ///< ops that it runs more than once are marked
    bool resident = false;          ///< show parameters, their gradients, inputs and state too
};

namespace detail {

/// Appends `text` so that Graphviz shows it as it is, inside a quoted label.
inline void append_dot_text(std::string& out, std::string_view text)
{
    for (std::size_t i = 0; i < text.size();) {
        auto const n = utf8_length(text, i);
        if (n == 0) {
            out += "?";
        } else if (text[i] == '"' || text[i] == '\\') {
            out += '\\';
            out += text[i];
        } else if (static_cast<unsigned char>(text[i]) < 0x20) {
            out += ' ';
        } else {
            out += text.substr(i, n);
        }
        i += n == 0 ? 1 : n;
    }
}

// Okabe and Ito's palette: told apart by every kind of colour vision, and by lightness when printed grey.
[[nodiscard]] constexpr auto dot_fill(phase p) noexcept -> char const*
{
    switch (p) {
    case phase::forward: return "#56b4e9";
    case phase::backward: return "#e69f00";
    case phase::other: return "#dddddd";
    }
    return "#dddddd";
}

inline void append_dot_tensor(std::string& out, problem const& p, tensor_id t)
{
    auto const& x = p.tensor(t);
    auto const id = std::to_string(t);
    out += "  t" + id + " [shape=ellipse,label=\"";
    append_dot_text(out, x.name.empty() ? "tensor " + id : x.name);
    out += "\\n" + format_bytes(p.size(t)) + "\\n";
    out += to_string(x.kind);
    out += "\",style=\"";
    out += p.resident(t) ? "filled\",fillcolor=\"#f0f0f0\"" : x.kind == tensor_kind::saved ? "dashed\"" : "solid\"";
    out += p.is_target(t) ? ",penwidth=3];\n" : "];\n";
}

} // namespace detail

/// The text of a Graphviz file. Phases are coloured; an op that `options.plan` runs several times has a double border and
/// the number of runs in its label; saved tensors are dashed, targets have a thick border.
/// Requires: `options.plan`, if given, names ops of `p` only.
/// Complexity: O(length of the text).
[[nodiscard]] inline auto to_dot(problem const& p, dot_options const& options = {}) -> std::string
{
    std::vector<std::uint32_t> runs(static_cast<std::size_t>(p.op_count()), 0);
    if (options.plan != nullptr) {
        for (auto const o : runs_of(*options.plan)) {
            ++runs[static_cast<std::size_t>(o)];
        }
    }
    std::string out = "digraph \"";
    detail::append_dot_text(out, p.name().empty() ? "graph" : p.name());
    out += "\" {\n  rankdir=TB;\n  node [fontname=\"sans-serif\",fontsize=10];\n";
    for (op_id o = 0; o < p.op_count(); ++o) {
        auto const& x = p.op(o);
        auto const id = std::to_string(o);
        auto const n = runs[static_cast<std::size_t>(o)];
        out += "  o" + id + " [shape=box,label=\"";
        detail::append_dot_text(out, x.name.empty() ? "op " + id : x.name);
        out += "\\ncost " + std::to_string(x.cost);
        out += n > 1 ? "\\nruns " + std::to_string(n) + " times" : "";
        out += "\",style=\"filled";
        out += p.replayable(o) ? "\"" : ",bold\"";
        out += ",fillcolor=\"" + std::string(detail::dot_fill(x.phase)) + "\"";
        out += n > 1 ? ",peripheries=2];\n" : "];\n";
    }
    auto const shown = [&](tensor_id t) { return options.resident || !p.resident(t); };
    for (tensor_id t = 0; t < p.tensor_count(); ++t) {
        if (shown(t)) {
            detail::append_dot_tensor(out, p, t);
        }
    }
    for (op_id o = 0; o < p.op_count(); ++o) {
        auto const id = std::to_string(o);
        for (auto const t : p.op(o).inputs) {
            if (shown(t)) {
                out += "  t" + std::to_string(t) + " -> o" + id + ";\n";
            }
        }
        for (auto const t : p.op(o).outputs) {
            if (shown(t)) {
                out += "  o" + id + " -> t" + std::to_string(t) + ";\n";
            }
        }
    }
    out += "}\n";
    return out;
}

} // namespace strata
