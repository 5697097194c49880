// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Language check and the assertion that guards internal invariants.
#pragma once

#include <cassert>

#if !defined(__cpp_concepts) || __cplusplus < 202002L
#    error "strata needs C++20: compile with -std=c++20 or later"
#endif

/// Checks an invariant of the library in debug builds; define it before inclusion to use the host program's own.
/// Bad input is never reported through it: that is an `error`.
#ifndef STRATA_ASSERT
#    define STRATA_ASSERT(condition) assert(condition)
#endif
