// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Says where text stops being JSON, and why, in words a user can act on.
#pragma once

#include <strata/error.hpp>
#include <strata/io/json_text.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace strata::detail {

/// First byte of the string, number, word or sign of `text` that ends before `end`.
[[nodiscard]] inline auto token_begin(std::string_view text, std::size_t end) -> std::size_t
{
    auto const in_word = [&](std::size_t i) {
        auto const c = static_cast<unsigned char>(text[i]);
        return (c >= '0' && c <= '9') || ((c | 0x20U) >= 'a' && (c | 0x20U) <= 'z') || c == '+' || c == '-' || c == '.';
    };
    if (end == 0) {
        return 0;
    }
    auto at = end - 1;
    if (text[at] == '"') {
        auto const opening = at == 0 ? std::string_view::npos : text.rfind('"', at - 1);
        return opening == std::string_view::npos ? at : opening;
    }
    while (at > 0 && in_word(at) && in_word(at - 1)) {
        --at;
    }
    return at;
}

/// Explains why a parser that has read `position` bytes of `text` gave up. `why` is the text of nlohmann's exception: it is
/// searched for the kind of fault and for what was expected, and not shown, since the token it quotes may be of any length
/// and hold any bytes.
/// Returns: the code, and a message that begins with the place.
[[nodiscard]] inline auto explain_syntax(std::string_view text, std::size_t position, std::string_view why)
    -> std::pair<errc, std::string>
{
    auto const has = [&](std::string_view s) { return why.find(s) != std::string_view::npos; };
    auto const end = std::min(position, text.size());
    auto at = end - std::min<std::size_t>(end, 1); // the byte that was one too many
    std::string reason;
    if (position > text.size() || has("unexpected end of input")) {
        at = text.size();
        reason = "the text ends too early, as if cut off";
    } else if (has("ill-formed UTF-8")) {
        reason = "a string is not UTF-8";
    } else if (has("control character")) {
        reason = "a string holds a raw control character, write it as an escape";
    } else if (has("surrogate") || has("'\\u'")) {
        reason = "a string has a broken \\u escape";
    } else {
        at = token_begin(text, end);
        auto const wanted = why.rfind("; expected ");
        reason = has("number overflow") ? "a number is beyond what a double can hold"
                                        : "the text is not JSON: found " + json_quoted(text.substr(at, end - at), 20);
        if (!has("number overflow") && wanted != std::string_view::npos && !has("; last read: ")) {
            reason += " instead of " + std::string(why.substr(wanted + 11));
        }
    }
    auto const before = text.substr(0, at);
    auto const line = 1 + std::count(before.begin(), before.end(), '\n');
    auto const newline = before.rfind('\n');
    auto const column = 1 + before.size() - (newline == std::string_view::npos ? 0 : newline + 1);
    return {has("number overflow") ? errc::overflow : errc::malformed_file,
            "line " + std::to_string(line) + ", column " + std::to_string(column) + " (byte " + std::to_string(at) +
                "): " + reason};
}

} // namespace strata::detail
