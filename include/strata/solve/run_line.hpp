// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief An order of runs in which single runs move, come and go, with the bytes live at each: what an annealer walks over.
///
/// `order_editor` keeps first runs where they are; here they move, too, as far as other ops allow.
#pragma once

#include <strata/detail/id_lists.hpp>
#include <strata/detail/lazy.hpp>
#include <strata/problem/precedence.hpp>
#include <strata/problem/problem.hpp>
#include <strata/schedule/profile.hpp>
#include <strata/schedule/schedule.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace strata {

/// Runs in a line. Each edit can be taken back until the next one.
/// Complexity of an edit: O(places at which tensors of the op live × tensors of the op), and O(runs) if one comes or goes.
template <class Lazy = void>
class basic_run_line {
public:
    using run_id = std::int32_t;

    /// `start`: runs, replays included, whose first ones are an order of first runs (see `is_first_run_order`). `p` outlives
    /// the line.
    basic_run_line(problem const& p, run_order const& start)
        : p_(&p)
        , before_(first_run_predecessors(p))
        , after_(before_.transposed(at(p.op_count())))
        , runs_of_(at(p.op_count()))
        , touched_(at(p.tensor_count()), 0)
        , live_(live_bytes(p, start))
        , at_end_(p.resident_bytes())
    {
        for (tensor_id t = 0; t < p.tensor_count(); ++t) {
            at_end_ += p.is_target(t) ? p.size(t) : 0;
        }
        for (auto o : start) {
            auto const r = static_cast<run_id>(op_.size());
            op_.push_back(o);
            place_.push_back(line_.size());
            runs_of_[at(o)].push_back(r);
            line_.push_back(r);
            cost_ += p.cost(o);
            if (runs_of_[at(o)].size() > 1) {
                replays_.push_back(r);
            }
        }
    }

    [[nodiscard]] auto size() const noexcept -> std::size_t { return line_.size(); }
    [[nodiscard]] auto cost() const noexcept -> cost_t { return cost_; }
    [[nodiscard]] auto op_at(std::size_t k) const noexcept -> op_id { return op_[at(line_[k])]; }
    /// Bytes live at each place, resident ones included.
    [[nodiscard]] auto live() const noexcept -> std::span<bytes_t const> { return live_; }
    /// Runs of ops that have run before, in no order.
    [[nodiscard]] auto replays() const noexcept -> std::span<run_id const> { return replays_; }
    /// Where `o` runs first.
    [[nodiscard]] auto first_place(op_id o) const noexcept -> std::size_t
    {
        return place_[at(runs_of_[at(o)].front())];
    }
    [[nodiscard]] auto order() const -> run_order
    {
        run_order r;
        r.reserve(line_.size());
        for (auto x : line_) {
            r.push_back(op_[at(x)]);
        }
        return r;
    }

    /// First and last place that the run at place `k` may move to, itself included.
    [[nodiscard]] auto reach(std::size_t k) const -> std::pair<std::size_t, std::size_t>
    {
        auto const r = line_[k];
        auto const o = op_[at(r)];
        auto const& all = runs_of_[at(o)];
        auto const mine = std::find(all.begin(), all.end(), r);
        std::size_t lo = 0;
        auto hi = line_.size() - 1;
        if (mine != all.begin()) {
            lo = place_[at(*std::prev(mine))] + 1;
        } else {
            for (auto b : before_[at(o)]) {
                lo = std::max(lo, first_place(b) + 1);
            }
            for (auto a : after_[at(o)]) {
                hi = std::min(hi, first_place(a) - 1);
            }
        }
        if (std::next(mine) != all.end()) {
            hi = std::min(hi, place_[at(*std::next(mine))] - 1);
        }
        return {lo, hi};
    }

    /// Moves the run at place `from` to `to`, which is within its reach and another place.
    void move(std::size_t from, std::size_t to)
    {
        begin(edit::move, line_[from], from, to);
        lay_all(-1);
        turn(line_, from, to);
        turn(live_, from, to);
        renumber(std::min(from, to), std::max(from, to) + 1);
        live_[to] = passing(to + 1) + p_->workspace(op_at(to));
        lay_all(1);
        end();
    }

