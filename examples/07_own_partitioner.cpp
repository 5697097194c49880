// SPDX-License-Identifier: Apache-2.0
// A partitioner of one's own: it cuts by labels that the framework has put on its ops. strata finds which blocks are alike.
#include <strata/hierarchy.hpp>

#include <iostream>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// [partitioner]
/// Ops whose names begin with the same word, up to a slash, are a part; each part is cut further by `Sub`.
template <class Sub = strata::whole>
struct by_label {
    Sub sub = {};

    [[nodiscard]] static constexpr auto name() -> std::string_view { return "by_label"; }
    [[nodiscard]] auto split(strata::problem const& p, std::span<strata::op_id const> ops) const
        -> std::vector<strata::part>
    {
        std::map<std::string, std::vector<strata::op_id>> labels;
        for (auto o : ops) {
            auto const& n = p.op(o).name;
            labels[n.substr(0, n.find('/'))].push_back(o);
        }
        std::vector<strata::part> parts;
        for (auto const& [label, mine] : labels) {
            parts.push_back({mine, sub.split(p, mine)});
        }
        return parts;
    }
};
static_assert(strata::partitioner<by_label<>>);
// [partitioner]

namespace {

/// Layers of four ops around a residual, an op before and one behind, and the way back.
auto network(int layers) -> strata::problem
{
    strata::problem_spec s;
    auto const op = [&](std::string const& name, strata::cost_t cost, std::vector<strata::tensor_id> in) {
        s.tensors.push_back({name, 1000});
        s.ops.push_back({.name = name, .phase = strata::phase::forward, .cost = cost, .inputs = std::move(in)});
        s.ops.back().outputs = {static_cast<strata::tensor_id>(s.tensors.size()) - 1};
        return s.ops.back().outputs[0];
    };
    auto x = op("embed/table", 5, {});
    for (int i = 0; i < layers; ++i) {
        auto const label = "layer" + std::to_string(i) + "/";
        auto const norm = op(label + "norm", 1, {x});
        auto const up = op(label + "up", 20, {norm});
        auto const act = op(label + "act", 2, {up});
        x = op(label + "down", 20, {x, act});
    }
    auto above = op("head/loss", 9, {x});
    for (auto o = static_cast<strata::op_id>(s.ops.size()); o-- > 0;) { // each reads what its op made, and what arrives
        auto const made = s.ops[static_cast<std::size_t>(o)].outputs[0];
        s.tensors.push_back({"", 1000});
        s.ops.push_back({.phase = strata::phase::backward, .cost = 10, .inputs = {made, above}, .backward_of = o});
        s.ops.back().outputs = {above = static_cast<strata::tensor_id>(s.tensors.size()) - 1};
    }
    s.targets = {above};
    return strata::problem::make(s).value();
}

} // namespace

int main()
{
    auto const p = network(6);
    auto const blocks = strata::hierarchy::make(p, by_label<strata::bottom_up>{{.most_at_top = 3, .most_below = 4}});
    std::cout << blocks->size() << " blocks of " << blocks->kinds() << " kinds\n";
    for (auto i : (*blocks)[0].parts) {
        auto const& b = (*blocks)[i];
        std::cout << p.op(b.ops.forward.front()).name << ": " << b.ops.forward.size() << " + " << b.ops.backward.size()
                  << " ops in " << b.parts.size() << " parts, kind " << b.kind << '\n';
    }
}
