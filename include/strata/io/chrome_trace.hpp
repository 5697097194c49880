// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief A plan on a time line, as a JSON trace for chrome://tracing and Perfetto.
///
///     first runs │▇▇▇│ ▇▇▇▇ │    │▇▇▇▇▇▇▇▇│     each run lasts its cost
///     replays    │   │      │▇▇▇▇│        │
///     live bytes │▁▁▃▅▅▅▇▇▇▇▆▆▆▆▃▃▃▃▂▂▂▂▁▁│     resident and other bytes, stacked
#pragma once

#include <strata/io/json_text.hpp>
#include <strata/problem/problem.hpp>
#include <strata/result.hpp>
#include <strata/schedule/replay.hpp>
#include <strata/schedule/schedule.hpp>
#include <strata/units.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace strata {

namespace detail {

/// Appends a cost as microseconds, exactly. A unit that is no unit of time counts as nanoseconds.
inline void append_microseconds(std::string& out, cost_t n, std::string_view unit)
{
    auto const digits = [&](char const* zeros) {
        append_json_number(out, n);
        out += n == 0 ? "" : zeros;
    };
    if (unit == "us" || unit == "µs") {
        digits("");
    } else if (unit == "ms") {
        digits("000");
    } else if (unit == "s") {
        digits("000000");
    } else {
        append_json_number(out, n / 1000);
        auto const rest = std::to_string(n % 1000 + 1000);
        out += "." + rest.substr(1);
    }
}

} // namespace detail

/// The text of a trace of `s`: every run an event that lasts its cost, replays on a track of their own, a counter of live
/// bytes. `budget` adds a counter that shows it; `max_bytes` shows none. `cost_unit` is the graph's.
/// Errors: those of `replay`.
/// Complexity: O(length of the text).
[[nodiscard]] inline auto
chrome_trace(problem const& p, schedule const& s, bytes_t budget = max_bytes, std::string_view cost_unit = "ns")
    -> result<std::string>
{
    auto measured = replay(p, s);
    if (!measured) {
        return std::move(measured).error();
    }
    std::string out = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n"
                      R"({"ph":"M","pid":1,"name":"process_name","args":{"name":)";
    append_json_string(out, p.name().empty() ? "step" : p.name());
    out += "}},\n"
           R"({"ph":"M","pid":1,"tid":1,"name":"thread_name","args":{"name":"first runs"}},)"
           "\n"
           R"({"ph":"M","pid":1,"tid":2,"name":"thread_name","args":{"name":"replays"}})";
    cost_t now = 0;
    auto const at = [&](char const* key, cost_t t) {
        out += key;
        detail::append_microseconds(out, t, cost_unit);
    };
    auto const counter = [&](bytes_t live) {
        at(",\n{\"ph\":\"C\",\"pid\":1,\"name\":\"live bytes\",\"ts\":", now);
        out += ",\"args\":{\"resident\":";
        append_json_number(out, p.resident_bytes());
        out += ",\"other\":";
        append_json_number(out, live - p.resident_bytes());
        out += "}}";
        if (budget != max_bytes) {
            at(",\n{\"ph\":\"C\",\"pid\":1,\"name\":\"budget\",\"ts\":", now);
            out += ",\"args\":{\"bytes\":";
            append_json_number(out, budget);
            out += "}}";
        }
    };
    std::vector<char> ran(static_cast<std::size_t>(p.op_count()), 0);
    for (std::size_t k = 0; k < s.steps.size(); ++k) {
        if (s.steps[k].action != action::run) {
            continue;
        }
        auto const o = s.steps[k].id;
        auto const& x = p.op(o);
        bool const again = std::exchange(ran[static_cast<std::size_t>(o)], 1) != 0;
        counter(measured->live[k]);
        out += again ? ",\n{\"ph\":\"X\",\"pid\":1,\"tid\":2,\"cat\":\"replay\",\"name\":"
                     : ",\n{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"cat\":\"run\",\"name\":";
        append_json_string(out, (x.name.empty() ? "op " + std::to_string(o) : x.name) + (again ? " (replay)" : ""));
        at(",\"ts\":", now);
        at(",\"dur\":", x.cost);
        out += ",\"args\":{\"op\":";
        append_json_number(out, static_cast<std::int64_t>(o));
        out += ",\"type\":";
        append_json_string(out, x.type);
        out += ",\"phase\":";
        append_json_string(out, to_string(x.phase));
        out += ",\"workspace_bytes\":";
        append_json_number(out, p.workspace(o));
        out += ",\"live_bytes\":";
        append_json_number(out, measured->live[k]);
        out += "}}";
        now += x.cost; // replay has checked the sum
    }
    counter(s.steps.empty() ? p.resident_bytes() : measured->live.back());
    out += "\n]}\n";
    return out;
}

} // namespace strata
