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
template <class = void>
class basic_order_editor {
public:
    using run_id = slot_line::run_id;
    using life_id = std::int32_t;

    /// One production of a tensor and the runs that use it until the next one.
    struct life {
        tensor_id tensor = none;
        run_id start = none;
        std::vector<run_id> uses; // in order; later producers of a gradient count as uses
    };

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

    [[nodiscard]] auto op_of(run_id r) const noexcept -> op_id { return runs_[at(r)].op; }
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
        return op_of(r) != none && first_run_[at(op_of(r))] != r;
    }
    /// The run on `slot`, or `none`.
    [[nodiscard]] auto run_at(std::size_t slot) const noexcept -> run_id { return line_.run_at(slot); }
    /// True while run `r` stands on `slot`. Removals move no run, so this tells whether `r` is still there.
    [[nodiscard]] auto is_at(run_id r, std::size_t slot) const noexcept -> bool { return line_.run_at(slot) == r; }
    /// All runs that are replays, in order.
    [[nodiscard]] auto replays() const -> std::vector<run_id>;

    [[nodiscard]] auto lives_of(tensor_id t) const noexcept -> std::span<life_id const> { return lives_of_[at(t)]; }
    [[nodiscard]] auto at_life(life_id l) const noexcept -> life const& { return lives_[at(l)]; }
    [[nodiscard]] auto end_of(life_id l) const noexcept -> run_id
    {
        auto const& x = lives_[at(l)];
        return x.uses.empty() ? x.start : x.uses.back();
    }
    /// The last life of `t` that starts before `slot`; `none` if there is none.
    [[nodiscard]] auto life_before(tensor_id t, std::size_t slot) const noexcept -> life_id;
    [[nodiscard]] auto inputs_of(run_id r) const noexcept -> std::span<life_id const>;
    [[nodiscard]] auto outputs_of(run_id r) const noexcept -> std::span<life_id const>;

    /// Runs `ops` in this order right before run `before`; later uses of their outputs turn to the new productions.
    /// Requires: ops are replayable; with the lives before `before`, extended as needed, every input is there.
    void replay_before(run_id before, std::span<op_id const> ops);

    /// Takes the replay `r` out: uses of its outputs turn to the life before. Replays that served only `r` go too.
    /// Returns: the cost saved, or -1 with nothing changed if some slot would exceed `capacity` bytes.
    auto keep_instead(run_id r, bytes_t capacity) -> cost_t;

private:
    struct run_record {
        op_id op = none;
        std::size_t first_life = 0; // inputs, then outputs, in run_lives_
    };

    static auto at(std::int32_t i) noexcept -> std::size_t { return static_cast<std::size_t>(i); }
    [[nodiscard]] auto input_tensors(run_id r) const noexcept -> std::span<tensor_id const>
    {
        return op_of(r) == none ? std::span<tensor_id const>(end_inputs_) : p_->inputs(op_of(r));
    }
    [[nodiscard]] auto output_tensors(run_id r) const noexcept -> std::span<tensor_id const>
    {
        return op_of(r) == none ? std::span<tensor_id const>{} : p_->outputs(op_of(r));
    }
    [[nodiscard]] auto workspace_of(run_id r) const noexcept -> bytes_t
    {
        return op_of(r) == none ? 0 : p_->workspace(op_of(r));
    }

    auto new_run(op_id o) -> run_id;
    auto new_life(tensor_id t, run_id start) -> life_id;
    void drop_life(life_id l);
    [[nodiscard]] auto bytes_after(run_id r) const -> bytes_t;
    void add_use(life_id l, run_id r);
    void remove_use(life_id l, run_id r);
    void produce(run_id r, std::size_t output);
    void remove_if_dead(run_id r, cost_t& saved);

    problem const* p_;
    std::vector<tensor_id> end_inputs_; // the targets, read by a last run of no op
    std::vector<run_record> runs_;
    std::vector<life> lives_;
    std::vector<life_id> run_lives_;
    std::vector<std::vector<life_id>> lives_of_;
    std::vector<run_id> first_run_, free_runs_;
    std::vector<life_id> free_lives_;
    slot_line line_;
    std::size_t run_count_ = 0;
    cost_t cost_ = 0;
};

using order_editor = basic_order_editor<>;

