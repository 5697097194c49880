// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Memory over the step, before and after, as text for a terminal.
///
///        12.3 GiB ┤        ░░░░░░░░               before: what keep-all needs
///                 │      ░░░░░░░░░░░░             after:  the plan
///      6.2 GiB    ┼╌╌╌╌▄▆▇▆▇▇▆▇▇▆▇▇▆▆▇▅╌╌╌        budget
///                 │ ▂▅████████████████▇▆▃▁
///               0 └────────────────────────
///         replays         ▁▁▂▃▃▃▂▃▃▃▁▁            share of the time spent on recomputing
#pragma once

#include <strata/io/format.hpp>
#include <strata/io/memory_curve.hpp>
#include <strata/pipeline/certificate.hpp>
#include <strata/problem/effects.hpp>
#include <strata/problem/problem.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace strata {

/// How large a terminal picture is and what it may use.
struct picture_options {
    std::size_t width = 78;       ///< columns of the longest line; at least 40 are used
    std::size_t height = 14;      ///< lines of the drawing area; at least 4 are used
    bool unicode = true;          ///< block characters; false: ASCII alone
    std::string cost_unit = "ns"; ///< of the problem's costs
};

namespace detail {

/// The characters of a picture.
struct glyphs {
    std::array<char const*, 9> level; ///< from nothing to a full cell
    char const *before, *budget, *wall, *mark, *corner, *floor;
};

inline constexpr glyphs unicode_glyphs{{" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"}, "░", "╌", "│", "┤", "└", "─"};
inline constexpr glyphs ascii_glyphs{{" ", " ", " ", "_", "_", "#", "#", "#", "#"}, ":", "-", "|", "+", "+", "-"};

/// Number of columns `s` takes: its characters, for text without wide ones.
[[nodiscard]] inline auto columns_in(std::string_view s) -> std::size_t
{
    return static_cast<std::size_t>(
        std::count_if(s.begin(), s.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

[[nodiscard]] inline auto padded_left(std::string const& s, std::size_t width) -> std::string
{
    auto const taken = columns_in(s);
    return (taken < width ? std::string(width - taken, ' ') : "") + s;
}

/// Draws one plan; see `terminal_picture`.
class picture {
public:
    picture(problem const& p, certified_plan const& plan, picture_options const& options)
        : p_(p)
        , limit_(plan.certificate.budget)
        , before_(keep_all_curve(p))
        , after_(curve_of(p, plan.schedule))
        , unit_(options.cost_unit)
        , glyphs_(options.unicode ? unicode_glyphs : ascii_glyphs)
        , unicode_(options.unicode)
        , columns_(std::max<std::size_t>(options.width, 40) - margin)
        , rows_(std::max<std::size_t>(options.height, 4))
        , length_(std::max(before_.length(), after_.length()))
        , before_columns_(columns_of(before_, length_, columns_))
        , after_columns_(columns_of(after_, length_, columns_))
    {
        auto const peaks = std::max({before_.peak(), after_.peak(), bytes_t{1}});
        bool const near = static_cast<double>(limit_) < 1.3 * static_cast<double>(peaks);
        top_ = static_cast<double>(near ? std::max(peaks, limit_) : peaks);
        budget_row_ = near ? row_of(static_cast<double>(limit_)) : rows_;
    }

    [[nodiscard]] auto draw() const -> std::string
    {
        std::string out;
        for (auto row = rows_; row-- > 0;) {
            out += line(row);
        }
        return out + floor_line() + time_line() + phase_line() + replay_line() + legend();
    }

private:
    static constexpr std::size_t margin = 12; ///< columns for labels and the wall

    /// The row that holds the level of `bytes`; rows count from the floor.
    [[nodiscard]] auto row_of(double bytes) const -> std::size_t
    {
        auto const cells = bytes / top_ * static_cast<double>(rows_);
        return std::min(static_cast<std::size_t>(std::max(0.0, std::ceil(cells) - 1)), rows_ - 1);
    }

    /// How full cell `row` is when `bytes` are live: 0 to 8.
    [[nodiscard]] auto fill(bytes_t bytes, std::size_t row) const -> std::size_t
    {
        if (bytes < 0) {
            return 0;
        }
        auto const cells = static_cast<double>(bytes) / top_ * static_cast<double>(rows_) - static_cast<double>(row);
        return static_cast<std::size_t>(std::clamp(std::ceil(cells * 8), 0.0, 8.0));
    }

    [[nodiscard]] auto cell(std::size_t column, std::size_t row) const -> char const*
    {
        auto const solid = fill(after_columns_[column].bytes, row);
        auto const light = fill(before_columns_[column].bytes, row);
        if (solid > 0 && glyphs_.level[solid][0] != ' ') {
            return glyphs_.level[solid];
        }
        if (row == budget_row_) {
            return glyphs_.budget;
        }
        return light >= 4 ? glyphs_.before : " ";
    }

    /// Bytes at the upper edge of a row.
    [[nodiscard]] auto edge(std::size_t row) const -> bytes_t
    {
        return static_cast<bytes_t>(top_ * static_cast<double>(row + 1) / static_cast<double>(rows_));
    }

    [[nodiscard]] auto line(std::size_t row) const -> std::string
    {
        std::string label;
        if (row == budget_row_) {
            label = format_bytes(limit_);
        } else if (row + 1 == rows_ || (row + 1) % std::max<std::size_t>(2, rows_ / 4) == 0) {
            // A label beside the budget's would be read as the budget's.
            bool const crowded = budget_row_ < rows_ && (row > budget_row_ ? row - budget_row_ : budget_row_ - row) < 2;
            label = crowded && row + 1 != rows_ ? "" : format_bytes(edge(row));
        }
        auto s = padded_left(label, margin - 2) + " " + (label.empty() ? glyphs_.wall : glyphs_.mark);
        for (std::size_t column = 0; column < columns_; ++column) {
            s += cell(column, row);
        }
        return trimmed(std::move(s));
    }

    [[nodiscard]] auto floor_line() const -> std::string
    {
        auto s = padded_left("0", margin - 2) + " " + glyphs_.corner;
        for (std::size_t column = 0; column < columns_; ++column) {
            s += glyphs_.floor;
        }
        return trimmed(std::move(s));
    }

    [[nodiscard]] auto time(double at) const -> std::string
    {
        return before_.timed ? format_cost(at, unit_) : short_number(at) + " runs";
    }

    [[nodiscard]] auto time_line() const -> std::string
    {
        auto s = std::string(margin, ' ') + "0";
        auto const end = time(length_);
        return trimmed(s + padded_left(end, columns_ - 1));
    }

    /// Names of the phases of first runs, each where it begins, as far as there is room.
    [[nodiscard]] auto phase_line() const -> std::string
    {
        auto s = padded_left("first runs", margin - 2) + "  ";
        auto const start = s.size();
        for (auto const& x : phases_of(p_, after_, length_ / static_cast<double>(columns_) * 4)) {
            auto const column = static_cast<std::size_t>(x.begin / length_ * static_cast<double>(columns_));
            auto const name = std::string("|") + to_string(x.phase);
            auto const taken = s.size() - start;
            if (column >= taken && column + name.size() <= columns_) {
                s += std::string(column - taken, ' ') + name;
            }
        }
        return trimmed(std::move(s));
    }

    [[nodiscard]] auto replay_line() const -> std::string
    {
        auto s = padded_left("replays", margin - 2) + "  ";
        for (auto const& c : after_columns_) {
            auto const eighths = static_cast<std::size_t>(std::clamp(std::ceil(c.replayed * 8), 0.0, 8.0));
            s += unicode_ ? glyphs_.level[eighths] : eighths == 0 ? " " : eighths < 5 ? "." : "#";
        }
        return trimmed(std::move(s));
    }

    /// What the characters stand for, on as many lines as the width asks for.
    [[nodiscard]] auto legend() const -> std::string
    {
        std::vector<std::string> items{std::string(glyphs_.before) + " keep-all " + format_bytes(before_.peak()),
                                       std::string(glyphs_.level[8]) + " plan " + format_bytes(after_.peak())};
        if (limit_ != max_bytes) {
            items.push_back(std::string(glyphs_.budget) + " budget " + format_bytes(limit_));
        }
        auto const indent = std::string(margin, ' ');
        std::string lines;
        auto now = indent;
        for (auto const& item : items) {
            if (now != indent && columns_in(now) + columns_in(item) > margin + columns_) {
                lines += trimmed(std::exchange(now, indent));
            }
            now += item + "   ";
        }
        return lines + trimmed(std::move(now));
    }

    [[nodiscard]] static auto trimmed(std::string s) -> std::string
    {
        s.erase(s.find_last_not_of(' ') + 1);
        return s + "\n";
    }

    problem const& p_;
    bytes_t limit_;
    memory_curve before_, after_;
    std::string unit_;
    glyphs const& glyphs_;
    bool unicode_;
    std::size_t columns_, rows_;
    double length_;
    std::vector<curve_column> before_columns_, after_columns_;
    double top_ = 1;
    std::size_t budget_row_ = 0;
};

} // namespace detail

/// Memory over the step as text: the plan solid over what keep-all needs, the budget as a line, replays below.
/// Lines end in a newline, hold no trailing spaces and no control codes, and are at most `options.width` columns wide.
/// Requires: `plan` was made for `p`.
/// Throws: `bad_result_access` when a step of the plan names what `p` does not have.
/// Complexity: O(steps + width * height + reads and writes of all runs).
[[nodiscard]] inline auto
terminal_picture(problem const& p, certified_plan const& plan, picture_options const& options = {}) -> std::string
{
    return detail::picture(p, plan, options).draw();
}

} // namespace strata
