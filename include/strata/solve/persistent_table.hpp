// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief The cheapest way to run a row of stages when what is kept stays until its backward half: for all budgets at once.
///
/// Either stage a runs with an option and keeps what the option says until its backward half; or stages a..j-1 run and keep
/// nothing, stage j starts from its input, and a..j-1 run again afterwards:
///
///     T(a,b,m) = min( min_o  cost_o + T(a+1, b, m - kept_o),
///                     min_j  cost of a..j-1 + T(j, b, m - input of a) + T(a, j-1, m) )
///
/// Source: Beaumont, Eyraud-Dubois, Herrmann, Joly, Shilova, "Optimal checkpointing for heterogeneous chains", 2019 (Rotor);
/// with options per stage: Zhao, Le Hellard, Eyraud-Dubois, Gusak, Beaumont, "Rockmate", 2023. Beyond both: an input that
/// nothing needs any more is freed, tensors that pass over stages are counted where they live, and equal stretches of
/// stages share one state.
#pragma once

#include <strata/solve/limits.hpp>
#include <strata/solve/stage.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

namespace strata {

/// A run of half a stage in the answer of `persistent_table`.
struct stage_run {
    std::size_t stage = 0;
    bool backward = false;
    int option = -1; ///< -1: forward, keeping nothing
    friend auto operator==(stage_run const&, stage_run const&) -> bool = default;
};

/// Work that making a table may take, and its grid.
struct table_limits {
    std::int64_t steps = 100'000'000; ///< of the inner loop
    std::int64_t cells = 24'000'000;  ///< of 8 bytes
    std::int64_t slots = 2'000;       ///< most parts that the budget is cut into
};

/// See the top of the file. Bytes are counted in slots: exact when the bytes of every stage are whole slots, rounded to
/// the nearest otherwise, so the need of an answer may be off by half a slot per stage that keeps something.
template <class = void>
class basic_persistent_table {
public:
    /// States of the table of `stages` and steps of the inner loop per slot. Complexity: O(n² log n).
    struct size {
        std::int64_t states = 0;
        std::int64_t steps = 0;
        /// Slots that `lim` leaves.
        [[nodiscard]] auto slots(table_limits const& lim) const noexcept -> std::int64_t
        {
            return std::min({lim.slots,
                             lim.steps / std::max<std::int64_t>(1, steps),
                             lim.cells / std::max<std::int64_t>(1, states)});
        }
    };
    [[nodiscard]] static auto size_of(std::vector<stage> const& stages) -> size
    {
        basic_persistent_table t;
        t.number(stages);
        return t.size_;
    }

    /// The table up to `largest` bytes. Returns: nothing when time is up, there are no stages or `largest` is negative.
    /// Complexity: O(steps · slots) of `size_of`.
    [[nodiscard]] static auto
    make(std::vector<stage> stages, bytes_t largest, stop_watch const& stop = {}, table_limits const& lim = {})
        -> std::optional<basic_persistent_table>
    {
        if (stages.empty() || largest < 0) {
            return {};
        }
        basic_persistent_table t;
        t.number(stages);
        t.stages_ = std::move(stages);
        t.choose_slot(largest, std::max<std::int64_t>(1, t.size_.slots(lim)));
        t.tables_.resize(static_cast<std::size_t>(t.size_.states));
        auto const n = t.stages_.size();
        std::vector<char> made(t.held_from_, 0);
        for (std::size_t length = 1; length <= n; ++length) {
            for (std::size_t a = 0; a + length <= n; ++a) {
                auto const id = t.state(a, a + length - 1);
                if (made[id] != 0) {
                    continue;
                }
                made[id] = 1;
                if (stop.expired()) {
                    return {};
                }
                for (bool held : {false, true}) {
                    if (!held || t.may_be_held(a)) {
                        t.compute(a, a + length - 1, held);
                    }
                }
            }
        }
        return t;
    }

    [[nodiscard]] auto stages() const noexcept -> std::vector<stage> const& { return stages_; }
    /// Bytes of a slot.
    [[nodiscard]] auto slot() const noexcept -> bytes_t { return slot_; }
    [[nodiscard]] auto slots() const noexcept -> std::int64_t { return slots_; }
    /// Most slots that fit into `bytes`, at most `slots()`.
    [[nodiscard]] auto slots_in(bytes_t bytes) const noexcept -> std::int64_t
    {
        return bytes < 0 ? -1 : std::min(slots_, bytes / slot_);
    }
    /// Cost of the answer for `m` slots, a replay counted a little even when it costs nothing; infinite when there is none.
    [[nodiscard]] auto cost(std::int64_t m) const -> double
    {
        return m < 0 ? infinite : at(tables_[table(0, stages_.size() - 1, false)], m);
    }

