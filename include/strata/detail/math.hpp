// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief The four functions of `<cmath>` that the core needs, without the hundreds that it does not.
///
/// `<cmath>` costs every program that includes it a tenth of a second, most of it for Bessel functions, zeta and their
/// like (docs/design/0005). The compilers know these four by themselves; each is what `std::` has under the same name.
#pragma once

namespace strata::detail::math {

[[nodiscard]] inline auto sqrt(double x) noexcept -> double { return __builtin_sqrt(x); }
[[nodiscard]] inline auto exp(double x) noexcept -> double { return __builtin_exp(x); }
[[nodiscard]] inline auto log(double x) noexcept -> double { return __builtin_log(x); }
[[nodiscard]] inline auto pow(double x, double y) noexcept -> double { return __builtin_pow(x, y); }

} // namespace strata::detail::math
