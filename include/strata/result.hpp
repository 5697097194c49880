// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief A value or an `error`: the return type of everything that may answer "no".
///
/// The part of C++23's std::expected that the library needs; g++ 12 has none in C++20 mode.
#pragma once

#include <strata/config.hpp>
#include <strata/error.hpp>

#include <new>
#include <string>
#include <utility>

namespace strata {

namespace detail {

/// A `T` or nothing: what `result` needs of std::optional, which costs several times as much in every program that
/// includes one more kind of it (docs/design/0005). As with std::vector, copying one compiles if copying a `T` does.
/// Requires: a `T` is moved without throwing.
template <class T>
class maybe {
public:
    maybe() noexcept {}
    explicit maybe(T&& value) noexcept { put(std::move(value)); }
    maybe(maybe const& other)
    {
        if (other.there_) {
            put(other.value_);
        }
    }
    maybe(maybe&& other) noexcept
    {
        if (other.there_) {
            put(std::move(other.value_));
        }
    }
    auto operator=(maybe other) noexcept -> maybe&
    {
        clear();
        if (other.there_) {
            put(std::move(other.value_));
        }
        return *this;
    }
    ~maybe() { clear(); }

    [[nodiscard]] auto there() const noexcept -> bool { return there_; }
    /// Requires: `there()`.
    [[nodiscard]] auto operator*() noexcept -> T& { return value_; }
    [[nodiscard]] auto operator*() const noexcept -> T const& { return value_; }

private:
    template <class From>
    void put(From&& from)
    {
        ::new (static_cast<void*>(__builtin_addressof(value_))) T(std::forward<From>(from));
        there_ = true;
    }
    void clear() noexcept
    {
        if (there_) {
            there_ = false;
            value_.~T();
        }
    }

    union {
        T value_;
    };
    bool there_ = false;
};

} // namespace detail

// nvcc 13 warns of every assignment to an object of a [[nodiscard]] class, as if the object were dropped. The functions that
// return results are [[nodiscard]] themselves.
#ifdef __CUDACC__
#    define STRATA_NODISCARD_CLASS
#else
#    define STRATA_NODISCARD_CLASS [[nodiscard]]
#endif

/// Either a `T` or the `error` that explains its absence. Converts from both.
template <class T>
class STRATA_NODISCARD_CLASS result {
public:
    using value_type = T;

    // Both convert on purpose: a function returns what it has, a value or an error.
    result(T value) // NOLINT(google-explicit-constructor)
        : value_(std::move(value))
    {
    }
    result(strata::error why) // NOLINT(google-explicit-constructor)
        : error_(std::move(why))
    {
    }

    [[nodiscard]] auto has_value() const noexcept -> bool { return value_.there(); }
    explicit operator bool() const noexcept { return has_value(); }

    /// The value. Throws: `bad_result_access` with the error's message if there is none.
    [[nodiscard]] auto value() & -> T& { return check(), *value_; }
    [[nodiscard]] auto value() const& -> T const& { return check(), *value_; }
    [[nodiscard]] auto value() && -> T&& { return check(), std::move(*value_); }

    [[nodiscard]] auto operator*() & -> T& { return value(); }
    [[nodiscard]] auto operator*() const& -> T const& { return value(); }
    [[nodiscard]] auto operator*() && -> T&& { return std::move(*this).value(); }
    [[nodiscard]] auto operator->() -> T* { return &value(); }
    [[nodiscard]] auto operator->() const -> T const* { return &value(); }

    /// The error. Requires: `!has_value()`.
    [[nodiscard]] auto error() const& -> strata::error const&
    {
        STRATA_ASSERT(!has_value());
        return error_;
    }
    [[nodiscard]] auto error() && -> strata::error&&
    {
        STRATA_ASSERT(!has_value());
        return std::move(error_);
    }

private:
    void check() const
    {
        if (!has_value()) {
            detail::raise_bad_result(error_);
        }
    }
    detail::maybe<T> value_;
    strata::error error_;
};
#undef STRATA_NODISCARD_CLASS

/// An `error` of kind `code`; the one way the library makes them.
[[nodiscard]] inline auto fail(errc code, std::string message) -> error { return {code, std::move(message), {}}; }

} // namespace strata
