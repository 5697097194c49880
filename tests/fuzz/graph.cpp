// SPDX-License-Identifier: Apache-2.0
// Any bytes as a graph file: refused with a message, or a graph that writes and reads back to itself, whose problem the
// keep-all schedule solves to the judge's satisfaction, and whose plan file reads back to itself too.
#include <strata/io/chrome_trace.hpp>
#include <strata/io/dot.hpp>
#include <strata/io/lower_graph.hpp>
#include <strata/io/read_graph.hpp>
#include <strata/io/read_plan.hpp>
#include <strata/io/write_graph.hpp>
#include <strata/io/write_plan.hpp>
#include <strata/schedule/replay.hpp>
#include <strata/schedule/schedule.hpp>
#include <strata/schedule/validate.hpp>
#include <strata/solve/keep_all.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace {

void require(bool condition)
{
    if (!condition) {
        std::abort();
    }
}

void plan_and_write(strata::problem const& p)
{
    strata::certified_plan plan;
    plan.schedule = strata::free_early(p, strata::keep_all_order(p));
    auto const v = strata::validate(p, plan.schedule);
    require(v.ok());
    auto const measured = strata::replay(p, plan.schedule);
    require(measured.has_value() && measured->peak == v.peak && measured->cost == v.cost);
    plan.certificate.peak = v.peak;
    plan.certificate.cost = v.cost;
    plan.fingerprint = strata::fingerprint(p);
    auto const read = strata::read_plan(strata::write_plan(plan, p.name()), p);
    require(read.has_value() && *read == plan);
    require(!strata::to_dot(p, {&plan.schedule, true}).empty());
    require(strata::chrome_trace(p, plan.schedule).has_value());
}

} // namespace

extern "C" auto LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) -> int
{
    std::string_view const text(reinterpret_cast<char const*>(data), size);
    std::vector<std::string> warnings;
    auto const g = strata::read_graph(text, &warnings);
    if (!g) {
        require(!g.error().message.empty());
        return 0;
    }
    auto const again = strata::read_graph(strata::write_graph(*g));
    require(again.has_value() && *again == *g);
    auto const lowered = strata::lower_graph(*g);
    if (!lowered) {
        require(!lowered.error().message.empty());
        return 0;
    }
    auto const& p = lowered->problem();
    plan_and_write(p);
    auto const schedule = strata::free_early(p, strata::keep_all_order(p));
    auto const back = lowered->collapse(lowered->expand(schedule));
    require(back.has_value() && *back == schedule);
    return 0;
}
