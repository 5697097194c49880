// SPDX-License-Identifier: Apache-2.0
// Any bytes as a plan file for one small graph: refused with a message, or a plan whose every id exists, that writes and
// reads back to itself, that the judge can look at and that the pictures can show.
#include <strata/io/chrome_trace.hpp>
#include <strata/io/dot.hpp>
#include <strata/io/read_plan.hpp>
#include <strata/io/write_plan.hpp>
#include <strata/problem/problem.hpp>
#include <strata/schedule/validate.hpp>

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

auto small_problem() -> strata::problem
{
    using strata::phase;
    using strata::tensor_kind;
    strata::problem_spec s;
    s.name = "small";
    s.tensors = {{"w", 64, tensor_kind::parameter},
                 {"a", 32, tensor_kind::activation},
                 {"b", 16, tensor_kind::activation},
                 {"gb", 16, tensor_kind::gradient},
                 {"ga", 32, tensor_kind::gradient}};
    s.ops = {{"first", "linear", phase::forward, 10, 8, {0}, {1}, {}, strata::none},
             {"second", "linear", phase::forward, 20, 0, {0, 1}, {2}, {}, strata::none},
             {"back second", "linear", phase::backward, 20, 0, {1, 2}, {3, 4}, {}, 1},
             {"back first", "linear", phase::backward, 10, 0, {3}, {4}, {}, 0}};
    s.targets = {4};
    return strata::problem::make(std::move(s)).value();
}

} // namespace

extern "C" auto LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) -> int
{
    static auto const p = small_problem();
    std::string_view const text(reinterpret_cast<char const*>(data), size);
    std::vector<std::string> warnings;
    auto file = strata::read_plan_file(text, &warnings);
    if (!file) {
        require(!file.error().message.empty());
        return 0;
    }
    auto const again = strata::read_plan_file(strata::write_plan(file->plan, file->graph));
    require(again.has_value() && *again == *file);
    // The fingerprint is the one part that chance does not hit; what lies behind it is to be reached too.
    file->plan.fingerprint = strata::fingerprint(p);
    auto const plan = strata::plan_for(*file, p);
    if (!plan) {
        require(!plan.error().message.empty());
        return 0;
    }
    auto const v = strata::validate(p, plan->schedule, plan->certificate.budget);
    require(v.ok() == v.violations.empty());
    require(!strata::to_dot(p, {&plan->schedule, true}).empty());
    (void)strata::chrome_trace(p, plan->schedule, plan->certificate.budget);
    return 0;
}
