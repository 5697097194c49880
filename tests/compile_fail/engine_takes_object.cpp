// expect-error: strata::engine: needs `e\.run\(strata::op_id, strata::buffers const&\)`
// SPDX-License-Identifier: Apache-2.0
#include <strata/execute/executor.hpp>

struct my_op {};
struct my_engine {
    void run(my_op const&) {}
#ifdef STRATA_EXPECT_OK
    void run(strata::op_id, strata::buffers const&) {}
#endif
};

void train(strata::program const& p, my_engine& e)
{
    strata::executor step(p, e);
    step.run();
}
