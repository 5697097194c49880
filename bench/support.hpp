// SPDX-License-Identifier: Apache-2.0
// What every bench needs: where the data is, how to read a graph, what machine and compiler the numbers are from.
#pragma once

#include <strata/io/lower_graph.hpp>
#include <strata/io/read_graph.hpp>
#include <strata/problem/problem.hpp>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <iterator>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace strata::bench {

[[nodiscard]] inline auto seconds_since(std::chrono::steady_clock::time_point begin) -> double
{
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// `x` with `digits` decimals.
[[nodiscard]] inline auto number(double x, int digits) -> std::string
{
    std::ostringstream text;
    text << std::fixed << std::setprecision(digits) << x;
    return text.str();
}

/// True when the program is asked to run on its smallest input only.
[[nodiscard]] inline auto smoke(int argc, char** argv) -> bool
{
    return argc > 1 && std::string_view(argv[1]) == "--smoke";
}

inline void print_setting(std::string_view what)
{
    std::cout << what << "\ncompiler " << __VERSION__
#ifdef __OPTIMIZE__
              << ", optimised"
#else
              << ", NOT optimised: times mean nothing"
#endif
#ifndef NDEBUG
              << ", assertions on"
#endif
              << "; seed 1; one thread\n";
    std::ifstream info("/proc/cpuinfo");
    for (std::string line; std::getline(info, line);) {
        if (line.rfind("model name", 0) == 0) {
            std::cout << "processor" << line.substr(line.find(':')) << '\n';
            break;
        }
    }
}

/// The folder of measurement data: STRATA_DATA, or ../shared/data beside the project; empty if neither exists.
[[nodiscard]] inline auto data_folder() -> std::filesystem::path
{
    namespace fs = std::filesystem;
    if (auto const* named = std::getenv("STRATA_DATA")) {
        return named;
    }
    auto const beside = fs::path(STRATA_SOURCE_DIR) / ".." / "shared" / "data";
    return fs::exists(beside) ? beside : fs::path();
}

/// A graph of the data folder with what its file says of its reference peak.
struct measured_graph {
    problem numbers;
    bytes_t reference_peak = 0;
};

[[nodiscard]] inline auto load(std::string_view name) -> std::optional<measured_graph>
{
    std::ifstream in(data_folder() / "graphs" / (std::string(name) + ".json"));
    if (!in) {
        return {};
    }
    std::string const text{std::istreambuf_iterator<char>(in), {}};
    auto file = read_graph(text);
    if (!file) {
        std::cerr << name << ": " << file.error().message << '\n';
        return {};
    }
    auto lowered = lower_graph(*file);
    if (!lowered) {
        std::cerr << name << ": " << lowered.error().message << '\n';
        return {};
    }
    return measured_graph{lowered->problem(), file->reference_peak_bytes.value_or(0)};
}

} // namespace strata::bench
