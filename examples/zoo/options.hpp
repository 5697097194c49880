// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief What a model of the zoo may be told, and the checks that an option means something.
#pragma once

#include <strata/result.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace strata::zoo {

/// Number type of weights and activations; int8 is for inference. Statistics, losses and scan states are fp32, token ids
/// 8 bytes, in all.
enum class dtype : std::uint8_t { fp16, bf16, fp32, int8 };

[[nodiscard]] constexpr auto to_string(dtype d) noexcept -> char const*
{
    switch (d) {
    case dtype::fp16: return "fp16";
    case dtype::bf16: return "bf16";
    case dtype::fp32: return "fp32";
    case dtype::int8: return "int8";
    }
    return "unknown";
}

/// Bytes of one number.
[[nodiscard]] constexpr auto size_of(dtype d) noexcept -> bytes_t
{
    return d == dtype::fp32 ? 4 : d == dtype::int8 ? 1 : 2;
}

/// Reads `fp16`, `bf16`, `fp32` or `int8`.
/// Errors: `invalid_argument` listing the choices.
[[nodiscard]] inline auto parse_dtype(std::string_view text) -> result<dtype>
{
    for (auto d : {dtype::fp16, dtype::bf16, dtype::fp32, dtype::int8}) {
        if (text == to_string(d)) {
            return d;
        }
    }
    return fail(errc::invalid_argument,
                "strata::zoo: number type '" + std::string(text) + "' is none of fp16, bf16, fp32, int8");
}

/// Options of a model. What is not set takes the model's default; what a model has no default for it does not take.
struct options {
    std::optional<std::int64_t> layers = {}; ///< blocks; of each side in an encoder-decoder
    std::optional<std::int64_t> batch = {};  ///< samples
    std::optional<std::int64_t> seq = {};    ///< tokens per sample
    std::optional<std::int64_t> image = {};  ///< pixels per side
    std::optional<std::int64_t> width = {};  ///< channels of the model: d_model, hidden size, first channels of a U-Net
    std::optional<std::int64_t> hidden = {}; ///< channels inside the feed-forward block
    std::optional<std::int64_t> heads = {};  ///< attention heads; divides `width`
    std::optional<std::int64_t> kv_heads = {}; ///< heads of keys and values; divides `heads`
    std::optional<std::int64_t> vocab = {};    ///< rows of the embedding
    std::optional<std::int64_t> classes = {};  ///< outputs of the classifier
    std::optional<std::int64_t> state = {};    ///< numbers per channel that a scan carries along the sequence
    std::optional<double> dropout = {};        ///< 0 leaves the dropout ops out
    std::optional<zoo::dtype> dtype = {};
    std::optional<bool> fused = {}; ///< fused attention or scan, which keeps a statistic in place of its intermediates
    std::optional<bool> in_place = {}; ///< activations and residual sums overwrite their input
    friend auto operator==(options const&, options const&) -> bool = default;
};

/// Calls `f(name, member, largest)` for every option that is a number: its name on the command line and its range from 1.
template <class F>
void for_each_number(F&& f)
{
    constexpr std::int64_t large = 1'000'000'000;
    f("layers", &options::layers, std::int64_t{20'000});
    f("batch", &options::batch, large);
    f("seq", &options::seq, large);
    f("image", &options::image, large);
    f("width", &options::width, large);
    f("hidden", &options::hidden, large);
    f("heads", &options::heads, large);
    f("kv_heads", &options::kv_heads, large);
    f("vocab", &options::vocab, large);
    f("classes", &options::classes, large);
    f("state", &options::state, large);
}

/// The options that are set, as on a command line: `layers=24 batch=8 dtype=fp16`.
[[nodiscard]] inline auto to_string(options const& o) -> std::string
{
    std::string text;
    auto const say = [&](char const* name, std::string const& value) {
        text += (text.empty() ? "" : " ") + std::string(name) + "=" + value;
    };
    for_each_number([&](char const* name, auto member, std::int64_t) {
        if (o.*member) {
            say(name, std::to_string(*(o.*member)));
        }
    });
    if (o.dropout) {
        auto value = std::to_string(*o.dropout);
        value.erase(value.find_last_not_of('0') + 1);
        say("dropout", value.back() == '.' ? value.substr(0, value.size() - 1) : value);
    }
    if (o.dtype) {
        say("dtype", to_string(*o.dtype));
    }
    if (o.fused) {
        say("fused", *o.fused ? "on" : "off");
    }
    if (o.in_place) {
        say("in_place", *o.in_place ? "on" : "off");
    }
    return text;
}

/// `defaults` overridden by what is set in `asked`. Of what is not, `hidden` follows a new `width` in proportion, and
/// `kv_heads` follows `heads`.
/// Errors: `invalid_argument` if `asked` sets what `model` has no default for, or a value out of its range.
[[nodiscard]] inline auto merge(std::string const& model, options defaults, options const& asked) -> result<options>
{
    auto const usual = defaults;
    std::optional<error> wrong;
    auto const refuse = [&](std::string what) {
        if (!wrong) {
            wrong = fail(errc::invalid_argument, "strata::zoo: " + std::move(what));
        }
    };
    auto const take = [&](char const* name, auto member, auto const& accepts, std::string const& range) {
        auto const& wish = asked.*member;
        auto& value = defaults.*member;
        if (!wish) {
            return;
        }
        if (!value) {
            refuse(model + " has no option " + name + "; its options are " + to_string(defaults));
        } else if (!accepts(*wish)) {
            refuse(std::string(name) + " of " + model + " must be " + range);
        } else {
            value = wish;
        }
    };
    for_each_number([&](char const* name, auto member, std::int64_t largest) {
        take(
            name,
            member,
            [&](std::int64_t n) { return n >= 1 && n <= largest; },
            "from 1 to " + std::to_string(largest) + ", not " + std::to_string((asked.*member).value_or(0)));
    });
    auto const any = [](auto) { return true; };
    take(
        "dropout", &options::dropout, [](double p) { return p >= 0 && p < 1; }, "at least 0 and below 1");
    take("dtype", &options::dtype, any, "");
    take("fused", &options::fused, any, "");
    take("in_place", &options::in_place, any, "");
    if (wrong) {
        return *std::move(wrong);
    }
    if (defaults.hidden && asked.width && !asked.hidden) { // in proportion
        defaults.hidden = std::max<std::int64_t>(1, *defaults.hidden * *asked.width / *usual.width);
    }
    if (defaults.kv_heads && asked.heads && !asked.kv_heads) {
        defaults.kv_heads = asked.heads;
    }
    return defaults;
}

} // namespace strata::zoo
