// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Ctrl-C as a request: the first one asks the planner to stop with what it has, the second one ends the program.
#pragma once

#include <csignal>
#include <cstdlib>
#include <ctime>
#include <stop_token>
#include <thread>

namespace cli {

/// While it lives, SIGINT is caught. A thread waits for it, since a signal handler may not ask anybody to stop.
class interrupt {
public:
    interrupt()
    {
        sigemptyset(&set_);
        sigaddset(&set_, SIGINT);
        pthread_sigmask(SIG_BLOCK, &set_, &before_);
        waiter_ = std::jthread([this](std::stop_token const& over) { wait(over); });
    }
    ~interrupt()
    {
        waiter_.request_stop();
        waiter_.join();
        pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    }
    interrupt(interrupt const&) = delete;
    auto operator=(interrupt const&) -> interrupt& = delete;

    [[nodiscard]] auto token() const noexcept -> std::stop_token { return source_.get_token(); }
    [[nodiscard]] auto requested() const noexcept -> bool { return source_.stop_requested(); }

private:
    void wait(std::stop_token const& over)
    {
        timespec const pause{0, 50'000'000};
        while (!over.stop_requested()) {
            if (sigtimedwait(&set_, nullptr, &pause) == SIGINT && !source_.request_stop()) {
                std::_Exit(130);
            }
        }
    }

    sigset_t set_{};
    sigset_t before_{};
    std::stop_source source_;
    std::jthread waiter_;
};

} // namespace cli