    /// The cheapest runs that `m` slots allow, empty when there are none. Complexity: O(runs · stages).
    [[nodiscard]] auto runs(std::int64_t m) const -> std::vector<stage_run>
    {
        std::vector<stage_run> r;
        if (cost(m) == infinite) {
            return r;
        }
        struct frame {
            std::size_t a, b;
            bool held;
            std::int64_t m;
            int backward; // option to run backward; -1: a state to work out
        };
        std::vector<frame> stack{{0, stages_.size() - 1, false, m, -1}};
        while (!stack.empty()) {
            auto const f = stack.back();
            stack.pop_back();
            if (f.backward >= 0) {
                r.push_back({f.a, true, f.backward});
                continue;
            }
            auto const c = best(f.a, f.b, f.held, f.m);
            if (c.option >= 0) {
                if (!c.alone) {
                    r.push_back({f.a, false, c.option});
                }
                stack.push_back({f.a, f.a, false, 0, c.option});
                if (f.a < f.b) {
                    stack.push_back(
                        {f.a + 1, f.b, holds_next(f.a, stages_[f.a].options[index(c.option)]), f.m - c.taken, -1});
                }
            } else {
                for (auto i = f.a; i < c.from; ++i) {
                    r.push_back({i, false, -1});
                }
                stack.push_back({f.a, c.from - 1, f.held, f.m, -1});
                stack.push_back({c.from, f.b, false, f.m - c.taken, -1});
            }
        }
        return r;
    }

private:
    using row = std::vector<double>;
    static constexpr double infinite = std::numeric_limits<double>::infinity();
    // A replay of no cost still takes a step: with costs that are equal, the fewest ops win.
    static constexpr double run_cost = 1.0 / 1024;

    /// What to do in a state: an option, or from where on to start after running up to there.
    struct choice {
        int option = -1;
        bool alone = false;
        std::size_t from = 0;
        std::int64_t taken = 0; // slots that the state to the right does not get
    };

    basic_persistent_table() = default;

    static auto index(int i) noexcept -> std::size_t { return static_cast<std::size_t>(i); }
    static auto at(row const& t, std::int64_t m) noexcept -> double { return t[static_cast<std::size_t>(m)]; }
    static auto value(cost_t cost, int runs) noexcept -> double
    {
        return static_cast<double>(cost) + run_cost * static_cast<double>(runs);
    }

    /// Gives equal stretches of stages one number: a stretch is what the stretch without its last stage is, and that stage.
    /// Only the stretches up to the end of the row run for the first time, so they are not shared with others.
    void number(std::vector<stage> const& stages)
    {
        auto const n = stages.size();
        std::vector<std::size_t> kind(n);
        std::vector<std::size_t> firsts;
        for (std::size_t i = 0; i < n; ++i) {
            auto const same =
                std::find_if(firsts.begin(), firsts.end(), [&](std::size_t k) { return stages[k] == stages[i]; });
            kind[i] = static_cast<std::size_t>(same - firsts.begin());
            if (same == firsts.end()) {
                firsts.push_back(i);
            }
        }
        for (std::size_t i = 0; i < n; ++i) {
            if (!stages[i].passes.empty()) {
                passing_.push_back(i);
            }
            for (auto const& o : stages[i].options) {
                output_kept_ = output_kept_ || o.output;
            }
        }
        row_length_ = n;
        states_.assign(n * n, 0);
        using key = std::pair<std::pair<std::size_t, std::size_t>, std::size_t>; // stretch before, kind, first stage
        std::vector<key> keys;
        for (std::size_t length = 1; length <= n; ++length) {
            keys.clear();
            for (std::size_t a = 0; a + length < n; ++a) {
                auto const before = length == 1 ? 0 : state(a, a + length - 2);
                keys.push_back({{before, kind[a + length - 1]}, a});
            }
            std::sort(keys.begin(), keys.end());
            for (std::size_t i = 0; i < keys.size(); ++i) {
                size_.states += i == 0 || keys[i].first != keys[i - 1].first ? 1 : 0;
                states_[keys[i].second * n + keys[i].second + length - 1] = static_cast<std::size_t>(size_.states - 1);
                if (i == 0 || keys[i].first != keys[i - 1].first) {
                    size_.steps += static_cast<std::int64_t>(length + stages[keys[i].second].options.size());
                }
            }
            auto const a = n - length;
            states_[a * n + n - 1] = static_cast<std::size_t>(size_.states++);
            size_.steps += static_cast<std::int64_t>(length + stages[a].options.size());
        }
        held_from_ = static_cast<std::size_t>(size_.states);
        if (output_kept_) {
            size_.states *= 2;
            size_.steps *= 2;
        }
    }

