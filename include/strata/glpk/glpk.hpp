// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief The GNU Linear Programming Kit as a `mip_backend`.
///
/// GLPK is under the GPL, so it is a component of its own and nothing else in the library needs it. It ends the program
/// when handed what it does not like; therefore every model is checked before, and the terminal is kept silent. Its
/// per-thread environment is left as it was found: made here, it is freed here. Good up to some sixty ops per block.
#pragma once

#include <strata/result.hpp>
#include <strata/solve/limits.hpp>
#include <strata/solve/mip_backend.hpp>

#include <Eigen/Core>
#include <Eigen/SparseCore>
#include <glpk.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace strata {

namespace detail {

/// GLPK's environment of this thread: silent while this lives, afterwards as before.
template <class = void>
class basic_glpk_environment {
public:
    basic_glpk_environment()
        : made_here_(glp_init_env() == 0)
        , terminal_(glp_term_out(GLP_OFF))
    {
    }
    basic_glpk_environment(basic_glpk_environment const&) = delete;
    auto operator=(basic_glpk_environment const&) -> basic_glpk_environment& = delete;
    ~basic_glpk_environment()
    {
        glp_term_out(terminal_);
        if (made_here_) {
            glp_free_env();
        }
    }

private:
    bool made_here_;
    int terminal_;
};

struct glpk_deleter {
    void operator()(glp_prob* p) const noexcept { glp_delete_prob(p); }
};

/// One run of GLPK on one model, which has been checked and tidied.
template <class = void>
class basic_glpk_run {
public:
    basic_glpk_run(mip_model const& m, mip_request const& r)
        : m_(&m)
        , r_(&r)
        , start_(usable_start(m, r))
        , p_(glp_create_prob())
    {
        load();
    }

    /// Throws: what `on_progress` throws.
    [[nodiscard]] auto solve() -> mip_outcome
    {
        auto relaxed = solve_relaxation();
        bool const whole = glp_get_num_int(p_.get()) == 0;
        if (whole || relaxed.status != mip_status::optimal) {
            if (relaxed.status == mip_status::stopped && start_) {
                take(relaxed, mip_status::feasible, *start_);
            }
            return relaxed;
        }
        return branch_and_cut(relaxed.bound);
    }

private:
    /// GLPK numbers rows and columns from 1.
    static auto number(Eigen::Index i) -> int { return static_cast<int>(i) + 1; }
    static auto kind(double lower, double upper) -> int
    {
        if (lower == -infinite) {
            return upper == infinite ? GLP_FR : GLP_UP;
        }
        if (upper == infinite) {
            return GLP_LO;
        }
        return lower == upper ? GLP_FX : GLP_DB;
    }

    void load()
    {
        auto* const p = p_.get();
        auto const& m = *m_;
        bool const bounded =
            r_->cutoff != infinite && !start_; // a start cuts off as well, and does not slow the search
        if (auto const rows = static_cast<int>(m.row_count()) + (bounded ? 1 : 0); rows > 0) {
            glp_add_rows(p, rows);
        }
        glp_add_cols(p, static_cast<int>(m.columns()));
        for (Eigen::Index i = 0; i < m.row_count(); ++i) {
            glp_set_row_bnds(p, number(i), kind(m.row_lower[i], m.row_upper[i]), m.row_lower[i], m.row_upper[i]);
        }
        std::vector<int> row{0};
        std::vector<int> column{0};
        std::vector<double> value{0};
        auto const put = [&](int i, int j, double x) {
            row.push_back(i);
            column.push_back(j);
            value.push_back(x);
        };
        for (Eigen::Index j = 0; j < m.columns(); ++j) {
            auto const lower = m.column_lower[j];
            auto const upper = m.column_upper[j];
            glp_set_col_kind(p, number(j), m.integer[static_cast<std::size_t>(j)] != 0 ? GLP_IV : GLP_CV);
            glp_set_col_bnds(p, number(j), kind(lower, upper), lower, upper);
            glp_set_obj_coef(p, number(j), m.objective[j]);
            for (Eigen::SparseMatrix<double>::InnerIterator x(m.rows, j); x; ++x) {
                put(number(x.row()), number(j), x.value());
            }
            if (bounded && m.objective[j] != 0) {
                put(number(m.row_count()), number(j), m.objective[j]);
            }
        }
        if (bounded) {
            glp_set_row_bnds(p, number(m.row_count()), GLP_UP, 0, r_->cutoff);
        }
        glp_load_matrix(p, static_cast<int>(value.size()) - 1, row.data(), column.data(), value.data());
        glp_scale_prob(p, GLP_SF_AUTO);
        glp_adv_basis(p, 0);
    }

    [[nodiscard]] auto milliseconds_left() const -> int
    {
        constexpr std::int64_t forever = 2'000'000'000; // GLPK's own notion is INT_MAX
        auto const left = r_->stop.remaining();
        using std::chrono::milliseconds;
        return left ? static_cast<int>(
                          std::min<std::int64_t>(forever, std::chrono::duration_cast<milliseconds>(*left).count() + 1))
                    : static_cast<int>(forever);
    }

    void take(mip_outcome& to, mip_status status, Eigen::VectorXd x) const
    {
        to.status = status;
        to.objective = m_->objective.dot(x);
        to.solution = std::move(x);
    }

