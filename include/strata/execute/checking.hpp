// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief A storage that watches the engine: every op writes what it claims to write, and nothing else.
///
/// ```cpp
/// strata::executor step(program, engine, strata::checking(*std::pmr::new_delete_resource()));
/// step.run(); // throws engine_fault where an op breaks a rule
/// ```
#pragma once

#include <strata/execute/buffers.hpp>
#include <strata/execute/concepts.hpp>
#include <strata/execute/program.hpp>
#include <strata/execute/storage.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace strata {

/// Thrown by `checking` when an op breaks a rule of `engine`; the message names the op, the tensor and the rule.
class engine_fault : public std::logic_error {
public:
    engine_fault(op_id o, tensor_id t, std::string const& what)
        : std::logic_error(what)
        , op_(o)
        , tensor_(t)
    {
    }
    /// The op that ran last.
    [[nodiscard]] auto op() const noexcept -> op_id { return op_; }
    /// The tensor concerned; `none` for a workspace.
    [[nodiscard]] auto tensor() const noexcept -> tensor_id { return tensor_; }

private:
    op_id op_;
    tensor_id tensor_;
};

namespace detail {

/// Memory filled with bytes that no op writes by chance: not-a-number in every usual number format, and different from
/// place to place. Ranges count from the start.
template <class = void>
class basic_poison {
public:
    basic_poison(std::byte* begin, std::size_t bytes, std::uint64_t seed) noexcept
        : begin_(begin)
        , bytes_(bytes)
        , seed_(seed)
    {
    }
    [[nodiscard]] auto begin() const noexcept -> std::byte* { return begin_; }

    void fill() const noexcept
    {
        for (std::size_t k = 0; k < bytes_; k += 8) {
            auto const w = word(k);
            std::memcpy(begin_ + k, &w, std::min<std::size_t>(8, bytes_ - k));
        }
    }
    /// Whether [from, to) is as `fill` has left it.
    [[nodiscard]] auto whole(std::size_t from, std::size_t to) const noexcept -> bool
    {
        auto const next = std::min(to, from + (8 - from % 8) % 8);
        if (touched(from, next) != 0) {
            return false;
        }
        for (auto k = next; k < to; k += 8) {
            auto const w = word(k);
            if (std::memcmp(begin_ + k, &w, std::min<std::size_t>(8, to - k)) != 0) {
                return false;
            }
        }
        return true;
    }
    [[nodiscard]] auto whole() const noexcept -> bool { return whole(0, bytes_); }

    /// Bytes of [from, to) up to the last one that differs from what `fill` wrote.
    [[nodiscard]] auto touched(std::size_t from, std::size_t to) const noexcept -> std::size_t
    {
        for (auto k = to; k-- > from;) {
            auto const w = word(k - k % 8);
            std::byte bytes[8];
            std::memcpy(bytes, &w, 8);
            if (begin_[k] != bytes[k % 8]) {
                return k + 1 - from;
            }
        }
        return 0;
    }
    /// Offset from `from` of the first eight bytes of [from, to) that are as `fill` wrote them; `to - from` if none are.
    [[nodiscard]] auto untouched(std::size_t from, std::size_t to) const noexcept -> std::size_t
    {
        for (auto k = from; k + 8 <= to; k += 8) {
            auto const w = word(k);
            if (std::memcmp(begin_ + k, &w, 8) == 0) {
                return k - from;
            }
        }
        return to - from;
    }

private:
    [[nodiscard]] auto word(std::size_t offset) const noexcept -> std::uint64_t
    {
        auto x = seed_ + 0x9E3779B97F4A7C15U * (offset / 8 + 1);
        x = (x ^ (x >> 30U)) * 0xBF58476D1CE4E5B9U;
        return (x ^ (x >> 27U)) | 0xFFFF0000FFFF0000U;
    }

    std::byte* begin_;
    std::size_t bytes_;
    std::uint64_t seed_;
};

/// A number that tells contents apart.
template <class = void>
[[nodiscard]] auto content_hash(std::byte const* p, std::size_t n) noexcept -> std::uint64_t
{
    std::uint64_t h = 0x9E3779B97F4A7C15U ^ n;
    for (std::size_t k = 0; k < n; k += 8) {
        std::uint64_t w = 0;
        std::memcpy(&w, p + k, std::min<std::size_t>(8, n - k));
        h = (h ^ w) * 0xBF58476D1CE4E5B9U;
        h ^= h >> 29U;
    }
    return h;
}

} // namespace detail

