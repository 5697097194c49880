// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Reads JSON as a stream of events and knows at each one where in the document it stands.
///
/// A document is never held as a tree: memory is bounded by what the reader keeps, and the stack does not grow with
/// nesting. Every error names its place: line and column for broken syntax, a path such as `ops[17].inputs[2]` for a
/// value of the wrong type or out of range. The only header that includes nlohmann/json.
#pragma once

#include <strata/io/json_scalar.hpp>
#include <strata/io/json_syntax.hpp>
#include <strata/io/json_text.hpp>
#include <strata/result.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace strata::detail {

/// One key of an object: its field number, counted from 1, and whether the object is incomplete without it.
struct json_key {
    std::string_view name;
    unsigned field;
    bool required;
};

/// What an opening bracket was answered with: the state of the new level, 0 when it may not stand here.
using json_state = unsigned;

/// Base of a reader. `Reader` supplies, as members visible to this base:
///   - `keys(state)` -> span of `json_key`: what an object in that state may hold; empty for an array
///   - `open(is_array)` -> `json_state` of the value that begins at the current place; 0 refuses it
///   - `value(json_scalar const&)` -> bool: takes a scalar at the current place; false after calling `reject` or `wrong`
///   - `close(state)` -> bool: the object or array in that state is complete
template <class Reader>
class json_events {
public:
    /// `who` opens every message; `rule` is the code of values that break a rule of the format.
    json_events(std::string who, errc rule, std::vector<std::string>* warnings)
        : who_(std::move(who))
        , rule_(rule)
        , warnings_(warnings)
    {
    }

    /// Reads the whole of `text`. Returns: the error, if there is one.
    [[nodiscard]] auto run(std::string_view text) -> std::optional<strata::error>
    {
        text_ = text;
        if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) {
            return fail(errc::malformed_file, who_ + ": the text is empty, a JSON object is needed");
        }
        if (!nlohmann::json::sax_parse(text.begin(), text.end(), static_cast<Reader*>(this))) {
            return error_ ? error_ : fail(errc::malformed_file, who_ + ": the text is not JSON");
        }
        if (warnings_ != nullptr) {
            for (auto const& u : unknown_) {
                warnings_->push_back("unknown key " + u.first +
                                     (u.count > 1 ? " (and " + std::to_string(u.count - 1) + " more like it)" : "") +
                                     " is ignored");
            }
        }
        return {};
    }

    // The events, as nlohmann::json_sax names them.
    auto null() -> bool { return scalar(nullptr); }
    auto boolean(bool b) -> bool { return scalar(b); }
    auto number_integer(std::int64_t n) -> bool { return scalar(n); }
    auto number_unsigned(std::uint64_t n) -> bool { return scalar(n); }
    auto number_float(double x, std::string const& /*text*/) -> bool { return scalar(x); }
    auto string(std::string& s) -> bool { return scalar(std::string_view(s)); }
    auto binary(nlohmann::json::binary_t& /*bytes*/) -> bool { return false; } // not in JSON text
    auto start_object(std::size_t /*size*/) -> bool { return start(false); }
    auto start_array(std::size_t /*size*/) -> bool { return start(true); }
    auto end_object() -> bool { return end(); }
    auto end_array() -> bool { return end(); }
    auto key(std::string& name) -> bool;
    template <class Exception>
    auto parse_error(std::size_t position, std::string const& /*token*/, Exception const& e) -> bool
    {
        auto const [code, what] = explain_syntax(text_, position, e.what());
        return set(code, what);
    }

