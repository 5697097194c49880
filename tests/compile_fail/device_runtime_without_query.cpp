// expect-error: strata::device_runtime: needs `int r\.record\(e, s\)`, .*`int r\.query\(e, done\)`
// SPDX-License-Identifier: Apache-2.0
#include <strata/cuda/concepts.hpp>

#include <cstddef>

struct my_runtime {
    using stream = int;
    using event = int;
    auto allocate(void*& p, std::size_t n) -> int;
    auto free(void* p) -> int;
    auto allocate_async(void*& p, std::size_t n, stream s) -> int;
    auto free_async(void* p, stream s) -> int;
    auto create(event& e) -> int;
    auto destroy(event e) -> int;
    auto record(event e, stream s) -> int;
    auto wait(stream s, event e) -> int;
#ifdef STRATA_EXPECT_OK
    auto query(event e, bool& done) -> int;
#else
    auto query(event e) -> bool;
#endif
    auto synchronize(stream s) -> int;
    auto memory(std::size_t& unused, std::size_t& all) -> int;
    auto text(int code) -> char const*;
    auto ran_out(int code) -> bool;
};

void complete() { strata::require_device_runtime<my_runtime>(); }
