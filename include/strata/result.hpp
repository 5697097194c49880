// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief A value or an `error`: the return type of everything that may answer "no".
///
/// The part of C++23's std::expected that the library needs; g++ 12 has none in C++20 mode.
#pragma once

#include <strata/config.hpp>
#include <strata/error.hpp>

#include <string>
#include <utility>
#include <variant>

namespace strata {

/// Either a `T` or the `error` that explains its absence. Converts from both.
template <class T>
class [[nodiscard]] result {
public:
    using value_type = T;

    result(T value)
        : state_(std::in_place_index<0>, std::move(value))
    {
    } // NOLINT(google-explicit-constructor)
    result(strata::error why)
        : state_(std::in_place_index<1>, std::move(why))
    {
    } // NOLINT(google-explicit-constructor)

    [[nodiscard]] auto has_value() const noexcept -> bool { return state_.index() == 0; }
    explicit operator bool() const noexcept { return has_value(); }

    /// The value. Throws: `bad_result_access` with the error's message if there is none.
    [[nodiscard]] auto value() & -> T& { return check(), *std::get_if<0>(&state_); }
    [[nodiscard]] auto value() const& -> T const& { return check(), *std::get_if<0>(&state_); }
    [[nodiscard]] auto value() && -> T&& { return check(), std::move(*std::get_if<0>(&state_)); }

    [[nodiscard]] auto operator*() & -> T& { return value(); }
    [[nodiscard]] auto operator*() const& -> T const& { return value(); }
    [[nodiscard]] auto operator*() && -> T&& { return std::move(*this).value(); }
    [[nodiscard]] auto operator->() -> T* { return &value(); }
    [[nodiscard]] auto operator->() const -> T const* { return &value(); }

    /// The error. Requires: `!has_value()`.
    [[nodiscard]] auto error() const& -> strata::error const&
    {
        STRATA_ASSERT(!has_value());
        return *std::get_if<1>(&state_);
    }
    [[nodiscard]] auto error() && -> strata::error&&
    {
        STRATA_ASSERT(!has_value());
        return std::move(*std::get_if<1>(&state_));
    }

private:
    void check() const
    {
        if (!has_value()) {
            detail::raise_bad_result(*std::get_if<1>(&state_));
        }
    }
    std::variant<T, strata::error> state_;
};

/// An `error` of kind `code`; the one way the library makes them.
[[nodiscard]] inline auto fail(errc code, std::string message) -> error { return {code, std::move(message), {}}; }

} // namespace strata
