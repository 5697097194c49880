// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief COIN-OR's branch-and-cut solver CBC as a `mip_backend`.
///
/// A component like any other and not a test fixture, because programs that cannot take GLPK's licence can take this one
/// (EPL), and because it ends on some steps on which GLPK does not. The tests use it as an oracle for GLPK.
#pragma once

#include <strata/result.hpp>
#include <strata/solve/limits.hpp>
#include <strata/solve/mip_backend.hpp>

#include <Eigen/Core>
#include <Eigen/SparseCore>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <coin/CbcEventHandler.hpp>
#include <coin/CbcModel.hpp>
#include <coin/CbcSolver.hpp>
#include <coin/ClpEventHandler.hpp>
#include <coin/ClpSimplex.hpp>
#include <coin/CoinError.hpp>
#include <coin/CoinFinite.hpp>
#include <coin/CoinMessageHandler.hpp>
#include <coin/CoinPackedMatrix.hpp>
#include <coin/OsiClpSolverInterface.hpp>

namespace strata {

namespace detail {

/// What the handlers of one run share; CBC copies the handlers.
struct cbc_watch {
    mip_request const* request;
    std::int64_t nodes = 0;
    double best = infinite;
    std::exception_ptr thrown = {};
    [[nodiscard]] auto must_stop() const noexcept -> bool { return thrown || request->stop.expired(); }
};

/// Swallows what CBC and its parts would print; log levels alone do not reach all of them.
template <class = void>
class basic_coin_silence : public CoinMessageHandler {
public:
    auto print() -> int override { return 0; }
    void checkSeverity() override {} // whose default ends the program
    [[nodiscard]] auto clone() const -> CoinMessageHandler* override { return new basic_coin_silence(*this); }
};

/// Stops a linear program between two of its iterations.
template <class = void>
class basic_clp_stop : public ClpEventHandler {
public:
    explicit basic_clp_stop(cbc_watch const* watch)
        : watch_(watch)
    {
    }
    auto event(Event /*which*/) -> int override { return watch_->must_stop() ? 0 : -1; }
    [[nodiscard]] auto clone() const -> ClpEventHandler* override { return new basic_clp_stop(*this); }

private:
    cbc_watch const* watch_;
};

/// Counts nodes, reports incumbents, stops between two nodes.
template <class = void>
class basic_cbc_events : public CbcEventHandler {
public:
    explicit basic_cbc_events(cbc_watch* watch)
        : watch_(watch)
    {
    }
    auto event(CbcEvent which) -> CbcAction override
    {
        // Subproblems that heuristics solve are models of their own, with bounds and nodes that say nothing here.
        bool const ours = model_ != nullptr && model_->parentModel() == nullptr;
        if (ours && which == node) {
            watch_->nodes = std::max<std::int64_t>(watch_->nodes, model_->getNodeCount());
        }
        if (ours && (which == solution || which == heuristicSolution)) {
            watch_->best = std::min(watch_->best, model_->getObjValue());
        }
        if (ours && watch_->request->on_progress && !watch_->thrown) {
            try {
                watch_->request->on_progress({.best = watch_->best, .nodes = watch_->nodes});
            } catch (...) { // must not pass through a library that does not expect it
                watch_->thrown = std::current_exception();
            }
        }
        return watch_->must_stop() ? stop : noAction;
    }
    [[nodiscard]] auto clone() const -> CbcEventHandler* override { return new basic_cbc_events(*this); }

private:
    cbc_watch* watch_;
};

/// One run of CBC on one model, which has been checked and tidied.
template <class = void>
class basic_cbc_run {
public:
    basic_cbc_run(mip_model const& m, mip_request const& r)
        : m_(&m)
        , r_(&r)
        , watch_{.request = &r}
        , start_(usable_start(m, r))
    {
        load();
    }

