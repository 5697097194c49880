// SPDX-License-Identifier: Apache-2.0
//
//     runs    a       b  n n n c       d        lives are spans from run to run: a slot with a run holds what is live
//     lives   ├───────────────────┤             during it, a free slot what is live between its neighbours
#include <strata/solve/slot_line.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/random_problem.hpp"

namespace solve_slot_line_test {

using namespace strata;
using strata::test::dice;

/// The owner of a line, with everything written down plainly: runs in a vector, lives as pairs of runs.
class plain_owner {
public:
    using run_id = slot_line::run_id;

    explicit plain_owner(int runs)
    {
        for (int i = 0; i < runs; ++i) {
            runs_.push_back(fresh(0));
        }
        line_.reset(runs_);
    }

    [[nodiscard]] auto runs() const -> std::vector<run_id> const& { return runs_; }
    [[nodiscard]] auto line() const -> slot_line const& { return line_; }

    void insert_before(std::size_t place, int count, dice& d)
    {
        auto const before = runs_[place];
        std::vector<run_id> added;
        for (int i = 0; i < count; ++i) {
            added.push_back(fresh(d.below(5)));
        }
        // The line asks while the new runs are not yet in the owner's books.
        line_.insert_before(
            before,
            added,
            [&](run_id r) { return r == none ? 0 : after(position(r)); },
            [&](run_id r) { return own_[static_cast<std::size_t>(r)]; });
        runs_.insert(runs_.begin() + static_cast<std::ptrdiff_t>(place), added.begin(), added.end());
    }

    void add_life(std::size_t from, std::size_t to, bytes_t size)
    {
        lives_.push_back({runs_[from], runs_[to], size});
        line_.add(line_.slot(runs_[from]), line_.slot(runs_[to]), size);
    }

    void end_life(std::size_t which)
    {
        auto const x = lives_[which];
        line_.add(line_.slot(x.from), line_.slot(x.to), -x.size);
        lives_.erase(lives_.begin() + static_cast<std::ptrdiff_t>(which));
    }

    [[nodiscard]] auto lives() const -> std::size_t { return lives_.size(); }

    void erase(std::size_t place)
    {
        auto const r = runs_[place];
        if (std::any_of(lives_.begin(), lives_.end(), [&](auto const& x) { return x.from == r || x.to == r; })) {
            return;
        }
        line_.add(line_.slot(r), line_.slot(r), -own_[static_cast<std::size_t>(r)]);
        line_.erase(r);
        runs_.erase(runs_.begin() + static_cast<std::ptrdiff_t>(place));
    }

    void check() const
    {
        REQUIRE(line_.first() == runs_.front());
        REQUIRE(line_.last() == runs_.back());
        std::size_t s = 0;
        bytes_t between = 0;
        for (std::size_t k = 0; k < runs_.size(); ++k) {
            auto const r = runs_[k];
            REQUIRE(line_.next(r) == (k + 1 < runs_.size() ? runs_[k + 1] : none));
            REQUIRE(line_.slot(r) < line_.slots());
            for (; s < line_.slot(r); ++s) {
                REQUIRE(line_.run_at(s) == none);
                REQUIRE(line_.memory()[s] == between);
            }
            REQUIRE(s == line_.slot(r)); // in order, none on another's slot
            REQUIRE(line_.run_at(s) == r);
            REQUIRE(line_.memory()[s] == during(k));
            between = after(k);
            ++s;
        }
        for (; s < line_.slots(); ++s) {
            REQUIRE(line_.run_at(s) == none);
            REQUIRE(line_.memory()[s] == between);
        }
    }

private:
    struct span_of_runs {
        run_id from, to;
        bytes_t size;
    };

    auto fresh(bytes_t own) -> run_id
    {
        own_.push_back(own);
        return static_cast<run_id>(own_.size()) - 1;
    }
    [[nodiscard]] auto position(run_id r) const -> std::size_t
    {
        return static_cast<std::size_t>(std::find(runs_.begin(), runs_.end(), r) - runs_.begin());
    }
    [[nodiscard]] auto during(std::size_t k) const -> bytes_t
    {
        auto sum = own_[static_cast<std::size_t>(runs_[k])];
        for (auto const& x : lives_) {
            sum += position(x.from) <= k && k <= position(x.to) ? x.size : 0;
        }
        return sum;
    }
    [[nodiscard]] auto after(std::size_t k) const -> bytes_t
    {
        bytes_t sum = 0;
        for (auto const& x : lives_) {
            sum += position(x.from) <= k && k < position(x.to) ? x.size : 0;
        }
        return sum;
    }

    slot_line line_;
    std::vector<run_id> runs_;
    std::vector<bytes_t> own_; // by run
    std::vector<span_of_runs> lives_;
};

TEST_CASE("slot_line: holds what a plain list holds, over random insertions, lives and removals")
{
    for (std::uint64_t seed = 0; seed < 30; ++seed) {
        dice d(seed);
        plain_owner owner(static_cast<int>(d.between(1, 20)));
        for (int step = 0; step < 60; ++step) {
            auto const n = static_cast<std::int64_t>(owner.runs().size());
            auto const any = [&] { return static_cast<std::size_t>(d.below(n)); };
            CAPTURE(seed, step);
            switch (d.below(5)) {
            case 0: owner.insert_before(any(), static_cast<int>(d.chance(10) ? 30 : d.between(1, 4)), d); break;
            case 1: owner.insert_before(static_cast<std::size_t>(n / 2), 3, d); break; // crowded there
            case 2:
                if (owner.lives() > 0) {
                    owner.end_life(static_cast<std::size_t>(d.below(static_cast<std::int64_t>(owner.lives()))));
                }
                break;
            case 3:
                if (n > 1) {
                    owner.erase(any());
                }
                break;
            default: {
                auto const from = any();
                owner.add_life(
                    from, static_cast<std::size_t>(d.between(static_cast<std::int64_t>(from), n - 1)), d.below(9));
            }
            }
            owner.check();
        }
    }
}

TEST_CASE("slot_line: grows when many runs are put at one place, and keeps what it holds")
{
    dice d(1);
    plain_owner owner(4);
    owner.add_life(0, 3, 7);
    owner.add_life(1, 2, 5);
    auto const before = owner.line().slots();
    for (int i = 0; i < 120; ++i) {
        owner.insert_before(2, 1, d);
    }
    owner.check();
    owner.insert_before(0, 50, d); // before everything else
    owner.check();
    CHECK(owner.line().slots() > before);
}

TEST_CASE("slot_line: a thousand insertions at one place move few runs")
{
    // With even spreading of the whole line each time, slots would stay the same only by moving all runs.
    slot_line line;
    std::vector<slot_line::run_id> runs(1000);
    std::iota(runs.begin(), runs.end(), 0);
    line.reset(runs);
    std::int64_t asked = 0; // `after` is asked once per run moved
    for (slot_line::run_id r = 1000; r < 2000; ++r) {
        line.insert_before(
            500,
            {r},
            [&](slot_line::run_id) {
                ++asked;
                return bytes_t{0};
            },
            [](slot_line::run_id) { return bytes_t{0}; });
    }
    CHECK(asked < 100 * 1000);
    int count = 0;
    for (auto r = line.first(); r != none; r = line.next(r)) {
        ++count;
    }
    CHECK(count == 2000);
}

} // namespace solve_slot_line_test