    [[nodiscard]] auto state(std::size_t a, std::size_t b) const noexcept -> std::size_t
    {
        return states_[a * row_length_ + b];
    }
    [[nodiscard]] auto table(std::size_t a, std::size_t b, bool held) const noexcept -> std::size_t
    {
        return state(a, b) + (held ? held_from_ : 0);
    }
    /// True when `o` of stage `a` holds the input of the next stage.
    [[nodiscard]] auto holds_next(std::size_t a, stage_option const& o) const noexcept -> bool
    {
        return o.output && stages_[a + 1].input > 0;
    }
    /// True when some option may hold the input of stage `a`, or of one like it.
    [[nodiscard]] auto may_be_held(std::size_t a) const -> bool { return output_kept_ && stages_[a].input > 0; }

    /// All bytes are whole slots if the budget allows it; otherwise the slot that rounds them least.
    void choose_slot(bytes_t largest, std::int64_t most)
    {
        std::vector<bytes_t> sizes;
        bytes_t common = 0;
        auto const note = [&](bytes_t x) {
            common = std::gcd(common, x);
            if (x > 0) {
                sizes.push_back(x);
            }
        };
        for (auto const& s : stages_) {
            note(s.input);
            for (auto const& x : s.passes) {
                note(x.bytes);
            }
            for (auto const& o : s.options) {
                note(o.kept);
                note(o.input);
                for (auto const& x : o.needs) {
                    common = std::gcd(std::gcd(common, x.forward), std::gcd(x.last, x.backward));
                }
            }
            common = std::gcd(std::gcd(common, s.arriving), std::gcd(s.first_need, s.moving_need));
        }
        common = std::max<bytes_t>(common, 1);
        slot_ = common;
        if (largest / common > most) {
            constexpr int tries = 40;
            auto least = std::numeric_limits<double>::infinity();
            for (int i = 0; i < tries; ++i) {
                auto const count = static_cast<double>(most) * (1 - 0.005 * i);
                auto const slot = std::max<bytes_t>(1, static_cast<bytes_t>(static_cast<double>(largest) / count) + 1);
                double off = 0;
                for (auto x : sizes) {
                    auto const d = static_cast<double>(x - nearest(x, slot) * slot);
                    off += d * d / (static_cast<double>(x) * static_cast<double>(slot));
                }
                if (off < least) {
                    least = off;
                    slot_ = slot;
                }
            }
        }
        slots_ = largest / slot_;
    }

    static auto nearest(bytes_t x, bytes_t slot) noexcept -> std::int64_t { return x / slot + (x % slot > slot / 2); }
    [[nodiscard]] auto in_slots(bytes_t x) const noexcept -> std::int64_t { return nearest(x, slot_); }

