// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Fits a `roofline` to measured times by least squares. The one header of the library that includes Eigen.
///
/// Whether an op is bound by memory or by arithmetic follows from its flops per byte: sorted by that number, the
/// samples split into memory-bound ones and compute-bound ones. For each split the model is linear,
/// ```
///   time = launch + bytes * ns_per_byte     (below the split)
///   time = launch + flops * ns_per_flop     (above it)
/// ```
/// and has a least-squares solution without negative numbers; the split whose solution fits best as a roofline wins.
#pragma once

#include <strata/cost/concepts.hpp>
#include <strata/cost/roofline_cost.hpp>
#include <strata/cost/work.hpp>
#include <strata/graph/access.hpp>
#include <strata/result.hpp>
#include <strata/units.hpp>

#include <Eigen/QR>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace strata {

/// One measured op.
struct roofline_sample {
    double flops = 0;
    double bytes = 0; ///< read and written
    double nanoseconds = 0;
    std::string op_class = {};
    friend auto operator==(roofline_sample const&, roofline_sample const&) -> bool = default;
};

/// One sample per op of `g` that computes or moves anything, its time being what `measured` says: for costs that were
/// measured on a small batch and are wanted for a large one.
/// Requires: the ops of `g` say their flops, see cost/work.hpp.
template <class G, class C>
    requires cost_model<C, G>
[[nodiscard]] auto roofline_samples(G const& g, C const& measured) -> std::vector<roofline_sample>
{
    std::vector<roofline_sample> r;
    for (op_id o = 0; o < static_cast<op_id>(access::op_count(g)); ++o) {
        roofline_sample x{
            work::flops(g, o), work::bytes_moved(g, o), static_cast<double>(measured.cost(g, o)), work::op_class(g, o)};
        if (x.flops > 0 || x.bytes > 0) {
            r.push_back(std::move(x));
        }
    }
    return r;
}

/// Options of `calibrate`.
struct calibrate_options {
    bool per_class = false; ///< fit one efficiency per op class, the best class having 1
    bool relative = false;  ///< least squares of relative instead of absolute errors: small ops count as much as large
};

/// A fitted device and how well it fits.
struct calibration {
    roofline device;
    std::vector<double> residuals; ///< measured minus predicted nanoseconds, per sample
    double r2 = 0;                 ///< share of the variance of the times that the fit explains; 1 is a perfect fit
    double rms_ns = 0;             ///< root of the mean squared residual
    std::size_t compute_bound = 0; ///< samples on the flat part of the roof; the others are memory-bound
};

namespace detail {

/// Weighted samples as the fit of a single class sees them.
struct roofline_data {
    std::vector<double> flops, bytes, time, weight;

