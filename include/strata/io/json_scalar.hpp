// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief A JSON value that is neither object nor array.
#pragma once

#include <strata/io/json_text.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

namespace strata::detail {

/// A number, string or word. A whole number beyond 64 bits arrives as a `double`.
using json_scalar = std::variant<std::nullptr_t, bool, std::int64_t, std::uint64_t, double, std::string_view>;

/// The value as words for a message.
[[nodiscard]] inline auto describe(json_scalar const& v) -> std::string
{
    if (auto const* b = std::get_if<bool>(&v)) {
        return *b ? "true" : "false";
    }
    if (auto const* i = std::get_if<std::int64_t>(&v)) {
        return std::to_string(*i);
    }
    if (auto const* u = std::get_if<std::uint64_t>(&v)) {
        return std::to_string(*u);
    }
    if (auto const* x = std::get_if<double>(&v)) {
        std::string s;
        append_json_number(s, *x);
        return s;
    }
    if (auto const* s = std::get_if<std::string_view>(&v)) {
        return "the string " + json_quoted(*s);
    }
    return "null";
}

} // namespace strata::detail