    /// Runs `o` once more, before the run at place `k`. Requires: `o` may be replayed and ran before.
    void put_in(op_id o, std::size_t k)
    {
        auto r = static_cast<run_id>(op_.size());
        if (spare_.empty()) {
            op_.push_back(o);
            place_.push_back(0);
        } else {
            r = spare_.back();
            spare_.pop_back();
            op_[at(r)] = o;
        }
        begin(edit::put_in, r, k, k);
        lay_all(-1);
        auto const bytes = passing(k) + p_->workspace(o);
        line_.insert(line_.begin() + step(k), r);
        live_.insert(live_.begin() + step(k), bytes);
        enlist(r, k);
        ++hi_;
        lay_all(1);
        end();
        replays_.push_back(r);
        cost_ += p_->cost(o);
    }

    /// Takes out the `i`-th of `replays`.
    void take_out(std::size_t i)
    {
        auto const r = replays_[i];
        auto const k = place_[at(r)];
        begin(edit::take_out, r, k, k);
        lay_all(-1);
        drop(r, k);
        live_.erase(live_.begin() + step(k));
        --hi_; // there is a first run before
        lay_all(1);
        end();
        replays_[i] = replays_.back();
        replays_.pop_back();
        spare_.push_back(r);
        cost_ -= p_->cost(op_[at(r)]);
    }

    /// Takes the last edit back. Requires: there was one, and it was not taken back.
    void undo()
    {
        auto const [what, r, from, to] = last_;
        auto const o = op_[at(r)];
        if (what == edit::move) {
            turn(line_, to, from);
            renumber(std::min(from, to), std::max(from, to) + 1);
        } else if (what == edit::put_in) {
            drop(r, from);
            live_.erase(live_.begin() + step(from));
            replays_.pop_back();
            spare_.push_back(r);
            cost_ -= p_->cost(o);
        } else {
            spare_.pop_back();
            line_.insert(line_.begin() + step(from), r);
            live_.insert(live_.begin() + step(from), 0);
            enlist(r, from);
            replays_.push_back(r);
            cost_ += p_->cost(o);
        }
        std::copy(old_.begin(), old_.end(), live_.begin() + step(lo_));
    }

    /// Live bytes where the last edit may have changed them, before and after it.
    [[nodiscard]] auto before() const noexcept -> std::span<bytes_t const> { return old_; }
    [[nodiscard]] auto after() const noexcept -> std::span<bytes_t const>
    {
        return std::span<bytes_t const>(live_).subspan(lo_, hi_ + 1 - lo_);
    }

private:
    enum class edit : std::uint8_t { move, put_in, take_out };
    struct done {
        edit what = edit::move;
        run_id run = none;
        std::size_t from = 0;
        std::size_t to = 0;
    };

    static auto at(std::int32_t i) noexcept -> std::size_t { return static_cast<std::size_t>(i); }
    static auto step(std::size_t k) noexcept -> std::ptrdiff_t { return static_cast<std::ptrdiff_t>(k); }

    template <class T>
    static void turn(std::vector<T>& v, std::size_t from, std::size_t to)
    {
        if (from < to) {
            std::rotate(v.begin() + step(from), v.begin() + step(from) + 1, v.begin() + step(to) + 1);
        } else {
            std::rotate(v.begin() + step(to), v.begin() + step(from), v.begin() + step(from) + 1);
        }
    }
    void renumber(std::size_t begin, std::size_t end)
    {
        for (auto k = begin; k < end; ++k) {
            place_[at(line_[k])] = k;
        }
    }
    void enlist(run_id r, std::size_t k)
    {
        renumber(k, line_.size());
        auto& all = runs_of_[at(op_[at(r)])];
        all.insert(std::find_if(all.begin(), all.end(), [&](run_id x) { return place_[at(x)] > k; }), r);
    }
    void drop(run_id r, std::size_t k)
    {
        std::erase(runs_of_[at(op_[at(r)])], r);
        line_.erase(line_.begin() + step(k));
        renumber(k, line_.size());
    }

