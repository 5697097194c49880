// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief What every `mip_backend` must answer, checked inside a test case.
#pragma once

#include <strata/solve/mip_backend.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <unistd.h>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/random_problem.hpp"

namespace strata::test {

/// A model without rows: `columns` columns of objective 1 between 0 and 10.
inline auto box_model(Eigen::Index columns, bool whole) -> mip_model
{
    mip_model m;
    m.objective = Eigen::VectorXd::Ones(columns);
    m.rows = Eigen::SparseMatrix<double>(0, columns);
    m.row_lower = m.row_upper = Eigen::VectorXd(0);
    m.column_lower = Eigen::VectorXd::Zero(columns);
    m.column_upper = Eigen::VectorXd::Constant(columns, 10);
    m.integer.assign(static_cast<std::size_t>(columns), whole ? 1 : 0);
    return m;
}

/// `m` with one row more.
inline auto with_row(mip_model m, std::vector<double> const& entries, double lower, double upper) -> mip_model
{
    auto const row = m.row_count();
    m.rows.conservativeResize(row + 1, m.columns());
    for (std::size_t j = 0; j < entries.size(); ++j) {
        if (entries[j] != 0) {
            m.rows.insert(row, static_cast<Eigen::Index>(j)) = entries[j];
        }
    }
    m.row_lower.conservativeResize(row + 1);
    m.row_upper.conservativeResize(row + 1);
    m.row_lower[row] = lower;
    m.row_upper[row] = upper;
    return m;
}

/// Whole numbers between 0 and 3, `rows` rows with small entries; some such models have no solution.
inline auto random_model(std::uint64_t seed, Eigen::Index columns, int rows) -> mip_model
{
    dice d(seed);
    auto m = box_model(columns, true);
    for (Eigen::Index j = 0; j < columns; ++j) {
        m.objective[j] = static_cast<double>(d.between(-5, 9));
        m.column_upper[j] = 3;
    }
    for (int i = 0; i < rows; ++i) {
        std::vector<double> entries(static_cast<std::size_t>(columns));
        std::generate(entries.begin(), entries.end(), [&] { return static_cast<double>(d.between(-4, 7)); });
        auto const low = static_cast<double>(d.between(-4, 12));
        m = with_row(std::move(m), entries, low, d.chance(50) ? infinite : low + static_cast<double>(d.between(0, 6)));
    }
    return m;
}

/// A knapsack-like model that takes any backend a while: equal subset sums.
inline auto stubborn_model() -> mip_model
{
    // Jeroslow: 2·Σx = odd. Any branch and bound without parity reasoning visits exponentially many nodes.
    constexpr Eigen::Index n = 61;
    auto m = box_model(n, true);
    m.column_upper = Eigen::VectorXd::Ones(n);
    dice d(5);
    for (Eigen::Index j = 0; j < n; ++j) {
        m.objective[j] = static_cast<double>(d.between(100, 160));
    }
    for (int i = 0; i < 4; ++i) {
        std::vector<double> entries(n);
        double sum = 0;
        for (auto& x : entries) {
            sum += x = static_cast<double>(d.between(5000, 9999));
        }
        m = with_row(std::move(m), entries, std::floor(sum / 2), std::floor(sum / 2) + 3);
    }
    return m;
}

/// The least objective over all points of a box of whole numbers, if any point satisfies the rows.
inline auto enumerated(mip_model const& m) -> std::optional<double>
{
    std::optional<double> best;
    Eigen::VectorXd x = m.column_lower;
    for (;;) {
        if (violation_of(m, x) == 0) {
            best = std::min(best.value_or(infinite), m.objective.dot(x));
        }
        Eigen::Index j = 0;
        while (j < x.size() && x[j] == m.column_upper[j]) {
            x[j] = m.column_lower[j];
            ++j;
        }
        if (j == x.size()) {
            return best;
        }
        x[j] += 1;
    }
}

template <mip_backend B>
auto answer(B const& b, mip_model const& m, mip_request const& r = {}) -> mip_outcome
{
    auto const out = b.solve(m, r);
    REQUIRE(out);
    if (out->solution.size() != 0) {
        CHECK(violation_of(m, out->solution) <= 1e-6);
        CHECK(out->objective == Approx(m.objective.dot(out->solution)).margin(1e-9));
        CHECK(out->objective <= r.cutoff + 1e-6);
        CHECK(out->bound <= out->objective + 1e-6);
    }
    bool const has_solution = out->status == mip_status::optimal || out->status == mip_status::feasible;
    CHECK((out->solution.size() == m.columns()) == (has_solution || m.columns() == 0));
    return *out;
}

template <mip_backend B>
void check_linear_programs(B const& b)
{
    using Catch::Matchers::Contains;
    // min x + y, x + 2y >= 4, 3x + y >= 6: the corner (8/5, 6/5).
    auto m = with_row(with_row(box_model(2, false), {1, 2}, 4, infinite), {3, 1}, 6, infinite);
    auto const corner = answer(b, m);
    CHECK(corner.status == mip_status::optimal);
    CHECK(corner.objective == Approx(2.8));
    CHECK(corner.bound == Approx(2.8));
    CHECK(corner.solution[0] == Approx(1.6));

    CHECK(answer(b, with_row(m, {1, 1}, -infinite, 2)).status == mip_status::infeasible);
    CHECK(answer(b, m, {.cutoff = 2.7}).status == mip_status::infeasible);
    CHECK(answer(b, m, {.cutoff = 2.9}).objective == Approx(2.8));

    m.objective = Eigen::Vector2d(-1, 1);
    m.column_upper[0] = infinite;
    CHECK(answer(b, m).status == mip_status::unbounded);

    auto free = box_model(1, false);
    free.column_lower[0] = -infinite;
    free.column_upper[0] = infinite;
    CHECK(answer(b, free).status == mip_status::unbounded);
    CHECK(answer(b, with_row(free, {1}, -3, infinite)).objective == Approx(-3));
}

template <mip_backend B>
void check_odd_models(B const& b)
{
    // Nothing at all, with rows that nothing satisfies, and with rows that nothing offends.
    CHECK(answer(b, box_model(0, false)).status == mip_status::optimal);
    CHECK(answer(b, with_row(box_model(0, false), {}, 1, 2)).status == mip_status::infeasible);
    CHECK(answer(b, with_row(box_model(0, false), {}, -1, 2)).status == mip_status::optimal);
    for (bool const whole : {false, true}) {
        CAPTURE(whole);
        auto const box = box_model(3, whole);
        CHECK(answer(b, box).objective == Approx(0));
        CHECK(answer(b, with_row(box, {}, 1, 2)).status == mip_status::infeasible);
        CHECK(answer(b, with_row(box, {}, 0, 0)).status == mip_status::optimal);
        CHECK(answer(b, with_row(box, {1, 1, 1}, -infinite, infinite)).objective == Approx(0));
        CHECK(answer(b, with_row(box, {1, 1, 1}, 5, 5)).objective == Approx(5));
        CHECK(answer(b, with_row(box, {1, 1, 1}, 5, 4)).status == mip_status::infeasible);
        CHECK(answer(b, with_row(box, {1, 1, 1}, infinite, infinite)).status == mip_status::infeasible);
        auto fixed = box;
        fixed.column_lower[1] = fixed.column_upper[1] = 4;
        CHECK(answer(b, fixed).objective == Approx(4));
        fixed.column_lower[2] = 11;
        CHECK(answer(b, fixed).status == mip_status::infeasible);
        // The same row twice, and a third that is their sum.
        auto const twice = with_row(with_row(box, {1, 2, 0}, 3, infinite), {1, 2, 0}, 3, infinite);
        CHECK(answer(b, with_row(twice, {2, 4, 0}, 6, infinite)).objective == Approx(whole ? 2 : 1.5));
    }
    auto broken = box_model(2, true);
    broken.column_lower[0] = 0.3;
    broken.column_upper[0] = 0.7; // no whole number between
    CHECK(answer(b, broken).status == mip_status::infeasible);
    broken.column_upper[0] = 1.5;
    CHECK(answer(b, broken).objective == Approx(1));
}

template <mip_backend B>
void check_malformed(B const& b)
{
    auto const refused = [&](mip_model const& m) {
        auto const out = b.solve(m, {});
        return !out && out.error().code == errc::invalid_argument;
    };
    auto const good = with_row(box_model(2, true), {1, 1}, 1, 3);
    CHECK_FALSE(refused(good));
    auto m = good;
    m.objective[0] = std::numeric_limits<double>::quiet_NaN();
    CHECK(refused(m));
    m = good;
    m.objective[0] = infinite;
    CHECK(refused(m));
    m = good;
    m.column_upper[1] = std::numeric_limits<double>::quiet_NaN();
    CHECK(refused(m));
    m = good;
    m.row_lower[0] = std::numeric_limits<double>::quiet_NaN();
    CHECK(refused(m));
    m = good;
    m.rows.coeffRef(0, 1) = infinite;
    CHECK(refused(m));
    m = good;
    m.integer.pop_back();
    CHECK(refused(m));
    m = good;
    m.row_upper.conservativeResize(2);
    CHECK(refused(m));
    m = good;
    m.column_lower.conservativeResize(1);
    CHECK(refused(m));
}

template <mip_backend B>
void check_integer_programs(B const& b)
{
    int solved = 0;
    int none = 0;
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        CAPTURE(seed);
        auto const m = random_model(seed, 5, 4);
        auto const truth = enumerated(m);
        auto const out = answer(b, m);
        REQUIRE(out.status == (truth ? mip_status::optimal : mip_status::infeasible));
        (truth ? solved : none) += 1;
        if (!truth) {
            continue;
        }
        CHECK(out.objective == Approx(*truth).margin(1e-6));
        CHECK(out.bound == Approx(*truth).margin(1e-6));
        // A cutoff at the optimum keeps it, one below it leaves nothing; a start is never made worse.
        CHECK(answer(b, m, {.cutoff = *truth}).objective == Approx(*truth).margin(1e-6));
        CHECK(answer(b, m, {.cutoff = *truth - 0.5}).status == mip_status::infeasible);
        auto const started = answer(b, m, {.start = out.solution});
        CHECK(started.status == mip_status::optimal);
        CHECK(started.objective == Approx(*truth).margin(1e-6));
        auto worst = m;
        worst.objective = -m.objective;
        auto const poor = answer(b, worst).solution;
        auto const better = answer(b, m, {.start = poor});
        CHECK(better.status == mip_status::optimal);
        CHECK(better.objective == Approx(*truth).margin(1e-6));
        // What is no solution is not taken for one.
        CHECK(answer(b, m, {.start = Eigen::VectorXd::Constant(5, 17)}).objective == Approx(*truth).margin(1e-6));
        CHECK(answer(b, m, {.start = Eigen::VectorXd::Zero(2)}).objective == Approx(*truth).margin(1e-6));
        CHECK(answer(b, m, {.start = poor, .cutoff = *truth - 0.5}).status == mip_status::infeasible);
    }
    CHECK(solved > 20);
    CHECK(none > 2);
    auto free = box_model(2, true);
    free.column_lower[0] = -infinite;
    CHECK(answer(b, free).status == mip_status::unbounded);
}

