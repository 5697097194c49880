// SPDX-License-Identifier: Apache-2.0
// Any bytes as a plan file for one small graph, and for one whose views and in-place ops are folded away: refused with a
// message, or a plan whose every id exists, that writes and reads back to itself, that the judges can look at and that the
// pictures can show.
#include <strata/io/chrome_trace.hpp>
#include <strata/io/dot.hpp>
#include <strata/io/lower_graph.hpp>
#include <strata/io/read_graph.hpp>
#include <strata/io/read_plan.hpp>
#include <strata/io/write_plan.hpp>
#include <strata/pipeline/plan_graph.hpp>
#include <strata/place/check.hpp>
#include <strata/problem/problem.hpp>
#include <strata/schedule/validate.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
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

/// Ops 1 to 4 run as one: op 2 makes a view of what op 1 makes, op 4 changes it in place and reads what op 3 makes of it,
/// which nobody else needs. Op 0 serves op 1 only, so a plan of the graph may free its output before op 2.
auto graph_with_aliases() -> strata::lowering
{
    constexpr std::string_view text =
        R"json({"format":"strata-graph","version":1,"name":"aliases","cost_unit":"ns","alignment":8,
"tensors":[{"name":"w","bytes":64,"kind":"parameter"},{"name":"x","bytes":24,"kind":"activation"},
{"name":"a","bytes":32,"kind":"activation"},{"name":"view","bytes":32,"kind":"activation","view_of":2},
{"name":"tmp","bytes":8,"kind":"activation"},{"name":"b","bytes":16,"kind":"activation"},
{"name":"gb","bytes":16,"kind":"gradient"},{"name":"ga","bytes":32,"kind":"gradient"}],
"ops":[{"name":"embed","type":"embed","phase":"forward","cost":5,"inputs":[0],"outputs":[1]},
{"name":"first","type":"linear","phase":"forward","cost":10,"workspace":8,"inputs":[0,1],"outputs":[2]},
{"name":"view","type":"view","phase":"forward","cost":0,"inputs":[2],"outputs":[3]},
{"name":"mask","type":"mask","phase":"forward","cost":2,"inputs":[2],"outputs":[4]},
{"name":"relu_","type":"relu","phase":"forward","cost":3,"inputs":[4],"outputs":[],"effects":["mutates(2)"]},
{"name":"second","type":"linear","phase":"forward","cost":20,"inputs":[0,3],"outputs":[5]},
{"name":"back second","type":"linear","phase":"backward","cost":20,"inputs":[2,5],"outputs":[6,7],"backward_of":5},
{"name":"back first","type":"linear","phase":"backward","cost":10,"inputs":[6],"outputs":[7],"backward_of":1}],
"targets":[7]})json";
    auto l = strata::lower_graph(strata::read_graph(text).value()).value();
    require(!l.identity());
    return l;
}

/// What holds for every plan that was let in, whoever it is for.
void look_at(strata::problem const& p, strata::certified_plan const& plan)
{
    require(!strata::detail::check_plan(plan, p.op_count(), p.tensor_count()));
    auto const v = strata::validate(p, plan.schedule, plan.certificate.budget);
    require(v.ok() == v.violations.empty());
    (void)strata::check(plan.placement);
    if (v.ok()) {
        (void)strata::check(p, plan.schedule, plan.placement);
    }
    require(!strata::to_dot(p, {&plan.schedule, true}).empty());
    (void)strata::chrome_trace(p, plan.schedule, plan.certificate.budget);
}

/// The fingerprint is the one part that chance does not hit; what lies behind it is to be reached too.
template <class Graph>
auto held_against(Graph const& g, strata::plan_file file, std::uint64_t fingerprint)
    -> strata::result<strata::certified_plan>
{
    file.plan.fingerprint = fingerprint;
    auto plan = strata::plan_for(std::move(file), g);
    require(plan.has_value() || !plan.error().message.empty());
    return plan;
}

} // namespace

extern "C" auto LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) -> int
{
    static auto const p = small_problem();
    static auto const aliases = graph_with_aliases();
    std::string_view const text(reinterpret_cast<char const*>(data), size);
    std::vector<std::string> warnings;
    auto file = strata::read_plan_file(text, &warnings);
    if (!file) {
        require(!file.error().message.empty());
        return 0;
    }
    auto const again = strata::read_plan_file(strata::write_plan(file->plan, file->graph));
    require(again.has_value() && *again == *file);
    if (auto const plan = held_against(p, *file, strata::fingerprint(p))) {
        look_at(p, *plan);
    }
    auto const& folded = aliases.problem();
    if (auto const plan = held_against(aliases, *file, strata::fingerprint(folded))) {
        look_at(folded, *plan);
        auto const graphs = strata::in_graph_ids(*plan, aliases);
        auto const back = strata::read_plan(strata::write_plan(graphs, file->graph), aliases);
        require(back.has_value() && *back == *plan);
    }
    return 0;
}
