// SPDX-License-Identifier: Apache-2.0
// The main function of every test program; compiled once per build.
#define CATCH_CONFIG_MAIN
#include "catch.hpp"
