// expect-error: strata::random_engine: an engine with `random_state\(\)` needs `set_random_state\(state\)` too
// SPDX-License-Identifier: Apache-2.0
#include <strata/execute/executor.hpp>

struct my_engine {
    void run(strata::op_id, strata::buffers const&) {}
    auto random_state() -> unsigned { return 0; }
#ifdef STRATA_EXPECT_OK
    void set_random_state(unsigned) {}
#endif
};

void train(strata::program const& p, my_engine& e)
{
    strata::executor step(p, e);
    step.run();
}
