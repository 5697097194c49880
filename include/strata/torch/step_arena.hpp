// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief All blocks that libtorch takes during a planned step, in one slab at offsets found beforehand.
///
/// Steps of one plan take the same blocks in the same order. A trial step is written down, its blocks are placed like the
/// buffers of any plan, and later steps replay that by sequence number. A block that comes otherwise than foreseen, and one
/// that outlives the step, are libtorch's own.
#pragma once

#include <strata/place/place.hpp>
#include <strata/place/placement.hpp>
#include <strata/torch/compat.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace strata::torch::detail {

/// Where a block is used: by the CPU, or by what runs on one stream of a device, in the order in which it was begun.
struct lane {
    c10::DeviceType type = c10::DeviceType::CPU;
    int device = 0;
    std::uintptr_t stream = 0; ///< its handle
    friend auto operator==(lane const&, lane const&) -> bool = default;
};

/// Whoever answers the requests for blocks of one step: on its thread, and on those on which the engine of autograd works
/// for that thread.
class block_source {
public:
    /// For blocks on devices of type `t`.
    explicit block_source(c10::DeviceType t = c10::DeviceType::CPU) noexcept
        : type_(t)
    {
    }
    block_source(block_source const&) = delete;
    auto operator=(block_source const&) -> block_source& = delete;
    virtual ~block_source() = default;
    /// A block of `n` > 0 bytes. `behind`: the allocator that would be asked without this one.
    virtual auto take(std::size_t n, c10::Allocator& behind) -> c10::DataPtr = 0;

    /// Whether it answers requests of `l`: it does so for the first lane of its type, and for no other, since bytes that go
    /// from one stream to another need more than an order of requests.
    [[nodiscard]] auto serves(lane const& l) -> bool
    {
        return l.type == type_ && (lane_ ? *lane_ : lane_.emplace(l)) == l;
    }

    /// While it lives, `by` answers requests; a null one lets them pass.
    class scope {
    public:
        explicit scope(block_source* by)
            : guard_(step_info(), std::make_shared<carried>(by))
        {
        }

    private:
        c10::DebugInfoGuard guard_;
    };
    [[nodiscard]] static auto current() -> block_source*
    {
        auto* const now = c10::ThreadLocalDebugInfo::get(step_info());
        return now == nullptr ? nullptr : static_cast<carried*>(now)->by;
    }

protected:
    /// Requires: a request was answered.
    [[nodiscard]] auto own_lane() const -> lane const& { return lane_.value(); }

private:
    struct carried final : c10::DebugInfoBase {
        explicit carried(block_source* b)
            : by(b)
        {
        }
        block_source* by;
    };
    c10::DeviceType type_;
    std::optional<lane> lane_;
};

/// Stands before libtorch's CPU allocator. On threads that run no step with an arena it hands everything on, untouched.
class diverting_allocator final : public allocator_in_front {
public:
    /// Puts it before the allocator of the process, once.
    static void install()
    {
        static bool const once = [] {
            c10::SetCPUAllocator(new diverting_allocator(*c10::GetCPUAllocator()),
                                 255); // never given back, like tensors
            return true;
        }();
        (void)once;
    }

private:
    using allocator_in_front::allocator_in_front;
    auto take(std::size_t n) const -> c10::DataPtr override
    {
        auto* const by = block_source::current();
        return by == nullptr || n == 0 || !by->serves({}) ? behind().allocate(n) : by->take(n, behind());
    }
};

/// Whether an allocator that asks `block_source` stands before that of CUDA devices; cuda_arena.hpp has it.
[[nodiscard]] inline auto cuda_is_diverted() noexcept -> std::atomic<bool>&
{
    static std::atomic<bool> is{false};
    return is;
}
/// Whether one stands before that of the devices of type `t`. That of the CPU is installed when first asked for.
[[nodiscard]] inline auto diverted(c10::DeviceType t) -> bool
{
    if (t == c10::DeviceType::CPU) {
        diverting_allocator::install();
        return true;
    }
    return t == c10::DeviceType::CUDA && cuda_is_diverted();
}

/// Writes down which blocks a step takes and when they go.
class block_recorder final : public block_source {
public:
    using block_source::block_source;
    auto take(std::size_t n, c10::Allocator& behind) -> c10::DataPtr override
    {
        auto block = behind.allocate(n);
        auto* const data = block.get();
        auto const where = block.device();
        auto* const held = new held_block{std::move(block), written_, 0};
        {
            std::lock_guard<std::mutex> const lock(written_->mutex);
            held->index = written_->blocks.size();
            written_->blocks.push_back({written_->now++, open, static_cast<bytes_t>(n), none});
        }
        return {data, held, &give_back, where};
    }

    /// The blocks, in the order in which they were taken; the end of one that is still there is that of time.
    [[nodiscard]] auto blocks() const -> std::vector<lifetime>
    {
        std::lock_guard<std::mutex> const lock(written_->mutex);
        return written_->blocks;
    }
    static constexpr auto open = static_cast<std::size_t>(-1);

private:
    struct record {
        std::mutex mutex;
        std::size_t now = 0;
        std::vector<lifetime> blocks;
    };
    struct held_block {
        c10::DataPtr block;
        std::shared_ptr<record> in;
        std::size_t index;
    };
    static void give_back(void* p)
    {
        std::unique_ptr<held_block> const x(static_cast<held_block*>(p));
        std::lock_guard<std::mutex> const lock(x->in->mutex);
        x->in->blocks[x->index].end = x->in->now++;
    }

