// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief The commands. Each adds itself to the program and puts its exit code into `status` when it is called.
#pragma once

#include <CLI/App.hpp>

namespace cli {

void add_plan(CLI::App& program, int& status);
void add_inspect(CLI::App& program, int& status);
void add_sweep(CLI::App& program, int& status);
void add_check(CLI::App& program, int& status);
void add_model(CLI::App& program, int& status);
void add_solvers(CLI::App& program, int& status);

} // namespace cli
