// SPDX-License-Identifier: Apache-2.0
#include "common.hpp"

#include <strata/io/budget_text.hpp>
#include <strata/io/format.hpp>
#include <strata/io/lower_graph.hpp>
#include <strata/io/read_graph.hpp>
#include <strata/schedule/profile.hpp>
#include <strata/solve/keep_all.hpp>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <limits>
#include <memory>
#include <system_error>
#include <thread>
#include <utility>

#include "models.hpp"

namespace cli {

namespace {

using strata::errc;

/// The message without the name of the function it comes from, which tells a user of the program nothing.
auto plain(std::string_view message) -> std::string
{
    if (message.starts_with("strata::")) {
        if (auto const colon = message.find(": "); colon != std::string_view::npos) {
            message.remove_prefix(colon + 2);
        }
    }
    return std::string(message);
}

auto system_error(std::string const& what, std::string const& path) -> strata::error
{
    return strata::fail(errc::io, "cannot " + what + " " + path + ": " + std::strerror(errno));
}

struct closer {
    void operator()(std::FILE* f) const noexcept { (void)std::fclose(f); }
};
using file = std::unique_ptr<std::FILE, closer>;

auto read_all(std::FILE* f, std::string const& path) -> strata::result<std::string>
{
    std::string text;
    std::size_t filled = 0;
    for (;;) {
        text.resize(std::max<std::size_t>(filled * 2, std::size_t{1} << 16U));
        auto const n = std::fread(text.data() + filled, 1, text.size() - filled, f);
        filled += n;
        if (n == 0) {
            break;
        }
    }
    if (std::ferror(f) != 0) {
        return system_error("read", path);
    }
    text.resize(filled);
    return text;
}

/// Reads all of `text` as a number from 0 to `most`. CLI11 would wrap and clamp instead of refusing.
template <class N>
auto whole(std::string_view text, N most, N& to) -> bool
{
    auto const r = std::from_chars(text.data(), text.data() + text.size(), to);
    return r.ec == std::errc() && r.ptr == text.data() + text.size() && to <= most;
}

auto wrong_number(std::string const& option, std::string const& text, std::uint64_t most) -> strata::error
{
    return strata::fail(errc::invalid_argument,
                        option + " is \"" + text + "\", must be a whole number from 0 to " + std::to_string(most));
}

auto load_text(std::string const& text, std::string const& where, strata::bytes_t align, bool quiet)
    -> strata::result<subject>
{
    std::vector<std::string> warnings;
    auto const g = strata::read_graph(text, &warnings);
    if (!g) {
        return g.error();
    }
    for (auto const& w : warnings) {
        if (!quiet) {
            complain("warning: " + where + ": " + w);
        }
    }
    auto lowered = strata::lower_graph(*g, align);
    if (!lowered) {
        return std::move(lowered).error();
    }
    subject on{lowered->problem(),
               g->name.empty() ? std::filesystem::path(where).stem().string() : g->name,
               where,
               g->cost_unit,
               g->reference_peak_bytes};
    if (!lowered->identity()) {
        on.file = *std::move(lowered);
    }
    return on;
}

} // namespace

auto exit_code_of(errc code) -> exit_code
{
    switch (code) {
    case errc::infeasible:
    case errc::invalid_plan: return infeasible;
    case errc::deadline:
    case errc::cancelled: return no_plan;
    case errc::malformed_graph:
    case errc::malformed_plan:
    case errc::malformed_file:
    case errc::wrong_graph:
    case errc::invalid_argument:
    case errc::overflow:
    case errc::io: return malformed;
    }
    return fault;
}

void add_graph_options(CLI::App& command, settings& to)
{
    command.add_option("GRAPH", to.graph, "a strata-graph file, - for standard input, or a model of the zoo")
        ->required();
    command.add_option("--align", to.align, "round sizes up to a multiple of this, such as 512 or 2MiB");
    command.add_flag("--quiet", to.quiet, "print errors only, and what other options ask for");
}

void add_limit_options(CLI::App& command, settings& to)
{
    command.add_option("--deadline", to.deadline, "give the best plan found by then, such as 5s or 250ms");
    command.add_option("--threads", to.threads, "threads to plan with; never changes the plan (default: every core)");
    command.add_option("--seed", to.seed, "of every random choice (default: 1)");
}

auto alignment_of(settings const& s) -> strata::result<strata::bytes_t>
{
    if (!s.align) {
        return strata::bytes_t{0};
    }
    auto const b = strata::parse_budget(*s.align);
    auto const n = b && !b->is_fraction() ? b->resolve(0, 0) : 0;
    if (n < 1) {
        return strata::fail(errc::invalid_argument,
                            "--align is \"" + *s.align + "\", must be a number of bytes of at least 1, such as 512");
    }
    return n;
}

auto load(settings const& s, strata::bytes_t align) -> strata::result<subject>
{
    auto const given = alignment_of(s);
    if (!given) {
        return given.error();
    }
    align = align == 0 ? *given : align;
    std::error_code ignored;
    bool const standard_input = s.graph == "-";
    if (!standard_input && !std::filesystem::exists(s.graph, ignored)) {
        auto model = make_model(s.graph, align);
        if (!model && model.error().code == errc::invalid_argument) {
            return strata::fail(errc::io, "there is no file " + s.graph + ", and " + plain(model.error().message));
        }
        return model;
    }
    auto const where = standard_input ? std::string("standard input") : s.graph;
    auto const text = standard_input ? read_all(stdin, where) : read_text(s.graph);
    if (!text) {
        return text.error();
    }
    auto loaded = load_text(*text, where, align, s.quiet);
    if (!loaded) {
        auto e = std::move(loaded).error();
        e.message = where + ": " + plain(e.message);
        return e;
    }
    return loaded;
}

auto limits_of(settings const& s) -> strata::result<strata::limits>
{
    strata::limits lim;
    constexpr unsigned most_threads = 1024;
    if (!whole(s.threads, most_threads, lim.threads)) {
        return wrong_number("--threads", s.threads, most_threads);
    }
    lim.threads = lim.threads != 0 ? lim.threads : std::max(1U, std::thread::hardware_concurrency());
    constexpr auto most_seeds = std::numeric_limits<std::uint64_t>::max();
    if (!whole(s.seed, most_seeds, lim.seed)) {
        return wrong_number("--seed", s.seed, most_seeds);
    }
    if (s.deadline) {
        auto const d = strata::parse_duration(*s.deadline);
        if (!d) {
            return d.error();
        }
        lim.deadline = *d;
    }
    return lim;
}

auto resolved(strata::budget const& b, strata::problem const& p) -> strata::bytes_t
{
    auto const peak = strata::peak_of(p, strata::keep_all_order(p));
    return b.resolve(p.resident_bytes(), peak - p.resident_bytes());
}

auto read_text(std::string const& path) -> strata::result<std::string>
{
    std::error_code ignored;
    if (std::filesystem::is_directory(path, ignored)) {
        return strata::fail(errc::io, "cannot read " + path + ": it is a folder, a file is needed");
    }
    file const f(std::fopen(path.c_str(), "rb"));
    return f ? read_all(f.get(), path) : strata::result<std::string>(system_error("open", path));
}

auto write_text(std::string const& path, std::string_view text) -> std::optional<strata::error>
{
    file f(std::fopen(path.c_str(), "wb"));
    if (!f) {
        return system_error("write", path);
    }
    bool const whole = std::fwrite(text.data(), 1, text.size(), f.get()) == text.size();
    if (!whole || std::fclose(f.release()) != 0) {
        return system_error("write", path);
    }
    return {};
}

auto check_writable(std::string const& path) -> std::optional<strata::error>
{
    if (path.empty()) {
        return {};
    }
    std::error_code ignored;
    auto const folder = std::filesystem::path(path).parent_path();
    if (!folder.empty() && !std::filesystem::is_directory(folder, ignored)) {
        return strata::fail(errc::io, "cannot write " + path + ": there is no folder " + folder.string());
    }
    if (std::filesystem::is_directory(path, ignored)) {
        return strata::fail(errc::io, "cannot write " + path + ": it is a folder");
    }
    return {};
}

void print(std::string_view text) { (void)std::fwrite(text.data(), 1, text.size(), stdout); }

void complain(std::string_view text)
{
    auto const line = "strata: " + std::string(text) + "\n";
    (void)std::fwrite(line.data(), 1, line.size(), stderr);
}

auto refuse(strata::error const& e, std::string const& where) -> int
{
    complain((where.empty() ? "" : where + ": ") + plain(e.message));
    if (e.limit && e.limit->known_feasible) {
        auto const n = *e.limit->known_feasible;
        complain("try --budget " + std::to_string(n) +
                 (n < 1024 ? std::string() : ", which is " + strata::format_bytes(n)) + ": a plan for it is known");
    }
    return exit_code_of(e.code);
}

} // namespace cli
