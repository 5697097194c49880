// SPDX-License-Identifier: Apache-2.0
#include <strata/io/read_plan.hpp>
#include <strata/io/write_plan.hpp>

#include <string>
#include <string_view>
#include <vector>

#include "tests/support/catch.hpp"

namespace io_read_plan_test {

using strata::errc;

auto spec() -> strata::problem_spec
{
    strata::problem_spec s;
    s.name = "two";
    s.tensors = {{"x", 4, strata::tensor_kind::activation}, {"y", 8, strata::tensor_kind::activation}};
    s.ops = {{"a", "t", strata::phase::forward, 3, 1, {}, {0}, {}, strata::none},
             {"b", "t", strata::phase::forward, 5, 0, {0}, {1}, {}, strata::none}};
    s.targets = {1};
    return s;
}

auto two_ops() -> strata::problem { return strata::problem::make(spec()).value(); }

auto sample() -> strata::certified_plan
{
    strata::certified_plan x;
    x.schedule.steps = {strata::run(0), strata::run(1), strata::free(0)};
    x.certificate = {100, 12, 13, 0, 8, 8, 8, 8, strata::first_run_orders::any, "keep \"all\"", 0.1};
    x.placement.lifetimes = {{0, 2, 4, 0}, {0, 1, 1, strata::none}, {1, 3, 8, 1}};
    x.placement.offsets = {8, 12, 0};
    x.placement.arena = 13;
    x.placement.alignment = 1;
    x.fingerprint = strata::fingerprint(two_ops());
    return x;
}

auto text() -> std::string { return strata::write_plan(sample(), "two"); }

auto replaced(std::string s, std::string_view from, std::string_view to) -> std::string
{
    auto const at = s.find(from);
    REQUIRE(at != std::string::npos);
    return s.replace(at, from.size(), to);
}

void check_refused(std::string_view plan, errc code, std::string const& message)
{
    auto const r = strata::read_plan(plan, two_ops());
    CAPTURE(plan);
    REQUIRE_FALSE(r.has_value());
    CHECK(r.error().message == "strata::read_plan: " + message);
    CHECK(to_string(r.error().code) == std::string(to_string(code)));
}

TEST_CASE("read_plan: what was written for a problem reads back as it was")
{
    CHECK(strata::read_plan(text(), two_ops()).value() == sample());
    CHECK(strata::read_plan_file(text()).value().graph == "two");
    strata::certified_plan nothing;
    nothing.fingerprint = sample().fingerprint;
    CHECK(strata::read_plan(strata::write_plan(nothing, ""), two_ops()).value() == nothing);
}

TEST_CASE("write_plan: one step per line, fixed order, exact numbers")
{
    CHECK(strata::write_plan(sample(),
                             "two") == R"({"format":"strata-plan","version":1,"graph":"two","fingerprint":")" + [] {
        std::string hex;
        strata::append_json_hex(hex, sample().fingerprint);
        return hex;
    }() + R"(","budget_bytes":100,
"certificate":{"peak_bytes":12,"keep_all_peak_bytes":13,"resident_bytes":0,"cost":8,"base_cost":8,"lower_bound":8,"bound_reach":8,"bound_orders":"any","solver":"keep \"all\"","seconds":0.1},
"steps":[
["run",0],
["run",1],
["free",0]],
"placement":{"arena_bytes":13,"alignment":1,
"lifetimes":[
[0,2,4,0],
[0,1,1,-1],
[1,3,8,1]],
"offsets":[8,12,0]}}
)");
}

TEST_CASE("read_plan: what the proof counts and which orders it covers need not be there, or must be what they say")
{
    auto const short_proof = replaced(text(), R"("bound_reach":8,"bound_orders":"any",)", "");
    auto const read = strata::read_plan(short_proof, two_ops()).value();
    CHECK(read.certificate.bound_reach == 0);
    CHECK(read.certificate.bound_orders == strata::first_run_orders::given);
    check_refused(replaced(text(), R"("any")", R"("some")"),
                  errc::malformed_plan,
                  R"(certificate.bound_orders is "some", must be "given" or "any")");
    check_refused(replaced(text(), R"("any")", "3"),
                  errc::malformed_file,
                  R"(certificate.bound_orders is 3, must be "given" or "any")");
}

