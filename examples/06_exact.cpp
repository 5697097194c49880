// SPDX-License-Identifier: Apache-2.0
// The optimum of a small step by integer programming, on a backend of one's own.
#include <strata/glpk/glpk.hpp>
#include <strata/pipeline/plan.hpp>
#include <strata/solve/checkmate.hpp>
#include <strata/solve/portfolio.hpp>

#include <cstddef>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

// [backend]
/// Any backend, and what it was asked and answered.
template <strata::mip_backend B>
struct logged {
    B inner;

    [[nodiscard]] auto name() const -> std::string_view { return inner.name(); }
    [[nodiscard]] auto solve(strata::mip_model const& m, strata::mip_request const& r) const
        -> strata::result<strata::mip_outcome>
    {
        auto answer = inner.solve(m, r);
        if (answer) {
            std::cout << inner.name() << ": " << m.columns() << " columns, " << (r.start ? "with" : "without")
                      << " a start: " << to_string(answer->status) << '\n';
        }
        return answer;
    }
};
static_assert(strata::mip_backend<logged<strata::glpk>>);
// [backend]

namespace {

/// A chain of layers of uneven cost and its backward; every layer reads its input again.
auto step() -> strata::problem
{
    strata::problem_spec s;
    std::vector<strata::tensor_id> x;
    auto const tensor = [&](strata::bytes_t bytes, strata::tensor_kind kind) {
        s.tensors.push_back({"t" + std::to_string(s.tensors.size()), bytes, kind});
        return static_cast<strata::tensor_id>(s.tensors.size() - 1);
    };
    x.push_back(tensor(3, strata::tensor_kind::input));
    for (int i = 0; i < 8; ++i) {
        x.push_back(tensor(2 + i % 3, strata::tensor_kind::activation));
        s.ops.push_back({.cost = 3 + i * 5 % 7, .inputs = {x[x.size() - 2]}, .outputs = {x.back()}});
    }
    auto arriving = x.back();
    for (int i = 8; i-- > 0;) {
        auto const gradient = tensor(2, strata::tensor_kind::gradient);
        s.ops.push_back({.cost = 8, .inputs = {x[static_cast<std::size_t>(i)], arriving}, .outputs = {gradient}});
        arriving = gradient;
    }
    s.targets = {arriving};
    return strata::problem::make(s).value();
}

} // namespace

int main()
{
    auto const p = step();
    // [use]
    strata::limits lim;
    lim.budget = strata::budget::fraction(0.5);
    auto const made =
        strata::plan(p, lim, strata::portfolio(strata::default_solver{}, strata::checkmate<strata::glpk>{}));

    auto const bytes = made->certificate.budget;
    auto const exact = strata::solve_checkmate(p, bytes, logged<strata::glpk>{}, {.known = runs_of(made->schedule)});
    // [use]
    std::cout << "base cost " << p.base_cost() << ", under " << bytes << " bytes " << made->certificate.cost << ", by "
              << made->certificate.solver << "\nno order of its class costs less than " << exact->bound << ": "
              << (exact->optimal ? "optimal" : "not proven") << '\n';
    return made->certificate.cost == exact->cost ? 0 : 1;
}
