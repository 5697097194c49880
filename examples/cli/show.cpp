// SPDX-License-Identifier: Apache-2.0
#include "show.hpp"

#include <strata/io/format.hpp>
#include <strata/io/json_text.hpp>
#include <strata/place/check.hpp>
#include <strata/schedule/replay.hpp>
#include <strata/schedule/validate.hpp>

#include <algorithm>
#include <cstdint>
#include <numeric>

namespace cli {

namespace {

auto columns(std::string_view text) -> std::size_t
{
    return static_cast<std::size_t>(std::count_if(
        text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

} // namespace

auto count_of(std::int64_t n, std::string const& thing) -> std::string
{
    return strata::detail::grouped(n) + " " + thing + (n == 1 ? "" : "s");
}

auto two_columns(std::vector<std::pair<std::string, std::string>> const& rows) -> std::string
{
    std::size_t width = 0;
    for (auto const& [label, value] : rows) {
        width = std::max(width, columns(label));
    }
    std::string out;
    for (auto const& [label, value] : rows) {
        out += "  " + label + (value.empty() ? "" : std::string(width - columns(label) + 2, ' ') + value) + "\n";
    }
    return out;
}

auto plan_json(subject const& s, strata::certified_plan const& x, bool valid) -> std::string
{
    auto const& c = x.certificate;
    std::string out = "{\"graph\":";
    auto const whole = [&](char const* key, std::int64_t n) {
        out += key;
        strata::append_json_number(out, n);
    };
    auto const real = [&](char const* key, double n) {
        out += key;
        strata::append_json_number(out, n);
    };
    strata::append_json_string(out, s.name);
    whole(",\"ops\":", s.problem.op_count());
    whole(",\"budget_bytes\":", c.budget);
    whole(",\"peak_bytes\":", c.peak);
    whole(",\"arena_bytes\":", x.placement.arena);
    whole(",\"keep_all_peak_bytes\":", c.keep_all_peak);
    whole(",\"base_cost\":", c.base_cost);
    whole(",\"cost\":", c.cost);
    real(",\"overhead\":", c.overhead());
    real(",\"lower_bound\":", c.overhead_bound());
    real(",\"gap\":", c.gap());
    real(",\"gap_out_of_sight\":", c.gap_out_of_sight());
    real(",\"seconds\":", c.seconds);
    out += ",\"solver\":";
    strata::append_json_string(out, c.solver);
    out += valid ? ",\"valid\":true}" : ",\"valid\":false}";
    return out;
}

auto plan_table(subject const& s, strata::certified_plan const& x, std::string const& budget) -> std::string
{
    using strata::format_bytes;
    using strata::format_cost;
    using strata::format_percent;
    auto const& c = x.certificate;
    auto const& p = s.problem;
    auto const replays = strata::replay(p, x.schedule).value().replays;
    auto const again = std::count_if(replays.begin(), replays.end(), [](auto n) { return n > 0; });
    auto const runs = std::accumulate(replays.begin(), replays.end(), std::int64_t{0});
    auto const cost = [&](strata::cost_t n) { return format_cost(static_cast<double>(n), s.cost_unit); };
    auto const share = [](strata::bytes_t part, strata::bytes_t of) {
        return of == 0 ? std::string("0 %") : format_percent(static_cast<double>(part) / static_cast<double>(of));
    };
    auto const points = [](double x) { return strata::detail::short_number(x * 100) + " points"; };
    auto const limited = c.budget != strata::max_bytes;
    auto const relative = budget.find('%') != std::string::npos;
    return s.name + ": " + count_of(p.op_count(), "op") + ", " + count_of(p.tensor_count(), "tensor") + ", " +
           format_bytes(c.resident) + " resident\n\n" +
           two_columns({
               {"budget",
                limited ? format_bytes(c.budget) + (relative ? "   " + budget + " of the dynamic peak" : "") : "none"},
               {"keep-all peak", format_bytes(c.keep_all_peak)},
               {"plan peak",
                format_bytes(c.peak) + "   " + share(c.peak, c.keep_all_peak) + " of keep-all" +
                    (limited ? ", " + share(c.peak, c.budget) + " of the budget" : "")},
               {"arena", format_bytes(x.placement.arena) + "   resident tensors are outside"},
               {"overhead",
                format_percent(c.overhead()) + "   " + cost(c.cost - c.base_cost) + " on " + cost(c.base_cost)},
               {"proven bound", format_percent(c.overhead_bound()) + "   no plan in this first-run order is cheaper"},
               {"gap",
                points(c.gap()) + (c.gap_out_of_sight() > 0
                                       ? ", " + points(c.gap_out_of_sight()) + " of it out of the proof's sight"
                                       : "")},
               {"recomputed", count_of(again, "op") + ", " + count_of(runs, "extra run")},
               {"solver", c.solver},
               {"planned in", format_cost(c.seconds, "s")},
           });
}

auto judged(subject const& s, strata::certified_plan const& x, strata::bytes_t budget, std::string* why) -> bool
{
    auto const v = strata::validate(s.problem, x.schedule, budget);
    std::string reason;
    if (!v.ok()) {
        reason = v.violations.front().message;
        if (v.count > 1) {
            reason += " (and " + count_of(static_cast<std::int64_t>(v.count) - 1, "more violation") + ")";
        }
    } else if (v.peak != x.certificate.peak) {
        reason = "the certificate says a peak of " + std::to_string(x.certificate.peak) +
                 " bytes, the judge measures " + std::to_string(v.peak);
    } else if (v.cost != x.certificate.cost) {
        reason = "the certificate says a cost of " + std::to_string(x.certificate.cost) + ", the judge measures " +
                 std::to_string(v.cost);
    } else if (auto const e = strata::check(s.problem, x.schedule, x.placement)) {
        reason = e->message;
    } else if (x.placement.arena > budget - s.problem.resident_bytes()) {
        reason = "the arena of " + std::to_string(x.placement.arena) + " bytes and the resident " +
                 std::to_string(s.problem.resident_bytes()) + " bytes exceed the budget of " + std::to_string(budget);
    }
    if (why != nullptr) {
        *why = reason;
    }
    return reason.empty();
}

} // namespace cli