template <mip_backend B>
void check_limits(B const& b)
{
    auto const hard = stubborn_model();
    // Stopped before it begins.
    std::stop_source source;
    source.request_stop();
    limits lim;
    lim.cancel = source.get_token();
    CHECK(answer(b, hard, {.stop = stop_watch(lim)}).status == mip_status::stopped);
    CHECK(answer(b, with_row(box_model(2, false), {1, 1}, 3, 4), {.stop = stop_watch(lim)}).status ==
          mip_status::stopped);
    lim = {};
    lim.deadline = std::chrono::nanoseconds(0);
    CHECK(answer(b, hard, {.stop = stop_watch(lim)}).status == mip_status::stopped);
    // With a start there is an answer at any time.
    auto const easy = with_row(box_model(5, true), {3, 5, 7, 2, 4}, 31, infinite);
    auto const best = answer(b, easy).solution;
    REQUIRE(best.size() == 5);
    auto const kept = answer(b, easy, {.start = best, .stop = stop_watch(lim)});
    CHECK(kept.status == mip_status::feasible);
    CHECK(kept.solution == best);
    // Cancelled on the way, by whoever is told about progress: it ends, and says that nothing is proven.
    std::stop_source later;
    lim = {};
    lim.cancel = later.get_token();
    int calls = 0;
    auto const cut_short = answer(b, hard, {.stop = stop_watch(lim), .on_progress = [&](mip_progress const& now) {
                                                CHECK(now.bound <= now.best);
                                                if (++calls == 3) {
                                                    later.request_stop();
                                                }
                                            }});
    CHECK(calls >= 3);
    CHECK((cut_short.status == mip_status::stopped || cut_short.status == mip_status::feasible));
    // A limit of nodes, which is repeatable.
    auto const some = answer(b, hard, {.max_nodes = 20});
    CHECK((some.status == mip_status::stopped || some.status == mip_status::feasible));
    CHECK(some.bound > 0);
    CHECK(some.nodes >= 1);
    CHECK(some.nodes <= 40);
    auto const again = answer(b, hard, {.max_nodes = 20});
    CHECK(again.status == some.status);
    CHECK(again.bound == some.bound);
    CHECK(again.nodes == some.nodes);
    // What the listener throws arrives, and does no harm to the next run.
    CHECK_THROWS_AS(b.solve(hard, {.on_progress = [](mip_progress const&) { throw std::runtime_error("enough"); }}),
                    std::runtime_error);
    CHECK(answer(b, easy).status == mip_status::optimal);
}

