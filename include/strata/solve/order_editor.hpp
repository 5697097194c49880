// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief A run order under edit: drop a tensor over a gap and make it again, or keep it and drop the replay.
///
///     slot    0     4     8     12    16    20          runs sit on a line of slots with room between them, so a
///     run     a     b     c     d     b'    e           replay is put in without moving the others
///     life of b's output ┌─────────┐   ┌────┐           each production of a tensor is a life: from its run to its
///                        b         c   b'   e           last use before the next production
///
/// Every edit touches only the lives it changes, each in O(log n); see `slot_line` for the slots.
#pragma once

#include <strata/problem/problem.hpp>
#include <strata/schedule/schedule.hpp>
#include <strata/solve/life_table.hpp>
#include <strata/solve/run_table.hpp>
#include <strata/solve/slot_line.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace strata {

/// See the picture above. Bytes here are without the resident ones, which never change.
template <class Lazy = void>
class basic_order_editor {
public:
    using run_id = typename basic_slot_line<Lazy>::run_id;
    using life_id = std::int32_t;

    /// Requires: `order` runs every op, inputs before readers, first runs in index order. `p` outlives the editor.
    basic_order_editor(problem const& p, std::span<op_id const> order);

    /// Runs that an order of `p` may grow to before solvers give up on it.
    [[nodiscard]] static auto most_runs(problem const& p) noexcept -> std::int64_t
    {
        return 4 * std::int64_t{p.op_count()} + 64;
    }

    [[nodiscard]] auto subject() const noexcept -> problem const& { return *p_; }
    [[nodiscard]] auto order() const -> run_order;
    [[nodiscard]] auto cost() const noexcept -> cost_t { return cost_; }
    [[nodiscard]] auto run_count() const noexcept -> std::size_t { return run_count_; }
    [[nodiscard]] auto peak() const noexcept -> bytes_t { return line_.memory().max(); }
    /// The first run at which the peak is reached: slots between two runs never hold more than the run before them.
    [[nodiscard]] auto hottest() const noexcept -> run_id { return line_.run_at(line_.memory().argmax()); }

    [[nodiscard]] auto op_of(run_id r) const noexcept -> op_id { return runs_.op_of(r); }
    [[nodiscard]] auto slot_of(run_id r) const noexcept -> std::size_t { return line_.slot(r); }
    [[nodiscard]] auto slots() const noexcept -> std::size_t { return line_.slots(); }
    /// Live bytes at a slot; between two runs, the bytes live from one to the other.
    [[nodiscard]] auto bytes_at(std::size_t slot) const noexcept -> bytes_t { return line_.memory()[slot]; }
    /// Most live bytes strictly between two slots; -1 if there is no slot between.
    [[nodiscard]] auto most_between(std::size_t a, std::size_t b) const noexcept -> bytes_t
    {
        return a + 1 < b ? line_.memory().max(a + 1, b - 1) : -1;
    }
    [[nodiscard]] auto is_replay(run_id r) const noexcept -> bool
    {
        return op_of(r) != none && first_run(op_of(r)) != r;
    }
    [[nodiscard]] auto first_run(op_id o) const noexcept -> run_id { return first_run_[at(o)]; } ///< it always stays
    /// The run on `slot`, or `none`.
    [[nodiscard]] auto run_at(std::size_t slot) const noexcept -> run_id { return line_.run_at(slot); }
    /// True while run `r` stands on `slot`. Removals move no run, so this tells whether `r` is still there.
    [[nodiscard]] auto is_at(run_id r, std::size_t slot) const noexcept -> bool { return line_.run_at(slot) == r; }
    /// All runs that are replays, in order.
    [[nodiscard]] auto replays() const -> std::vector<run_id>;
    /// Those on the slots [from, to], in order. Complexity: O(to - from).
    [[nodiscard]] auto replays(std::size_t from, std::size_t to) const -> std::vector<run_id>;

    /// The first life of `t`; `at_life(…).next` is the one that follows.
    [[nodiscard]] auto first_life(tensor_id t) const noexcept -> life_id { return lives_.first(t); }
    [[nodiscard]] auto at_life(life_id l) const noexcept -> life const& { return lives_[l]; }
    [[nodiscard]] auto end_of(life_id l) const noexcept -> run_id { return lives_.end_of(l); }
    /// The last life of `t` that starts before `slot`; `none` if there is none.
    [[nodiscard]] auto life_before(tensor_id t, std::size_t slot) const noexcept -> life_id;
    [[nodiscard]] auto inputs_of(run_id r) const noexcept -> std::span<life_id const> { return runs_.inputs(r); }
    [[nodiscard]] auto outputs_of(run_id r) const noexcept -> std::span<life_id const> { return runs_.outputs(r); }