/// Every buffer by itself in memory that the host can touch, between two guards, and filled with poison at first.
///
/// After each run of an op:
///   - guards are whole: nothing was written before or behind a buffer;
///   - only buffers that the op writes or changes have changed, and of resident tensors that were bound likewise; in a
///     replay of a stateful op none of these;
///   - a buffer that the op brought forth was written wholly: no eight bytes of it are still poison;
///   - a replay has made the same bytes as the first run;
///   - nothing was written to a buffer that had been released: it is poisoned and kept for a while, so that whoever reads
///     it late finds no number.
/// Costs time in proportion to all live bytes at each run, and up to twice the memory of the plan and the guards.
template <memory_source M>
class checking {
public:
    static constexpr bool gives_back = true;

    explicit checking(M& from) noexcept
        : from_(from)
    {
    }
    checking(checking&&) = default;
    auto operator=(checking&&) -> checking& = delete;
    ~checking()
    {
        for (auto const& x : kept_) {
            from_.release(padded(x.piece), x.memory.begin());
        }
    }

    void open(program const& p)
    {
        program_ = &p;
        guard_ = static_cast<std::size_t>(align_up(64, p.alignment()));
        first_.resize(at(p.op_count()));
        touched_.assign(at(p.op_count()), 0);
        from_.open(p);
    }

    [[nodiscard]] auto acquire(memory_piece const& x) -> std::byte*
    {
        auto const whole = padded(x);
        live_.reserve(live_.size() + 1);
        live_.push_back({x, {from_.acquire(whole), at(whole.size), ++serial_}, 0, false});
        live_.back().memory.fill();
        live_bytes_ += x.size;
        peak_ = std::max(peak_, live_bytes_);
        return live_.back().memory.begin() + guard_;
    }

    void release(memory_piece const& x, std::byte* p) noexcept
    {
        live_bytes_ -= x.size;
        auto const i =
            std::find_if(live_.begin(), live_.end(), [&](block const& b) { return b.memory.begin() + guard_ == p; });
        auto const gone = *i;
        live_.erase(i);
        gone.memory.fill();
        try {
            kept_.push_back(gone);
            kept_bytes_ += gone.piece.size;
        } catch (...) { // no room to keep it
            from_.release(padded(gone.piece), gone.memory.begin());
        }
        while (kept_bytes_ > program_->arena()) {
            kept_bytes_ -= kept_.front().piece.size;
            from_.release(padded(kept_.front().piece), kept_.front().memory.begin());
            kept_.pop_front();
        }
    }

    void before(instruction const& /*x*/, buffers const& b)
    {
        for (auto& one : live_) {
            one.hash = hash_of(one);
        }
        resident_.clear();
        for (tensor_id t = 0; t < program_->tensor_count(); ++t) {
            if (program_->resident(t) && program_->owners()[at(t)] == t && b.data(t) != nullptr) {
                resident_.emplace_back(t, detail::content_hash(b.data(t), at(program_->tensor(t).bytes)));
            }
        }
    }

    /// Throws: `engine_fault` for the first rule that is broken.
    void after(instruction const& x, buffers const& b)
    {
        auto const& written = program_->written(x.id);
        auto const writes = [&](tensor_id t) { return std::binary_search(written.begin(), written.end(), t); };
        for (auto& one : live_) {
            check_guards(x, one);
            auto const t = one.piece.tensor;
            if (t == none) {
                auto const used = one.memory.touched(guard_, guard_ + at(one.piece.bytes));
                touched_[at(x.id)] = std::max(touched_[at(x.id)], static_cast<bytes_t>(used));
            } else if (!writes(t)) {
                if (hash_of(one) != one.hash) {
                    fault(x, t, "changes it, but is not said to write it: name it among the op's outputs or mutates");
                }
            } else if (!std::exchange(one.made, true)) {
                auto const end = guard_ + at(one.piece.bytes);
                if (auto const k = one.memory.untouched(guard_, end); k + 8 <= at(one.piece.bytes)) {
                    fault(x, t, "leaves bytes " + std::to_string(k) + " to " + std::to_string(k + 7) + " unwritten");
                }
            }
        }
        for (auto const& [t, hash] : resident_) {
            bool const same = detail::content_hash(b.data(t), at(program_->tensor(t).bytes)) == hash;
            if (!same && x.quiet) {
                fault(x, t, "writes it in a replay, though it lives on after the step");
            }
            if (!same && !writes(t)) {
                fault(x, t, "changes it, but is not said to write it: name it among the op's outputs or mutates");
            }
        }
        for (auto const& one : kept_) {
            if (!one.memory.whole()) {
                fault(x, one.piece.tensor, "writes it, though it has been released");
            }
        }
        check_replay(x, b);
    }

