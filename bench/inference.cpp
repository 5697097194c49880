// SPDX-License-Identifier: Apache-2.0
// Inference passes of the zoo: peak as listed, in the order with the lowest peak, placed, and with recomputation below that.
//
//     inference [--smoke]
#include <strata/pipeline/plan_free_order.hpp>
#include <strata/place/check.hpp>
#include <strata/schedule/profile.hpp>
#include <strata/schedule/validate.hpp>
#include <strata/solve/keep_all.hpp>

#include <chrono>
#include <cstdint>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "bench/support.hpp"
#include "examples/zoo/models.hpp"

namespace {

using strata::bytes_t;
using strata::bench::number;

struct subject {
    std::string model;
    std::int64_t image;
    std::int64_t layers = 0; ///< 0: the model's own
};

int refused = 0; ///< plans that the judge refuses

/// The plan of `p` in `room` bytes beside the weights, if there is one.
auto planned(strata::problem const& p, bytes_t room) -> std::optional<strata::certified_plan>
{
    auto made = strata::plan_free_order(p, {.budget = strata::budget::bytes(p.resident_bytes() + room)});
    if (!made) {
        return {};
    }
    auto const& x = made->plan;
    bool const valid = strata::validate(p, x.schedule, x.certificate.budget).ok() &&
                       !strata::check(p, x.schedule, x.placement) && x.placement.arena <= room;
    refused += valid ? 0 : 1;
    return x;
}

auto kib(bytes_t n) -> std::string { return number(static_cast<double>(n) / 1024, 1); }

auto overhead(std::optional<strata::certified_plan> const& x) -> std::string
{
    return x ? "+" + number(100 * x->certificate.overhead(), 2) + " %" : "none";
}

/// The smallest room, to 1 KiB, for which there is a plan, from `least` to `enough`.
auto smallest_room(strata::problem const& p, bytes_t least, bytes_t enough) -> bytes_t
{
    while (enough - least > 1024) {
        auto const middle = least + (enough - least) / 2;
        (planned(p, middle) ? enough : least) = middle;
    }
    return enough;
}

void measure(subject const& s)
{
    strata::zoo::options o{.image = s.image};
    if (s.layers > 0) {
        o.layers = s.layers;
    }
    auto const p = strata::zoo::make_problem(s.model, o).value();
    auto const weights = p.resident_bytes();
    auto const given = strata::peak_of(p, strata::keep_all_order(p)) - weights;
    auto const begin = std::chrono::steady_clock::now();
    auto const order = strata::minimal_order(p);
    auto const seconds = strata::bench::seconds_since(begin);
    auto const peak = order.peak - weights;
    auto const in_place = planned(p, strata::max_bytes - weights);
    bytes_t largest = 0; // need of a single op
    for (strata::op_id op = 0; op < p.op_count(); ++op) {
        auto need = p.workspace(op);
        for (auto const tensors : {p.inputs(op), p.outputs(op)}) {
            for (auto t : tensors) {
                need += p.size(t);
            }
        }
        largest = std::max(largest, need);
    }
    auto const listed = strata::plan(p, {.budget = strata::budget::bytes(order.peak)});
    auto const least = smallest_room(p, largest - 1, in_place->placement.arena);
    std::cout << "| " << s.model << (s.layers > 0 ? ", " + std::to_string(s.layers) + " nodes" : "") << ", " << s.image
              << " px | " << p.op_count() << " | " << kib(given) << " | " << kib(peak) << " | "
              << (order.minimal() ? "yes" : "not below " + kib(order.lower_limit - weights)) << " | "
              << kib(in_place->placement.arena) << " | " << number(seconds, 4) << " | "
              << overhead(listed ? std::optional(*listed) : std::nullopt) << " | "
              << overhead(planned(p, peak * 9 / 10)) << " | " << overhead(planned(p, peak * 8 / 10)) << " | "
              << overhead(planned(p, peak * 6 / 10)) << " | " << kib(least) << " | " << overhead(planned(p, least))
              << " | " << kib(largest) << " |" << std::endl;
}

} // namespace

int main(int argc, char** argv)
{
    strata::bench::print_setting("inference passes, int8; KiB of RAM, weights left out");
    std::cout << "| graph | ops | as listed | reordered | proven least | arena | s | as listed in that | at 90 % | at "
                 "80 % | at 60 % | least "
                 "room | at that | largest op |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n";
    std::vector<subject> all{{"mobile-unet", 64}};
    if (!strata::bench::smoke(argc, argv)) {
        all = {{"mobilenet", 80},
               {"mobilenet", 96},
               {"mobile-unet", 64},
               {"mobile-unet", 96},
               {"randwire", 96, 16},
               {"randwire", 96, 32},
               {"randwire", 96, 64},
               {"randwire", 128, 32}};
    }
    for (auto const& s : all) {
        measure(s);
    }
    std::cout << "plans refused by the judge: " << refused << '\n';
    return refused == 0 ? 0 : 1;
}