TEST_CASE("read_plan: a plan for another graph is refused by its fingerprint")
{
    auto other = spec();
    other.tensors[0].bytes = 5;
    auto const p = strata::problem::make(other).value();
    auto const r = strata::read_plan(text(), p);
    REQUIRE_FALSE(r.has_value());
    CHECK(r.error().code == errc::wrong_graph);
    std::string mine, its;
    strata::append_json_hex(mine, strata::fingerprint(p));
    strata::append_json_hex(its, sample().fingerprint);
    CHECK(r.error().message == "strata::read_plan: the plan was made for graph \"two\" with fingerprint " + its +
                                   ", but graph \"two\" has " + mine + "; plan this graph anew");
}

TEST_CASE("read_plan: steps that name what does not exist are refused")
{
    check_refused(replaced(text(), R"(["run",1])", R"(["run",2])"),
                  errc::malformed_plan,
                  "steps[1][1] is 2, but the graph has 2 ops, counted from 0");
    check_refused(replaced(text(), R"(["free",0])", R"(["free",7])"),
                  errc::malformed_plan,
                  "steps[2][1] is 7, but the graph has 2 tensors, counted from 0");
    check_refused(replaced(text(), R"(["run",1])", R"(["run",-1])"),
                  errc::malformed_plan,
                  "steps[1][1] is -1, must be the index of an op, from 0 to 99999999");
    check_refused(replaced(text(), R"(["run",1])", R"(["walk",1])"),
                  errc::malformed_plan,
                  R"(steps[1][0] is "walk", must be "run" or "free")");
    check_refused(replaced(text(), R"(["run",1])", R"([1,1])"),
                  errc::malformed_file,
                  R"(steps[1][0] is 1, must be "run" or "free")");
    check_refused(replaced(text(), R"(["run",1])", R"(["run"])"),
                  errc::malformed_plan,
                  R"(steps[1] has 1 elements, must be a pair such as ["run",3] or ["free",7])");
    check_refused(replaced(text(), R"(["run",1])", R"([])"),
                  errc::malformed_plan,
                  R"(steps[1] has 0 elements, must be a pair such as ["run",3] or ["free",7])");
    check_refused(replaced(text(), R"(["run",1])", R"(["run",1,2])"),
                  errc::malformed_plan,
                  "steps[1][2] is one element too many, a step is a pair");
    check_refused(replaced(text(), R"(["run",1])", R"("run")"),
                  errc::malformed_file,
                  R"(steps[1] is the string "run", must be a step such as ["run",3] or ["free",7])");
    check_refused(replaced(text(), R"(["run",1])", R"({"run":1})"),
                  errc::malformed_file,
                  "steps[1] is an object, which may not stand here");
}

