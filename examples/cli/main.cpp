// SPDX-License-Identifier: Apache-2.0
// The command-line program `strata`; docs/cli.md is its manual.
#include <strata/version.hpp>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include <exception>
#include <new>
#include <string>

#include "commands.hpp"
#include "common.hpp"

namespace {

auto run(int argc, char** argv) -> int
{
    CLI::App program("Plans which tensors of a training step to keep, which to recompute, and where each one lives.",
                     "strata");
    program.set_version_flag("--version",
                             "strata " + std::to_string(STRATA_VERSION_MAJOR) + "." +
                                 std::to_string(STRATA_VERSION_MINOR) + "." + std::to_string(STRATA_VERSION_PATCH));
    program.require_subcommand(1);
    program.footer(
        "Exit codes: 0 done, 2 usage or malformed input, 3 infeasible or refused, 4 stopped before any plan.");
    int status = cli::planned;
    cli::add_plan(program, status);
    cli::add_inspect(program, status);
    cli::add_sweep(program, status);
    cli::add_check(program, status);
    cli::add_model(program, status);
    cli::add_solvers(program, status);
    if (argc > 1 && argv[1][0] != '-') {
        std::string names;
        bool known = false;
        for (auto const* command : program.get_subcommands({})) {
            names += (names.empty() ? "" : ", ") + command->get_name();
            known = known || command->get_name() == argv[1];
        }
        if (!known) {
            cli::complain("there is no command " + std::string(argv[1]) + "; the commands are " + names);
            return cli::malformed;
        }
    }
    try {
        program.parse(argc, argv);
    } catch (CLI::Success const& e) {
        return program.exit(e); // --help, --version
    } catch (CLI::ParseError const& e) {
        cli::complain(std::string(e.what()) +
                      "; `strata --help` lists commands, `strata COMMAND --help` their options");
        return cli::malformed;
    }
    return status;
}

} // namespace

auto main(int argc, char** argv) -> int
{
    try {
        return run(argc, argv);
    } catch (std::bad_alloc const&) {
        cli::complain("out of memory");
    } catch (std::exception const& e) {
        cli::complain(std::string("fault in strata: ") + e.what());
    }
    return cli::fault;
}
