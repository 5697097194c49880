// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Writes the `problem_spec` of a fused graph: one op per group, one tensor per buffer, temporaries left out.
#pragma once

#include <strata/problem/aliased_spec.hpp>
#include <strata/problem/effects.hpp>
#include <strata/problem/fuse.hpp>
#include <strata/problem/problem.hpp>
#include <strata/problem/scratch.hpp>
#include <strata/result.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace strata {

namespace detail {

/// Fuses, then folds; the public parts become members of a `lowering`, which documents what a group is.
template <class = void>
class basic_spec_folder {
public:
    basic_spec_folder(aliased_spec const& spec, buffer_table const& table)
        : spec_(spec)
        , table_(table)
        , groups(fuse(spec, table))
        , group_of(spec.plain.ops.size(), none)
        , tensor_of(spec.plain.tensors.size(), none)
        , made_by(spec.plain.ops.size())
        , freed_after(spec.plain.ops.size())
        , workspace_offset(spec.plain.ops.size(), 0)
        , temporary_offset(spec.plain.tensors.size(), 0)
    {
        for (std::size_t p = 0; p < groups.size(); ++p) {
            for (auto o : groups[p]) {
                group_of[at(o)] = static_cast<op_id>(p);
            }
        }
        find_temporaries();
    }

    [[nodiscard]] auto folded() -> result<problem_spec>
    {
        auto const& from = spec_.plain;
        problem_spec to;
        to.name = from.name;
        to.alignment = from.alignment;
        for (std::size_t t = 0; t < tensor_of.size(); ++t) {
            if (table_.buffer_of[t] == static_cast<tensor_id>(t) && temporary_[t] == 0) {
                tensor_of[t] = static_cast<tensor_id>(owner.size());
                owner.push_back(static_cast<tensor_id>(t));
                to.tensors.push_back(from.tensors[t]);
            }
        }
        for (std::size_t t = 0; t < tensor_of.size(); ++t) {
            tensor_of[t] = tensor_of[at(table_.buffer_of[t])];
        }
        for (auto const& members : groups) {
            op_spec x;
            if (auto e = fold(members, x)) {
                return *std::move(e);
            }
            to.ops.push_back(std::move(x));
        }
        for (auto t : from.targets) {
            add(to.targets, tensor_of[at(t)]);
        }
        return to;
    }

private:
    template <class I>
    static auto at(I i) noexcept -> std::size_t
    {
        return static_cast<std::size_t>(i);
    }
    static void add(std::vector<std::int32_t>& ids, std::int32_t i)
    {
        if (std::find(ids.begin(), ids.end(), i) == ids.end()) {
            ids.push_back(i);
        }
    }
    [[nodiscard]] auto resident(tensor_id b) const -> bool { return is_resident(spec_.plain.tensors[at(b)].kind); }
    [[nodiscard]] auto produces(op_id o, tensor_id b) const -> bool
    {
        return std::binary_search(table_.produces[at(o)].begin(), table_.produces[at(o)].end(), b);
    }
    [[nodiscard]] auto overwrites(op_id o, tensor_id b) const -> bool
    {
        return produces(o, b) || std::binary_search(table_.changes[at(o)].begin(), table_.changes[at(o)].end(), b);
    }

    void find_temporaries()
    {
        constexpr op_id many = -2;
        std::vector<op_id> group_with(tensor_of.size(), none);
        std::vector<op_id> last(tensor_of.size(), none);
        for (std::size_t p = 0; p < groups.size(); ++p) {
            for (auto o : groups[p]) {
                for (auto b : table_.touches[at(o)]) {
                    auto& g = group_with[at(b)];
                    g = g == none || g == static_cast<op_id>(p) ? static_cast<op_id>(p) : many;
                    last[at(b)] = o;
                }
            }
        }
        for (auto t : spec_.plain.targets) {
            group_with[at(table_.buffer_of[at(t)])] = many;
        }
        temporary_.assign(tensor_of.size(), 0);
        for (std::size_t b = 0; b < tensor_of.size(); ++b) {
            bool const inside = group_with[b] >= 0 && groups[at(group_with[b])].size() > 1;
            if (inside && !resident(static_cast<tensor_id>(b))) {
                temporary_[b] = 1;
                freed_after[at(last[b])].push_back(static_cast<tensor_id>(b));
            }
        }
    }

    auto fold(std::vector<op_id> const& members, op_spec& x) -> std::optional<error>
    {
        x.phase = spec_.plain.ops[at(members[0])].phase;
        auto const self = group_of[at(members[0])];
        for (std::size_t k = 0; k < members.size(); ++k) {
            auto const o = members[k];
            auto const& from = spec_.plain.ops[at(o)];
            append(x.name, from.name, k, members.size());
            append(x.type, from.type, k, members.size());
            x.effects |= from.effects;
            if (!checked_add(x.cost, from.cost)) {
                return fail(errc::overflow,
                            "strata::lower: the costs of the ops that run together with op " + std::to_string(o) +
                                " (" + from.name + ") do not fit 64 bits");
            }
            if (x.backward_of == none && from.backward_of != none && group_of[at(from.backward_of)] != self) {
                x.backward_of = group_of[at(from.backward_of)];
            }
            for (auto t : from.inputs) {
                read(self, table_.buffer_of[at(t)], x);
            }
            for (auto b : table_.changes[at(o)]) {
                read(self, b, x);
            }
            for (auto t : from.outputs) {
                auto const b = table_.buffer_of[at(t)];
                if (b != t) {
                    read(self, b, x);
                } else if (temporary_[at(b)] == 0) {
                    add(x.outputs, tensor_of[at(b)]);
                }
            }
            for (auto b : table_.changes[at(o)]) {
                if (resident(b)) {
                    add(x.outputs, tensor_of[at(b)]);
                }
            }
        }
        if (members.size() == 1) {
            x.workspace = spec_.plain.ops[at(members[0])].workspace;
            return {};
        }
        if (forbids_replay(members, x.effects)) {
            x.effects |= effect::once;
        }
        return find_workspace(members, x.workspace);
    }

