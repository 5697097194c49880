// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Dropout masks as bits: what is drawn is kept in 1/32 of the bytes, and made a mask again where it is read.
///
/// A mask of dropout is two numbers, as often as there are elements, and drawing it takes longer than anything else of its
/// size: too dear to draw twice, too large to keep. So the pass is written anew: one op draws bits, another widens them. A
/// plan may then drop the mask, and widening it costs less than writing it for the first time did.
#pragma once

#include <strata/torch/compat.hpp>
#include <strata/torch/trace.hpp>
#include <strata/units.hpp>

#include <ATen/Parallel.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_strided.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace strata::torch::detail {

inline constexpr std::int64_t bits_per_byte = 8;

/// sizes, strides, probability -> bits: as many draws of `bernoulli_`, in the order of memory.
inline void draw_bits(::torch::jit::Stack& stack)
{
    auto const p = stack[2].toDouble();
    auto const drawn = at::empty_strided(stack[0].toIntVector(), stack[1].toIntVector(), at::kBool).bernoulli_(p);
    auto const n = drawn.numel();
    auto bits = at::empty({(n + bits_per_byte - 1) / bits_per_byte}, at::kByte);
    auto const* const from = drawn.data_ptr<bool>();
    auto* const to = bits.data_ptr<std::uint8_t>();
    auto const whole = n / bits_per_byte;
    at::parallel_for(0, whole, at::internal::GRAIN_SIZE / bits_per_byte, [=](auto begin, auto end) {
        // Eight bytes that are 0 or 1, as one number: of the product's highest byte, bit k is the k-th of them.
        constexpr std::uint64_t gather =
            std::endian::native == std::endian::little ? 0x0102040810204080U : 0x8040201008040201U;
        for (auto i = begin; i < end; ++i) {
            std::uint64_t eight = 0;
            std::memcpy(&eight, from + i * bits_per_byte, sizeof(eight));
            to[i] = static_cast<std::uint8_t>((eight * gather) >> 56U);
        }
    });
    if (whole < bits.numel()) {
        unsigned byte = 0;
        for (auto k = whole * bits_per_byte; k < n; ++k) {
            byte |= static_cast<unsigned>(from[k]) << (k - whole * bits_per_byte);
        }
        to[whole] = static_cast<std::uint8_t>(byte);
    }
    stack.clear();
    stack.emplace_back(std::move(bits));
}

/// bits, sizes, strides, type, what stands for 0 and 1 -> mask. Eight elements at a time, out of a table.
/// `Bytes`: of one element.
template <std::size_t Bytes>
void widen_bits(at::Tensor const& bits, at::Tensor const& two, at::Tensor const& mask)
{
    using eight = std::array<std::byte, Bytes * bits_per_byte>;
    std::vector<eight> table(std::size_t(1) << bits_per_byte);
    auto const* const values = static_cast<std::byte const*>(two.data_ptr());
    for (std::size_t byte = 0; byte < table.size(); ++byte) {
        for (std::size_t k = 0; k < bits_per_byte; ++k) {
            std::copy_n(values + ((byte >> k) & 1U) * Bytes, Bytes, table[byte].begin() + k * Bytes);
        }
    }
    auto const* const from = bits.data_ptr<std::uint8_t>();
    auto* const to = static_cast<std::byte*>(mask.data_ptr());
    auto const all = mask.nbytes();
    auto const write = [=, &table](std::int64_t begin, std::int64_t end) {
        for (auto i = at(begin); i < at(end); ++i) {
            std::memcpy(to + i * sizeof(eight), table[from[i]].data(), sizeof(eight));
        }
    };
    auto const whole = static_cast<std::int64_t>(all / sizeof(eight));
    at::parallel_for(0, whole, at::internal::GRAIN_SIZE / bits_per_byte, write);
    if (auto const rest = all % sizeof(eight); rest != 0) {
        std::memcpy(to + at(whole) * sizeof(eight), table[from[whole]].data(), rest);
    }
}
inline void widen_bits(::torch::jit::Stack& stack)
{
    auto const bits = stack[0].toTensor();
    auto const two = stack[3].toTensor();
    auto mask = at::empty_strided(stack[1].toIntVector(), stack[2].toIntVector(), two.options());
    switch (two.element_size()) {
    case 2: widen_bits<2>(bits, two, mask); break;
    case 4: widen_bits<4>(bits, two, mask); break;
    default: widen_bits<8>(bits, two, mask); break;
    }
    stack.clear();
    stack.emplace_back(std::move(mask));
}

