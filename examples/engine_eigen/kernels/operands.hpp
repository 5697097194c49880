// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief What a kernel is given: the addresses of its op's tensors, by their position at the op; Eigen's views of them.
///
/// A kernel is a struct: its members are the shapes, `run` does the work, `flops` prices it and `type` names it.
#pragma once

#include <strata/execute/buffers.hpp>
#include <strata/units.hpp>

#include <Eigen/Core>

#include <cstddef>
#include <span>

#include "examples/engine_eigen/generator.hpp"

namespace engine_eigen {

using index = Eigen::Index;

/// The tensors of one op while it runs.
class operands {
public:
    operands(std::span<strata::tensor_id const> inputs,
             std::span<strata::tensor_id const> outputs,
             strata::buffers const& memory,
             generator& random,
             bool replay)
        : inputs_(inputs)
        , outputs_(outputs)
        , memory_(memory)
        , random_(random)
        , replay_(replay)
    {
    }

    template <class T = float>
    [[nodiscard]] auto in(std::size_t k) const -> T const*
    {
        return memory_.as<T>(inputs_[k]);
    }
    template <class T = float>
    [[nodiscard]] auto out(std::size_t k) const -> T*
    {
        return memory_.as<T>(outputs_[k]);
    }
    /// Whether output `k` is a gradient that others have added into.
    [[nodiscard]] auto adds(std::size_t k) const -> bool { return memory_.adds_into(outputs_[k]); }
    [[nodiscard]] auto workspace() const -> float*
    {
        return static_cast<float*>(static_cast<void*>(memory_.workspace()));
    }
    [[nodiscard]] auto random() const -> generator& { return random_; }
    /// Whether the op has run in this step before: what lives on after the step must not change again.
    [[nodiscard]] auto is_replay() const -> bool { return replay_; }

private:
    std::span<strata::tensor_id const> inputs_, outputs_;
    strata::buffers const& memory_;
    generator& random_;
    bool replay_;
};

using row_major = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using matrix = Eigen::Map<row_major>;
using const_matrix = Eigen::Map<row_major const>;
/// Some columns of a larger row-major matrix.
using columns = Eigen::Map<row_major, 0, Eigen::OuterStride<>>;
using const_columns = Eigen::Map<row_major const, 0, Eigen::OuterStride<>>;
using array = Eigen::Map<Eigen::ArrayXf>;
using const_array = Eigen::Map<Eigen::ArrayXf const>;

/// Writes `from` to `to`, or adds it there. They must not overlap.
template <class To, class From>
void put(To&& to, Eigen::MatrixBase<From> const& from, bool add)
{
    if (add) {
        to.noalias() += from;
    } else {
        to.noalias() = from;
    }
}
template <class To, class From>
void put(To&& to, Eigen::ArrayBase<From> const& from, bool add)
{
    if (add) {
        to += from;
    } else {
        to = from;
    }
}

inline void put(float& to, float from, bool add) { to = add ? to + from : from; }

/// Bytes of `n` floats.
[[nodiscard]] constexpr auto float_bytes(index n) -> strata::bytes_t
{
    return static_cast<strata::bytes_t>(n) * static_cast<strata::bytes_t>(sizeof(float));
}

[[nodiscard]] constexpr auto as_double(index n) -> double { return static_cast<double>(n); }

} // namespace engine_eigen
