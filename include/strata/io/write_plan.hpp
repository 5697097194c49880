// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Writes a `strata-plan` file, version 1: one step or lifetime per line, keys in a fixed order, numbers exact.
#pragma once

#include <strata/io/json_text.hpp>
#include <strata/pipeline/certificate.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace strata {

/// The text of a plan file. `graph` is the name of the graph, for people.
/// Complexity: O(length of the text).
[[nodiscard]] inline auto write_plan(certified_plan const& x, std::string_view graph) -> std::string
{
    std::string out = "{\"format\":\"strata-plan\",\"version\":1,\"graph\":";
    auto const number = [&](char const* key, std::int64_t n) {
        out += key;
        append_json_number(out, n);
    };
    append_json_string(out, graph);
    out += ",\"fingerprint\":\"";
    append_json_hex(out, x.fingerprint);
    number("\",\"budget_bytes\":", x.certificate.budget);
    number(",\n\"certificate\":{\"peak_bytes\":", x.certificate.peak);
    number(",\"keep_all_peak_bytes\":", x.certificate.keep_all_peak);
    number(",\"resident_bytes\":", x.certificate.resident);
    number(",\"cost\":", x.certificate.cost);
    number(",\"base_cost\":", x.certificate.base_cost);
    number(",\"lower_bound\":", x.certificate.lower_bound);
    number(",\"bound_reach\":", x.certificate.bound_reach);
    out +=
        x.certificate.bound_orders == first_run_orders::any ? R"(,"bound_orders":"any")" : R"(,"bound_orders":"given")";
    out += ",\"solver\":";
    append_json_string(out, x.certificate.solver);
    out += ",\"seconds\":";
    append_json_number(out, x.certificate.seconds);
    out += "},\n\"steps\":[";
    char const* separator = "\n";
    for (auto const& s : x.schedule.steps) {
        out += separator;
        number(s.action == action::run ? "[\"run\"," : "[\"free\",", s.id);
        out += ']';
        separator = ",\n";
    }
    number("],\n\"placement\":{\"arena_bytes\":", x.placement.arena);
    number(",\"alignment\":", x.placement.alignment);
    out += ",\n\"lifetimes\":[";
    separator = "\n";
    for (auto const& l : x.placement.lifetimes) {
        out += separator;
        number("[", static_cast<std::int64_t>(l.begin));
        number(",", static_cast<std::int64_t>(l.end));
        number(",", l.size);
        number(",", l.tensor);
        out += ']';
        separator = ",\n";
    }
    out += "],\n\"offsets\":";
    append_json_list(out, x.placement.offsets);
    out += "}}\n";
    return out;
}

} // namespace strata