    /// Throws: what `on_progress` throws.
    [[nodiscard]] auto solve() -> mip_outcome
    {
        auto out = solve_relaxation();
        if (whole_ && out.status == mip_status::optimal) {
            out = branch_and_cut(out.bound);
        }
        if (watch_.thrown) {
            std::rethrow_exception(watch_.thrown);
        }
        if (start_ && !(out.objective <= m_->objective.dot(*start_)) && out.status != mip_status::failed &&
            out.status != mip_status::unbounded) {
            // Whatever CBC was asked for was to be better than the start.
            bool const proven = out.status == mip_status::infeasible;
            take(out, proven ? mip_status::optimal : mip_status::feasible, *start_);
            out.bound = proven ? out.objective : std::min(out.bound, out.objective);
        }
        return out;
    }

private:
    static auto finite(double bound) -> double
    {
        return bound == infinite ? COIN_DBL_MAX : bound == -infinite ? -COIN_DBL_MAX : bound;
    }
    static auto finite(Eigen::VectorXd const& bounds) -> std::vector<double>
    {
        std::vector<double> all(static_cast<std::size_t>(bounds.size()));
        std::transform(bounds.begin(), bounds.end(), all.begin(), [](double x) { return finite(x); });
        return all;
    }

    void load()
    {
        auto rows = m_->rows;
        rows.makeCompressed();
        auto const columns = static_cast<int>(m_->columns());
        CoinPackedMatrix const matrix(true,
                                      static_cast<int>(m_->row_count()),
                                      columns,
                                      static_cast<CoinBigIndex>(rows.nonZeros()),
                                      rows.valuePtr(),
                                      rows.innerIndexPtr(),
                                      rows.outerIndexPtr(),
                                      nullptr);
        silence_.setLogLevel(0);
        solver_.passInMessageHandler(&silence_);
        solver_.getModelPtr()->passInMessageHandler(&silence_);
        solver_.setHintParam(
            OsiDoPresolveInInitial, false, OsiHintDo); // CLP 1.17 leaks memory when it finds infeasibility
        solver_.loadProblem(matrix,
                            finite(m_->column_lower).data(),
                            finite(m_->column_upper).data(),
                            m_->objective.data(),
                            finite(m_->row_lower).data(),
                            finite(m_->row_upper).data());
        for (int j = 0; j < columns; ++j) {
            if (m_->integer[static_cast<std::size_t>(j)] != 0) {
                solver_.setInteger(j);
                whole_ = true;
            }
        }
    }

    /// The largest objective of interest, a little above the limit so that what is equal to it counts.
    [[nodiscard]] auto cutoff() const -> double
    {
        auto const limit = start_ ? std::min(r_->cutoff, m_->objective.dot(*start_)) : r_->cutoff;
        return limit + mip_tolerance * std::max(1.0, std::abs(limit));
    }

    [[nodiscard]] auto seconds_left() const -> double
    {
        auto const left = r_->stop.remaining();
        return left ? std::chrono::duration<double>(*left).count() : 1e9;
    }

    void take(mip_outcome& to, mip_status status, Eigen::VectorXd x) const
    {
        to.status = status;
        to.objective = m_->objective.dot(x);
        to.solution = std::move(x);
    }

    [[nodiscard]] auto solution_in(double const* values) const -> Eigen::VectorXd
    {
        Eigen::VectorXd x = Eigen::Map<Eigen::VectorXd const>(values, m_->columns());
        for (Eigen::Index j = 0; j < x.size(); ++j) {
            x[j] = m_->integer[static_cast<std::size_t>(j)] != 0 ? std::round(x[j]) : x[j];
        }
        return x;
    }

    /// `x`, with the columns that need not be whole set anew if it does not satisfy the model: stopped, CBC 2.10 may leave
    /// them as they were. Returns: nothing when that is not enough.
    [[nodiscard]] auto completed(Eigen::VectorXd x) const -> std::optional<Eigen::VectorXd>
    {
        if (violation_of(*m_, x) <= mip_tolerance) {
            return x;
        }
        ClpSimplex lp(*solver_.getModelPtr());
        ClpEventHandler patient;
        lp.passInEventHandler(&patient); // few columns are left to it, and the time is over
        lp.setMaximumWallSeconds(1e9);
        for (Eigen::Index j = 0; j < x.size(); ++j) {
            if (m_->integer[static_cast<std::size_t>(j)] != 0) {
                lp.setColumnBounds(static_cast<int>(j), x[j], x[j]);
            }
        }
        lp.dual();
        if (lp.status() != 0) {
            return {};
        }
        x = solution_in(lp.primalColumnSolution());
        return violation_of(*m_, x) <= mip_tolerance ? std::optional(std::move(x)) : std::nullopt;
    }

