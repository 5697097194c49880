// SPDX-License-Identifier: Apache-2.0
// One include for both Catch2 generations; Debian 12 ships 2.13.
#pragma once

#if __has_include(<catch2/catch_all.hpp>)
#    include <catch2/catch_all.hpp>
#else
#    include <catch2/catch.hpp>
#endif
