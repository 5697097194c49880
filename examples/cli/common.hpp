// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief What the commands of the program share: options, graphs, messages, exit codes.
#pragma once

#include <strata/pipeline/certificate.hpp>
#include <strata/problem/lowering.hpp>
#include <strata/problem/problem.hpp>
#include <strata/result.hpp>
#include <strata/solve/limits.hpp>
#include <strata/units.hpp>

#include <CLI/App.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cli {

/// How the program ends. docs/cli.md lists them.
enum exit_code : int {
    planned = 0,
    fault = 1,      ///< of the program itself
    malformed = 2,  ///< usage, or input that cannot be read
    infeasible = 3, ///< no plan fits, or the judge refused one
    no_plan = 4,    ///< the deadline or Ctrl-C came before any plan
};

[[nodiscard]] auto exit_code_of(strata::errc code) -> exit_code;

/// Options of every command that plans.
struct settings {
    std::string graph;
    std::optional<std::string> align;
    std::string threads = "0"; // 0: every core
    std::string seed = "1";
    std::optional<std::string> deadline;
    bool json = false;
    bool quiet = false;
};

/// A graph as the commands need it.
struct subject {
    strata::problem problem;
    std::string name;      ///< of the graph, or of the file if the graph has none
    std::string where;     ///< the file or model, for messages
    std::string cost_unit; ///< of its costs
    std::optional<strata::bytes_t> reference_peak;
    std::optional<strata::lowering> file = {}; ///< to and from the ids of the file, if `problem` has others
};

/// Adds `GRAPH`, `--align` and `--quiet`.
void add_graph_options(CLI::App& command, settings& to);
/// Adds `--threads`, `--seed` and `--deadline`.
void add_limit_options(CLI::App& command, settings& to);

/// Loads what `s.graph` names: a file, "-" for standard input, or a model of the zoo. Warnings go to standard error.
/// `align` replaces `--align` unless it is 0.
[[nodiscard]] auto load(settings const& s, strata::bytes_t align = 0) -> strata::result<subject>;

/// The limits of `s`, without a budget.
[[nodiscard]] auto limits_of(settings const& s) -> strata::result<strata::limits>;

/// Bytes of `--align`; 0 when it is not given.
[[nodiscard]] auto alignment_of(settings const& s) -> strata::result<strata::bytes_t>;

/// Bytes of `b` for `p`.
[[nodiscard]] auto resolved(strata::budget const& b, strata::problem const& p) -> strata::bytes_t;

[[nodiscard]] auto read_text(std::string const& path) -> strata::result<std::string>;
[[nodiscard]] auto write_text(std::string const& path, std::string_view text) -> std::optional<strata::error>;
/// Says now whether `path` can be written at all, so that nobody waits for a plan that cannot be saved.
[[nodiscard]] auto check_writable(std::string const& path) -> std::optional<strata::error>;

/// Writes to standard output.
void print(std::string_view text);
/// Writes `strata: text` to standard error.
void complain(std::string_view text);

/// Prints an error so that a user can act on it. `where` names the file, if one is at fault. Returns: the exit code.
auto refuse(strata::error const& e, std::string const& where = {}) -> int;

} // namespace cli
