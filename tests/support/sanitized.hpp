// SPDX-License-Identifier: Apache-2.0
// Whether the address sanitizer watches: what takes ten times as long then may do with fewer cases.
#pragma once

namespace strata::test {

#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool sanitized = true;
#elif defined(__has_feature)
#    if __has_feature(address_sanitizer)
inline constexpr bool sanitized = true;
#    else
inline constexpr bool sanitized = false;
#    endif
#else
inline constexpr bool sanitized = false;
#endif

} // namespace strata::test
