// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Costs from what a device can do: launch time, and the slower of arithmetic and memory traffic.
///
/// ```
///   time = launch + max(flops * ns_per_flop, bytes * ns_per_byte) / efficiency(class)
///
///     ^ flop rate        ______________  compute-bound
///     |                 /
///     |               /   memory-bound
///     +-------------------------------> flops per byte
/// ```
#pragma once

#include <strata/cost/concepts.hpp>
#include <strata/cost/work.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace strata {

/// What a device can do, in nanoseconds. `calibrate` fits it to measurements.
struct roofline {
    double launch_ns = 0;   ///< of each op that computes or moves anything
    double ns_per_flop = 0; ///< 1e-3 for one TFLOP/s
    double ns_per_byte = 0; ///< 1 for one GB/s
    /// Share of the peak that ops of a class reach, in (0, 1]; a class that is not listed reaches 1.
    std::map<std::string, double, std::less<>> efficiency = {};

    /// From the numbers on a data sheet: `device(60, 1500, 3000)` has 60 TFLOP/s, 1500 GB/s, 3 µs a launch.
    [[nodiscard]] static auto device(double tera_flops_per_second, double giga_bytes_per_second, double launch)
        -> roofline
    {
        return {
            .launch_ns = launch, .ns_per_flop = 1e-3 / tera_flops_per_second, .ns_per_byte = 1 / giga_bytes_per_second};
    }

    [[nodiscard]] auto efficiency_of(std::string_view op_class) const -> double
    {
        auto const it = efficiency.find(op_class);
        return it == efficiency.end() ? 1 : it->second;
    }

    /// Nanoseconds of an op. One that neither computes nor moves anything (a view) takes none.
    [[nodiscard]] auto time(double flops, double bytes, std::string_view op_class = {}) const -> double
    {
        if (flops == 0 && bytes == 0) {
            return 0;
        }
        return launch_ns + std::max(flops * ns_per_flop, bytes * ns_per_byte) / efficiency_of(op_class);
    }

    friend auto operator==(roofline const&, roofline const&) -> bool = default;
};

/// Cost of every op by a `roofline`. Models `cost_model` for graphs that say the flops of their ops; see cost/work.hpp.
class roofline_cost {
public:
    explicit roofline_cost(roofline device)
        : device_(std::move(device))
    {
    }

    [[nodiscard]] auto device() const noexcept -> roofline const& { return device_; }

    /// Nanoseconds, unrounded.
    template <class G>
    [[nodiscard]] auto cost(G const& g, op_id o) const -> double
    {
        return device_.time(work::flops(g, o), work::bytes_moved(g, o), work::op_class(g, o));
    }

private:
    roofline device_;
};

} // namespace strata
