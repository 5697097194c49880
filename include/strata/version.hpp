// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Version macros: the only place the version is written. CMake reads it from here.
#pragma once

#define STRATA_VERSION_MAJOR 0
#define STRATA_VERSION_MINOR 1
#define STRATA_VERSION_PATCH 0
