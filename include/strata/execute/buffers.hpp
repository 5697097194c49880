// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief What an op is given to run on: the addresses of its tensors and of its workspace.
#pragma once

#include <strata/units.hpp>

#include <cstddef>
#include <span>

namespace strata {

/// The memory of one op while it runs. Tensors are named by their number in the graph that was lowered.
///
/// A view has the address of the buffer it views; what it shows of it is the engine's to know. Addresses may differ from
/// one run to the next, of the same op too. On a device they are addresses of that device.
class buffers {
public:
    /// `address[t]` and `holds[t]` belong to the tensor that owns the buffer; `owner[t]` names it.
    constexpr buffers(std::span<std::byte* const> address,
                      std::span<char const> holds,
                      std::span<tensor_id const> owner,
                      std::byte* workspace) noexcept
        : address_(address)
        , holds_(holds)
        , owner_(owner)
        , workspace_(workspace)
    {
    }

    /// Address of the buffer of tensor `t`, aligned as the plan's placement is.
    /// Returns: null for a resident tensor that was never bound. A tensor of zero bytes has some address.
    /// Requires: the running op reads, writes, views or changes `t`, or `t` is resident.
    [[nodiscard]] constexpr auto data(tensor_id t) const noexcept -> std::byte* { return address_[at(owner_[at(t)])]; }

    /// The same as the address of a `T`. Requires: `T` needs no more alignment than the placement gives.
    template <class T>
    [[nodiscard]] auto as(tensor_id t) const noexcept -> T*
    {
        return static_cast<T*>(static_cast<void*>(data(t)));
    }

    /// Scratch memory of the op, of as many bytes as the graph says; null if it says none.
    [[nodiscard]] constexpr auto workspace() const noexcept -> std::byte* { return workspace_; }

    /// Whether an op that produces gradient `t` adds to what others have put there, or is the first and overwrites.
    /// Always false for a tensor with one producer. A resident tensor (a parameter's gradient) lives on from step to step:
    /// what its first producer does is for the engine to decide, and the answer here is true.
    [[nodiscard]] constexpr auto adds_into(tensor_id t) const noexcept -> bool
    {
        return holds_[at(owner_[at(t)])] != 0;
    }

private:
    static constexpr auto at(tensor_id t) noexcept -> std::size_t { return static_cast<std::size_t>(t); }

    std::span<std::byte* const> address_;
    std::span<char const> holds_;
    std::span<tensor_id const> owner_;
    std::byte* workspace_;
};

} // namespace strata