    std::shared_ptr<record> written_ = std::make_shared<record>();
};

/// Where the blocks of a step lie, by sequence number.
struct arena_layout {
    static constexpr bytes_t outside = -1; ///< offset of a block that outlives the step
    std::vector<bytes_t> sizes, offsets;
    bytes_t bytes = 0;   ///< of the slab
    bytes_t escaped = 0; ///< sum of blocks that outlive the step

    /// Places `blocks`, as a recorder has written them, with the alignment of libtorch's own on devices of type `t`.
    [[nodiscard]] static auto of(std::vector<lifetime> const& blocks, c10::DeviceType t = c10::DeviceType::CPU)
        -> arena_layout
    {
        bytes_t const alignment = t == c10::DeviceType::CPU ? 64 : 512;
        arena_layout a;
        std::vector<lifetime> inside;
        for (auto const& x : blocks) {
            a.sizes.push_back(x.size);
            if (x.end == block_recorder::open) {
                a.escaped += x.size;
            } else {
                inside.push_back(x);
            }
        }
        auto const placed = place(std::move(inside), {.alignment = alignment}).value();
        a.bytes = placed.arena;
        auto next = placed.offsets.begin();
        for (auto const& x : blocks) {
            a.offsets.push_back(x.end == block_recorder::open ? outside : *next++);
        }
        return a;
    }
};

/// The slab of one step. Blocks keep it alive; it does not give out a byte that is in use.
class step_slab : public std::enable_shared_from_this<step_slab> {
public:
    step_slab(std::size_t n, c10::Allocator& from, lane on)
        : memory_(from.allocate(n))
        , lane_(on)
    {
    }
    /// Where its blocks are used.
    [[nodiscard]] auto on() const noexcept -> lane const& { return lane_; }

    /// `n` bytes at `offset`; nothing if some of them are in use.
    [[nodiscard]] auto take(bytes_t offset, bytes_t n) -> c10::DataPtr
    {
        std::lock_guard<std::mutex> const lock(mutex_);
        auto const above = live_.lower_bound(offset);
        bool const free = (above == live_.end() || above->first >= offset + n) &&
                          (above == live_.begin() || std::prev(above)->first + std::prev(above)->second <= offset);
        if (!free) {
            return {};
        }
        live_.emplace_hint(above, offset, n);
        auto* const data = static_cast<std::byte*>(memory_.get()) + offset;
        return {data, new block{shared_from_this(), offset}, &give_back, memory_.device()};
    }

private:
    struct block {
        std::shared_ptr<step_slab> slab;
        bytes_t offset;
    };
    static void give_back(void* p)
    {
        std::unique_ptr<block> const x(static_cast<block*>(p));
        std::lock_guard<std::mutex> const lock(x->slab->mutex_);
        x->slab->live_.erase(x->offset);
    }

    c10::DataPtr memory_;
    lane lane_;
    std::mutex mutex_; // blocks may go on any thread
    std::map<bytes_t, bytes_t> live_;
};

/// Gives a step its blocks out of a slab, as long as it asks for those that were foreseen.
class block_replayer final : public block_source {
public:
    /// `slab`: kept between steps; made when first needed.
    block_replayer(arena_layout const& a, std::shared_ptr<step_slab>& slab, c10::DeviceType t = c10::DeviceType::CPU)
        : block_source(t)
        , layout_(a)
        , kept_(slab)
    {
    }

    auto take(std::size_t n, c10::Allocator& behind) -> c10::DataPtr override
    {
        auto const k = next_++;
        if (k >= layout_.sizes.size() || layout_.sizes[k] != static_cast<bytes_t>(n)) {
            next_ = layout_.sizes.size(); // another step than foreseen: nothing that follows can be told
        } else if (layout_.offsets[k] != arena_layout::outside && (slab_ || open(behind))) {
            if (auto block = slab_->take(layout_.offsets[k], layout_.sizes[k])) {
                ++served_;
                return block;
            }
        }
        return behind.allocate(n);
    }
    /// How many blocks came out of the slab.
    [[nodiscard]] auto served() const noexcept -> std::size_t { return served_; }

private:
    /// Takes the slab, unless another step has it, a block of an earlier one is still there, or it is another lane's.
    auto open(c10::Allocator& behind) -> bool
    {
        if (!kept_) {
            kept_ = std::make_shared<step_slab>(static_cast<std::size_t>(layout_.bytes), behind, own_lane());
        } else if (kept_.use_count() > 1 || kept_->on() != own_lane()) {
            next_ = layout_.sizes.size();
            return false;
        }
        slab_ = kept_;
        return true;
    }

    arena_layout const& layout_;
    std::shared_ptr<step_slab>& kept_;
    std::shared_ptr<step_slab> slab_;
    std::size_t next_ = 0;
    std::size_t served_ = 0;
};

} // namespace strata::torch::detail