    [[nodiscard]] auto squared_error(roofline const& d) const -> double
    {
        double sum = 0;
        for (std::size_t i = 0; i < time.size(); ++i) {
            auto const e = (time[i] - d.time(flops[i], bytes[i])) * weight[i];
            sum += e * e;
        }
        return sum;
    }
};

/// Least squares with non-negative solution for few columns: tries every set of columns that may be positive.
/// Returns: nothing if the columns are not independent.
template <class = void>
[[nodiscard]] auto non_negative_fit(Eigen::MatrixXd const& a, Eigen::VectorXd const& b)
    -> std::optional<Eigen::VectorXd>
{
    auto const columns = a.cols();
    Eigen::VectorXd const scale = a.colwise().norm();
    if (!(scale.minCoeff() > 0)) {
        return {};
    }
    Eigen::MatrixXd const unit = a * scale.cwiseInverse().asDiagonal();
    constexpr double independent = 1e-9; // below it a column is a sum of the others but for rounding
    Eigen::ColPivHouseholderQR<Eigen::MatrixXd> all(unit);
    all.setThreshold(independent);
    if (all.rank() < columns) {
        return {};
    }
    Eigen::VectorXd best = Eigen::VectorXd::Zero(columns);
    double least = b.squaredNorm();
    for (int set = 1; set < (1 << columns); ++set) {
        std::vector<Eigen::Index> chosen;
        for (Eigen::Index c = 0; c < columns; ++c) {
            if ((set >> c & 1) != 0) {
                chosen.push_back(c);
            }
        }
        Eigen::MatrixXd part(a.rows(), static_cast<Eigen::Index>(chosen.size()));
        for (std::size_t k = 0; k < chosen.size(); ++k) {
            part.col(static_cast<Eigen::Index>(k)) = unit.col(chosen[k]);
        }
        Eigen::VectorXd const x = part.colPivHouseholderQr().solve(b);
        double const error = (part * x - b).squaredNorm();
        if (x.minCoeff() >= 0 && error < least) {
            least = error;
            best.setZero();
            for (std::size_t k = 0; k < chosen.size(); ++k) {
                best[chosen[k]] = x[static_cast<Eigen::Index>(k)];
            }
        }
    }
    return Eigen::VectorXd(best.cwiseQuotient(scale));
}

/// The best roofline, without efficiencies.
/// Returns: nothing if no split of the samples determines launch time, arithmetic and traffic.
template <class = void>
[[nodiscard]] auto fit_roofline(roofline_data const& data) -> std::optional<roofline>
{
    auto const n = data.time.size();
    auto const intensity = [&](std::size_t i) {
        return data.bytes[i] > 0 ? data.flops[i] / data.bytes[i] : std::numeric_limits<double>::infinity();
    };
    std::vector<std::size_t> order(n);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](auto i, auto j) { return intensity(i) < intensity(j); });
    std::vector<std::size_t> splits; // the first of the compute-bound samples
    for (std::size_t k = 1; k < n; ++k) {
        if (intensity(order[k - 1]) < intensity(order[k]) * (1 - 1e-12)) {
            splits.push_back(k);
        }
    }
    Eigen::MatrixXd a(static_cast<Eigen::Index>(n), 3);
    Eigen::VectorXd b(static_cast<Eigen::Index>(n));
    std::optional<roofline> best;
    double least = std::numeric_limits<double>::infinity();
    auto const attempt = [&](std::size_t split) {
        for (std::size_t k = 0; k < n; ++k) {
            auto const i = order[k];
            auto const row = static_cast<Eigen::Index>(k);
            a(row, 0) = data.weight[i];
            a(row, 1) = k < split ? 0 : data.flops[i] * data.weight[i];
            a(row, 2) = k < split ? data.bytes[i] * data.weight[i] : 0;
            b[row] = data.time[i] * data.weight[i];
        }
        if (auto const x = non_negative_fit(a, b)) {
            roofline const d{.launch_ns = (*x)[0], .ns_per_flop = (*x)[1], .ns_per_byte = (*x)[2]};
            if (auto const e = data.squared_error(d); e < least) {
                least = e;
                best = d;
            }
        }
    };
    // Many samples: look at some of the splits, then at all of them around the best.
    constexpr std::size_t looked_at = 128;
    auto const stride = std::max<std::size_t>(1, splits.size() / looked_at);
    std::size_t near = 0;
    for (std::size_t s = 0; s < splits.size(); s += stride) {
        auto const before = least;
        attempt(splits[s]);
        near = least < before ? s : near;
    }
    if (stride > 1) {
        for (auto s = near - std::min(near, stride); s < std::min(splits.size(), near + stride); ++s) {
            attempt(splits[s]);
        }
    }
    return best;
}

/// Fits one efficiency per class. Efficiency scales arithmetic and traffic alike, so all classes bend at the same
/// intensity; for a given one the model is linear in launch time and one slope per class, and a search over that single
/// number finds the best.
template <class = void>
class basic_class_fit {
public:
    basic_class_fit(std::span<roofline_sample const> samples, std::vector<double> const& weight)
        : samples_(samples)
        , weight_(weight)
    {
        for (auto const& s : samples) {
            column_.try_emplace(s.op_class, 0);
        }
        Eigen::Index next = 1;
        for (auto& [name, column] : column_) {
            column = next++;
        }
    }

