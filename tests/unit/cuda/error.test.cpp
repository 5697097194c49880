// SPDX-License-Identifier: Apache-2.0
#include <strata/cuda/error.hpp>

#include <new>
#include <string>
#include <type_traits>

#include "tests/support/catch.hpp"

namespace cuda_error_test {

using namespace strata;

TEST_CASE("cuda_error: says the call, the code and what it means")
{
    cuda_error const e("cudaMalloc", 700, "an illegal memory access was encountered");
    CHECK(std::string(e.what()) == "strata: cudaMalloc failed with code 700: an illegal memory access was encountered");
    CHECK(std::string(e.call()) == "cudaMalloc");
    CHECK(e.code() == 700);
    CHECK(std::string(e.text()) == "an illegal memory access was encountered");
}

TEST_CASE("cuda_error: text that is too long is cut off")
{
    cuda_error const e("call", 1, std::string(1000, 'x').c_str());
    CHECK(std::string(e.text()) == std::string(255, 'x'));
    CHECK(std::string(e.what()).size() < 512);
}

TEST_CASE("out_of_memory: says what was asked, is free and was planned")
{
    out_of_memory const e("arena_resource", 2048, 1024, 2000);
    CHECK(std::string(e.what()) == "strata::arena_resource: asked for 2048 bytes, 1024 are free, 2000 were planned");
    CHECK(e.asked() == 2048);
    CHECK(e.free() == 1024);
    CHECK(e.planned() == 2000);
    CHECK_THROWS_AS(throw e, std::bad_alloc);
}

TEST_CASE("cuda errors are made and copied without memory or exceptions")
{
    STATIC_REQUIRE(std::is_nothrow_constructible_v<cuda_error, char const*, int, char const*>);
    STATIC_REQUIRE(std::is_nothrow_constructible_v<out_of_memory, char const*, std::size_t, std::size_t, std::size_t>);
    STATIC_REQUIRE(std::is_nothrow_copy_constructible_v<cuda_error>);
    STATIC_REQUIRE(std::is_nothrow_copy_constructible_v<out_of_memory>);
}

} // namespace cuda_error_test