    /// Runs `ops` in this order right before run `before`; later uses of their outputs turn to the new productions.
    /// Requires: ops are replayable; with the lives before `before`, extended as needed, every input is there.
    void replay_before(run_id before, std::span<op_id const> ops);

    /// From here on edits are remembered, until `undo` takes them back or `record` is called again.
    void record() noexcept
    {
        recording_ = true;
        forget();
    }
    /// The first and the last slot at which a run was put in or taken out since `record`; first > last if none was.
    [[nodiscard]] auto touched() const noexcept -> std::pair<std::size_t, std::size_t>
    {
        return {first_touched_, last_touched_};
    }
    /// Takes back every edit since `record`, the last first; edits are still remembered then.
    /// Complexity: that of the edits.
    void undo();

    /// Takes the replay `r` out: uses of its outputs turn to the life before. Replays that served only `r` go too.
    /// Returns: the cost saved, or -1 with nothing changed if some slot would exceed `capacity` bytes.
    auto keep_instead(run_id r, bytes_t capacity) -> cost_t;

private:
    struct change {
        run_id run = none;
        op_id op = none;
        run_id next = none; // the run before which it stood, if it was taken out; none if it was put in
    };

    static auto at(std::int32_t i) noexcept -> std::size_t { return static_cast<std::size_t>(i); }
    auto new_run(op_id o) -> run_id;
    [[nodiscard]] auto bytes_after(run_id r) const -> bytes_t;
    void add_use(life_id l, run_id r);
    void remove_use(life_id l, run_id r);
    void forget() noexcept
    {
        journal_.clear();
        first_touched_ = static_cast<std::size_t>(-1);
        last_touched_ = 0;
    }
    void note(run_id r, run_id next)
    {
        if (recording_) {
            journal_.push_back({r, op_of(r), next});
            first_touched_ = std::min(first_touched_, slot_of(r));
            last_touched_ = std::max(last_touched_, slot_of(r));
        }
    }
    void connect(run_id r);
    void produce(run_id r, std::size_t output);
    void put_in(run_id before, std::vector<run_id> const& added);
    void take_out(run_id r);
    void hand_over(life_id fresh, life_id old, run_id r);
    void remove_if_dead(run_id r, cost_t& saved);

    problem const* p_;
    basic_run_table<Lazy> runs_;
    basic_life_table<Lazy> lives_;
    std::vector<run_id> first_run_;
    std::vector<change> journal_;
    std::size_t first_touched_ = 0, last_touched_ = 0;
    bool recording_ = false;
    basic_slot_line<Lazy> line_;
    std::size_t run_count_ = 0;
    cost_t cost_ = 0;
};

using order_editor = basic_order_editor<>;

template <class Lazy>
basic_order_editor<Lazy>::basic_order_editor(problem const& p, std::span<op_id const> order)
    : p_(&p)
    , runs_(p)
    , lives_(p.tensor_count())
    , first_run_(at(p.op_count()), none)
{
    constexpr std::size_t most_uses = 4; // that are provided for; later lives of a tensor often have few
    auto const total = order.size() + 1;
    std::vector<life_id> current(at(p.tensor_count()), none);
    std::vector<run_id> all;
    all.reserve(total);
    runs_.reserve(total);
    for (std::size_t k = 0; k < total; ++k) {
        auto const r = new_run(k < order.size() ? order[k] : none);
        all.push_back(r);
        if (op_of(r) != none && first_run_[at(op_of(r))] == none) {
            first_run_[at(op_of(r))] = r;
        }
        auto link = runs_.inputs(r).begin();
        for (auto t : runs_.input_tensors(r)) {
            lives_[current[at(t)]].uses.push_back(r);
            *link++ = current[at(t)];
        }
        link = runs_.outputs(r).begin();
        for (auto t : runs_.output_tensors(r)) {
            auto& c = current[at(t)];
            if (c != none && p.accumulated(t)) {
                lives_[c].uses.push_back(r);
            } else {
                c = lives_.add(t, r, c);
                lives_[c].uses.reserve(std::min(most_uses, p.consumers(t).size()));
            }
            *link++ = c;
        }
    }
    line_.reset(all);
    std::vector<bytes_t> bytes(line_.slots() + 1, 0);
    for (life_id l = 0; l < static_cast<life_id>(lives_.size()); ++l) {
        auto const size = p.size(lives_[l].tensor);
        bytes[slot_of(lives_[l].start)] += size;
        bytes[slot_of(end_of(l)) + 1] -= size;
    }
    for (std::size_t s = 1; s < line_.slots(); ++s) {
        bytes[s] += bytes[s - 1];
    }
    for (auto r : all) {
        bytes[slot_of(r)] += runs_.workspace(r);
    }
    bytes.pop_back();
    line_.assign(bytes);
}

