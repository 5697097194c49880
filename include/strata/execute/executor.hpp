// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Runs a program step by step on an engine, inside its memory.
///
/// ```cpp
/// auto const low = strata::lower(graph, cost, {.alignment = 64});
/// auto const planned = strata::plan(low->problem(), {.budget = 60_percent});
/// auto const program = strata::compile(*low, *planned);
/// strata::executor step(*program, engine); // one slab of planned->placement.arena bytes
/// step.run();
/// ```
#pragma once

#include <strata/execute/buffers.hpp>
#include <strata/execute/concepts.hpp>
#include <strata/execute/program.hpp>
#include <strata/execute/storage.hpp>
#include <strata/units.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace strata {

namespace detail {

template <class E>
struct random_state_of {
    using type = char;
};
template <random_engine E>
struct random_state_of<E> {
    using type = std::remove_cvref_t<decltype(std::declval<E&>().random_state())>;
};

} // namespace detail

/// Runs one program, one step after the other.
///
/// The buffers of a step live in the executor's storage; targets stay readable until the next step. Each executor has its
/// own, so that steps may be in flight side by side; they share the program and, if it allows that, the engine.
template <class E, class S = arena<std::pmr::memory_resource>>
class executor {
    static_assert((require_engine<E>(), require_storage<S>(), true));

public:
    /// Runs `p` on `on` inside one slab from the default memory resource, or in `in`.
    /// Throws: `std::invalid_argument` if the engine cannot do what the program needs: replay a random or a stateful op, or
    /// use buffers of its alignment; what the storage throws when it has no memory.
    executor(program p, E& on)
        requires std::same_as<S, arena<std::pmr::memory_resource>>
        : executor(std::move(p), on, S(*std::pmr::new_delete_resource()))
    {
    }
    template <memory_source M>
    executor(program p, E& on, M& from)
        : executor(std::move(p), on, S(from))
    {
    }
    executor(program p, E& on, S in)
        : program_(std::move(p))
        , engine_(on)
        , storage_(std::move(in))
        , address_(at(program_.tensor_count()), nullptr)
        , holds_(at(program_.tensor_count()), 0)
        , live_(program_.pieces().size(), nullptr)
        , random_(program_.random_slots())
    {
        refuse_engine();
        for (tensor_id t = 0; t < program_.tensor_count(); ++t) {
            holds_[at(t)] = program_.resident(t) ? 1 : 0;
        }
        storage_.open(program_);
    }
    executor(executor const&) = delete;
    auto operator=(executor const&) -> executor& = delete;
    ~executor()
    {
        try {
            wait();
        } catch (...) { // the memory goes back all the same; whoever waits next hears of it
        }
        release_all();
    }

    /// Tells where resident tensor `t` is, for `buffers::data`. May be called again between steps.
    /// Throws: `std::invalid_argument` if `t` is not resident, views another tensor, or has more bytes than `memory`.
    template <class T, std::size_t N>
    void bind(tensor_id t, std::span<T, N> memory)
    {
        if (t < 0 || t >= program_.tensor_count() || !program_.resident(t) || program_.owners()[at(t)] != t) {
            throw std::invalid_argument("strata::executor::bind: tensor " + std::to_string(t) +
                                        " is no resident tensor with a buffer of its own; the storage has all others");
        }
        if (static_cast<bytes_t>(memory.size_bytes()) < program_.tensor(t).bytes) {
            throw std::invalid_argument("strata::executor::bind: " + std::to_string(memory.size_bytes()) +
                                        " bytes for " + detail::tensor_label(program_, t) + ", which has " +
                                        std::to_string(program_.tensor(t).bytes));
        }
        address_[at(t)] = static_cast<std::byte*>(static_cast<void*>(memory.data()));
    }

    /// Runs the step. Whatever is thrown on the way reaches the caller; buffers are released and the random state is as
    /// the ops that did run have left it, so that the next step can run.
    void run()
    {
        run([](instruction const&) {}, [](instruction const&) {});
    }

    /// The same; `before(x)` and `after(x)` are called around each run of an op, `x.id`.
    template <std::invocable<instruction const&> Before, std::invocable<instruction const&> After>
    void run(Before&& before, After&& after)
    {
        release_targets();
        try {
            for (auto const& x : program_.instructions()) {
                switch (x.what) {
                case instruction::kind::acquire: acquire(x.id); break;
                case instruction::kind::release: release(x.id); break;
                case instruction::kind::run:
                    before(x);
                    run_op(x);
                    after(x);
                    break;
                }
            }
        } catch (...) {
            abandon();
            throw;
        }
    }

    /// Address of the buffer of `t`: of a target after a step, of a resident tensor that was bound.
    /// Returns: null for a tensor that is not there.
    [[nodiscard]] auto data(tensor_id t) const noexcept -> std::byte* { return address_[at(program_.owners()[at(t)])]; }
    template <class T>
    [[nodiscard]] auto as(tensor_id t) const noexcept -> T*
    {
        return static_cast<T*>(static_cast<void*>(data(t)));
    }