    /// Notes what is about to change: the tensors of the op, and live bytes wherever these live.
    void begin(edit what, run_id r, std::size_t from, std::size_t to)
    {
        last_ = {what, r, from, to};
        lo_ = std::min(from, to);
        hi_ = std::max(from, to);
        tensors_.clear();
        for (auto const tensors : {p_->inputs(op_[at(r)]), p_->outputs(op_[at(r)])}) {
            for (auto t : tensors) {
                if (touched_[at(t)] == 0) {
                    touched_[at(t)] = 1;
                    tensors_.push_back(t);
                    widen(t);
                }
            }
        }
        hi_ = std::min(hi_, line_.size() - 1);
        old_.assign(live_.begin() + step(lo_), live_.begin() + step(hi_) + 1);
    }
    void end()
    {
        for (auto t : tensors_) {
            touched_[at(t)] = 0;
        }
    }

    void widen(tensor_id t)
    {
        for (auto m : p_->producers(t)) {
            lo_ = std::min(lo_, first_place(m));
            hi_ = std::max(hi_, place_[at(runs_of_[at(m)].back())]);
        }
        for (auto c : p_->consumers(t)) {
            hi_ = std::max(hi_, place_[at(runs_of_[at(c)].back())]);
        }
        hi_ = p_->is_target(t) ? line_.size() - 1 : hi_;
    }

    void lay_all(bytes_t sign)
    {
        for (auto t : tensors_) {
            lay(t, sign * p_->size(t));
        }
    }

    /// Adds `bytes` wherever `t` lives.
    void lay(tensor_id t, bytes_t bytes)
    {
        auto const makers = p_->producers(t);
        lives_.clear();
        for (auto r : runs_of_[at(makers.front())]) {
            lives_.emplace_back(place_[at(r)], place_[at(r)]);
        }
        for (auto m : makers.subspan(1)) { // of a gradient, whose producers run once
            lives_[0] = {std::min(lives_[0].first, first_place(m)), std::max(lives_[0].second, first_place(m))};
        }
        auto const used = [&](std::size_t k) {
            auto i = lives_.size() - 1;
            while (i > 0 && lives_[i].first > k) {
                --i;
            }
            lives_[i].second = std::max(lives_[i].second, k);
        };
        for (auto c : p_->consumers(t)) {
            for (auto r : runs_of_[at(c)]) {
                used(place_[at(r)]);
            }
        }
        if (p_->is_target(t)) {
            used(line_.size() - 1);
        }
        for (auto const& [first, last] : lives_) {
            for (auto k = first; k <= last; ++k) {
                live_[k] += bytes;
            }
        }
    }

    /// Bytes, those of the touched tensors left out, that live between the run before place `k`, which may be the end, and the
    /// one there.
    [[nodiscard]] auto passing(std::size_t k) const -> bytes_t
    {
        auto const counts = [&](tensor_id t) { return touched_[at(t)] == 0; };
        if (k == line_.size()) {
            auto bytes = at_end_;
            for (auto t : tensors_) {
                bytes -= p_->is_target(t) ? p_->size(t) : 0;
            }
            return bytes;
        }
        auto const o = op_at(k);
        auto bytes = live_[k] - p_->workspace(o);
        for (auto t : p_->outputs(o)) {
            auto const makers = p_->producers(t);
            bool const begins = makers.size() == 1 ||
                                std::all_of(makers.begin(), makers.end(), [&](op_id m) { return first_place(m) >= k; });
            bytes -= counts(t) && begins ? p_->size(t) : 0;
        }
        return bytes;
    }

    problem const* p_;
    detail::id_lists before_, after_;
    std::vector<op_id> op_;                    // by run
    std::vector<std::size_t> place_;           // by run
    std::vector<run_id> line_;                 // by place
    std::vector<std::vector<run_id>> runs_of_; // by op, in the order of their places
    std::vector<run_id> replays_, spare_;
    std::vector<char> touched_; // by tensor: of the op being edited
    std::vector<tensor_id> tensors_;
    std::vector<bytes_t> live_, old_; // `old_`: from place `lo_` on
    bytes_t at_end_;                  // with resident ones
    std::vector<detail::lazy<std::pair<std::size_t, std::size_t>, Lazy>> lives_;
    std::size_t lo_ = 0, hi_ = 0;
    done last_;
    cost_t cost_ = 0;
};

using run_line = basic_run_line<>;

} // namespace strata
