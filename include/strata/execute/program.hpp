// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief A plan made ready to run: what to acquire, run and release, in graph ids, with nothing left to look up.
#pragma once

#include <strata/pipeline/certificate.hpp>
#include <strata/problem/effects.hpp>
#include <strata/problem/problem.hpp>
#include <strata/units.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace strata {

namespace detail {
template <class>
class basic_program_writer;
} // namespace detail

/// One life of a buffer in a program: `bytes` bytes at `offset` in the arena, if the program has one.
struct memory_piece {
    tensor_id tensor = none; ///< of the graph, the owner of its buffer; `none` for the workspace of one op
    bytes_t bytes = 0;       ///< as the graph says
    bytes_t size = 0;        ///< rounded up to the alignment
    bytes_t offset = 0;      ///< in the arena
    friend auto operator==(memory_piece const&, memory_piece const&) -> bool = default;
};

/// One thing to do.
struct instruction {
    enum class kind : std::uint8_t { acquire, run, release };

    kind what = kind::run;
    bool again = false;            ///< run: the op has run before in this step
    bool quiet = false;            ///< run: it must leave what lives on after the step as it is
    std::int32_t id = 0;           ///< acquire, release: index of a piece; run: an op of the graph
    std::int32_t random_slot = -1; ///< run: where the random state of the op's first run is kept, if it is needed
    std::int32_t first_mark = 0;   ///< run: gradients that hold something from now on, a range of `program::marks`
    std::int32_t mark_count = 0;
    friend auto operator==(instruction const&, instruction const&) -> bool = default;
};

/// A plan made ready to run; `compile` makes it. A value: copies share what is inside, which never changes, so that
/// executors for several steps in flight run one program.
class program {
public:
    [[nodiscard]] auto instructions() const noexcept -> std::vector<instruction> const& { return data_->instructions; }
    [[nodiscard]] auto pieces() const noexcept -> std::vector<memory_piece> const& { return data_->pieces; }
    [[nodiscard]] auto marks() const noexcept -> std::vector<tensor_id> const& { return data_->marks; }

    [[nodiscard]] auto op_count() const noexcept -> op_id { return static_cast<op_id>(data_->graph.ops.size()); }
    [[nodiscard]] auto tensor_count() const noexcept -> tensor_id
    {
        return static_cast<tensor_id>(data_->graph.tensors.size());
    }
    /// What the graph says about op `o` and about tensor `t`.
    [[nodiscard]] auto op(op_id o) const noexcept -> op_spec const& { return data_->graph.ops[at(o)]; }
    [[nodiscard]] auto tensor(tensor_id t) const noexcept -> tensor_spec const& { return data_->graph.tensors[at(t)]; }
    [[nodiscard]] auto resident(tensor_id t) const noexcept -> bool { return is_resident(tensor(t).kind); }
    /// Buffers that op `o` writes or changes, ascending, resident ones too; one that it only makes a view of is left out.
    [[nodiscard]] auto written(op_id o) const noexcept -> std::vector<tensor_id> const&
    {
        return data_->written[at(o)];
    }
    /// Per tensor: the tensor that owns its buffer.
    [[nodiscard]] auto owners() const noexcept -> std::vector<tensor_id> const& { return data_->owners; }
    /// Tensors whose buffers are still there after the step, ascending, each the owner of its buffer.
    [[nodiscard]] auto targets() const noexcept -> std::vector<tensor_id> const& { return data_->targets; }

    /// Whether pieces have offsets; those of a plan that was not placed are all 0, see `certified_plan::placed`.
    [[nodiscard]] auto placed() const noexcept -> bool { return data_->placed; }
    /// Bytes of the slab that holds every piece.
    [[nodiscard]] auto arena() const noexcept -> bytes_t { return data_->arena; }
    /// What every offset and every size is a multiple of.
    [[nodiscard]] auto alignment() const noexcept -> bytes_t { return data_->alignment; }
    /// What was promised about the plan.
    [[nodiscard]] auto promise() const noexcept -> certificate const& { return data_->promise; }

    /// How many random states are kept during a step.
    [[nodiscard]] auto random_slots() const noexcept -> std::size_t { return data_->random_ops.size(); }
    /// A random op that is run again, or `none`.
    [[nodiscard]] auto replayed_random_op() const noexcept -> op_id
    {
        return data_->random_ops.empty() ? none : data_->random_ops.front();
    }
    /// A stateful op that is run again, or `none`.
    [[nodiscard]] auto replayed_stateful_op() const noexcept -> op_id { return data_->stateful_op; }

private:
    struct content {
        std::vector<instruction> instructions;
        std::vector<memory_piece> pieces;
        std::vector<tensor_id> marks;
        problem_spec graph;
        std::vector<std::vector<tensor_id>> written;
        std::vector<tensor_id> owners;
        std::vector<tensor_id> targets;
        std::vector<op_id> random_ops; // that are run again, by slot
        op_id stateful_op = none;
        bool placed = true;
        bytes_t arena = 0;
        bytes_t alignment = 1;
        certificate promise;
    };
    template <class>
    friend class detail::basic_program_writer;

    explicit program(std::shared_ptr<content const> data)
        : data_(std::move(data))
    {
    }
    template <class I>
    static auto at(I i) noexcept -> std::size_t
    {
        return static_cast<std::size_t>(i);
    }

    std::shared_ptr<content const> data_;
};

namespace detail {

template <class = void>
[[nodiscard]] auto op_label(program const& p, op_id o) -> std::string
{
    auto const& name = p.op(o).name;
    return "op " + std::to_string(o) + (name.empty() ? "" : " (" + name + ")");
}

template <class = void>
[[nodiscard]] auto tensor_label(program const& p, tensor_id t) -> std::string
{
    auto const& name = p.tensor(t).name;
    return "tensor " + std::to_string(t) + (name.empty() ? "" : " (" + name + ")");
}

} // namespace detail

} // namespace strata
