// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief The slab of a step behind raw pointers, as CUDA's allocator asks for them: streams, threads and returns.
#include <strata/torch/raw_blocks.hpp>
#include <strata/torch/step_arena.hpp>

#include <ATen/ATen.h>
#include <ATen/ThreadLocalState.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "tests/support/catch.hpp"

namespace torch_raw_blocks_test {

using namespace strata::torch::detail;

constexpr lane first{c10::DeviceType::CUDA, 0, 11};
constexpr lane second{c10::DeviceType::CUDA, 0, 22};

/// A device in host memory: its allocator asks the step, then hands out blocks of its own.
class fake_device {
public:
    auto take(std::size_t n, lane const& l) -> void*
    {
        auto* const p = blocks_.take(n, l, *c10::GetCPUAllocator());
        if (p != nullptr) {
            return p;
        }
        own_.push_back(c10::GetCPUAllocator()->allocate(n));
        return own_.back().get();
    }
    void give(void* p)
    {
        if (!blocks_.give(p)) {
            ++given_back_;
        }
    }
    void use(void* p, std::uintptr_t stream) { (void)blocks_.used_on(p, stream); }

    [[nodiscard]] auto own_blocks() const noexcept -> std::size_t { return own_.size(); }
    [[nodiscard]] auto given_back() const noexcept -> std::size_t { return given_back_; }
    [[nodiscard]] auto waited() const noexcept -> std::vector<std::uintptr_t> const& { return waited_; }

private:
    std::vector<std::uintptr_t> waited_;
    raw_blocks blocks_{[this](std::uintptr_t s) { waited_.push_back(s); }};
    std::vector<c10::DataPtr> own_;
    std::size_t given_back_ = 0;
};

/// Two blocks side by side, then one in their place.
auto sequence(fake_device& d, lane const& l) -> std::vector<std::byte*>
{
    auto* const a = static_cast<std::byte*>(d.take(1000, l));
    auto* const b = static_cast<std::byte*>(d.take(600, l));
    d.give(a);
    d.give(b);
    auto* const c = static_cast<std::byte*>(d.take(1600, l));
    d.give(c);
    return {a, b, c};
}

auto recorded(fake_device& d) -> arena_layout
{
    block_recorder r(c10::DeviceType::CUDA);
    block_source::scope const now(&r);
    (void)sequence(d, first);
    return arena_layout::of(r.blocks(), c10::DeviceType::CUDA);
}

TEST_CASE("raw blocks: a step's come out of its slab, aligned as on a device, all others from the allocator")
{
    fake_device d;
    (void)sequence(d, first);
    CHECK(d.own_blocks() == 3);
    CHECK(d.given_back() == 3);
    auto const a = recorded(d);
    CHECK(a.sizes == std::vector<strata::bytes_t>{1000, 600, 1600});
    CHECK(a.bytes == 1624); // 600 bytes begin at 1024
    std::shared_ptr<step_slab> slab;
    std::vector<std::byte*> before;
    for (int k = 0; k < 3; ++k) {
        block_replayer r(a, slab, c10::DeviceType::CUDA);
        block_source::scope const now(&r);
        auto const at = sequence(d, first);
        CHECK(r.served() == 3);
        CHECK(at[2] == std::min(at[0], at[1]));
        CHECK((before.empty() || at == before));
        before = at;
        CHECK(at::empty({1000}, at::kByte).nbytes() == 1000); // the CPU's blocks are no business of this step
        CHECK(r.served() == 3);
    }
    CHECK(d.own_blocks() == 3);
}

TEST_CASE("raw blocks: another stream is not served, and no slab goes from one stream to another")
{
    fake_device d;
    auto const a = recorded(d);
    std::shared_ptr<step_slab> slab;
    {
        block_replayer r(a, slab, c10::DeviceType::CUDA);
        block_source::scope const now(&r);
        auto* const x = d.take(1000, first);
        (void)sequence(d, second); // between the blocks of the step, which is not disturbed
        auto* const y = d.take(600, first);
        CHECK(r.served() == 2);
        CHECK(d.own_blocks() == 3);
        d.give(x);
        d.give(y);
    }
    block_replayer r(a, slab, c10::DeviceType::CUDA);
    block_source::scope const now(&r);
    (void)sequence(d, second); // a whole step there
    CHECK(r.served() == 0);
    CHECK(slab->on() == first);
}

TEST_CASE("raw blocks: bytes that another stream used are free when it has done with them")
{
    fake_device d;
    auto const a = recorded(d);
    std::shared_ptr<step_slab> slab;
    block_replayer r(a, slab, c10::DeviceType::CUDA);
    block_source::scope const now(&r);
    auto* const x = d.take(1000, first);
    auto* const y = d.take(600, first);
    d.use(x, second.stream);
    CHECK(d.waited().empty());
    d.give(y);
    CHECK(d.waited().empty());
    d.give(x);
    CHECK(d.waited() == std::vector<std::uintptr_t>{second.stream});
}

TEST_CASE("raw blocks: a step's go with it to the threads of autograd's engine, and to no other")
{
    fake_device d;
    auto const a = recorded(d);
    std::shared_ptr<step_slab> slab;
    block_replayer r(a, slab, c10::DeviceType::CUDA);
    block_source::scope const now(&r);
    std::thread([] { CHECK(block_source::current() == nullptr); }).join();
    at::ThreadLocalState const state; // as the engine takes it along
    std::thread([&] {
        at::ThreadLocalStateGuard const guard(state);
        (void)sequence(d, first);
    }).join();
    CHECK(r.served() == 3);
}

} // namespace torch_raw_blocks_test
