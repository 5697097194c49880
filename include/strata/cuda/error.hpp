// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief What the resources throw: a call that failed, and memory that ran out. Neither needs memory to be made.
#pragma once

#include <strata/cuda/concepts.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>

namespace strata {

namespace detail {

/// Text in place, for exceptions: copied without memory; what does not fit is cut off.
template <std::size_t N>
class inline_text {
public:
    inline_text() = default;
    explicit inline_text(char const* from) noexcept
    {
        std::memcpy(text_.data(), from, std::min(std::strlen(from), text_.size() - 1));
    }
    [[nodiscard]] auto data() noexcept -> char* { return text_.data(); }
    [[nodiscard]] auto c_str() const noexcept -> char const* { return text_.data(); }
    [[nodiscard]] static constexpr auto size() noexcept -> std::size_t { return N; }

private:
    std::array<char, N> text_ = {};
};

} // namespace detail

/// A call of the device's runtime failed.
class cuda_error : public std::exception {
public:
    /// `call` is the runtime's name for what was called, and lives on (a literal); `text` is copied.
    cuda_error(char const* call, int code, char const* text) noexcept
        : call_(call)
        , code_(code)
        , text_(text)
    {
        std::snprintf(what_.data(), what_.size(), "strata: %s failed with code %d: %s", call, code, text_.c_str());
    }
    [[nodiscard]] auto what() const noexcept -> char const* override { return what_.c_str(); }
    [[nodiscard]] auto call() const noexcept -> char const* { return call_; }
    [[nodiscard]] auto code() const noexcept -> int { return code_; }
    [[nodiscard]] auto text() const noexcept -> char const* { return text_.c_str(); }

private:
    char const* call_;
    int code_;
    detail::inline_text<256> text_;
    detail::inline_text<512> what_; // longer than what goes into it
};

/// A resource cannot give the bytes it was asked for.
class out_of_memory : public std::bad_alloc {
public:
    /// `who` is the resource, and lives on (a literal). `planned` are the bytes that the plan's arena needs or that a cap
    /// allows, 0 if neither is known; `unused` are those left on the device, or under the cap.
    out_of_memory(char const* who, std::size_t asked, std::size_t unused, std::size_t planned) noexcept
        : asked_(asked)
        , free_(unused)
        , planned_(planned)
    {
        std::snprintf(what_.data(),
                      what_.size(),
                      "strata::%s: asked for %zu bytes, %zu are free, %zu were planned",
                      who,
                      asked,
                      unused,
                      planned);
    }
    [[nodiscard]] auto what() const noexcept -> char const* override { return what_.c_str(); }
    [[nodiscard]] auto asked() const noexcept -> std::size_t { return asked_; }
    [[nodiscard]] auto free() const noexcept -> std::size_t { return free_; }
    [[nodiscard]] auto planned() const noexcept -> std::size_t { return planned_; }

private:
    std::size_t asked_;
    std::size_t free_;
    std::size_t planned_;
    detail::inline_text<256> what_;
};

namespace detail {

/// Throws: `cuda_error` unless `code` is 0.
template <device_runtime R>
void check_call(R& runtime, char const* call, int code)
{
    if (code != 0) {
        throw cuda_error(call, code, runtime.text(code));
    }
}

/// Bytes that are free on the device, 0 if it does not say.
template <device_runtime R>
[[nodiscard]] auto free_bytes(R& runtime) noexcept -> std::size_t
{
    std::size_t unused = 0;
    std::size_t all = 0;
    return runtime.memory(unused, all) == 0 ? unused : 0;
}

} // namespace detail

} // namespace strata
