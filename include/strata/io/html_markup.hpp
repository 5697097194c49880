// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Writes HTML and SVG; whatever a user named is escaped on its way in.
#pragma once

#include <strata/io/format.hpp>

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace strata::detail::html {

/// Appends `text` with the five characters that mean something to HTML replaced, and control characters other than
/// line ends, which no HTML document may hold, by a space.
inline void append_escaped(std::string& out, std::string_view text)
{
    for (char const c : text) {
        switch (c) {
        case '&': out += "&amp;"; break;
        case '<': out += "&lt;"; break;
        case '>': out += "&gt;"; break;
        case '"': out += "&quot;"; break;
        case '\'': out += "&#39;"; break;
        default: out += (static_cast<unsigned char>(c) < 0x20 && c != '\n') || c == 0x7f ? ' ' : c;
        }
    }
}

/// A coordinate or length: two decimals at most, no exponent.
[[nodiscard]] inline auto coordinate(double x) -> std::string
{
    auto s = fixed(x, 2);
    s.erase(s.find_last_not_of('0') + 1);
    if (s.back() == '.') {
        s.pop_back();
    }
    return s;
}

/// A document under construction. Elements nest by `open` and `close`; attribute values and text are escaped.
class markup {
public:
    struct attribute {
        std::string_view name;
        std::string value;
    };
    using attributes = std::initializer_list<attribute>;

    auto open(std::string_view tag, attributes list = {}) -> markup&
    {
        start(tag, list);
        tags_.emplace_back(tag);
        return *this;
    }

    /// Ends the element opened last.
    auto close() -> markup&
    {
        out_ += "</" + tags_.back() + ">";
        tags_.pop_back();
        return *this;
    }

    /// A whole element that holds nothing but `content`.
    auto element(std::string_view tag, attributes list, std::string_view content) -> markup&
    {
        return open(tag, list).text(content).close();
    }
    auto element(std::string_view tag, std::string_view content) -> markup& { return element(tag, {}, content); }

    /// An SVG shape: an element without content.
    auto shape(std::string_view tag, attributes list) -> markup& { return open(tag, list).close(); }

    auto text(std::string_view content) -> markup&
    {
        append_escaped(out_, content);
        return *this;
    }

    /// Text that is HTML already. Never a user's.
    auto raw(std::string_view html) -> markup&
    {
        out_ += html;
        return *this;
    }

    [[nodiscard]] auto take() && -> std::string { return std::move(out_); }

private:
    void start(std::string_view tag, attributes list)
    {
        out_ += '<';
        out_ += tag;
        for (auto const& a : list) {
            out_ += ' ';
            out_ += a.name;
            out_ += "=\"";
            append_escaped(out_, a.value);
            out_ += '"';
        }
        out_ += '>';
    }

    std::string out_;
    std::vector<std::string> tags_;
};

/// The `d` attribute of an SVG path.
class path {
public:
    auto move(double x, double y) -> path& { return put("M", x, y); }
    auto line(double x, double y) -> path& { return put("L", x, y); }
    auto across(double x) -> path& { return put("H", x); }
    auto down(double y) -> path& { return put("V", y); }
    auto close() -> path&
    {
        d_ += 'Z';
        return *this;
    }
    auto box(double x, double y, double width, double height) -> path&
    {
        return move(x, y).across(x + width).down(y + height).across(x).close();
    }
    [[nodiscard]] auto empty() const noexcept -> bool { return d_.empty(); }
    [[nodiscard]] auto d() const noexcept -> std::string const& { return d_; }

private:
    auto put(char const* command, double a) -> path&
    {
        d_ += command;
        d_ += coordinate(a);
        return *this;
    }
    auto put(char const* command, double a, double b) -> path&
    {
        put(command, a);
        d_ += ' ';
        d_ += coordinate(b);
        return *this;
    }
    std::string d_;
};

} // namespace strata::detail::html