    /// Releases the targets of the step before; `run` begins with it.
    void release_targets()
    {
        bool any = false;
        for (auto const* p : live_) {
            any = any || p != nullptr;
        }
        if (any) {
            if constexpr (S::gives_back) {
                wait();
            }
            release_all();
        }
    }

    [[nodiscard]] auto plan() const noexcept -> program const& { return program_; }
    [[nodiscard]] auto on() const noexcept -> E& { return engine_; }
    [[nodiscard]] auto memory() const noexcept -> S const& { return storage_; }
    [[nodiscard]] auto memory() noexcept -> S& { return storage_; }

    /// Returns when every op that was run has finished.
    void wait()
    {
        if constexpr (asynchronous_engine<E>) {
            engine_.synchronize();
        }
    }

private:
    template <class I>
    static auto at(I i) noexcept -> std::size_t
    {
        return static_cast<std::size_t>(i);
    }

    void refuse_engine() const
    {
        if (auto const o = program_.replayed_random_op(); o != none && !random_engine<E>) {
            throw std::invalid_argument("strata::executor: the plan runs " + detail::op_label(program_, o) +
                                        " again, which is random; the engine needs random_state() and "
                                        "set_random_state(state)");
        }
        if (auto const o = program_.replayed_stateful_op(); o != none && !stateful_engine<E>) {
            throw std::invalid_argument("strata::executor: the plan runs " + detail::op_label(program_, o) +
                                        " again, which is stateful; the engine needs replay(op, buffers)");
        }
        if (program_.alignment() % required_alignment<E> != 0) {
            throw std::invalid_argument("strata::executor: the plan places buffers at multiples of " +
                                        std::to_string(program_.alignment()) + " bytes, the engine needs " +
                                        std::to_string(required_alignment<E>) +
                                        "; lower the graph with that alignment");
        }
    }

    void acquire(std::int32_t i)
    {
        auto const& x = program_.pieces()[at(i)];
        live_[at(i)] = storage_.acquire(x);
        if (x.tensor == none) {
            workspace_ = live_[at(i)];
        } else {
            address_[at(x.tensor)] = live_[at(i)];
            holds_[at(x.tensor)] = 0;
        }
    }

    void release(std::int32_t i)
    {
        if constexpr (S::gives_back) {
            wait();
        }
        forget(i);
    }

    void forget(std::int32_t i) noexcept
    {
        auto const& x = program_.pieces()[at(i)];
        if (x.tensor == none) {
            workspace_ = nullptr;
        } else {
            address_[at(x.tensor)] = nullptr;
        }
        storage_.release(x, std::exchange(live_[at(i)], nullptr));
    }

    void release_all() noexcept
    {
        for (std::size_t i = 0; i < live_.size(); ++i) {
            if (live_[i] != nullptr) {
                forget(static_cast<std::int32_t>(i));
            }
        }
    }

    /// After an exception: ops that were run may still be using what is about to be released.
    void abandon() noexcept
    {
        try {
            wait();
        } catch (...) { // the first exception is the one that tells what went wrong
        }
        release_all();
    }

    void run_op(instruction const& x)
    {
        if constexpr (random_engine<E>) {
            if (x.random_slot >= 0) {
                auto& first = random_[at(x.random_slot)];
                auto now = engine_.random_state();
                if (!x.again) {
                    first = std::move(now);
                    run_effects(x);
                    return;
                }
                // A replay draws what the first run drew, and leaves the stream as if it had not been.
                engine_.set_random_state(*first);
                try {
                    run_effects(x);
                } catch (...) {
                    engine_.set_random_state(now);
                    throw;
                }
                engine_.set_random_state(now);
                return;
            }
        }
        run_effects(x);
    }

    void run_effects(instruction const& x)
    {
        buffers const b(address_, holds_, program_.owners(), workspace_);
        if constexpr (requires { storage_.before(x, b); }) {
            wait();
            storage_.before(x, b);
        }
        bool quiet = false;
        if constexpr (stateful_engine<E>) {
            quiet = x.quiet;
            if (quiet) {
                engine_.replay(x.id, b);
            }
        }
        if (!quiet) {
            engine_.run(x.id, b);
        }
        if constexpr (requires { storage_.after(x, b); }) {
            wait();
            storage_.after(x, b);
        }
        for (std::int32_t k = x.first_mark; k < x.first_mark + x.mark_count; ++k) {
            holds_[at(program_.marks()[at(k)])] = 1;
        }
    }

    program program_;
    E& engine_;
    S storage_;
    std::vector<std::byte*> address_; // per graph tensor: of its buffer, under the owner
    std::vector<char> holds_;         // per graph tensor: see buffers::adds_into
    std::vector<std::byte*> live_;    // per piece: its address while it is there
    std::vector<std::optional<typename detail::random_state_of<E>::type>> random_;
    std::byte* workspace_ = nullptr;
};

template <class E>
executor(program, E&) -> executor<E, arena<std::pmr::memory_resource>>;
template <class E, memory_source M>
executor(program, E&, M&) -> executor<E, arena<M>>;
template <class E, storage S>
executor(program, E&, S) -> executor<E, S>;

} // namespace strata
