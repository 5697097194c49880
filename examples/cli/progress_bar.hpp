// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief A bar on a terminal's standard error; nothing at all anywhere else.
#pragma once

#include <strata/io/format.hpp>
#include <strata/solve/limits.hpp>

#include <algorithm>
#include <cstdio>
#include <string>
#include <string_view>
#include <unistd.h>

namespace cli {

/// Draws `progress` reports on one line, and wipes it when it goes.
class progress_bar {
public:
    explicit progress_bar(bool wanted)
        : shown_(wanted && isatty(STDERR_FILENO) == 1)
    {
    }
    ~progress_bar()
    {
        if (drawn_) {
            write("\r\033[K");
        }
    }
    progress_bar(progress_bar const&) = delete;
    auto operator=(progress_bar const&) -> progress_bar& = delete;

    /// Makes `lim` report here, if there is a terminal.
    void watch(strata::limits& lim)
    {
        if (shown_) {
            draw({0, "starting", -1});
            lim.on_progress = [this](strata::progress const& p) { draw(p); };
        }
    }

private:
    void draw(strata::progress const& p)
    {
        constexpr std::size_t width = 30;
        auto const done = std::clamp(p.done, 0.0, 1.0);
        auto const filled = static_cast<std::size_t>(done * width);
        auto line = "\r\033[K[" + std::string(filled, '#') + std::string(width - filled, '.') + "] " +
                    std::to_string(static_cast<int>(done * 100)) + " % " + std::string(p.stage);
        if (p.best_overhead >= 0) {
            line += ", best overhead " + strata::format_percent(p.best_overhead);
        }
        write(line);
        drawn_ = true;
    }
    static void write(std::string_view text)
    {
        (void)std::fwrite(text.data(), 1, text.size(), stderr);
        (void)std::fflush(stderr);
    }

    bool shown_;
    bool drawn_ = false;
};

} // namespace cli
