// SPDX-License-Identifier: Apache-2.0
// What an op costs: measured, by operator type, by a roofline fitted to measurements, or by a model of one's own.
#include <strata/cost/by_type.hpp>
#include <strata/cost/calibrate.hpp>
#include <strata/strata.hpp>

#include <iostream>
#include <variant>
#include <vector>

struct matmul {
    double flops;
};
struct gelu {
    double flops;
};
using op = std::variant<matmul, gelu>;

// [own]
/// A model of one's own: any type with this member.
struct by_bytes {
    template <class G>
    [[nodiscard]] auto cost(G const& g, strata::op_id o) const -> double
    {
        return strata::work::bytes_moved(g, o) / 1500; // 1500 bytes a nanosecond
    }
};
// [own]

int main()
{
    strata::graph_builder<op> b("block");
    auto const x = b.input("x", 8 << 20);
    auto const w = b.parameter("w", 8 << 20);
    auto const h = b.add(matmul{17e9}, {x, w}, {{.name = "h", .bytes = 8 << 20}});
    b.target(b.add(gelu{4e7}, {h}, {{.name = "y", .bytes = 8 << 20}}));
    auto const g = b.build().value();

    auto const show = [&](char const* name, auto const& cost) {
        auto const l = strata::lower(g, cost);
        std::cout << name << l->problem().cost(0) << " ns and " << l->problem().cost(1) << " ns\n";
    };
    show("measured        ", strata::table_cost({290'000, 15'000}));

    // [by_type]
    auto const typed = strata::cost_by_type(strata::priced<matmul>([](matmul const& m) { return m.flops / 60e3; }),
                                            strata::priced<gelu>(14'000));
    // [by_type]
    show("by type         ", typed);

    // [calibrate]
    std::vector<strata::roofline_sample> const samples = {
        {.flops = 2e6, .bytes = 3e6, .nanoseconds = 5'000},
        {.flops = 1e7, .bytes = 3e7, .nanoseconds = 23'000},
        {.flops = 4e9, .bytes = 2e7, .nanoseconds = 69'700},
        {.flops = 3e10, .bytes = 6e7, .nanoseconds = 503'000},
    };
    auto const fitted = strata::calibrate(samples);
    // [calibrate]
    std::cout << "fit explains " << static_cast<int>(1000 * fitted->r2) / 10.0 << " % of the variance\n";
    show("roofline        ", strata::roofline_cost(fitted->device));
    show("twice as slow   ", strata::scaled(strata::roofline_cost(fitted->device), 2));
    show("gelu by hand    ", strata::overridden(strata::roofline_cost(fitted->device), {{1, 9'000}}));
    show("bytes alone     ", by_bytes{});
}
