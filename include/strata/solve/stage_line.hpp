// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief The parts of a level as stages in a row, whose backward halves come back in reverse order.
#pragma once

#include <strata/merge/block_graph.hpp>
#include <strata/merge/option.hpp>
#include <strata/problem/problem.hpp>
#include <strata/solve/stage.hpp>
#include <strata/solve/stage_options.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace strata {

/// A level as a row of stages, and which runs of the level each half of a stage stands for.
///
/// Parts whose backward halves do not come back in reverse order are one stage. A part without a forward half belongs to
/// the stage whose backward half follows it. A stage of several parts has the options that cost least at some price of the
/// bytes that its parts keep; a stage of one part has those of the part.
template <class = void>
class basic_stage_line {
public:
    /// `most`: stages; neighbours are taken together until there are no more than that.
    /// Complexity: O(ops and touches of all options · log + options² of each part).
    explicit basic_stage_line(block_graph const& g, std::size_t most = static_cast<std::size_t>(-1))
        : g_(&g)
    {
        group(most);
        find_readers();
        measure();
    }

    [[nodiscard]] auto stages() const noexcept -> std::vector<stage> const& { return stages_; }
    /// Bytes that are always there: resident tensors, and targets of the forward halves.
    [[nodiscard]] auto always() const noexcept -> bytes_t { return always_; }

    /// True when the stages count every tensor just as long as it lives; otherwise some a little longer.
    [[nodiscard]] auto exact() const noexcept -> bool { return exact_; }

    /// The runs of forward half `i` with option `option` of the stage, or with -1 as a fast-forward.
    void append_forward(std::size_t i, int option, block_plan& to) const
    {
        for (std::size_t k = 0; k < members_[i].forward.size(); ++k) {
            auto const part = members_[i].forward[k];
            bool const keeps = option >= 0 && !g_->part(part).backward.empty();
            to.push_back({part, half::forward, keeps ? chosen(i, option, part) : fast_forward});
        }
    }
    void append_backward(std::size_t i, int option, block_plan& to) const
    {
        for (auto part : members_[i].backward) {
            to.push_back({part, half::backward, chosen(i, option, part)});
        }
    }

private:
    struct member_list {
        std::vector<std::size_t> forward, backward; // parts in the order they run
        std::vector<std::vector<int>> options;      // of each option of the stage, by place in `all`
        std::vector<std::size_t> all;               // parts with a backward half, ascending
    };
    static constexpr auto no_stage = static_cast<std::size_t>(-1);

    static auto at(std::int32_t i) noexcept -> std::size_t { return static_cast<std::size_t>(i); }

    [[nodiscard]] auto chosen(std::size_t i, int option, std::size_t part) const -> int
    {
        auto const& x = members_[i];
        auto const k = std::lower_bound(x.all.begin(), x.all.end(), part) - x.all.begin();
        return x.options[at(option)][static_cast<std::size_t>(k)];
    }