protected:
    struct level {
        bool array = false;
        json_state state = 0;
        unsigned field = 0;     // of the key being read; 0 is an unknown key
        std::uint32_t seen = 0; // bit per field
        std::size_t index = 0;  // of the array element being read
        std::string key;
    };

    /// State of the innermost level; 0 outside the document.
    [[nodiscard]] auto state() const noexcept -> json_state { return levels_.empty() ? 0 : levels_.back().state; }
    /// Field of the value being read; 0 in an array.
    [[nodiscard]] auto field() const noexcept -> unsigned { return levels_.empty() ? 0 : levels_.back().field; }
    /// Index of the array element being read.
    [[nodiscard]] auto index() const noexcept -> std::size_t { return levels_.empty() ? 0 : levels_.back().index; }
    [[nodiscard]] auto has(unsigned f) const noexcept -> bool { return (levels_.back().seen >> f & 1U) != 0; }
    /// Place of the value being read, such as `ops[17].inputs[2]`.
    [[nodiscard]] auto path() const -> std::string { return path(levels_.size(), true); }

    /// A value that breaks a rule: `what` continues "<path> ". Always false.
    auto reject(std::string const& what) -> bool { return set(rule_, path() + " " + what); }
    /// A value of the wrong type. Always false.
    auto wrong_type(json_scalar const& v, std::string const& wanted) -> bool
    {
        return set(errc::malformed_file, path() + " is " + describe(v) + ", must be " + wanted);
    }
    auto set(errc code, std::string const& what) -> bool
    {
        error_ = fail(code, who_ + ": " + what);
        return false;
    }

    /// Takes a whole number in [low, high]; `wanted` says what it is. A float counts if it has no fraction.
    template <class Int>
    [[nodiscard]] auto
    whole(json_scalar const& v, Int& to, std::string_view wanted, std::int64_t low = 0, std::int64_t high = max_bytes)
        -> bool;
    /// Takes a finite number >= 0.
    [[nodiscard]] auto real(json_scalar const& v, double& to, std::string_view wanted) -> bool;
    [[nodiscard]] auto text(json_scalar const& v, std::string& to, std::string_view wanted) -> bool;
    /// Takes the words `format` and the number `version` of a file.
    [[nodiscard]] auto format_is(json_scalar const& v, std::string_view name) -> bool;
    [[nodiscard]] auto version_is(json_scalar const& v, std::int64_t known) -> bool;

private:
    static constexpr std::size_t deepest = 64;
    static constexpr std::size_t most_warnings = 20;
    struct unknown_key {
        std::string pattern; // the path without indices
        std::string first;
        std::size_t count;
    };

    auto self() -> Reader& { return static_cast<Reader&>(*this); }
    [[nodiscard]] auto path(std::size_t depth, bool with_indices) const -> std::string;
    auto scalar(json_scalar const& v) -> bool;
    auto start(bool array) -> bool;
    auto end() -> bool;
    void step()
    {
        if (!levels_.empty()) {
            ++levels_.back().index;
        }
    }
    void note_unknown();

    std::string who_;
    errc rule_;
    std::vector<std::string>* warnings_;
    std::string_view text_;
    std::vector<level> levels_;
    std::size_t skipping_ = 0; // levels open below an unknown key
    std::vector<unknown_key> unknown_;
    std::optional<strata::error> error_;
};

template <class Reader>
auto json_events<Reader>::path(std::size_t depth, bool with_indices) const -> std::string
{
    std::string p;
    for (std::size_t i = 0; i < depth; ++i) {
        auto const& l = levels_[i];
        if (l.array) {
            p += with_indices ? "[" + std::to_string(l.index) + "]" : "[]";
        } else if (!l.key.empty()) {
            bool const plain =
                l.key.size() <= 40 && std::all_of(l.key.begin(), l.key.end(), [](unsigned char c) {
                    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
                });
            p += (p.empty() ? "" : ".") + (plain ? l.key : json_quoted(l.key));
        }
    }
    return p.empty() ? "the document" : p;
}

template <class Reader>
auto json_events<Reader>::scalar(json_scalar const& v) -> bool
{
    if (skipping_ > 0) {
        return true;
    }
    if (levels_.empty()) {
        return wrong_type(v, "an object");
    }
    if ((levels_.back().array || levels_.back().field != 0) && !self().value(v)) {
        return false;
    }
    step();
    return true;
}

template <class Reader>
auto json_events<Reader>::start(bool array) -> bool
{
    if (levels_.size() + skipping_ >= deepest) {
        return set(errc::malformed_file,
                   path() + " is nested deeper than " + std::to_string(deepest) + " levels, remove the nesting");
    }
    if (skipping_ > 0 || (!levels_.empty() && !levels_.back().array && levels_.back().field == 0)) {
        ++skipping_;
        return true;
    }
    auto const s = self().open(array);
    if (s == 0) {
        return error_ ? false
                      : set(errc::malformed_file,
                            path() + " is " + (array ? "an array" : "an object") + ", which may not stand here");
    }
    levels_.push_back({array, s, 0, 0, 0, {}});
    return true;
}

template <class Reader>
auto json_events<Reader>::end() -> bool
{
    if (skipping_ > 0) {
        if (--skipping_ == 0) {
            step();
        }
        return true;
    }
    auto& l = levels_.back();
    if (!l.array) {
        l.key.clear();
        for (auto const& k : self().keys(l.state)) {
            if (k.required && (l.seen >> k.field & 1U) == 0) {
                return set(errc::malformed_file,
                           path(levels_.size() - 1, true) + " lacks the key " + json_quoted(k.name) + ", add it");
            }
        }
    }
    if (!self().close(l.state)) {
        return false;
    }
    levels_.pop_back();
    step();
    return true;
}

