// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Forward declarations of the types that cross the borders of the library.
///
/// For headers of a host program that name these types and do not use them; everyone else includes what defines them.
#pragma once

#include <cstdint>

namespace strata {

// answers
enum class errc;
struct error;
struct feasibility;
template <class T>
class result;

// the numbers of a step
enum class effect : std::uint8_t;
enum class phase : std::uint8_t;
enum class tensor_kind : std::uint8_t;
class effects;
struct op_spec;
struct tensor_spec;
struct problem_spec;
class problem;

// planning
class budget;
struct limits;
struct progress;

// what comes out
struct step;
struct schedule;
struct lifetime;
struct placement;
struct certificate;
struct certified_plan;
struct memory_order;
struct free_order_plan;

} // namespace strata