    [[nodiscard]] auto solve_relaxation() -> mip_outcome
    {
        mip_outcome out;
        if (watch_.must_stop()) {
            out.status = mip_status::stopped;
            return out;
        }
        auto* const clp = solver_.getModelPtr();
        basic_clp_stop<> handler(&watch_);
        clp->passInEventHandler(&handler);
        clp->setMaximumWallSeconds(seconds_left());
        solver_.initialSolve();
        switch (clp->status()) {
        case 0:
            take(out, mip_status::optimal, Eigen::Map<Eigen::VectorXd const>(solver_.getColSolution(), m_->columns()));
            out.bound = out.objective;
            if (out.objective > cutoff()) {
                out = {.status = mip_status::infeasible, .bound = infinite};
            }
            break;
        case 1: out = {.status = mip_status::infeasible, .bound = infinite}; break;
        case 2: out.status = mip_status::unbounded; break;
        case 3:
        case 5: out.status = mip_status::stopped; break;
        default: break;
        }
        return out;
    }

    [[nodiscard]] auto branch_and_cut(double bound) -> mip_outcome
    {
        CbcModel model(solver_);
        model.passInMessageHandler(&silence_);
        CbcSolverUsefulData settings;
        settings.noPrinting_ = true;
        settings.useSignalHandler_ = false;
        CbcMain0(model, settings);
        model.setLogLevel(0);
        model.setUseElapsedTime(true);
        basic_cbc_events<> events(&watch_);
        model.passInEventHandler(&events);
        if (auto const limit = cutoff(); limit != infinite) {
            model.setCutoff(limit);
        }
        auto const seconds = std::to_string(seconds_left());
        auto const nodes = std::to_string(r_->max_nodes > 0 ? std::min(r_->max_nodes, most_nodes) : most_nodes);
        std::vector<char const*> words = {"strata",
                                          "-log",
                                          "0",
                                          "-timeMode",
                                          "elapsed",
                                          "-seconds",
                                          seconds.c_str(),
                                          "-maxNodes",
                                          nodes.c_str(),
                                          "-solve",
                                          "-quit"};
        mip_outcome out;
        try {
            CbcMain1(
                static_cast<int>(words.size()), words.data(), model, [](CbcModel*, int) { return 0; }, settings);
        } catch (CoinError const&) {
            return out; // failed
        }
        out.nodes = std::max<std::int64_t>(watch_.nodes, model.getNodeCount());
        // Told to stop while it prepares the model, CBC 2.10 may say that it is infeasible.
        bool const finished = model.status() == 0 && !watch_.must_stop();
        auto const* const best = model.bestSolution();
        if (auto x = best == nullptr ? std::nullopt : completed(solution_in(best))) {
            take(out, finished && model.isProvenOptimal() ? mip_status::optimal : mip_status::feasible, *std::move(x));
            out.bound = out.status == mip_status::optimal
                            ? out.objective
                            : std::min(out.objective, std::max(bound, model.getBestPossibleObjValue()));
        } else if (finished && model.isProvenInfeasible()) {
            out = {.status = mip_status::infeasible, .bound = infinite, .nodes = out.nodes};
        } else {
            out.status = mip_status::stopped;
            out.bound = std::max(bound, std::min(model.getBestPossibleObjValue(), cutoff()));
        }
        return out;
    }

    static constexpr std::int64_t most_nodes = 2'000'000'000;
    mip_model const* m_;
    mip_request const* r_;
    cbc_watch watch_;
    std::optional<Eigen::VectorXd> start_;
    basic_coin_silence<> silence_; // outlives the solver
    OsiClpSolverInterface solver_;
    bool whole_ = false;
};

} // namespace detail

/// CLP's simplex, then CBC as its command line runs it: preprocessing, cuts and heuristics at their defaults.
///
/// A start serves as a cutoff and as the answer when nothing better is found. Progress tells no bound. A deadline holds
/// within the linear program and between nodes. Cgl 0.60 loses some hundred bytes whenever preparing a model finds it
/// infeasible.
struct cbc {
    [[nodiscard]] static constexpr auto name() noexcept -> std::string_view { return "cbc"; }

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
        return detail::basic_cbc_run<>(m, r).solve();
    }
};

} // namespace strata