    /// Calls `f(value of the state before it is added to, least slots, slots taken, left, right, choice)` for every choice.
    template <class F>
    void each_choice(std::size_t a, std::size_t b, bool held, F const& f) const
    {
        auto const& s = stages_[a];
        auto const arriving = stages_[b].arriving;
        bool const again = b + 1 < stages_.size(); // the forward halves have all run before
        for (std::size_t k = 0; k < s.options.size(); ++k) {
            auto const& o = s.options[k];
            auto const& need = o.needs[held ? 1 : 0];
            auto const option = static_cast<int>(k);
            if (a == b) {
                auto const least = std::max(arriving + need.last, need.backward);
                f(value(o.cost, o.runs), in_slots(least), nullptr, nullptr, choice{option, false, 0, 0});
                if (again && o.alone != max_cost) {
                    f(value(o.alone, o.runs_alone),
                      in_slots(need.backward),
                      nullptr,
                      nullptr,
                      choice{option, true, 0, 0});
                }
                continue;
            }
            bytes_t taken = o.kept + (held ? 0 : o.input) + (o.output ? stages_[a + 1].input : 0);
            for (std::size_t i = 0; i < s.passes.size(); ++i) {
                bool const counted = std::find(o.holds.begin(), o.holds.end(), i) != o.holds.end();
                taken += !counted && wanted(s.passes[i], a, a + 1, b) ? s.passes[i].bytes : 0;
            }
            auto const& right = tables_[table(a + 1, b, holds_next(a, o))];
            f(value(o.cost, o.runs),
              in_slots(std::max(arriving + need.forward, need.backward)),
              nullptr,
              &right,
              choice{option, false, 0, in_slots(taken)});
        }
        if (a == b || !s.replayable) {
            return;
        }
        auto const own = held ? 0 : s.input;
        auto least = arriving + own + s.first_need;
        auto cost = value(s.cost, s.runs);
        bytes_t passing = 0; // made in a..j-1, wanted from j on
        for (auto j = a + 1;; ++j) {
            auto const passed = std::lower_bound(passing_.begin(), passing_.end(), a);
            for (auto i = passed; i != passing_.end() && *i + 1 < j; ++i) { // whose last reader was j - 1
                for (auto const& x : stages_[*i].passes) {
                    passing -= wanted(x, *i, j - 1, b) && !wanted(x, *i, j, b) ? x.bytes : 0;
                }
            }
            for (auto const& x : stages_[j - 1].passes) {
                passing += wanted(x, j - 1, j, b) ? x.bytes : 0;
            }
            auto const& right = tables_[table(j, b, false)];
            auto const& left = tables_[table(a, j - 1, held)];
            f(cost, in_slots(least), &left, &right, choice{-1, false, j, in_slots(own + passing)});
            if (j == b || !stages_[j].replayable) {
                return;
            }
            least = std::max(least, arriving + own + passing + stages_[j].moving_need);
            cost += value(stages_[j].cost, stages_[j].runs);
        }
    }

    /// True when a stage from `from` to `to` reads `x` of stage `maker`.
    static auto wanted(stage::passing const& x, std::size_t maker, std::size_t from, std::size_t to) -> bool
    {
        auto const r = std::lower_bound(x.readers.begin(), x.readers.end(), from - maker);
        return r != x.readers.end() && *r <= to - maker;
    }

    void compute(std::size_t a, std::size_t b, bool held)
    {
        row t(static_cast<std::size_t>(slots_ + 1), infinite);
        each_choice(a, b, held, [&](double c, std::int64_t least, row const* left, row const* right, choice const& x) {
            auto const begin = std::max(least, x.taken);
            if (begin > slots_) {
                return;
            }
            // Costs fall with m: from where on this choice cannot win even with all that there is, it need not be tried.
            auto const lowest = c + (right != nullptr ? right->back() : 0) + (left != nullptr ? left->back() : 0);
            auto const end = std::partition_point(t.begin() + begin, t.end(), [&](double v) { return v > lowest; });
            auto* const to = t.data() + begin;
            auto const* const r = right != nullptr ? right->data() + (begin - x.taken) : nullptr;
            auto const* const l = left != nullptr ? left->data() + begin : nullptr;
            auto const count = end - (t.begin() + begin);
            if (l != nullptr) {
                for (std::int64_t i = 0; i < count; ++i) {
                    to[i] = std::min(to[i], c + r[i] + l[i]);
                }
            } else if (r != nullptr) {
                for (std::int64_t i = 0; i < count; ++i) {
                    to[i] = std::min(to[i], c + r[i]);
                }
            } else {
                for (std::int64_t i = 0; i < count; ++i) {
                    to[i] = std::min(to[i], c);
                }
            }
        });
        tables_[table(a, b, held)] = std::move(t);
    }

    /// The first of the cheapest choices: options before running again.
    [[nodiscard]] auto best(std::size_t a, std::size_t b, bool held, std::int64_t m) const -> choice
    {
        choice r;
        auto least_cost = infinite;
        each_choice(a, b, held, [&](double c, std::int64_t least, row const* left, row const* right, choice const& x) {
            if (m >= std::max(least, x.taken)) {
                auto const v =
                    c + (right != nullptr ? at(*right, m - x.taken) : 0) + (left != nullptr ? at(*left, m) : 0);
                if (v < least_cost) {
                    least_cost = v;
                    r = x;
                }
            }
        });
        return r;
    }

    std::vector<stage> stages_;
    std::size_t row_length_ = 0;
    std::vector<std::size_t> states_; // by first and last stage
    size size_;
    bytes_t slot_ = 1;
    std::int64_t slots_ = 0;
    bool output_kept_ = false;
    std::vector<std::size_t> passing_; // stages with tensors that pass over others
    std::size_t held_from_ = 0;
    std::vector<row> tables_; // by state, then the same with the input held
};

using persistent_table = basic_persistent_table<>;

} // namespace strata
