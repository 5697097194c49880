// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Pieces of JSON text: strings with escapes, exact numbers, lists.
///
/// The writers append to one string; nothing here holds a document. Output does not depend on the locale.
#pragma once

#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>

namespace strata {

namespace detail {

/// Length in bytes of the well-formed UTF-8 sequence at `text[i]`; 0 if it is ill-formed.
[[nodiscard]] inline auto utf8_length(std::string_view text, std::size_t i) noexcept -> std::size_t
{
    auto const byte = [&](std::size_t k) { return static_cast<unsigned>(static_cast<unsigned char>(text[k])); };
    auto const b = byte(i);
    if (b < 0x80) {
        return 1;
    }
    std::size_t const n = b >= 0xF0 ? 4 : b >= 0xE0 ? 3 : 2;
    if (b < 0xC2 || b > 0xF4 || i + n > text.size()) {
        return 0;
    }
    for (auto k = i + 1; k < i + n; ++k) {
        if ((byte(k) & 0xC0U) != 0x80U) {
            return 0;
        }
    }
    auto const second = byte(i + 1);
    bool const overlong = (b == 0xE0 && second < 0xA0) || (b == 0xF0 && second < 0x90);
    bool const surrogate = b == 0xED && second >= 0xA0;
    bool const beyond = b == 0xF4 && second >= 0x90;
    return overlong || surrogate || beyond ? 0 : n;
}

} // namespace detail

/// Appends `text` as a JSON string with its quotes. Ill-formed UTF-8 becomes U+FFFD, so the result is always valid.
inline void append_json_string(std::string& out, std::string_view text)
{
    out += '"';
    for (std::size_t i = 0; i < text.size();) {
        auto const c = static_cast<unsigned char>(text[i]);
        auto const n = detail::utf8_length(text, i);
        if (c == '"' || c == '\\') {
            out += '\\';
            out += text[i];
        } else if (c == '\n') {
            out += "\\n";
        } else if (c == '\t') {
            out += "\\t";
        } else if (c < 0x20 || c == 0x7F) {
            out += "\\u00";
            out += "0123456789abcdef"[c >> 4U];
            out += "0123456789abcdef"[c & 15U];
        } else if (n == 0) {
            out += "\xEF\xBF\xBD";
        } else {
            out += text.substr(i, n);
        }
        i += n == 0 ? 1 : n;
    }
    out += '"';
}

/// Appends a whole number.
inline void append_json_number(std::string& out, std::int64_t n)
{
    char buffer[24];
    auto const end = std::to_chars(std::begin(buffer), std::end(buffer), n).ptr;
    out.append(buffer, end);
}

/// Appends the shortest text that reads back as `x`. What JSON cannot say (infinities, not a number) becomes `null`.
inline void append_json_number(std::string& out, double x)
{
    if (!std::isfinite(x)) {
        out += "null";
        return;
    }
    char buffer[40];
    auto const end = std::to_chars(std::begin(buffer), std::end(buffer), x).ptr;
    out.append(buffer, end);
}

/// Appends 16 hexadecimal digits, without quotes: how files spell fingerprints.
inline void append_json_hex(std::string& out, std::uint64_t n)
{
    for (unsigned shift = 64; shift > 0;) {
        shift -= 4;
        out += "0123456789abcdef"[n >> shift & 15U];
    }
}

/// Appends `[a,b,...]` of whole numbers.
template <class Range>
void append_json_list(std::string& out, Range const& numbers)
{
    out += '[';
    char const* separator = "";
    for (auto const n : numbers) {
        out += separator;
        append_json_number(out, static_cast<std::int64_t>(n));
        separator = ",";
    }
    out += ']';
}

/// `text` in quotes for a message: escaped, cut after about `longest` bytes.
[[nodiscard]] inline auto json_quoted(std::string_view text, std::size_t longest = 40) -> std::string
{
    bool const cut = text.size() > longest;
    if (cut) {
        // Never cut inside a character.
        while (longest > 0 && (static_cast<unsigned char>(text[longest]) & 0xC0U) == 0x80U) {
            --longest;
        }
        text = text.substr(0, longest);
    }
    std::string out;
    append_json_string(out, text);
    return cut ? out + "..." : out;
}

} // namespace strata