    /// Solves the linear program in bites, since GLPK asks nobody whether to go on.
    [[nodiscard]] auto solve_relaxation() -> mip_outcome
    {
        constexpr int bite = 500; // iterations
        glp_smcp how;
        glp_init_smcp(&how);
        how.msg_lev = GLP_MSG_OFF;
        how.meth = GLP_DUALP; // costs that are not negative make the first basis dual feasible
        how.it_lim = bite;
        mip_outcome out;
        for (;;) {
            if (r_->stop.expired()) {
                out.status = mip_status::stopped;
                return out;
            }
            how.tm_lim = milliseconds_left();
            auto const answer = glp_simplex(p_.get(), &how);
            if (answer == 0 && how.meth == GLP_DUALP && glp_get_status(p_.get()) != GLP_OPT &&
                glp_get_status(p_.get()) != GLP_NOFEAS) {
                how.meth = GLP_PRIMAL; // the dual has no solution; the primal simplex says why
                continue;
            }
            if (answer == 0) {
                break;
            }
            if (answer != GLP_EITLIM && answer != GLP_ETMLIM) {
                return out; // failed
            }
        }
        switch (glp_get_status(p_.get())) {
        case GLP_OPT: {
            Eigen::VectorXd x(m_->columns());
            for (Eigen::Index j = 0; j < x.size(); ++j) {
                x[j] = glp_get_col_prim(p_.get(), number(j));
            }
            take(out, mip_status::optimal, std::move(x));
            out.bound = out.objective;
            break;
        }
        case GLP_NOFEAS:
            out.status = mip_status::infeasible;
            out.bound = infinite;
            break;
        case GLP_UNBND: out.status = mip_status::unbounded; break;
        default: break;
        }
        return out;
    }

    [[nodiscard]] auto branch_and_cut(double bound) -> mip_outcome
    {
        bound_ = bound;
        glp_iocp how;
        glp_init_iocp(&how);
        how.msg_lev = GLP_MSG_OFF;
        how.br_tech = GLP_BR_PCH;
        how.mir_cuts = GLP_ON;
        how.cov_cuts = GLP_ON;
        how.tm_lim = milliseconds_left();
        how.cb_func = [](glp_tree* tree, void* self) { static_cast<basic_glpk_run*>(self)->on_event(tree); };
        how.cb_info = this;
        auto const answer = glp_intopt(p_.get(), &how);
        if (thrown_) {
            std::rethrow_exception(thrown_);
        }
        mip_outcome out;
        out.nodes = nodes_;
        out.bound = bound_;
        auto const found = glp_mip_status(p_.get());
        if (answer == 0 && found == GLP_NOFEAS) {
            out.status = mip_status::infeasible;
            out.bound = infinite;
        } else if (found == GLP_OPT || found == GLP_FEAS) {
            Eigen::VectorXd x(m_->columns());
            for (Eigen::Index j = 0; j < x.size(); ++j) {
                auto const value = glp_mip_col_val(p_.get(), number(j));
                x[j] = m_->integer[static_cast<std::size_t>(j)] != 0 ? std::round(value) : value;
            }
            bool const proven = answer == 0 && found == GLP_OPT;
            take(out, proven ? mip_status::optimal : mip_status::feasible, std::move(x));
            out.bound = proven ? out.objective : std::min(out.bound, out.objective);
        } else if (answer == GLP_ESTOP || answer == GLP_ETMLIM || answer == GLP_EMIPGAP) {
            out.status = mip_status::stopped;
        }
        if (start_ && (out.status == mip_status::stopped || out.objective > m_->objective.dot(*start_))) {
            take(out, mip_status::feasible, *start_); // stopped before GLPK asked for it
            out.bound = std::min(out.bound, out.objective);
        }
        return out;
    }

    /// Called by GLPK between any two steps. Nothing may be thrown through it.
    void on_event(glp_tree* tree) noexcept
    {
        if (thrown_) {
            return;
        }
        int total = 0;
        glp_ios_tree_size(tree, nullptr, nullptr, &total);
        nodes_ = total;
        if (auto const node = glp_ios_best_node(tree); node != 0) {
            bound_ = std::max(bound_, glp_ios_node_bound(tree, node));
        }
        auto const reason = glp_ios_reason(tree);
        if (reason == GLP_IHEUR && start_ && !start_given_) {
            start_given_ = true;
            glp_ios_heur_sol(tree, start_->data() - 1);
        }
        if (r_->stop.expired() || (r_->max_nodes > 0 && nodes_ > r_->max_nodes)) {
            glp_ios_terminate(tree);
        }
        if (r_->on_progress && (reason == GLP_ISELECT || reason == GLP_IBINGO)) {
            try {
                bool const any = glp_mip_status(glp_ios_get_prob(tree)) == GLP_FEAS;
                auto const best = any ? glp_mip_obj_val(glp_ios_get_prob(tree)) : infinite;
                r_->on_progress({.best = best, .bound = std::min(bound_, best), .nodes = nodes_});
            } catch (...) {
                thrown_ = std::current_exception();
                glp_ios_terminate(tree);
            }
        }
    }

    mip_model const* m_;
    mip_request const* r_;
    std::optional<Eigen::VectorXd> start_;
    std::unique_ptr<glp_prob, glpk_deleter> p_;
    double bound_ = -infinite;
    std::int64_t nodes_ = 0;
    bool start_given_ = false;
    std::exception_ptr thrown_;
};

} // namespace detail

/// Dual simplex, then branch and cut with mixed-integer rounding and cover cuts.
struct glpk {
    [[nodiscard]] static constexpr auto name() noexcept -> std::string_view { return "glpk"; }

    /// See `mip_backend`. Throws: what `r.on_progress` throws.
    template <class = void>
    [[nodiscard]] auto solve(mip_model m, mip_request const& r) const -> result<mip_outcome>
    {
        if (auto e = check_model(m)) {
            return *std::move(e);
        }
        if (auto settled = detail::settle_or_tidy(m, r)) {
            return *std::move(settled);
        }
        detail::basic_glpk_environment<> const quiet;
        return detail::basic_glpk_run<>(m, r).solve();
    }
};

} // namespace strata
