// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Partition, solve, merge, for users: cut a step into blocks and compose a pipeline. Goes with `strata/strata.hpp`.
#pragma once

#include <strata/merge/block_graph.hpp>
#include <strata/merge/concepts.hpp>
#include <strata/merge/expand.hpp>
#include <strata/merge/idle_runs.hpp>
#include <strata/merge/one_option_each.hpp>
#include <strata/merge/option.hpp>
#include <strata/merge/promise.hpp>
#include <strata/merge/rules.hpp>
#include <strata/partition/at_cut_points.hpp>
#include <strata/partition/block.hpp>
#include <strata/partition/bottom_up.hpp>
#include <strata/partition/canonical.hpp>
#include <strata/partition/concepts.hpp>
#include <strata/partition/contraction.hpp>
#include <strata/partition/grouping.hpp>
#include <strata/partition/hierarchy.hpp>
#include <strata/partition/isolate.hpp>
#include <strata/partition/item_order.hpp>
#include <strata/partition/refinement.hpp>
#include <strata/partition/repeated.hpp>
#include <strata/partition/stretches.hpp>
#include <strata/partition/waiting.hpp>
#include <strata/partition/whole.hpp>
#include <strata/pipeline/block_options.hpp>
#include <strata/pipeline/hierarchical.hpp>
#include <strata/pipeline/pipeline.hpp>
#include <strata/solve/block_dp.hpp>
#include <strata/solve/chain_dp.hpp>
#include <strata/solve/persistent_table.hpp>
#include <strata/solve/stage.hpp>
#include <strata/solve/stage_line.hpp>
#include <strata/solve/tree_width.hpp>