/// Bytes that reach the standard output while `f` runs, whoever writes them.
template <class F>
auto printed_by(F const& f) -> std::int64_t
{
    std::fflush(stdout);
    std::unique_ptr<std::FILE, int (*)(std::FILE*)> const sink(std::tmpfile(), &std::fclose);
    REQUIRE(sink != nullptr);
    auto const terminal = dup(STDOUT_FILENO);
    dup2(fileno(sink.get()), STDOUT_FILENO);
    f();
    std::fflush(stdout);
    auto const bytes = lseek(STDOUT_FILENO, 0, SEEK_CUR);
    dup2(terminal, STDOUT_FILENO);
    close(terminal);
    return bytes;
}

template <mip_backend B>
void check_silence(B const& b)
{
    REQUIRE(printed_by([] { std::printf("four"); }) == 4);
    CHECK(printed_by([&] {
              (void)b.solve(stubborn_model(), {.max_nodes = 5});
              (void)b.solve(with_row(box_model(3, true), {2, 2, 2}, 5, 5), {});
              (void)b.solve(with_row(box_model(3, false), {1, 1, 1}, 40, 50), {});
              for (std::uint64_t seed = 0; seed < 5; ++seed) {
                  (void)b.solve(random_model(seed, 5, 4), {});
              }
          }) == 0);
}

} // namespace strata::test