template <class Lazy>
auto basic_order_editor<Lazy>::new_run(op_id o) -> run_id
{
    auto const r = runs_.add(o);
    ++run_count_;
    cost_ += o == none ? 0 : p_->cost(o);
    return r;
}

template <class Lazy>
auto basic_order_editor<Lazy>::order() const -> run_order
{
    run_order ops;
    ops.reserve(run_count_);
    for (auto r = line_.first(); r != line_.last(); r = line_.next(r)) {
        ops.push_back(op_of(r));
    }
    return ops;
}

template <class Lazy>
auto basic_order_editor<Lazy>::replays() const -> std::vector<run_id>
{
    std::vector<run_id> all;
    for (auto r = line_.first(); r != line_.last(); r = line_.next(r)) {
        if (is_replay(r)) {
            all.push_back(r);
        }
    }
    return all;
}

template <class Lazy>
auto basic_order_editor<Lazy>::replays(std::size_t from, std::size_t to) const -> std::vector<run_id>
{
    std::vector<run_id> all;
    for (auto s = from; s <= std::min(to, slots() - 1); ++s) {
        if (auto const r = run_at(s); r != none && is_replay(r)) {
            all.push_back(r);
        }
    }
    return all;
}

template <class Lazy>
auto basic_order_editor<Lazy>::life_before(tensor_id t, std::size_t slot) const noexcept -> life_id
{
    life_id found = none;
    for (auto l = lives_.first(t); l != none && slot_of(lives_[l].start) < slot; l = lives_[l].next) {
        found = l;
    }
    return found;
}

template <class Lazy>
auto basic_order_editor<Lazy>::bytes_after(run_id r) const -> bytes_t
{
    if (r == none) {
        return 0;
    }
    auto bytes = bytes_at(slot_of(r)) - runs_.workspace(r);
    for (auto const lives : {inputs_of(r), outputs_of(r)}) {
        for (auto l : lives) {
            if (l != none && end_of(l) == r) {
                bytes -= p_->size(lives_[l].tensor);
            }
        }
    }
    return bytes;
}

template <class Lazy>
void basic_order_editor<Lazy>::add_use(life_id l, run_id r)
{
    auto& x = lives_[l];
    auto const end = slot_of(end_of(l));
    auto const here = slot_of(r);
    if (here > end) {
        line_.add(end + 1, here, p_->size(x.tensor));
        x.uses.push_back(r);
        return;
    }
    auto const later = [&](run_id a, std::size_t s) { return slot_of(a) < s; };
    x.uses.insert(std::lower_bound(x.uses.begin(), x.uses.end(), here, later), r);
}

template <class Lazy>
void basic_order_editor<Lazy>::remove_use(life_id l, run_id r)
{
    auto& x = lives_[l];
    auto const old_end = slot_of(end_of(l));
    x.uses.erase(std::find(x.uses.begin(), x.uses.end(), r));
    auto const new_end = slot_of(end_of(l));
    line_.add(new_end + 1, old_end, -p_->size(x.tensor));
}

template <class Lazy>
void basic_order_editor<Lazy>::produce(run_id r, std::size_t output)
{
    auto const t = runs_.output_tensors(r)[output];
    auto const size = p_->size(t);
    auto const old = life_before(t, slot_of(r));
    auto const fresh = lives_.add(t, r, old);
    runs_.outputs(r)[output] = fresh;
    auto& from = lives_[old].uses;
    auto const split =
        std::lower_bound(from.begin(), from.end(), slot_of(r), [&](run_id a, std::size_t s) { return slot_of(a) < s; });
    auto const old_end = slot_of(end_of(old));
    lives_[fresh].uses.assign(split, from.end());
    from.erase(split, from.end());
    line_.add(slot_of(end_of(old)) + 1, old_end, -size);
    line_.add(slot_of(r), slot_of(end_of(fresh)), size);
    for (auto u : lives_[fresh].uses) {
        auto const links = runs_.inputs(u);
        std::replace(links.begin(), links.end(), old, fresh);
    }
}

/// Puts runs that exist on the line; they use and produce nothing yet.
template <class Lazy>
void basic_order_editor<Lazy>::put_in(run_id before, std::vector<run_id> const& added)
{
    line_.insert_before(
        before, added, [this](run_id r) { return bytes_after(r); }, [this](run_id r) { return runs_.workspace(r); });
}

/// Links a run just put in to what it uses and what it produces.
template <class Lazy>
void basic_order_editor<Lazy>::connect(run_id r)
{
    auto const inputs = runs_.input_tensors(r);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        auto const l = life_before(inputs[i], slot_of(r));
        runs_.inputs(r)[i] = l;
        add_use(l, r);
    }
    for (std::size_t i = 0; i < runs_.output_tensors(r).size(); ++i) {
        produce(r, i);
    }
}