    void group(std::size_t most)
    {
        std::vector<std::size_t> row;                        // parts with a forward half
        std::vector<std::size_t> back(g_->size(), no_stage); // place of the backward half among the items
        for (std::size_t i = 0; i < g_->items().size(); ++i) {
            auto const& x = g_->items()[i];
            if (x.which == half::forward) {
                row.push_back(x.part);
            } else {
                back[x.part] = i;
            }
        }
        // The row may be cut before a part when what stands from there on is through before what stands before.
        std::vector<std::size_t> starts;
        std::size_t last_after = 0; // place of the last backward half from here on
        std::vector<std::size_t> first_before(row.size() + 1, no_stage);
        for (std::size_t k = 0; k < row.size(); ++k) {
            first_before[k + 1] = std::min(first_before[k], back[row[k]]);
        }
        for (auto k = row.size(); k-- > 0;) {
            last_after = back[row[k]] == no_stage ? last_after : std::max(last_after, back[row[k]]);
            if (k == 0 || last_after < first_before[k]) {
                starts.push_back(k);
            }
        }
        std::reverse(starts.begin(), starts.end());
        if (row.empty()) {
            starts.push_back(0);
        }
        auto const together = std::max<std::size_t>(1, (starts.size() + most - 1) / most);
        stage_of_.assign(g_->size(), no_stage);
        for (std::size_t s = 0; s < starts.size(); ++s) {
            if (s % together == 0) {
                members_.emplace_back();
            }
            auto const end = s + 1 < starts.size() ? starts[s + 1] : row.size();
            for (auto k = starts[s]; k < end; ++k) {
                stage_of_[row[k]] = members_.size() - 1;
                members_.back().forward.push_back(row[k]);
            }
        }
        auto next = no_stage; // stage of the backward half to come
        for (auto i = g_->items().size(); i-- > 0;) {
            auto const part = g_->items()[i].part;
            if (g_->items()[i].which == half::backward) {
                next = stage_of_[part] != no_stage ? stage_of_[part] : next;
                stage_of_[part] = next;
            }
        }
        next = members_.size() - 1;
        for (auto const& x : g_->items()) { // those that come after all of them
            if (x.which == half::backward) {
                next = stage_of_[x.part] != no_stage ? stage_of_[x.part] : next;
                stage_of_[x.part] = next;
                members_[next].backward.push_back(x.part);
            }
        }
        for (auto& x : members_) {
            x.all = x.backward;
            std::sort(x.all.begin(), x.all.end());
        }
    }

    /// Where in the row a tensor between the parts is made and used.
    struct place {
        std::size_t maker = no_stage; // stage whose forward half makes it; `no_stage`: a backward half, or always live
        bool input = false;           // of the stage after its maker, and read by these two only
        bool passing = false;         // read by other stages after its maker
        std::size_t index = 0;        // then, in `stage::passes`
        std::size_t from =
            no_stage; // first stage whose backward half makes it; `no_stage`: a forward half, or always live
        std::size_t until = no_stage; // last stage whose backward half uses it
        bool to_end = false;          // a target
    };

    void find_readers()
    {
        auto const& p = g_->subject();
        std::vector<std::size_t> stage_of_op(at(p.op_count()));
        std::vector<char> is_forward(at(p.op_count()), 0);
        for (std::size_t i = 0; i < g_->size(); ++i) {
            for (auto h : {half::forward, half::backward}) {
                for (auto o : g_->part(i).ops(h)) {
                    stage_of_op[at(o)] = stage_of_[i];
                    is_forward[at(o)] = h == half::forward ? 1 : 0;
                }
            }
        }
        places_.resize(at(p.tensor_count()));
        stages_.resize(members_.size());
        crossing_.assign(members_.size(), 0);
        always_ = p.resident_bytes();
        std::vector<std::size_t> readers;
        for (tensor_id t = 0; t < p.tensor_count(); ++t) {
            auto const makers = p.producers(t);
            if (makers.empty()) {
                continue;
            }
            auto& x = places_[at(t)];
            auto const maker = stage_of_op[at(makers.front())];
            if (is_forward[at(makers.front())] == 0) {
                x.from = x.until = maker;
                x.to_end = p.is_target(t);
                for (auto const ops : {makers, p.consumers(t)}) {
                    for (auto o : ops) {
                        x.from = std::max(x.from, stage_of_op[at(o)]);
                        x.until = std::min(x.until, stage_of_op[at(o)]);
                    }
                }
                for (auto s = x.to_end ? 0 : x.until; s < x.from; ++s) {
                    stages_[s].arriving += p.size(t);
                    crossing_[s] += s > x.until || x.to_end ? p.size(t) : 0;
                }
                continue;
            }
            readers.clear();
            bool next_reads = false; // the forward half of the next stage
            for (auto o : p.consumers(t)) {
                readers.push_back(stage_of_op[at(o)]);
                next_reads = next_reads || (is_forward[at(o)] != 0 && readers.back() == maker + 1);
            }
            std::sort(readers.begin(), readers.end());
            if (p.is_target(t) || (!readers.empty() && readers.front() < maker)) {
                always_ += p.size(t);
                exact_ = false; // perhaps read by the backward half of an earlier stage: nothing a row knows of
                continue;
            }
            x.maker = maker;
            readers.erase(readers.begin(), std::upper_bound(readers.begin(), readers.end(), maker));
            readers.erase(std::unique(readers.begin(), readers.end()), readers.end());
            if (next_reads && readers.size() == 1) {
                x.input = true;
                exact_ = exact_ && stages_[maker + 1].input == 0;
                stages_[maker + 1].input += p.size(t);
            } else if (!readers.empty()) {
                for (auto& r : readers) {
                    r -= maker;
                }
                x.passing = true;
                exact_ = false;
                x.index = stages_[maker].passes.size();
                stages_[maker].passes.push_back({p.size(t), readers});
            }
        }
    }