    /// The most bytes that were there at one time so far, guards and kept buffers left out.
    [[nodiscard]] auto peak_bytes() const noexcept -> bytes_t { return peak_; }

    /// How much of its workspace op `o` has used so far: bytes up to the last one it wrote.
    [[nodiscard]] auto touched_workspace(op_id o) const noexcept -> bytes_t { return touched_[at(o)]; }

private:
    struct block {
        memory_piece piece;
        detail::basic_poison<> memory; // guard, buffer, guard
        std::uint64_t hash;            // before the run of an op
        bool made;                     // some op has written it
    };

    template <class I>
    static auto at(I i) noexcept -> std::size_t
    {
        return static_cast<std::size_t>(i);
    }
    [[nodiscard]] auto padded(memory_piece x) const noexcept -> memory_piece
    {
        x.size += 2 * static_cast<bytes_t>(guard_);
        return x;
    }
    [[nodiscard]] auto hash_of(block const& x) const noexcept -> std::uint64_t
    {
        return detail::content_hash(x.memory.begin() + guard_, at(x.piece.bytes));
    }

    [[noreturn]] void fault(instruction const& x, tensor_id t, std::string const& what) const
    {
        auto const& type = program_->op(x.id).type;
        throw engine_fault(x.id,
                           t,
                           "strata::checking: " + detail::op_label(*program_, x.id) +
                               (type.empty() ? "" : ", a " + type + ",") + (x.again ? " run again" : "") + ": " +
                               (t == none ? "its workspace" : detail::tensor_label(*program_, t)) + ": " + what);
    }

    void check_guards(instruction const& x, block const& one) const
    {
        auto const end = guard_ + at(one.piece.bytes);
        auto const all = 2 * guard_ + at(one.piece.size);
        if (!one.memory.whole(0, guard_)) {
            fault(x, one.piece.tensor, "writes in front of its first byte");
        }
        if (!one.memory.whole(end, all)) {
            fault(x,
                  one.piece.tensor,
                  "writes behind its last byte: it has " + std::to_string(one.piece.bytes) + " bytes, " +
                      std::to_string(one.memory.touched(end, all)) + " more were used");
        }
    }

    void check_replay(instruction const& x, buffers const& b)
    {
        std::vector<std::uint64_t> made;
        for (auto t : program_->written(x.id)) {
            bool const counts = !program_->resident(t);
            made.push_back(counts ? detail::content_hash(b.data(t), at(program_->tensor(t).bytes)) : 0);
        }
        if (!x.again) {
            first_[at(x.id)] = std::move(made);
            return;
        }
        for (std::size_t k = 0; k < made.size(); ++k) {
            if (made[k] != first_[at(x.id)][k]) {
                fault(x,
                      program_->written(x.id)[k],
                      "is not what the first run made; an op that does not repeat is random or nondeterministic");
            }
        }
    }

    allocating<M> from_;
    program const* program_ = nullptr;
    std::size_t guard_ = 64;
    std::uint64_t serial_ = 0;
    std::vector<block> live_;
    std::deque<block> kept_; // released, oldest first
    bytes_t kept_bytes_ = 0;
    bytes_t live_bytes_ = 0;
    bytes_t peak_ = 0;
    std::vector<std::pair<tensor_id, std::uint64_t>> resident_;
    std::vector<std::vector<std::uint64_t>> first_; // per op: what its first run has made
    std::vector<bytes_t> touched_;                  // per op
};

} // namespace strata
