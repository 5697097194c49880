// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief The slab of a step: replayed by sequence, left alone by other threads, and given up where a step is another one.
#include <strata/torch/rematerialize.hpp>
#include <strata/torch/step_arena.hpp>

#include <ATen/ATen.h>
#include <torch/nn/modules/linear.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/torch/support.hpp"

namespace torch_step_arena_test {

namespace nn = ::torch::nn;
namespace remat = strata::torch;
using at::Tensor;
using remat::detail::arena_layout;
using remat::detail::block_recorder;
using remat::detail::block_replayer;
using remat::detail::block_source;
using remat::detail::diverting_allocator;
using remat::detail::step_slab;
using strata::test::same_bits;

auto bytes(std::int64_t n) -> Tensor { return at::empty({n}, at::kByte); }

/// Two blocks side by side, one after them, and one that stays.
auto sequence() -> Tensor
{
    Tensor kept;
    {
        auto const a = bytes(1000);
        auto const b = bytes(500);
        kept = bytes(300);
    }
    auto const c = bytes(1200);
    return kept;
}

auto recorded() -> arena_layout
{
    finetune::counting_allocator::installed(); // behind it
    diverting_allocator::install();
    block_recorder r;
    block_source::scope const now(&r);
    auto const kept = sequence();
    return arena_layout::of(r.blocks());
}

TEST_CASE("arena: a step is placed as it was written down, and what outlives it lies outside")
{
    auto const a = recorded();
    CHECK(a.sizes == std::vector<strata::bytes_t>{1000, 500, 300, 1200});
    CHECK(a.offsets[2] == arena_layout::outside);
    CHECK(a.escaped == 300);
    CHECK(a.bytes >= 1500);
    CHECK(a.bytes <= 1500 + 64);
    std::shared_ptr<step_slab> slab;
    for (int k = 0; k < 3; ++k) {
        block_replayer r(a, slab);
        block_source::scope const now(&r);
        (void)sequence();
        CHECK(r.served() == 3);
    }
    CHECK(slab.use_count() == 1);
}

TEST_CASE("arena: a block of another size ends the replay, one that stays keeps its bytes")
{
    auto const a = recorded();
    std::shared_ptr<step_slab> slab;
    {
        block_replayer r(a, slab);
        block_source::scope const now(&r);
        auto const x = bytes(1000);
        auto const other = bytes(501);
        auto const y = bytes(300);
        auto const z = bytes(1200);
        CHECK(r.served() == 1);
    }
    Tensor stays;
    {
        block_replayer r(a, slab);
        block_source::scope const now(&r);
        stays = bytes(1000).fill_(7);
        {
            auto const b = bytes(500).fill_(1);
            auto const kept = bytes(300).fill_(2);
        }
        auto const c = bytes(1200).fill_(3); // its place is not free
        CHECK(r.served() == 2);
        CHECK(stays.eq(7).all().item<bool>());
    }
    {
        block_replayer r(a, slab);
        block_source::scope const now(&r);
        (void)sequence();
        CHECK(r.served() == 0); // the slab is not free
    }
    stays = Tensor();
    block_replayer r(a, slab);
    block_source::scope const now(&r);
    (void)sequence();
    CHECK(r.served() == 3);
}

TEST_CASE("arena: other threads take their blocks where they always did, and may give back those of a step")
{
    auto const a = recorded();
    std::shared_ptr<step_slab> slab;
    block_replayer r(a, slab);
    {
        block_source::scope const now(&r);
        std::thread([] {
            CHECK(block_source::current() == nullptr);
            (void)sequence();
        }).join();
        CHECK(r.served() == 0);
        auto x = bytes(1000);
        std::thread([y = std::move(x)]() mutable { y = Tensor(); }).join();
        (void)bytes(500);
        CHECK(r.served() == 2);
    }
    CHECK(block_source::current() == nullptr);
}

TEST_CASE("arena: steps have the same bits, keep the budget, and do without while another is in flight")
{
    auto& memory = finetune::counting_allocator::installed();
    at::manual_seed(1);
    nn::Linear a(8, 64), b(64, 8);
    auto f = [=](Tensor const& x) mutable {
        return at::mse_loss(b(at::dropout(at::gelu(at::gelu(a(x))), 0.1, true)), x);
    };
    auto const x = at::randn({64, 8});
    auto const budget = remat::step_budget::activations(strata::budget::bytes(90'000));
    auto planned = remat::rematerialize(f, {x}, {.budget = budget, .arena = true});
    auto const said = planned.report();
    REQUIRE(said.arena_bytes > 0);
    CHECK(said.arena_bytes <= said.budget);
    CHECK(!said.recomputed.empty());
    auto const leaves = a->parameters();
    auto const step = [&](auto&& g) {
        for (auto const* m : {&a, &b}) {
            for (auto const& p : (*m)->parameters()) {
                p.mutable_grad() = Tensor();
            }
        }
        auto const loss = g(x);
        loss.backward();
        return std::vector<Tensor>{loss.detach(), a->weight.grad().clone(), b->bias.grad().clone()};
    };
    auto const live = memory.live();
    at::manual_seed(2);
    auto const plain = step(f);
    for (int k = 0; k < 3; ++k) {
        at::manual_seed(2);
        auto const again = step([&](Tensor const& in) { return planned.forward(in); });
        for (std::size_t i = 0; i < plain.size(); ++i) {
            CHECK(same_bits(plain[i], again[i]));
        }
        CHECK(memory.live() >= live + said.arena_bytes); // it stays
    }
    at::manual_seed(2);
    auto const first = planned.forward(x);
    at::manual_seed(2);
    auto const second = planned.forward(x);
    CHECK(same_bits(first, plain[0]));
    CHECK(same_bits(second, plain[0]));
    second.backward();
    first.backward();
}

TEST_CASE("arena: slab and results together keep the budget, or there is no slab")
{
    auto& memory = finetune::counting_allocator::installed();
    at::manual_seed(1);
    nn::Linear a(256, 64), b(64, 8);
    auto f = [=](Tensor const& x) mutable { return at::tanh(b(at::gelu(at::gelu(a(x))))).sum(); };
    auto const x = at::randn({64, 256});
    int with = 0;
    int without = 0;
    for (auto const share : {2.0, 1.0}) {
        auto planned = remat::rematerialize(f, {x}, {.budget = strata::budget::fraction(share), .arena = true});
        auto const said = planned.report();
        (said.arena_bytes > 0 ? with : without) += 1;
        for (int k = 0; k < 2; ++k) {
            for (auto const& p : {a->weight, a->bias, b->weight, b->bias}) {
                p.mutable_grad() = Tensor();
            }
            auto const base = memory.live() - (k == 0 ? 0 : said.arena_bytes); // the slab stays
            memory.reset_peak();
            planned.forward(x).backward();
            CHECK(memory.peak() - base <= said.budget);
        }
    }
    CHECK(with > 0);
    CHECK(without > 0);
}

} // namespace torch_step_arena_test
