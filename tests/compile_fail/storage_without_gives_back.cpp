// expect-error: strata::storage: needs `s\.acquire\(piece\)` returning std::byte\*
// SPDX-License-Identifier: Apache-2.0
#include <strata/execute/executor.hpp>

#include <cstddef>

struct my_engine {
    void run(strata::op_id, strata::buffers const&) {}
};
struct my_storage {
#ifdef STRATA_EXPECT_OK
    static constexpr bool gives_back = true;
#endif
    void open(strata::program const&) {}
    auto acquire(strata::memory_piece const&) -> std::byte* { return nullptr; }
    void release(strata::memory_piece const&, std::byte*) {}
    [[nodiscard]] auto peak_bytes() const -> strata::bytes_t { return 0; }
};

void train(strata::program const& p, my_engine& e)
{
    strata::executor<my_engine, my_storage> step(p, e, my_storage{});
    step.run();
}