/// Writes a pass anew, so that it draws its masks as bits.
class mask_packer {
public:
    explicit mask_packer(trace& t)
        : t_(t)
    {
    }

    /// Where libtorch draws the same as bits, which is tried for each shape; the random state is afterwards as before.
    void operator()()
    {
        auto const state = random_state();
        std::vector<captured_op> ops;
        for (std::size_t o = 0; o < t_.ops.size();) {
            auto const n = length(o);
            if (n > 0 && same(o, n)) {
                pack(o, n, ops);
                o += n;
            } else {
                ops.push_back(std::move(t_.ops[o++]));
            }
        }
        t_.ops = std::move(ops);
        set_random_state(state);
    }

private:
    static constexpr std::int64_t worth_it = 4096; // elements: with fewer, calling one more op takes longer

    [[nodiscard]] static auto named(captured_op const& x, std::string_view name) -> bool { return x.name() == name; }
    /// The value that `x`, an op of one tensor and numbers, answers.
    [[nodiscard]] static auto answer_of(captured_op const& x) -> std::int32_t { return x.answers[0].values[0]; }
    /// Whether `x` is `a.name(numbers...)` of the value `v`.
    [[nodiscard]] static auto changes(captured_op const& x, std::int32_t v) -> bool
    {
        auto const& a = x.arguments;
        return x.writes.size() == 1 && !a.empty() && a[0].what == argument::kind::tensor && a[0].values[0] == v &&
               std::all_of(a.begin() + 1, a.end(), [](auto const& y) { return y.what == argument::kind::constant; });
    }

    /// How many ops from `o` on make a mask: memory without contents, `bernoulli_`, and a division by a number, if any.
    [[nodiscard]] auto length(std::size_t o) const -> std::size_t
    {
        auto const& ops = t_.ops;
        if (o + 1 >= ops.size() || ops[o].name().find("::empty") == std::string::npos || !ops[o].writes.empty()) {
            return 0;
        }
        auto const& draw = ops[o + 1];
        if (!named(draw, "aten::bernoulli_") || !changes(draw, answer_of(ops[o])) || draw.arguments.size() != 3 ||
            !draw.arguments[1].constant.isDouble() || !draw.arguments[2].constant.isNone()) {
            return 0;
        }
        auto const& x = t_.values[at(answer_of(draw))];
        auto const bytes = static_cast<std::int64_t>(x.dtype.itemsize());
        if (!x.keys.has(c10::DispatchKey::CPU) || x.offset != 0 || (bytes != 2 && bytes != 4 && bytes != 8) ||
            !at::isFloatingType(c10::typeMetaToScalarType(x.dtype)) || elements(x) < worth_it ||
            elements(x) * bytes != t_.groups[at(x.group)].bytes) {
            return 0;
        }
        bool const scaled = o + 2 < ops.size() && named(ops[o + 2], "aten::div_") &&
                            changes(ops[o + 2], answer_of(draw)) && ops[o + 2].arguments.size() == 2 &&
                            ops[o + 2].arguments[1].constant.isDouble();
        return scaled ? 3 : 2;
    }
    [[nodiscard]] static auto elements(value const& x) -> std::int64_t
    {
        std::int64_t n = 1;
        for (auto s : x.sizes) {
            n *= s;
        }
        return n;
    }

    /// The arguments of an op that are no tensors, behind `self`.
    [[nodiscard]] static auto stack_of(captured_op const& x, at::Tensor self) -> ::torch::jit::Stack
    {
        ::torch::jit::Stack stack{std::move(self)};
        for (auto a = x.arguments.begin() + 1; a != x.arguments.end(); ++a) {
            stack.push_back(a->constant);
        }
        return stack;
    }
    /// What stands for 0 and for 1 in the mask that `n` ops from `o` on make.
    [[nodiscard]] auto two_values(std::size_t o, std::size_t n) const -> at::Tensor
    {
        auto const& x = t_.values[at(answer_of(t_.ops[o + 1]))];
        auto two = at::arange(2, at::TensorOptions(x.dtype));
        if (n == 3) {
            auto stack = stack_of(t_.ops[o + 2], two);
            t_.ops[o + 2].handle.callBoxed(&stack);
        }
        return two;
    }

