// SPDX-License-Identifier: Apache-2.0
#include <strata/cuda/cccl_resource.hpp>
#include <strata/cuda/pool_resource.hpp>
#include <strata/cuda/runtime.hpp>

#include <string>

auto main() -> int
{
    strata::pool_resource pool(strata::cuda_runtime{}); // asks the device for nothing yet
    strata::cccl_resource const shared(pool);
    return shared == strata::cccl_resource(pool) && std::string(strata::cuda_runtime{}.text(2)) == "out of memory" ? 0
                                                                                                                   : 1;
}
