// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Many short lists of ids in two arrays.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace strata::detail {

/// A frozen sequence of id lists (compressed rows): list `i` is a span, all lists share one array.
class id_lists {
public:
    id_lists()
        : begin_{0}
    {
    }

    void push_back(std::span<std::int32_t const> list)
    {
        items_.insert(items_.end(), list.begin(), list.end());
        begin_.push_back(items_.size());
    }

    /// The transpose: list `x` holds every `i`, ascending, whose list contains `x`. Requires: all ids in [0, n).
    [[nodiscard]] auto transposed(std::size_t n) const -> id_lists
    {
        id_lists r;
        r.begin_.assign(n + 1, 0);
        for (auto x : items_) {
            ++r.begin_[static_cast<std::size_t>(x) + 1];
        }
        for (std::size_t i = 0; i < n; ++i) {
            r.begin_[i + 1] += r.begin_[i];
        }
        r.items_.resize(items_.size());
        std::vector<std::size_t> at(r.begin_.begin(), r.begin_.end() - 1);
        for (std::size_t i = 0; i < size(); ++i) {
            for (auto x : (*this)[i]) {
                r.items_[at[static_cast<std::size_t>(x)]++] = static_cast<std::int32_t>(i);
            }
        }
        return r;
    }

    [[nodiscard]] auto size() const noexcept -> std::size_t { return begin_.size() - 1; }
    [[nodiscard]] auto total() const noexcept -> std::size_t { return items_.size(); }

    [[nodiscard]] auto operator[](std::size_t i) const noexcept -> std::span<std::int32_t const>
    {
        return {items_.data() + begin_[i], begin_[i + 1] - begin_[i]};
    }

    friend auto operator==(id_lists const&, id_lists const&) -> bool = default;

private:
    std::vector<std::size_t> begin_;
    std::vector<std::int32_t> items_;
};

} // namespace strata::detail