    /// Notes that the group reads buffer `b`, unless the group makes it from nothing.
    void read(op_id self, tensor_id b, op_spec& x) const
    {
        auto const& by = table_.producers[at(b)];
        bool const made_inside =
            !resident(b) && std::all_of(by.begin(), by.end(), [&](op_id p) { return group_of[at(p)] == self; });
        if (!made_inside && temporary_[at(b)] == 0) {
            add(x.inputs, tensor_of[at(b)]);
        }
    }

    static void append(std::string& to, std::string const& part, std::size_t k, std::size_t count)
    {
        constexpr std::size_t shown = 3;
        if (k < shown && !part.empty()) {
            to += (to.empty() ? "" : "+") + part;
        } else if (k == shown && !to.empty()) {
            to += "+" + std::to_string(count - shown) + " more";
        }
    }

    /// True when a replay of the whole group would see values that the first run did not see, though no single effect
    /// says so.
    [[nodiscard]] auto forbids_replay(std::vector<op_id> const& members, effects all) const -> bool
    {
        std::vector<tensor_id> seen_resident;
        std::vector<tensor_id> added;
        for (auto o : members) {
            bool const stateful = spec_.plain.ops[at(o)].effects.has(effect::stateful);
            for (auto b : table_.touches[at(o)]) {
                if (resident(b) && overwrites(o, b)) {
                    bool const read_before =
                        std::find(seen_resident.begin(), seen_resident.end(), b) != seen_resident.end();
                    if (read_before || (!stateful && all.has(effect::stateful))) {
                        return true;
                    }
                }
                if (!resident(b) && produces(o, b) && table_.producers[at(b)].size() > 1) {
                    if (std::find(added.begin(), added.end(), b) != added.end()) {
                        return true;
                    }
                    added.push_back(b);
                }
            }
            for (auto b : table_.touches[at(o)]) {
                if (resident(b)) {
                    seen_resident.push_back(b);
                }
            }
        }
        return false;
    }

    /// Lays out the temporaries of the group and the workspaces of its ops; `most` becomes the bytes that takes.
    auto find_workspace(std::vector<op_id> const& members, bytes_t& most) -> std::optional<error>
    {
        auto const alignment = spec_.plain.alignment;
        std::vector<scratch_piece> pieces;
        std::vector<tensor_id> temporaries; // of the first pieces; the others are workspaces
        for (std::size_t k = 0; k < members.size(); ++k) {
            for (auto b : table_.produces[at(members[k])]) {
                bool const begun = std::find(temporaries.begin(), temporaries.end(), b) != temporaries.end();
                if (temporary_[at(b)] != 0 && !begun) {
                    made_by[at(members[k])].push_back(b);
                    temporaries.push_back(b);
                    pieces.push_back({k, k, align_up(spec_.plain.tensors[at(b)].bytes, alignment)});
                }
            }
            for (auto b : freed_after[at(members[k])]) {
                auto const i = std::find(temporaries.begin(), temporaries.end(), b) - temporaries.begin();
                pieces[at(i)].last = k;
            }
        }
        for (std::size_t k = 0; k < members.size(); ++k) {
            pieces.push_back({k, k, align_up(spec_.plain.ops[at(members[k])].workspace, alignment)});
        }
        auto const packed = pack_scratch(pieces);
        if (!packed) {
            return fail(errc::overflow,
                        "strata::lower: the temporaries of the ops that run together with op " +
                            std::to_string(members[0]) + " (" + spec_.plain.ops[at(members[0])].name +
                            ") do not fit 64 bits");
        }
        most = *packed;
        for (std::size_t i = 0; i < temporaries.size(); ++i) {
            temporary_offset[at(temporaries[i])] = pieces[i].offset;
        }
        for (std::size_t k = 0; k < members.size(); ++k) {
            workspace_offset[at(members[k])] = pieces[temporaries.size() + k].offset;
        }
        return {};
    }

    aliased_spec const& spec_;
    buffer_table const& table_;
    std::vector<char> temporary_;

public:
    std::vector<std::vector<op_id>> groups;
    std::vector<op_id> group_of;
    std::vector<tensor_id> owner;
    std::vector<tensor_id> tensor_of;
    std::vector<std::vector<tensor_id>> made_by;
    std::vector<std::vector<tensor_id>> freed_after;
    std::vector<bytes_t> workspace_offset;
    std::vector<bytes_t> temporary_offset;
};

using spec_folder = basic_spec_folder<>;

} // namespace detail

} // namespace strata