    /// Whether drawn as bits and widened it is the same mask, and leaves the generator in the same state.
    [[nodiscard]] auto same(std::size_t o, std::size_t n) -> bool
    {
        auto const& x = t_.values[at(answer_of(t_.ops[o + 1]))];
        auto const p = t_.ops[o + 1].arguments[1].constant.toDouble();
        std::vector<std::int64_t> key = x.sizes;
        key.insert(key.end(), x.strides.begin(), x.strides.end());
        key.push_back(static_cast<std::int64_t>(c10::typeMetaToScalarType(x.dtype)));
        auto const divisor = n == 3 ? t_.ops[o + 2].arguments[1].constant.toDouble() : 1.0;
        auto const [it, fresh] = tried_.try_emplace({std::move(key), p, divisor}, false);
        if (!fresh) {
            return it->second;
        }
        at::NoGradGuard const guard;
        auto const two = two_values(o, n);
        auto const before = random_state();
        auto plain = at::empty_strided(x.sizes, x.strides, two.options());
        for (std::size_t k = 1; k < n; ++k) {
            auto stack = stack_of(t_.ops[o + k], plain);
            t_.ops[o + k].handle.callBoxed(&stack);
        }
        auto const after = random_state();
        set_random_state(before);
        ::torch::jit::Stack stack{x.sizes, x.strides, p};
        draw_bits(stack);
        stack.insert(stack.end(), {x.sizes, x.strides, two});
        widen_bits(stack);
        auto const mask = stack[0].toTensor();
        auto const equal = [](at::Tensor const& a, at::Tensor const& b) {
            return a.nbytes() == b.nbytes() && std::memcmp(a.data_ptr(), b.data_ptr(), a.nbytes()) == 0;
        };
        return it->second = equal(plain, mask) && equal(after, random_state());
    }

    /// Writes two ops to `ops` in place of `n` from `o` on.
    void pack(std::size_t o, std::size_t n, std::vector<captured_op>& ops)
    {
        auto const mask = answer_of(t_.ops[o + n - 1]);
        auto const x = t_.values[at(mask)];
        auto const bits = at::empty({(elements(x) + bits_per_byte - 1) / bits_per_byte}, at::kByte);
        t_.groups.push_back({bits.numel(), none, false});
        t_.values.push_back({bits.sizes().vec(),
                             bits.strides().vec(),
                             0,
                             bits.key_set(),
                             bits.dtype(),
                             false,
                             origin::made,
                             none,
                             static_cast<std::int32_t>(t_.groups.size()) - 1});
        auto const constant = [](auto const& c) { return argument{argument::kind::constant, c, {}}; };
        auto const v = static_cast<std::int32_t>(t_.values.size()) - 1;
        auto const two = two_values(o, n);
        auto& drawn = t_.ops[o + 1];
        captured_op widen{t_.ops[o].handle, {}, {{false, {mask}}}, {}, {}, {}, false, drawn.grad_mode};
        widen.arguments = {{argument::kind::tensor, {}, {v}}, constant(x.sizes), constant(x.strides), constant(two)};
        widen.own = &widening;
        drawn.arguments = {constant(x.sizes), constant(x.strides), drawn.arguments[1]};
        drawn.answers = {{false, {v}}};
        drawn.writes.clear();
        drawn.own = &drawing;
        ops.push_back(std::move(drawn));
        ops.push_back(std::move(widen));
    }

    static inline own_op const drawing{"strata::draw_bits", &draw_bits};
    static inline own_op const widening{"strata::widen_bits", &widen_bits};

    trace& t_;
    std::map<std::tuple<std::vector<std::int64_t>, double, double>, bool> tried_; // per shape, probability and divisor
};

} // namespace strata::torch::detail
