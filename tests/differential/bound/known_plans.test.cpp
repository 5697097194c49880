// SPDX-License-Identifier: Apache-2.0
// Bounds against the cheapest plans known of graphs of the measurement data, each of which the judge has accepted.
#include <strata/bound/joint_bound.hpp>
#include <strata/bound/lower_bound.hpp>
#include <strata/io/lower_graph.hpp>
#include <strata/io/read_graph.hpp>
#include <strata/schedule/profile.hpp>
#include <strata/solve/keep_all.hpp>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/data_folder.hpp"

namespace bound_known_plans_test {

using namespace strata;
using namespace strata::test;

struct known_plan {
    char const* graph;
    double share; // of the keep-all peak without resident tensors
    double ratio; // of the cost of the plan and that of the plain step
};

TEST_CASE("joint bound: on measured graphs at most the cheapest plan that is known, and above what one instant proves")
{
    for (auto const& known : {known_plan{"unet4_2", 0.5, 1.03799},
                              known_plan{"unet4_2", 0.4, 1.08678},
                              known_plan{"unet4_2", 0.3, 1.20634}}) {
        auto const path = data_folder() + "/graphs/" + known.graph + ".json";
        std::ifstream in(path);
        if (!in) {
            WARN("skipped: no " + path + "; set STRATA_DATA");
            return;
        }
        auto const file = read_graph(std::string{std::istreambuf_iterator<char>(in), {}}).value();
        auto const lowered = lower_graph(file).value();
        auto const& p = lowered.problem();
        auto const dynamic = peak_of(p, keep_all_order(p)) - p.resident_bytes();
        auto const bytes = budget::fraction(known.share).resolve(p.resident_bytes(), dynamic);
        auto const base = static_cast<double>(p.base_cost());
        std::vector<cost_bound> each;
        for (op_id o = 0; o < p.op_count(); ++o) {
            each.push_back(lower_bound(p, bytes, std::vector<op_id>{o}));
            each.back().at = o;
        }
        auto const points = telling_points(std::move(each));
        auto const alone = lower_bound(p, bytes, points);
        // A bound that is wrong may exceed the plan, so more is asked for than the plan costs.
        auto const asked = static_cast<cost_t>(base * (known.ratio + 0.05));
        joint_bound raise(p, bytes, asked, {.work = 5'000'000, .least_gap = 0});
        auto const proof = raise(alone, points);
        CAPTURE(known.graph, known.share);
        CHECK(static_cast<double>(proof.bound.cost) <= base * known.ratio);
        CHECK(proof.bound.cost > alone.cost);
    }
}

} // namespace bound_known_plans_test
