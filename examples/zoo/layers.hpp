// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Every layer of the zoo. A layer is a function that adds ops to a `network`, each with its gradient rule.
#pragma once

// IWYU pragma: begin_exports
#include "examples/zoo/layers/attention.hpp"
#include "examples/zoo/layers/convolution.hpp"
#include "examples/zoo/layers/elementwise.hpp"
#include "examples/zoo/layers/linear.hpp"
#include "examples/zoo/layers/normalise.hpp"
#include "examples/zoo/layers/recurrent.hpp"
#include "examples/zoo/layers/views.hpp"
// IWYU pragma: end_exports