template <class Lazy>
basic_order_editor<Lazy>::basic_order_editor(problem const& p, std::span<op_id const> order)
    : p_(&p)
    , lives_of_(at(p.tensor_count()))
    , first_run_(at(p.op_count()), none)
{
    for (tensor_id t = 0; t < p.tensor_count(); ++t) {
        if (p.is_target(t)) {
            end_inputs_.push_back(t);
        }
    }
    auto const total = order.size() + 1;
    std::vector<life_id> current(at(p.tensor_count()), none);
    std::vector<run_id> all;
    for (std::size_t k = 0; k < total; ++k) {
        auto const r = new_run(k < order.size() ? order[k] : none);
        all.push_back(r);
        if (op_of(r) != none && first_run_[at(op_of(r))] == none) {
            first_run_[at(op_of(r))] = r;
        }
        auto at_life = runs_[at(r)].first_life;
        for (auto t : input_tensors(r)) {
            lives_[at(current[at(t)])].uses.push_back(r);
            run_lives_[at_life++] = current[at(t)];
        }
        for (auto t : output_tensors(r)) {
            auto& c = current[at(t)];
            if (c != none && p.accumulated(t)) {
                lives_[at(c)].uses.push_back(r);
            } else {
                c = new_life(t, r);
                lives_of_[at(t)].push_back(c);
            }
            run_lives_[at_life++] = c;
        }
    }
    line_.reset(all);
    std::vector<bytes_t> bytes(line_.slots() + 1, 0);
    for (life_id l = 0; l < static_cast<life_id>(lives_.size()); ++l) {
        auto const size = p.size(lives_[at(l)].tensor);
        bytes[slot_of(lives_[at(l)].start)] += size;
        bytes[slot_of(end_of(l)) + 1] -= size;
    }
    for (std::size_t s = 1; s < line_.slots(); ++s) {
        bytes[s] += bytes[s - 1];
    }
    for (auto r : all) {
        bytes[slot_of(r)] += workspace_of(r);
    }
    bytes.pop_back();
    line_.assign(bytes);
}

template <class Lazy>
auto basic_order_editor<Lazy>::new_run(op_id o) -> run_id
{
    run_id r = static_cast<run_id>(runs_.size());
    if (free_runs_.empty()) {
        runs_.emplace_back();
    } else {
        r = free_runs_.back();
        free_runs_.pop_back();
    }
    runs_[at(r)] = {o, run_lives_.size()};
    run_lives_.resize(run_lives_.size() + input_tensors(r).size() + output_tensors(r).size(), none);
    ++run_count_;
    cost_ += o == none ? 0 : p_->cost(o);
    return r;
}

template <class Lazy>
auto basic_order_editor<Lazy>::new_life(tensor_id t, run_id start) -> life_id
{
    life_id l = static_cast<life_id>(lives_.size());
    if (free_lives_.empty()) {
        lives_.emplace_back();
    } else {
        l = free_lives_.back();
        free_lives_.pop_back();
    }
    lives_[at(l)].tensor = t;
    lives_[at(l)].start = start;
    lives_[at(l)].uses.clear();
    return l;
}