    [[nodiscard]] auto run() -> result<roofline>
    {
        std::vector<double> bends; // intensities of samples, the lowest and the highest left out
        for (auto const& s : samples_) {
            if (s.bytes > 0 && s.flops > 0) {
                bends.push_back(s.flops / s.bytes);
            }
        }
        std::sort(bends.begin(), bends.end());
        bends.erase(std::unique(bends.begin(), bends.end(), [](double a, double b) { return b - a <= 1e-12 * b; }),
                    bends.end());
        constexpr std::size_t looked_at = 256;
        auto const stride = std::max<std::size_t>(1, bends.size() / looked_at);
        double least = std::numeric_limits<double>::infinity();
        std::size_t near = 0;
        for (std::size_t k = 0; bends.size() >= 2 && k < bends.size(); k += stride) {
            if (auto const e = error_at(bends[k]); e < least) {
                least = e;
                near = k;
            }
        }
        if (!(least < std::numeric_limits<double>::infinity())) {
            return cannot_tell_apart();
        }
        // Golden section on the logarithm, around the best of the intensities tried.
        double low = std::log(bends[near - std::min(near, stride)]);
        double high = std::log(bends[std::min(bends.size() - 1, near + stride)]);
        double best = std::log(bends[near]);
        double const golden = (std::sqrt(5.0) - 1) / 2;
        for (int k = 0; k < 100; ++k) {
            auto const a = high - golden * (high - low);
            auto const b = low + golden * (high - low);
            auto const at_a = error_at(std::exp(a));
            auto const at_b = error_at(std::exp(b));
            (at_a <= at_b ? high : low) = at_a <= at_b ? b : a;
            for (auto const& [x, e] : {std::pair{a, at_a}, {b, at_b}}) {
                if (e < least) {
                    least = e;
                    best = x;
                }
            }
        }
        return device_for(std::exp(best));
    }

    [[nodiscard]] static auto cannot_tell_apart() -> error
    {
        return fail(errc::invalid_argument,
                    "strata::calibrate: the samples cannot tell launch time, arithmetic and memory traffic apart; "
                    "measure ops of different sizes, some with many flops per byte and some with few");
    }

private:
    /// Launch time and one slope per class, in nanoseconds per flop, for a roof that bends at `intensity`.
    [[nodiscard]] auto solve(double intensity) const -> std::optional<std::pair<Eigen::VectorXd, double>>
    {
        auto const rows = static_cast<Eigen::Index>(samples_.size());
        Eigen::MatrixXd a = Eigen::MatrixXd::Zero(rows, static_cast<Eigen::Index>(column_.size()) + 1);
        Eigen::VectorXd b(rows);
        for (std::size_t i = 0; i < samples_.size(); ++i) {
            auto const& s = samples_[i];
            auto const row = static_cast<Eigen::Index>(i);
            a(row, 0) = weight_[i];
            a(row, column_.find(s.op_class)->second) = std::max(s.flops, s.bytes * intensity) * weight_[i];
            b[row] = s.nanoseconds * weight_[i];
        }
        Eigen::VectorXd const scale = a.colwise().norm();
        Eigen::MatrixXd const unit = a * scale.cwiseInverse().asDiagonal();
        Eigen::ColPivHouseholderQR<Eigen::MatrixXd> qr(unit);
        qr.setThreshold(1e-9);
        if (qr.rank() < unit.cols()) {
            return {};
        }
        Eigen::VectorXd x = qr.solve(b);
        if (x[0] < 0) { // without launch time the classes are apart from each other
            x = unit.transpose() * b;
            x[0] = 0;
        }
        double const e = (unit * x - b).squaredNorm();
        return std::pair{Eigen::VectorXd(x.cwiseQuotient(scale)), e};
    }

    [[nodiscard]] auto error_at(double intensity) const -> double
    {
        auto const s = solve(intensity);
        return s ? s->second : std::numeric_limits<double>::infinity();
    }

    [[nodiscard]] auto device_for(double intensity) const -> result<roofline>
    {
        auto const solved = solve(intensity);
        if (!solved) {
            return cannot_tell_apart();
        }
        auto const& x = solved->first;
        double flattest = std::numeric_limits<double>::infinity();
        for (auto const& [name, column] : column_) {
            if (!(x[column] > 0)) {
                return fail(errc::invalid_argument,
                            "strata::calibrate: larger ops of class '" + name +
                                "' do not take longer than smaller ones; measure that class again or leave it out");
            }
            flattest = std::min(flattest, x[column]);
        }
        roofline d{.launch_ns = x[0], .ns_per_flop = flattest, .ns_per_byte = flattest * intensity};
        for (auto const& [name, column] : column_) {
            d.efficiency[name] = flattest / x[column];
        }
        return d;
    }

