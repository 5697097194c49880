// SPDX-License-Identifier: Apache-2.0
// strata model: graphs of the built-in zoo.
#include <strata/io/lower_graph.hpp>
#include <strata/io/write_graph.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "commands.hpp"
#include "common.hpp"
#include "examples/zoo/graph_file.hpp"
#include "examples/zoo/models.hpp"
#include "examples/zoo/options.hpp"
#include "models.hpp"

namespace cli {

namespace {

namespace zoo = strata::zoo;

struct model_settings : settings {
    std::string name, out, type;
    zoo::options options;
    bool list = false, views = false;
};

auto list_models() -> std::string
{
    std::string out;
    for (auto const& name : zoo::names()) {
        auto const model = zoo::describe(name).value();
        auto line = name;
        line.resize(std::max<std::size_t>(line.size(), 16), ' ');
        out += line + "  " + model.summary + "\n" + std::string(18, ' ') + to_string(model.defaults) + "\n";
    }
    return out;
}

auto make_file(model_settings const& s) -> strata::result<strata::graph_file>
{
    auto const align = alignment_of(s);
    if (!align) {
        return align.error();
    }
    auto file = zoo::make_graph_file(s.name, s.options);
    if (!file) {
        return file;
    }
    file->alignment = *align == 0 ? file->alignment : *align;
    if (s.views) {
        return file;
    }
    // What every reader of the format understands: no tensor shares a buffer with another.
    auto const folded = strata::lower_graph(*file);
    if (!folded) {
        return folded.error();
    }
    return strata::to_graph_file(folded->problem().spec(), file->cost_unit);
}

auto run_model(model_settings& s) -> int
{
    if (s.list) {
        print(list_models());
        return planned;
    }
    if (s.name.empty()) {
        return refuse(strata::fail(strata::errc::invalid_argument,
                                   "which model? `strata model NAME`; `strata model --list` names them"));
    }
    if (!s.type.empty()) {
        auto const type = zoo::parse_dtype(s.type);
        if (!type) {
            return refuse(type.error());
        }
        s.options.dtype = *type;
    }
    if (auto const e = check_writable(s.out)) {
        return refuse(*e);
    }
    auto const file = make_file(s);
    if (!file) {
        return refuse(file.error());
    }
    auto const text = strata::write_graph(*file);
    if (s.out.empty()) {
        print(text);
    } else if (auto const e = write_text(s.out, text)) {
        return refuse(*e);
    } else if (!s.quiet) {
        print("wrote " + s.out + ": " + std::to_string(file->ops.size()) + " ops, " +
              std::to_string(file->tensors.size()) + " tensors\n");
    }
    return planned;
}

} // namespace

auto make_model(std::string const& name, strata::bytes_t align) -> strata::result<subject>
{
    auto const file = zoo::make_graph_file(name);
    if (!file) {
        return file.error();
    }
    auto const lowered = strata::lower_graph(*file, align);
    if (!lowered) {
        return lowered.error();
    }
    return subject{lowered->problem(), file->name, name, file->cost_unit, {}};
}

void add_model(CLI::App& program, int& status)
{
    auto* const command = program.add_subcommand("model", "Write the graph of a well-known model");
    auto const s = std::make_shared<model_settings>();
    command->add_option("NAME", s->name, "see --list");
    command->add_flag("--list", s->list, "list the models and their options, with their defaults");
    zoo::for_each_number([&](char const* name, auto member, std::int64_t) {
        auto dashed = std::string("--") + name;
        std::replace(dashed.begin(), dashed.end(), '_', '-');
        command->add_option_function<std::int64_t>(dashed, [s, member](std::int64_t n) { s->options.*member = n; })
            ->group("Options of models");
    });
    command
        ->add_option_function<double>(
            "--dropout", [s](double share) { s->options.dropout = share; }, "from 0 to 1")
        ->group("Options of models");
    command->add_option("--dtype", s->type, "fp16, bf16, fp32 or int8")->group("Options of models");
    command
        ->add_option_function<bool>(
            "--fused", [s](bool on) { s->options.fused = on; }, "on or off: fused attention or scan")
        ->group("Options of models");
    command
        ->add_option_function<bool>(
            "--in-place", [s](bool on) { s->options.in_place = on; }, "on or off: activations overwrite their input")
        ->group("Options of models");
    command->add_option("--align", s->align, "alignment that the file asks for, such as 512");
    command->add_flag("--views", s->views, "leave views and in-place ops as they are, instead of folding them");
    command->add_option("--out,-o", s->out, "write to this file instead of standard output");
    command->add_flag("--quiet", s->quiet, "do not say what was written");
    command->callback([s, &status] { status = run_model(*s); });
}

} // namespace cli