TEST_CASE("read_plan: a placement that is not whole is refused")
{
    check_refused(replaced(text(), "[8,12,0]", "[8,12]"),
                  errc::malformed_plan,
                  "placement.lifetimes has 3 elements and placement.offsets 2, every lifetime needs one offset");
    check_refused(replaced(text(), "[8,12,0]", "[8,12,6]"),
                  errc::malformed_plan,
                  "placement.offsets[2] is 6, which with the buffer's 8 bytes is past the arena of 13 bytes");
    check_refused(
        replaced(text(), "[8,12,0]", "[8,9223372036854775807,0]"),
        errc::malformed_plan,
        "placement.offsets[1] is 9223372036854775807, which with the buffer's 1 bytes is past the arena of 13 "
        "bytes");
    check_refused(replaced(text(), "[0,2,4,0]", "[0,2,4,2]"),
                  errc::malformed_plan,
                  "placement.lifetimes[0][3] is 2, but the graph has 2 tensors, counted from 0");
    check_refused(replaced(text(), "[0,2,4,0]", "[0,4,4,0]"),
                  errc::malformed_plan,
                  "placement.lifetimes[0] is the range of steps 0 to 4, must lie within the 3 steps of the plan");
    check_refused(replaced(text(), "[0,2,4,0]", "[2,1,4,0]"),
                  errc::malformed_plan,
                  "placement.lifetimes[0] is the range of steps 2 to 1, must lie within the 3 steps of the plan");
    check_refused(replaced(text(), "[0,2,4,0]", "[0,2,4]"),
                  errc::malformed_plan,
                  "placement.lifetimes[0] has 3 elements, must be [begin, end, bytes, tensor]");
    check_refused(replaced(text(), "[0,2,4,0]", "[0,2,4,0,0]"),
                  errc::malformed_plan,
                  "placement.lifetimes[0][4] is one element too many, a lifetime is [begin, end, bytes, tensor]");
    check_refused(replaced(text(), "[0,2,4,0]", "[0,2,-4,0]"),
                  errc::malformed_plan,
                  "placement.lifetimes[0][2] is -4, must be a whole number of bytes, from 0 to 9223372036854775807");
    check_refused(replaced(text(), "[0,2,4,0]", "7"),
                  errc::malformed_file,
                  "placement.lifetimes[0] is 7, must be a lifetime [begin, end, bytes, tensor]");
    check_refused(replaced(text(), "\"alignment\":1", "\"alignment\":0"),
                  errc::malformed_plan,
                  "placement.alignment is 0, must be a whole number of bytes, from 1 to 9223372036854775807");
}

TEST_CASE("read_plan: what is not a plan of this version is refused")
{
    check_refused(replaced(text(), "strata-plan", "strata-graph"),
                  errc::malformed_file,
                  R"(format is the string "strata-graph", must be "strata-plan")");
    check_refused(replaced(text(), "\"version\":1", "\"version\":3"),
                  errc::malformed_file,
                  "version is 3, but this reader knows version 1 only; write the file with a matching release");
    check_refused(replaced(text(), "\"peak_bytes\":12,", ""),
                  errc::malformed_file,
                  R"(certificate lacks the key "peak_bytes", add it)");
    check_refused(replaced(text(), "\"cost\":8,", "\"cost\":-8,"),
                  errc::malformed_plan,
                  "certificate.cost is -8, must be a whole number in the graph's cost unit, from 0 to "
                  "9223372036854775807");
    check_refused(replaced(text(), "\"seconds\":0.1", "\"seconds\":-0.1"),
                  errc::malformed_plan,
                  "certificate.seconds is -0.1, must be a number of seconds, at least 0");
    check_refused(replaced(text(), "\"seconds\":0.1", "\"seconds\":\"long\""),
                  errc::malformed_file,
                  "certificate.seconds is the string \"long\", must be a number of seconds");
    check_refused(replaced(text(), "\"certificate\":{", "\"certificate\":[{"),
                  errc::malformed_file,
                  "certificate is an array, which may not stand here");
    for (auto const* bad :
         {"\"12\"", "\"000000000000000g\"", "\"0x00000000000000\"", "\"00000000000000000\"", "\"\""}) {
        auto const at = text().find("\"fingerprint\":") + 14;
        auto s = text();
        s.replace(at, 18, bad);
        check_refused(
            s, errc::malformed_plan, "fingerprint is " + std::string(bad) + ", must be 16 hexadecimal digits");
    }
}

TEST_CASE("read_plan: a file cut off anywhere is refused")
{
    auto const whole = text().substr(0, text().size() - 1);
    for (std::size_t n = 0; n < whole.size(); ++n) {
        auto const r = strata::read_plan(whole.substr(0, n), two_ops());
        CAPTURE(n);
        REQUIRE_FALSE(r.has_value());
        CHECK(r.error().code == errc::malformed_file);
    }
}

TEST_CASE("read_plan: unknown keys are ignored with a warning")
{
    std::vector<std::string> warnings;
    auto const more = replaced(text(), "\"budget_bytes\":100", "\"budget_bytes\":100,\"note\":[{}]");
    CHECK(strata::read_plan(more, two_ops(), &warnings).value() == sample());
    CHECK(warnings == std::vector<std::string>{"unknown key note is ignored"});
}

} // namespace io_read_plan_test