template <class Reader>
auto json_events<Reader>::key(std::string& name) -> bool
{
    if (skipping_ > 0) {
        return true;
    }
    auto& l = levels_.back();
    l.key = name;
    l.field = 0;
    for (auto const& k : self().keys(l.state)) {
        if (k.name == name) {
            l.field = k.field;
            if ((l.seen >> k.field & 1U) != 0) {
                return set(errc::malformed_file, path() + " is given twice in one object, remove one");
            }
            l.seen |= 1U << k.field;
            return true;
        }
    }
    note_unknown();
    return true;
}

template <class Reader>
void json_events<Reader>::note_unknown()
{
    auto const pattern = path(levels_.size(), false);
    auto const at =
        std::find_if(unknown_.begin(), unknown_.end(), [&](unknown_key const& u) { return u.pattern == pattern; });
    if (at != unknown_.end()) {
        ++at->count;
    } else if (unknown_.size() < most_warnings) {
        unknown_.push_back({pattern, path(), 1});
    }
}

template <class Reader>
template <class Int>
auto json_events<Reader>::whole(
    json_scalar const& v, Int& to, std::string_view wanted, std::int64_t low, std::int64_t high) -> bool
{
    auto const must = [&] {
        return ", must be " + std::string(wanted) + ", from " + std::to_string(low) + " to " + std::to_string(high);
    };
    std::int64_t n = 0;
    if (auto const* i = std::get_if<std::int64_t>(&v)) {
        n = *i;
    } else if (auto const* u = std::get_if<std::uint64_t>(&v)) {
        if (*u > static_cast<std::uint64_t>(max_bytes)) {
            return set(errc::overflow, path() + " is " + describe(v) + ", which does not fit 64 bits" + must());
        }
        n = static_cast<std::int64_t>(*u);
    } else if (auto const* x = std::get_if<double>(&v)) {
        constexpr double two_to_63 = 9223372036854775808.0;
        if (*x >= two_to_63 || *x < -two_to_63) {
            return set(errc::overflow, path() + " is " + describe(v) + ", which does not fit 64 bits" + must());
        }
        if (*x != std::floor(*x)) {
            return set(errc::malformed_file, path() + " is " + describe(v) + must());
        }
        n = static_cast<std::int64_t>(*x);
    } else {
        return set(errc::malformed_file, path() + " is " + describe(v) + must());
    }
    if (n < low || n > high) {
        return set(rule_, path() + " is " + std::to_string(n) + must());
    }
    to = static_cast<Int>(n);
    return true;
}

template <class Reader>
auto json_events<Reader>::real(json_scalar const& v, double& to, std::string_view wanted) -> bool
{
    if (auto const* x = std::get_if<double>(&v)) {
        to = *x;
    } else if (auto const* u = std::get_if<std::uint64_t>(&v)) {
        to = static_cast<double>(*u);
    } else if (auto const* i = std::get_if<std::int64_t>(&v)) {
        to = static_cast<double>(*i);
    } else {
        return wrong_type(v, std::string(wanted));
    }
    return to >= 0 || reject("is " + describe(v) + ", must be " + std::string(wanted) + ", at least 0");
}

template <class Reader>
auto json_events<Reader>::text(json_scalar const& v, std::string& to, std::string_view wanted) -> bool
{
    if (auto const* s = std::get_if<std::string_view>(&v)) {
        to = *s;
        return true;
    }
    return wrong_type(v, std::string(wanted));
}

template <class Reader>
auto json_events<Reader>::format_is(json_scalar const& v, std::string_view name) -> bool
{
    auto const* s = std::get_if<std::string_view>(&v);
    return (s != nullptr && *s == name) || wrong_type(v, json_quoted(name));
}

template <class Reader>
auto json_events<Reader>::version_is(json_scalar const& v, std::int64_t known) -> bool
{
    std::int64_t n = 0;
    if (!whole(v, n, "a version number")) {
        if (error_) {
            error_->code = errc::malformed_file; // not a rule of the model, whatever is wrong with it
        }
        return false;
    }
    return n == known || set(errc::malformed_file,
                             path() + " is " + std::to_string(n) + ", but this reader knows version " +
                                 std::to_string(known) + " only; write the file with a matching release");
}

} // namespace strata::detail
