// SPDX-License-Identifier: Apache-2.0
#include <strata/io/chrome_trace.hpp>

#include <nlohmann/json.hpp>

#include <string>

#include "tests/support/catch.hpp"

namespace io_chrome_trace_test {

auto chain() -> strata::problem
{
    strata::problem_spec s;
    s.name = "chain\xff";
    s.tensors = {{"w", 100, strata::tensor_kind::parameter},
                 {"x", 10, strata::tensor_kind::activation},
                 {"y", 20, strata::tensor_kind::activation}};
    s.ops = {{"f", "mm", strata::phase::forward, 1500, 5, {0}, {1}, {}, strata::none},
             {"", "mm", strata::phase::backward, 7, 0, {1}, {2}, {}, strata::none}};
    s.targets = {2};
    return strata::problem::make(s).value();
}

auto replaying() -> strata::schedule
{
    return {{strata::run(0), strata::free(1), strata::run(0), strata::run(1), strata::free(1)}};
}

auto events(strata::bytes_t budget, std::string const& unit, std::string const& kind) -> nlohmann::json
{
    auto const all = nlohmann::json::parse(strata::chrome_trace(chain(), replaying(), budget, unit).value());
    auto some = nlohmann::json::array();
    for (auto const& e : all.at("traceEvents")) {
        if (e.at("ph") == kind) {
            some.push_back(e);
        }
    }
    return some;
}

TEST_CASE("chrome_trace: runs follow one another, replays have a track of their own")
{
    auto const runs = events(strata::max_bytes, "ns", "X");
    REQUIRE(runs.size() == 3);
    CHECK(runs[0] == nlohmann::json::parse(R"({"ph":"X","pid":1,"tid":1,"cat":"run","name":"f","ts":0.0,"dur":1.5,
        "args":{"op":0,"type":"mm","phase":"forward","workspace_bytes":5,"live_bytes":115}})"));
    auto const again = runs[1];
    CHECK(again["name"] == "f (replay)");
    CHECK(again["cat"] == "replay");
    CHECK(again["tid"] == 2);
    CHECK(again["ts"] == 1.5);
    CHECK(again["dur"] == 1.5);
    CHECK(again["args"] == runs[0]["args"]);
    CHECK(runs[2] == nlohmann::json::parse(R"({"ph":"X","pid":1,"tid":1,"cat":"run","name":"op 1","ts":3.0,"dur":0.007,
        "args":{"op":1,"type":"mm","phase":"backward","workspace_bytes":0,"live_bytes":130}})"));
}

TEST_CASE("chrome_trace: a counter tells the live bytes, resident ones apart, and the budget if there is one")
{
    auto const counters = events(120, "ns", "C");
    REQUIRE(counters.size() == 8);
    CHECK(counters[0]["args"] == nlohmann::json::parse(R"({"resident":100,"other":15})"));
    CHECK(counters[1] == nlohmann::json::parse(R"({"ph":"C","pid":1,"name":"budget","ts":0.0,"args":{"bytes":120}})"));
    CHECK(counters[4]["args"] == nlohmann::json::parse(R"({"resident":100,"other":30})"));
    CHECK(counters[6] ==
          nlohmann::json::parse(
              R"({"ph":"C","pid":1,"name":"live bytes","ts":3.007,"args":{"resident":100,"other":20}})"));
    CHECK(events(strata::max_bytes, "ns", "C").size() == 4);
}

TEST_CASE("chrome_trace: costs become microseconds by the graph's unit")
{
    auto const length = [](std::string const& unit) { return events(strata::max_bytes, unit, "X")[0]["dur"]; };
    CHECK(length("us") == 1500);
    CHECK(length("µs") == 1500);
    CHECK(length("ms") == 1'500'000);
    CHECK(length("s") == 1'500'000'000);
    CHECK(length("flops") == 1.5);
}

TEST_CASE("chrome_trace: names that are not UTF-8 still give valid JSON, and a schedule of another graph is refused")
{
    CHECK(events(1, "ns", "M")[0]["args"]["name"] == "chain\xEF\xBF\xBD");
    auto const r = strata::chrome_trace(chain(), {{strata::run(9)}});
    REQUIRE_FALSE(r.has_value());
    CHECK(r.error().code == strata::errc::malformed_plan);
}

} // namespace io_chrome_trace_test