    /// A half of a stage, run after run: what its parts touch, and the bytes besides.
    struct joined_half {
        struct span {
            tensor_id tensor;
            std::size_t first, last; // steps
            bool begins, ends;       // begins: not made there, so live before; ends: the last span of its tensor
        };
        std::size_t steps = 0;
        std::vector<span> spans = {};
        std::vector<half_run::record> records = {};
        cost_t cost = 0;
    };
    using span = typename joined_half::span;

    /// `held`: bytes that parts hold besides, run by run.
    [[nodiscard]] auto join(block_plan const& runs, std::vector<bytes_t> const& held) const -> joined_half
    {
        auto const& p = g_->subject();
        joined_half r;
        std::vector<touch> touches;
        for (std::size_t i = 0; i < runs.size(); ++i) {
            auto const& x = g_->run(runs[i]);
            for (auto const& y : x.records) {
                r.records.push_back({r.steps + y.step, y.bytes + held[i]});
            }
            for (auto y : x.touches) {
                y.first += r.steps;
                y.last += r.steps;
                touches.push_back(y);
            }
            r.steps += x.order.size();
            r.cost += x.cost;
        }
        std::stable_sort(
            touches.begin(), touches.end(), [](touch const& a, touch const& b) { return a.tensor < b.tensor; });
        for (auto const& x : touches) {
            bool const known = !r.spans.empty() && r.spans.back().tensor == x.tensor;
            if (known && (!x.made || p.accumulated(x.tensor))) {
                r.spans.back().last = x.last;
                continue;
            }
            if (known) {
                r.spans.back().ends = false;
            }
            r.spans.push_back({x.tensor, x.first, x.last, !known && !x.made, true});
        }
        return r;
    }

    /// How a tensor counts: not at all, or from its first to its last use, or also before, or also after.
    struct counting {
        bool at_all = true, before = false, after = false;
    };

    /// Most bytes while `x` runs; `how(span)` says how its tensor counts.
    template <class F>
    [[nodiscard]] auto need_of(joined_half const& x, F const& how) -> bytes_t
    {
        change_.assign(x.steps + 1, 0);
        for (auto const& s : x.spans) {
            if (counting const c = how(s); c.at_all) {
                auto const size = g_->subject().size(s.tensor);
                change_[c.before ? 0 : s.first] += size;
                change_[c.after ? x.steps : s.last + 1] -= size;
            }
        }
        bytes_t most = 0;
        bytes_t now = 0;
        std::size_t step = 0;
        for (auto const& rec : x.records) {
            while (step <= rec.step) {
                now += change_[step++];
            }
            most = std::max(most, now + rec.bytes);
        }
        return most;
    }

    void measure()
    {
        required_.assign(places_.size(), 0);
        for (std::size_t s = 0; s < stages_.size(); ++s) {
            auto& x = stages_[s];
            block_plan runs;
            append_forward(s, -1, runs);
            for (auto part : members_[s].forward) {
                x.replayable = x.replayable && g_->replayable(part);
            }
            auto const once = join(runs, std::vector<bytes_t>(runs.size(), 0));
            x.cost = once.cost;
            x.runs = static_cast<int>(once.steps);
            for (bool moving : {false, true}) {
                (moving ? x.moving_need : x.first_need) = need_of(once, [&](span const& y) -> counting {
                    auto const& t = places_[at(y.tensor)];
                    return t.maker == s ? counting{true, false, y.ends && (t.input || t.passing)}
                                        : counting{moving && is_input(t, s), y.begins, false};
                });
            }
            members_[s].options = combined_options(*g_, members_[s].all);
            for (std::size_t k = 0; k < members_[s].options.size(); ++k) {
                x.options.push_back(measured(s, static_cast<int>(k)));
            }
        }
    }

