// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief The frame of a chart: axes with round ticks, and a drawing area that stretches with the page.
///
/// Shapes live in an inner svg of 1000 units across that is stretched to the width of the page; text lives in the
/// outer one, placed by percentages, so that it keeps its size on a telephone.
#pragma once

#include <strata/io/format.hpp>
#include <strata/io/html_markup.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace strata::detail::html {

/// A mark on an axis.
struct tick {
    double at = 0;
    std::string label;
};

/// The values an axis spans. Never empty: a range without extent is given one.
struct span_of_values {
    double low = 0;
    double high = 1;
    [[nodiscard]] auto share(double x) const noexcept -> double
    {
        return high > low ? std::clamp((x - low) / (high - low), 0.0, 1.0) : 0.0;
    }
};

/// Marks at the multiples of `step` within `range`.
template <class Label>
[[nodiscard]] auto ticks_every(double step, span_of_values range, Label label) -> std::vector<tick>
{
    std::vector<tick> ticks;
    constexpr int most = 24;
    for (auto k = std::ceil(range.low / step - 1e-9); k * step <= range.high * (1 + 1e-9); ++k) {
        ticks.push_back({k * step, label(k * step)});
        if (static_cast<int>(ticks.size()) == most) {
            break;
        }
    }
    return ticks;
}

/// At most about `count` marks at multiples of 1, 2 or 5 times a power of ten.
template <class Label>
[[nodiscard]] auto decimal_ticks(span_of_values range, int count, Label label) -> std::vector<tick>
{
    auto const extent = range.high - range.low;
    if (!(extent > 0)) {
        return {{range.low, label(range.low)}};
    }
    auto step = std::pow(10.0, std::floor(std::log10(extent / count)));
    for (double const factor : {2.0, 2.5, 2.0}) {
        if (extent / step <= count) {
            break;
        }
        step *= factor;
    }
    return ticks_every(step, range, label);
}

/// Marks at multiples of a power of two bytes, between four and eight of them where there is room.
[[nodiscard]] inline auto byte_ticks(span_of_values range) -> std::vector<tick>
{
    auto const label = [](double x) { return format_bytes(static_cast<bytes_t>(x)); };
    auto const extent = range.high - range.low;
    if (!(extent > 0)) {
        return {{range.low, label(range.low)}};
    }
    return ticks_every(std::max(1.0, std::exp2(std::floor(std::log2(extent / 4)))), range, label);
}

/// Where a text stands on its anchor.
enum class align { start, middle, end };

/// A chart that is being drawn into a `markup`. The frame ends with the object's `finish`.
class plot {
public:
    static constexpr double width = 1000; ///< units across the drawing area

    plot(markup& out, std::string_view aria_label, double height, span_of_values x, span_of_values y)
        : out_(out)
        , height_(height)
        , x_(x)
        , y_(y)
    {
        out_.open("svg",
                  {{"role", "img"},
                   {"aria-label", std::string(aria_label)},
                   {"width", "100%"},
                   {"height", coordinate(height)},
                   {"class", "tips"}});
    }

    [[nodiscard]] auto x(double value) const noexcept -> double { return x_.share(value) * width; }
    [[nodiscard]] auto y(double value) const noexcept -> double { return (1 - y_.share(value)) * height_; }
    [[nodiscard]] auto height() const noexcept -> double { return height_; }

    /// Lines across at the marks, labels to their left.
    void y_axis(std::vector<tick> const& ticks)
    {
        for (auto const& t : ticks) {
            auto const at = coordinate(y(t.at));
            out_.shape("line", {{"class", "grid"}, {"x1", "0"}, {"x2", "100%"}, {"y1", at}, {"y2", at}});
            out_.element("text", {{"x", "-8"}, {"y", coordinate(y(t.at) + 4)}, {"text-anchor", "end"}}, t.label);
        }
    }

    /// Labels below the drawing area; every other one leaves a narrow page.
    void x_axis(std::vector<tick> const& ticks)
    {
        auto const floor = coordinate(height_);
        out_.shape("line", {{"class", "axis"}, {"x1", "0"}, {"x2", "100%"}, {"y1", floor}, {"y2", floor}});
        for (std::size_t k = 0; k < ticks.size(); ++k) {
            auto const at = percent(ticks[k].at);
            auto const* const seen = k % 2 == 0 ? "" : "odd";
            out_.shape("line",
                       {{"class", "axis"}, {"x1", at}, {"x2", at}, {"y1", floor}, {"y2", coordinate(height_ + 5)}});
            out_.element("text",
                         {{"class", seen},
                          {"x", at},
                          {"y", coordinate(height_ + 19)},
                          {"text-anchor", anchor(fitting(ticks[k].at))}},
                         ticks[k].label);
        }
    }

    /// Opens the stretched drawing area; shapes follow, in the units of `x()` and `y()`.
    void open_area()
    {
        out_.open("svg",
                  {{"x", "0"},
                   {"y", "0"},
                   {"width", "100%"},
                   {"height", coordinate(height_)},
                   {"viewBox", "0 0 1000 " + coordinate(height_)},
                   {"preserveAspectRatio", "none"}});
    }
    void close_area() { out_.close(); }

    void draw(char const* style, path const& p)
    {
        if (!p.empty()) {
            out_.shape("path", {{"class", style}, {"d", p.d()}});
        }
    }
    /// A rectangle in units of the drawing area, with a tooltip unless `title` is empty.
    void box(char const* style, double left, double top, double w, double h, std::string_view title)
    {
        out_.open("rect",
                  {{"class", style},
                   {"x", coordinate(left)},
                   {"y", coordinate(top)},
                   {"width", coordinate(w)},
                   {"height", coordinate(h)}});
        if (!title.empty()) {
            out_.element("title", title);
        }
        out_.close();
    }

    /// A mark that keeps its shape while the area stretches: a circle.
    void dot(char const* style, double at_x, double at_y, double radius, std::string_view title)
    {
        out_.open("circle",
                  {{"class", style}, {"cx", percent(at_x)}, {"cy", coordinate(y(at_y))}, {"r", coordinate(radius)}});
        out_.element("title", title).close();
    }

    /// Text beside the point (at_x, at_y), `shift` units below it.
    void label(double at_x, double at_y, double shift, std::string_view text, align side)
    {
        out_.element("text",
                     {{"class", "strong halo"},
                      {"x", percent(at_x)},
                      {"y", coordinate(y(at_y) + shift)},
                      {"text-anchor", anchor(side)}},
                     text);
    }

    /// The side on which a text of ordinary length stays within the frame.
    [[nodiscard]] auto fitting(double at_x) const noexcept -> align
    {
        auto const s = x_.share(at_x);
        return s < 0.2 ? align::start : s > 0.8 ? align::end : align::middle;
    }

    void finish() { out_.close(); }

private:
    [[nodiscard]] auto percent(double value) const -> std::string { return coordinate(x_.share(value) * 100) + "%"; }
    [[nodiscard]] static auto anchor(align a) -> char const*
    {
        return a == align::start ? "start" : a == align::end ? "end" : "middle";
    }

    markup& out_;
    double height_;
    span_of_values x_, y_;
};

} // namespace strata::detail::html
