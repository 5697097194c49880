// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief The memory of what lives on from step to step: parameters, their gradients, states, examples.
#pragma once

#include <strata/problem/effects.hpp>
#include <strata/units.hpp>

#include <array>
#include <cstddef>
#include <cstring>
#include <span>
#include <vector>

#include "examples/engine_eigen/operation.hpp"

namespace engine_eigen {

/// Bytes that the address of every buffer is a multiple of: a cache line. Kernels give the same bits wherever their
/// buffers lie because all are aligned alike: which numbers Eigen adds together first depends on it.
inline constexpr strata::bytes_t alignment = 64;

/// One buffer per resident tensor of a graph, zeroed at first.
class resident_memory {
public:
    explicit resident_memory(step_graph const& g)
        : buffers_(static_cast<std::size_t>(g.tensor_count()))
        , bytes_(buffers_.size(), 0)
    {
        for (strata::tensor_id t = 0; t < g.tensor_count(); ++t) {
            if (strata::is_resident(g.kind_of(t))) {
                auto const lines = strata::align_up(g.tensor_bytes(t), alignment) / alignment;
                buffers_[at(t)].resize(static_cast<std::size_t>(lines));
                bytes_[at(t)] = static_cast<std::size_t>(g.tensor_bytes(t));
            }
        }
    }

    /// Returns: null for a tensor that is not resident.
    [[nodiscard]] auto data(strata::tensor_id t) -> std::byte*
    {
        return buffers_[at(t)].empty() ? nullptr : buffers_[at(t)].front().bytes.data();
    }
    template <class T = float>
    [[nodiscard]] auto as(strata::tensor_id t) -> std::span<T>
    {
        return {static_cast<T*>(static_cast<void*>(data(t))), bytes_[at(t)] / sizeof(T)};
    }

    /// Bit by bit, all tensors.
    friend auto operator==(resident_memory const& a, resident_memory const& b) -> bool
    {
        for (std::size_t t = 0; t < a.buffers_.size(); ++t) {
            if (a.bytes_[t] != b.bytes_[t] ||
                (a.bytes_[t] > 0 && std::memcmp(a.buffers_[t].data(), b.buffers_[t].data(), a.bytes_[t]) != 0)) {
                return false;
            }
        }
        return a.buffers_.size() == b.buffers_.size();
    }

private:
    struct alignas(alignment) line {
        std::array<std::byte, alignment> bytes{};
    };
    static auto at(strata::tensor_id t) -> std::size_t { return static_cast<std::size_t>(t); }

    std::vector<std::vector<line>> buffers_;
    std::vector<std::size_t> bytes_;
};

} // namespace engine_eigen
