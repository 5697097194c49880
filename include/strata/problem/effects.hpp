// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief The closed vocabulary of a problem: tensor kinds, phases and op effects.
#pragma once

#include <strata/units.hpp>

#include <cstdint>

namespace strata {

/// What a tensor is to the step. The first four are resident: always there, a constant in the peak.
enum class tensor_kind : std::uint8_t {
    input,              ///< model input; resident
    parameter,          ///< trained weight; resident
    parameter_gradient, ///< buffer that weight gradients are added into; resident
    state,              ///< lives on after the step (running statistics, caches); resident
    activation,         ///< result of an op
    saved,              ///< what a backward op needs from forward and no forward output carries ("phantom" in HiRemate)
    gradient,           ///< several ops may add into it; complete when all have run
};

[[nodiscard]] constexpr auto is_resident(tensor_kind k) noexcept -> bool { return k <= tensor_kind::state; }

[[nodiscard]] constexpr auto to_string(tensor_kind k) noexcept -> char const*
{
    switch (k) {
    case tensor_kind::input: return "input";
    case tensor_kind::parameter: return "parameter";
    case tensor_kind::parameter_gradient: return "parameter_gradient";
    case tensor_kind::state: return "state";
    case tensor_kind::activation: return "activation";
    case tensor_kind::saved: return "saved";
    case tensor_kind::gradient: return "gradient";
    }
    return "unknown";
}

/// A label for reports and block finding, never a rule for what may be replayed.
enum class phase : std::uint8_t { forward, backward, other };

[[nodiscard]] constexpr auto to_string(phase p) noexcept -> char const*
{
    switch (p) {
    case phase::forward: return "forward";
    case phase::backward: return "backward";
    case phase::other: return "other";
    }
    return "unknown";
}

/// One effect an op may have beyond reading its inputs and writing its outputs.
enum class effect : std::uint8_t {
    random = 1,           ///< replays with the random state of its first run, leaving the stream as if never replayed
    stateful = 2,         ///< writes something that lives on; a replay must not write it again
    nondeterministic = 4, ///< may answer differently when repeated: never replayed
    collective = 8,       ///< talks to other ranks: runs once
    once = 16,            ///< must not repeat for any other reason
};

/// Name used in graph files.
[[nodiscard]] constexpr auto to_string(effect e) noexcept -> char const*
{
    switch (e) {
    case effect::random: return "random";
    case effect::stateful: return "stateful";
    case effect::nondeterministic: return "nondeterministic";
    case effect::collective: return "collective";
    case effect::once: return "once";
    }
    return "unknown";
}

/// A set of effects; the empty set is a pure op.
class effects {
public:
    constexpr effects() noexcept = default;
    constexpr effects(effect e) noexcept
        : bits_(static_cast<std::uint8_t>(e))
    {
    } // NOLINT(google-explicit-constructor)

    [[nodiscard]] constexpr auto has(effect e) const noexcept -> bool
    {
        return (bits_ & static_cast<std::uint8_t>(e)) != 0;
    }
    [[nodiscard]] constexpr auto pure() const noexcept -> bool { return bits_ == 0; }

    /// True when an effect by itself forbids a second run.
    [[nodiscard]] constexpr auto forbids_replay() const noexcept -> bool
    {
        return has(effect::nondeterministic) || has(effect::collective) || has(effect::once);
    }

    friend constexpr auto operator|(effects a, effects b) noexcept -> effects
    {
        effects r;
        r.bits_ = static_cast<std::uint8_t>(a.bits_ | b.bits_);
        return r;
    }
    constexpr auto operator|=(effects b) noexcept -> effects& { return *this = *this | b; }
    friend constexpr auto operator==(effects, effects) noexcept -> bool = default;

private:
    std::uint8_t bits_ = 0;
};

[[nodiscard]] constexpr auto operator|(effect a, effect b) noexcept -> effects { return effects(a) | effects(b); }

} // namespace strata