template <class Lazy>
void basic_order_editor<Lazy>::replay_before(run_id before, std::span<op_id const> ops)
{
    std::vector<run_id> added;
    for (auto o : ops) {
        added.push_back(new_run(o));
    }
    put_in(before, added);
    for (auto r : added) {
        note(r, none);
    }
    for (auto r : added) {
        connect(r);
        // The productions before may have served only what now uses the new ones.
        for (auto t : runs_.output_tensors(r)) {
            auto const old = life_before(t, slot_of(r));
            if (cost_t ignored = 0; lives_[old].uses.empty()) {
                remove_if_dead(lives_[old].start, ignored);
            }
        }
    }
}

/// Takes out a run whose outputs nobody uses.
template <class Lazy>
void basic_order_editor<Lazy>::take_out(run_id r)
{
    for (auto l : outputs_of(r)) {
        line_.add(slot_of(r), slot_of(r), -p_->size(lives_[l].tensor));
        lives_.remove(l);
    }
    for (auto l : inputs_of(r)) {
        remove_use(l, r);
    }
    line_.add(slot_of(r), slot_of(r), -runs_.workspace(r));
    line_.erase(r);
    runs_.remove(r);
    --run_count_;
    cost_ -= p_->cost(op_of(r));
}

template <class Lazy>
void basic_order_editor<Lazy>::remove_if_dead(run_id r, cost_t& saved)
{
    std::vector<run_id> dead = {r};
    while (!dead.empty()) {
        r = dead.back();
        dead.pop_back();
        if (op_of(r) == none || !is_replay(r) || !is_at(r, slot_of(r))) {
            continue;
        }
        auto const outputs = outputs_of(r);
        if (std::any_of(
                outputs.begin(), outputs.end(), [&](life_id l) { return l == none || !lives_[l].uses.empty(); })) {
            continue;
        }
        note(r, line_.next(r));
        take_out(r);
        saved += p_->cost(op_of(r));
        for (auto l : inputs_of(r)) {
            if (lives_[l].uses.empty()) {
                dead.push_back(lives_[l].start);
            }
        }
    }
}

/// Uses of `fresh`, which `r` produces, turn to `old`, the life before, which already covers the gap up to `r`.
template <class Lazy>
void basic_order_editor<Lazy>::hand_over(life_id fresh, life_id old, run_id r)
{
    // What the new life held from its start on, the old one now holds: the bytes stay, but for the start itself, where
    // both count until take_out takes off the unused one.
    auto& from = lives_[fresh].uses;
    auto& to = lives_[old].uses;
    line_.add(slot_of(r), slot_of(r), p_->size(lives_[old].tensor));
    to.insert(to.end(), from.begin(), from.end());
    for (auto u : from) {
        auto const links = runs_.inputs(u);
        std::replace(links.begin(), links.end(), fresh, old);
    }
    from.clear();
}

template <class Lazy>
void basic_order_editor<Lazy>::undo()
{
    // An order says all there is to say: each use belongs to the last production before it. So every edit is a run put in
    // or taken out, and the way back is the same steps, without looking for replays that serve nobody.
    for (; !journal_.empty(); journal_.pop_back()) {
        auto const c = journal_.back();
        if (c.next != none) {
            auto const r = new_run(c.op);
            put_in(c.next, {r});
            connect(r);
            continue;
        }
        for (auto l : outputs_of(c.run)) {
            if (lives_[l].uses.empty()) {
                continue;
            }
            auto const old = life_before(lives_[l].tensor, slot_of(c.run));
            line_.add(slot_of(end_of(old)) + 1, slot_of(c.run) - 1, p_->size(lives_[l].tensor));
            hand_over(l, old, c.run);
        }
        take_out(c.run);
    }
    forget();
}

template <class Lazy>
auto basic_order_editor<Lazy>::keep_instead(run_id r, bytes_t capacity) -> cost_t
{
    struct kept_over {
        life_id old, fresh;
        std::size_t first, last;
    };
    std::vector<kept_over> kept;
    bool fits = true;
    for (auto l : outputs_of(r)) {
        if (lives_[l].uses.empty()) {
            continue;
        }
        auto const t = lives_[l].tensor;
        auto const old = life_before(t, slot_of(r));
        auto const first = slot_of(end_of(old)) + 1;
        auto const last = slot_of(r) - 1;
        if (first <= last) {
            fits = line_.memory().max(first, last) + p_->size(t) <= capacity;
            line_.add(first, last, p_->size(t));
        }
        kept.push_back({old, l, first, last});
        if (!fits) {
            break;
        }
    }
    if (!fits) {
        for (auto const& k : kept) {
            line_.add(k.first, k.last, -p_->size(lives_[k.old].tensor));
        }
        return -1;
    }
    for (auto const& k : kept) {
        hand_over(k.fresh, k.old, r);
    }
    cost_t saved = 0;
    remove_if_dead(r, saved);
    return saved;
}

} // namespace strata