template <class Lazy>
void basic_order_editor<Lazy>::drop_life(life_id l)
{
    auto& all = lives_of_[at(lives_[at(l)].tensor)];
    all.erase(std::find(all.begin(), all.end(), l));
    free_lives_.push_back(l);
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
auto basic_order_editor<Lazy>::life_before(tensor_id t, std::size_t slot) const noexcept -> life_id
{
    life_id found = none;
    for (auto l : lives_of_[at(t)]) {
        if (slot_of(lives_[at(l)].start) >= slot) {
            break;
        }
        found = l;
    }
    return found;
}

template <class Lazy>
auto basic_order_editor<Lazy>::inputs_of(run_id r) const noexcept -> std::span<life_id const>
{
    return {run_lives_.data() + runs_[at(r)].first_life, input_tensors(r).size()};
}

template <class Lazy>
auto basic_order_editor<Lazy>::outputs_of(run_id r) const noexcept -> std::span<life_id const>
{
    return {run_lives_.data() + runs_[at(r)].first_life + input_tensors(r).size(), output_tensors(r).size()};
}

template <class Lazy>
auto basic_order_editor<Lazy>::bytes_after(run_id r) const -> bytes_t
{
    if (r == none) {
        return 0;
    }
    auto bytes = bytes_at(slot_of(r)) - workspace_of(r);
    for (auto const lives : {inputs_of(r), outputs_of(r)}) {
        for (auto l : lives) {
            if (l != none && end_of(l) == r) {
                bytes -= p_->size(lives_[at(l)].tensor);
            }
        }
    }
    return bytes;
}

template <class Lazy>
void basic_order_editor<Lazy>::add_use(life_id l, run_id r)
{
    auto& x = lives_[at(l)];
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
    auto& x = lives_[at(l)];
    auto const old_end = slot_of(end_of(l));
    x.uses.erase(std::find(x.uses.begin(), x.uses.end(), r));
    auto const new_end = slot_of(end_of(l));
    line_.add(new_end + 1, old_end, -p_->size(x.tensor));
}

template <class Lazy>
void basic_order_editor<Lazy>::produce(run_id r, std::size_t output)
{
    auto const t = output_tensors(r)[output];
    auto const size = p_->size(t);
    auto const old = life_before(t, slot_of(r));
    auto const fresh = new_life(t, r);
    run_lives_[runs_[at(r)].first_life + input_tensors(r).size() + output] = fresh;
    auto& all = lives_of_[at(t)];
    all.insert(std::find(all.begin(), all.end(), old) + 1, fresh);
    auto& from = lives_[at(old)].uses;
    auto const split =
        std::lower_bound(from.begin(), from.end(), slot_of(r), [&](run_id a, std::size_t s) { return slot_of(a) < s; });
    auto const old_end = slot_of(end_of(old));
    lives_[at(fresh)].uses.assign(split, from.end());
    from.erase(split, from.end());
    line_.add(slot_of(end_of(old)) + 1, old_end, -size);
    line_.add(slot_of(r), slot_of(end_of(fresh)), size);
    for (auto u : lives_[at(fresh)].uses) {
        auto const begin = run_lives_.begin() + static_cast<std::ptrdiff_t>(runs_[at(u)].first_life);
        std::replace(begin, begin + static_cast<std::ptrdiff_t>(input_tensors(u).size()), old, fresh);
    }
    // The old production may have served only what now uses the new one.
    if (auto const maker = lives_[at(old)].start; from.empty()) {
        cost_t ignored = 0;
        remove_if_dead(maker, ignored);
    }
}

template <class Lazy>
void basic_order_editor<Lazy>::replay_before(run_id before, std::span<op_id const> ops)
{
    std::vector<run_id> added;
    for (auto o : ops) {
        added.push_back(new_run(o));
    }
    line_.insert_before(
        before, added, [this](run_id r) { return bytes_after(r); }, [this](run_id r) { return workspace_of(r); });
    for (auto r : added) {
        auto const inputs = input_tensors(r);
        for (std::size_t i = 0; i < inputs.size(); ++i) {
            auto const l = life_before(inputs[i], slot_of(r));
            run_lives_[runs_[at(r)].first_life + i] = l;
            add_use(l, r);
        }
        for (std::size_t i = 0; i < output_tensors(r).size(); ++i) {
            produce(r, i);
        }
    }
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
                outputs.begin(), outputs.end(), [&](life_id l) { return l == none || !lives_[at(l)].uses.empty(); })) {
            continue;
        }
        for (auto l : outputs) {
            line_.add(slot_of(r), slot_of(r), -p_->size(lives_[at(l)].tensor));
            drop_life(l);
        }
        for (auto l : inputs_of(r)) {
            remove_use(l, r);
            if (lives_[at(l)].uses.empty()) {
                dead.push_back(lives_[at(l)].start);
            }
        }
        line_.add(slot_of(r), slot_of(r), -workspace_of(r));
        line_.erase(r);
        free_runs_.push_back(r);
        --run_count_;
        cost_ -= p_->cost(op_of(r));
        saved += p_->cost(op_of(r));
    }
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
        if (lives_[at(l)].uses.empty()) {
            continue;
        }
        auto const t = lives_[at(l)].tensor;
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
            line_.add(k.first, k.last, -p_->size(lives_[at(k.old)].tensor));
        }
        return -1;
    }
    for (auto const& k : kept) {
        auto& old = lives_[at(k.old)];
        auto& fresh = lives_[at(k.fresh)];
        // What the new life held from its start on, the old one now holds: the bytes stay, but for the start itself if
        // the production goes, which remove_if_dead takes off as for an unused output.
        auto const size = p_->size(old.tensor);
        line_.add(slot_of(r), slot_of(r), size);
        old.uses.insert(old.uses.end(), fresh.uses.begin(), fresh.uses.end());
        for (auto u : fresh.uses) {
            auto const begin = run_lives_.begin() + static_cast<std::ptrdiff_t>(runs_[at(u)].first_life);
            std::replace(begin, begin + static_cast<std::ptrdiff_t>(input_tensors(u).size()), k.fresh, k.old);
        }
        fresh.uses.clear();
    }
    cost_t saved = 0;
    remove_if_dead(r, saved);
    return saved;
}

} // namespace strata