    std::span<roofline_sample const> samples_;
    std::vector<double> const& weight_;
    std::map<std::string, Eigen::Index, std::less<>> column_;
};

using class_fit = basic_class_fit<>;

template <class = void>
[[nodiscard]] auto check_samples(std::span<roofline_sample const> samples, calibrate_options const& options)
    -> std::optional<error>
{
    auto const bad = [](std::string what) {
        return fail(errc::invalid_argument, "strata::calibrate: " + std::move(what));
    };
    std::map<std::string, int, std::less<>> classes;
    for (std::size_t i = 0; i < samples.size(); ++i) {
        auto const& s = samples[i];
        for (auto const& [value, name] :
             {std::pair{s.flops, "flops"}, {s.bytes, "bytes"}, {s.nanoseconds, "nanoseconds"}}) {
            if (!std::isfinite(value) || value < 0) {
                return bad("sample " + std::to_string(i) + " has " + std::to_string(value) + " " + name +
                           ", must be a finite number that is not negative");
            }
        }
        if (s.flops == 0 && s.bytes == 0) {
            return bad("sample " + std::to_string(i) + " neither computes nor moves anything; leave such ops out");
        }
        if (options.relative && s.nanoseconds == 0) {
            return bad("sample " + std::to_string(i) + " takes 0 nanoseconds, which has no relative error");
        }
        ++classes[s.op_class];
    }
    auto const needed = 3 + (options.per_class && !classes.empty() ? classes.size() - 1 : 0);
    if (samples.size() < needed) {
        return bad(std::to_string(samples.size()) + " samples cannot determine " + std::to_string(needed) +
                   " numbers; measure at least as many ops, better ten times as many");
    }
    return {};
}

} // namespace detail

/// The roofline that fits `samples` best, all its numbers non-negative.
///
/// With `per_class` efficiencies are relative to the best class.
/// Errors: `invalid_argument` for a sample that is negative, not finite or empty, for fewer samples than numbers to fit,
/// and for samples that cannot tell launch time, arithmetic and traffic apart (all of one intensity, or all of one
/// size).
/// Complexity: O(n (1 + classes)²) per intensity looked at, of which there are at most about 600.
template <class = void>
[[nodiscard]] auto calibrate(std::span<roofline_sample const> samples, calibrate_options options = {})
    -> result<calibration>
{
    if (auto e = detail::check_samples(samples, options)) {
        return *std::move(e);
    }
    std::vector<double> weight;
    for (auto const& s : samples) {
        weight.push_back(options.relative ? 1 / s.nanoseconds : 1);
    }
    calibration r;
    if (options.per_class) {
        auto fitted = detail::class_fit(samples, weight).run();
        if (!fitted) {
            return std::move(fitted).error();
        }
        r.device = *std::move(fitted);
    } else {
        detail::roofline_data data{{}, {}, {}, weight};
        for (auto const& s : samples) {
            data.flops.push_back(s.flops);
            data.bytes.push_back(s.bytes);
            data.time.push_back(s.nanoseconds);
        }
        auto fitted = detail::fit_roofline(data);
        if (!fitted) {
            return detail::class_fit::cannot_tell_apart();
        }
        r.device = *std::move(fitted);
    }
    double mean = 0;
    for (auto const& s : samples) {
        mean += s.nanoseconds / static_cast<double>(samples.size());
    }
    double left = 0;
    double total = 0;
    for (auto const& s : samples) {
        r.residuals.push_back(s.nanoseconds - r.device.time(s.flops, s.bytes, s.op_class));
        left += r.residuals.back() * r.residuals.back();
        total += (s.nanoseconds - mean) * (s.nanoseconds - mean);
        r.compute_bound += s.flops * r.device.ns_per_flop >= s.bytes * r.device.ns_per_byte ? 1U : 0U;
    }
    r.rms_ns = std::sqrt(left / static_cast<double>(samples.size()));
    r.r2 = total > 0 ? 1 - left / total : (left > 0 ? 0 : 1);
    return r;
}

} // namespace strata
