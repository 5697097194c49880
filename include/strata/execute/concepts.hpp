// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief What an engine, a source of memory and a storage are: the things that a program needs from its host to run.
#pragma once

#include <strata/execute/buffers.hpp>
#include <strata/execute/program.hpp>
#include <strata/units.hpp>

#include <concepts>
#include <cstddef>

namespace strata {

namespace detail {

// clang-format off
template <class E>
concept runs_ops = requires(E& e, op_id o, buffers const& b) { e.run(o, b); };

template <class E>
concept replays_apart = requires(E& e, op_id o, buffers const& b) { e.replay(o, b); };

template <class E>
concept gives_random_state = requires(E& e) { { e.random_state() } -> std::copyable; };

template <class E>
concept takes_random_state = gives_random_state<E> && requires(E& e) { e.set_random_state(e.random_state()); };

template <class E>
concept waits = requires(E& e) { e.synchronize(); };

template <class M>
concept gives_memory = requires(M& m, std::size_t n) { { m.allocate(n, n) } -> std::convertible_to<void*>; };

template <class M>
concept takes_memory = requires(M& m, void* p, std::size_t n) { m.deallocate(p, n, n); };

template <class S>
concept opens = requires(S& s, program const& p) { s.open(p); };

template <class S>
concept holds_pieces = requires(S& s, memory_piece const& x, std::byte* a) {
    { s.acquire(x) } -> std::same_as<std::byte*>;
    s.release(x, a);
    { S::gives_back } -> std::convertible_to<bool>;
};

template <class S>
concept says_its_peak = requires(S const& s) { { s.peak_bytes() } -> std::convertible_to<bytes_t>; };
// clang-format on

} // namespace detail

/// Runs the ops of one graph.
///
/// Given `E& e`, an op number `o` of the graph that was lowered, `buffers const& b`:
///   - `e.run(o, b)` → anything; runs op `o`: reads its inputs, writes all of its outputs, may use its workspace
///   - optional, see the concepts below: `e.replay(o, b)`, `e.random_state()` and `e.set_random_state(s)`,
///     `e.synchronize()`, and a constant `E::alignment`: bytes that the address of every buffer is a multiple of
///
/// Laws:       with the same inputs, random state and resident tensors an op writes the same bytes, unless its effects say
///             otherwise; it touches no buffer but those of its tensors and its workspace, and keeps no address.
/// Not needed: owning memory, being copyable, being const, `noexcept`: what `run` throws reaches the caller of the executor,
///             which has released everything before.
/// Cost:       `run` is called once per run in the schedule.
/// Models:     an interpreter over the user's own op type; examples/engine_eigen.
/// Near miss:  an engine whose `run` takes the op object instead of its number.
template <class E>
concept engine = detail::runs_ops<E>;

/// An engine that can run an op with effect `stateful` again without writing what lives on after the step.
///
/// Given `E& e`, an op number `o`, `buffers const& b`:
///   - `e.replay(o, b)` → anything; as `run`, but leaves every resident tensor and all other state as it is
///
/// Laws:       the outputs are those of the first run, bit by bit.
/// Not needed: where no op is stateful; it is asked for stateful ops only, all others are run again by `run`.
/// Cost:       called once per replay of a stateful op.
/// Models:     an engine with batch normalisation or a cache.
/// Near miss:  an engine with a flag instead: `run(o, b, true)`.
template <class E>
concept stateful_engine = engine<E> && detail::replays_apart<E>;

/// An engine whose random state can be saved and put back.
///
/// Given `E& e`:
///   - `e.random_state()`      → a copyable value: the state of every generator that ops draw from
///   - `e.set_random_state(s)` → anything; draws go on as they did after `s` was taken
///
/// Laws:       an op with effect `random` writes the same bytes whenever it starts from the same state and inputs.
/// Not needed: where no op is random. Speed of copying matters if many random ops are replayed: one state each is kept.
/// Cost:       per step one `random_state` for each random op that will be replayed, and three calls for each replay.
/// Models:     an engine with a `std::mt19937`; one whose state is a counter.
/// Near miss:  an engine that can only be seeded.
template <class E>
concept random_engine = engine<E> && detail::takes_random_state<E>;

/// An engine that returns from `run` before the op has finished.
///
/// Given `E& e`:
///   - `e.synchronize()` → anything; returns when every op that was run has finished
///
/// Laws:       ops take effect in the order in which they were run.
/// Not needed: where `run` does the work itself.
/// Cost:       called before memory is given back or looked at, around each op that is timed, and never in `run` otherwise.
/// Models:     an engine on a CUDA stream: examples/cuda.
/// Near miss:  an engine that runs ops on several streams and does not order them.
template <class E>
concept asynchronous_engine = engine<E> && detail::waits<E>;

/// Where buffers come from. `std::pmr::memory_resource` models it, and so do the resources of strata/cuda/.
///
/// Given `M& m`, numbers of bytes `n` and `a` (a power of two), `void* p` from it:
///   - `m.allocate(n, a)`      → convertible to `void*`; at least `n` bytes at a multiple of `a`; throws if it has none
///   - `m.deallocate(p, n, a)` → anything; takes back what `allocate(n, a)` gave; does not throw
///
/// Laws:       blocks that have not been given back do not overlap.
/// Not needed: memory that the host can touch, unless it is checked; equality; thread safety.
/// Cost:       an arena asks once in its life; otherwise once per lifetime of a buffer.
/// Models:     `std::pmr::memory_resource`; the resources of cuda/.
/// Near miss:  `std::allocator<std::byte>`, whose `allocate` takes no alignment.
template <class M>
concept memory_source = detail::gives_memory<M> && detail::takes_memory<M>;

/// Whether memory given back to an `M` may still be in use by ops that were run before: what it hands out next is used
/// after them, on the same stream. `M` says so by a constant `stream_ordered`; otherwise the executor waits first.
template <class M>
inline constexpr bool stream_ordered = false;
template <class M>
    requires requires { requires bool(M::stream_ordered); }
inline constexpr bool stream_ordered<M> = true;

/// Where the buffers of a program are while it runs.
///
/// Given `S& s`, a `program const& p`, a piece `x` of it, an address `a` that `acquire(x)` gave:
///   - `s.open(p)`       → anything; called once, before everything else
///   - `s.acquire(x)`    → `std::byte*`, a multiple of the alignment of `p`; `x.size` bytes from there on are its own
///   - `s.release(x, a)` → anything; does not throw
///   - `s.peak_bytes()`  → convertible to `bytes_t`; the most bytes it has taken at one time
///   - `S::gives_back`   → true if released memory may be used by others while ops still run
///   - optional, as in `checking`: `s.before(op, buffers)` and `s.after(op, buffers)` around each run
///
/// Laws:       pieces that are acquired and not released do not share a byte.
/// Not needed: copying, being made without arguments.
/// Cost:       `acquire` and `release` once per piece and step.
/// Models:     `arena<M>`, `allocating<M>`, `checking<M>`.
/// Near miss:  a memory source, which knows bytes and no pieces.
template <class S>
concept storage = detail::opens<S> && detail::holds_pieces<S> && detail::says_its_peak<S>;

/// Bytes that `E` needs every buffer's address to be a multiple of: `E::alignment` if it has one, else 1.
template <class E>
inline constexpr bytes_t required_alignment = 1;
template <class E>
    requires requires {
        {
            E::alignment
        } -> std::convertible_to<bytes_t>;
    }
inline constexpr bytes_t required_alignment<E> = E::alignment;

/// Names the part of `engine` that `E` lacks. Call it at the head of a template that takes an engine.
template <class E>
consteval void require_engine()
{
    static_assert(detail::runs_ops<E>, "strata::engine: needs `e.run(strata::op_id, strata::buffers const&)`");
    static_assert(!detail::gives_random_state<E> || detail::takes_random_state<E>,
                  "strata::random_engine: an engine with `random_state()` needs `set_random_state(state)` too");
}

/// Names the part of `storage` that `S` lacks.
template <class S>
consteval void require_storage()
{
    static_assert(detail::opens<S>, "strata::storage: needs `s.open(program)`");
    static_assert(detail::holds_pieces<S>,
                  "strata::storage: needs `s.acquire(piece)` returning std::byte*, `s.release(piece, address)` and a "
                  "constant `S::gives_back`");
    static_assert(detail::says_its_peak<S>,
                  "strata::storage: needs `s.peak_bytes()`, const, convertible to strata::bytes_t");
}

/// Names the part of `memory_source` that `M` lacks.
template <class M>
consteval void require_memory_source()
{
    static_assert(detail::gives_memory<M>,
                  "strata::memory_source: needs `m.allocate(bytes, alignment)`, convertible to void*");
    static_assert(detail::takes_memory<M>, "strata::memory_source: needs `m.deallocate(pointer, bytes, alignment)`");
}

} // namespace strata
