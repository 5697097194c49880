// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief What a device's runtime is: the dozen calls through which the resources of this folder reach a device.
#pragma once

#include <concepts>
#include <cstddef>

namespace strata {

namespace detail {

// clang-format off
template <class R>
concept runtime_handles = std::regular<typename R::stream> && std::regular<typename R::event>;

template <class R>
concept runtime_memory = requires(R& r, void*& p, void* q, std::size_t n) {
    { r.allocate(p, n) } -> std::same_as<int>;
    { r.free(q) } -> std::same_as<int>;
};

template <class R>
concept runtime_ordered_memory = runtime_handles<R> &&
    requires(R& r, void*& p, void* q, std::size_t n, typename R::stream s) {
    { r.allocate_async(p, n, s) } -> std::same_as<int>;
    { r.free_async(q, s) } -> std::same_as<int>;
};

template <class R>
concept runtime_events = runtime_handles<R> && requires(R& r, typename R::event& made, typename R::event e) {
    { r.create(made) } -> std::same_as<int>;
    { r.destroy(e) } -> std::same_as<int>;
};

template <class R>
concept runtime_order = runtime_handles<R> &&
    requires(R& r, typename R::event e, typename R::stream s, bool& done) {
    { r.record(e, s) } -> std::same_as<int>;
    { r.wait(s, e) } -> std::same_as<int>;
    { r.query(e, done) } -> std::same_as<int>;
    { r.synchronize(s) } -> std::same_as<int>;
};

template <class R>
concept runtime_answers = requires(R& r, std::size_t& n, int code) {
    { r.memory(n, n) } -> std::same_as<int>;
    { r.text(code) } -> std::convertible_to<char const*>;
    { r.ran_out(code) } -> std::convertible_to<bool>;
};
// clang-format on

} // namespace detail

/// The calls that a device offers for memory, events and streams.
///
/// Given `R& r`, a handle that is cheap to copy; `R::stream s` and `R::event e`, regular types; `R::stream{}` is the stream
/// of those who name none; `void* p`, bytes `n`. Calls answer with an `int`, 0 if they succeeded, and do not throw:
///   - `r.allocate(p, n)`, `r.free(p)`                 memory at once; `allocate` sets `p`, at a multiple of 256
///   - `r.allocate_async(p, n, s)`, `r.free_async(p, s)`   memory in the order of a stream
///   - `r.create(e)`, `r.destroy(e)`                   `create` sets `e`; a destroyed event need not have happened
///   - `r.record(e, s)`                                `e` happens when all that `s` was given so far is done
///   - `r.wait(s, e)`                                  what `s` is given from now on waits for the last record of `e`
///   - `r.query(e, done)`                              sets `done` to whether `e` has happened
///   - `r.synchronize(s)`                              returns when all that `s` was given is done
///   - `r.memory(unused, all)`                         sets bytes: those not in use on the device, and all it has
///   - `r.text(code)`, `r.ran_out(code)`               a code in words; whether it says that there is no memory left
///
/// Laws:       recording `e` again leaves waits that were issued before as they are.
/// Not needed: equality of runtimes, thread safety, kernels, copies; several devices: a runtime acts on one.
/// Cost:       an arena or a pool calls it as its host calls `record` or `wait` itself: a few times per buffer.
/// Models:     `cuda_runtime` of cuda/runtime.hpp; HIP and SYCL have the same calls.
/// Near miss:  a runtime that throws instead of answering with a code: freeing could not go on.
template <class R>
concept device_runtime = std::copyable<R> && detail::runtime_memory<R> && detail::runtime_ordered_memory<R> &&
                         detail::runtime_events<R> && detail::runtime_order<R> && detail::runtime_answers<R>;

/// Names the part of `device_runtime` that `R` lacks.
template <class R>
consteval void require_device_runtime()
{
    static_assert(detail::runtime_handles<R>, "strata::device_runtime: needs regular types `R::stream` and `R::event`");
    static_assert(detail::runtime_memory<R>,
                  "strata::device_runtime: needs `int r.allocate(p, bytes)`, `int r.free(p)`");
    static_assert(detail::runtime_ordered_memory<R>,
                  "strata::device_runtime: needs `int r.allocate_async(p, bytes, s)`, `int r.free_async(p, s)`");
    static_assert(detail::runtime_events<R>, "strata::device_runtime: needs `int r.create(e)`, `int r.destroy(e)`");
    static_assert(detail::runtime_order<R>,
                  "strata::device_runtime: needs `int r.record(e, s)`, `int r.wait(s, e)`, "
                  "`int r.query(e, done)`, `int r.synchronize(s)`");
    static_assert(detail::runtime_answers<R>,
                  "strata::device_runtime: needs `int r.memory(unused, all)`, `r.text(code)`, "
                  "`r.ran_out(code)`");
    static_assert(std::copyable<R>, "strata::device_runtime: is a handle that can be copied");
}

} // namespace strata