    static auto is_input(place const& t, std::size_t s) noexcept -> bool { return t.input && t.maker + 1 == s; }

    [[nodiscard]] auto measured(std::size_t s, int option) -> stage_option
    {
        auto const& p = g_->subject();
        stage_option r;
        block_plan runs;
        append_forward(s, option, runs);
        auto const kept_by = [&](block_run const& y) {
            return y.option == fast_forward ? 0 : g_->options(y.part)[at(y.option)].kept;
        };
        std::vector<bytes_t> held; // by the other parts of the stage
        bool as_once = true;       // runs like a fast-forward
        for (auto const& y : runs) {
            held.push_back(r.kept);
            r.kept += kept_by(y);
            as_once = as_once && g_->run(y).order == g_->part(y.part).forward;
        }
        auto const ahead = join(runs, held);
        runs.clear();
        append_backward(s, option, runs);
        held.clear();
        for (auto rest = r.kept; auto const& y : runs) {
            rest -= kept_by(y);
            held.push_back(rest);
        }
        auto const back = join(runs, held);
        r.cost = ahead.cost + back.cost;
        r.runs = static_cast<int>(ahead.steps + back.steps);
        auto besides = crossing_[s]; // gradients that live before, after and during the backward half
        bool alone = as_once && r.kept == 0;
        for (auto const& y : back.spans) {
            auto const& t = places_[at(y.tensor)];
            if (y.ends && t.from != no_stage && t.from > s && (t.until < s || t.to_end)) {
                besides -= p.size(y.tensor);
            }
            if (!y.begins || (t.maker != s && !is_input(t, s))) {
                continue;
            }
            required_[at(y.tensor)] = 1;
            alone = alone && t.maker != s;
            if (t.maker != s) {
                r.input += p.size(y.tensor);
            } else if (t.input) {
                r.output = true;
            } else {
                r.kept += p.size(y.tensor);
                if (t.passing) {
                    r.holds.push_back(t.index);
                }
            }
        }
        for (int held_input : {0, 1}) {
            auto& need = r.needs[at(held_input)];
            for (bool last : {false, true}) {
                (last ? need.last : need.forward) = need_of(ahead, [&](span const& y) -> counting {
                    auto const& t = places_[at(y.tensor)];
                    bool const stays = required_[at(y.tensor)] != 0;
                    return t.maker == s ? counting{true, false, y.ends && (stays || (!last && (t.input || t.passing)))}
                                        : counting{is_input(t, s) && held_input == 0, y.begins, stays};
                });
            }
            need.backward = besides + need_of(back, [&](span const& y) -> counting {
                                auto const& t = places_[at(y.tensor)];
                                if (t.from != no_stage) {
                                    bool const before = p.accumulated(y.tensor) ? t.from > s : y.begins;
                                    return {true, before, y.ends && (t.until < s || t.to_end)};
                                }
                                return {t.maker == s || (is_input(t, s) && held_input == 0), y.begins, false};
                            });
        }
        if (alone) {
            r.alone = back.cost;
            r.runs_alone = static_cast<int>(back.steps);
        }
        for (auto const& y : back.spans) {
            required_[at(y.tensor)] = 0;
        }
        return r;
    }

    block_graph const* g_;
    std::vector<member_list> members_;
    std::vector<std::size_t> stage_of_; // by part
    std::vector<place> places_;         // by tensor
    std::vector<stage> stages_;
    std::vector<bytes_t> crossing_; // gradients that live before and after the backward half of a stage
    bytes_t always_ = 0;
    bool exact_ = true;
    std::vector<bytes_t> change_; // scratch space
    std::vector<char> required_;
};

using stage_line = basic_stage_line<>;

} // namespace strata
