// How training goes: a bar that is redrawn in place on a terminal, a line now and then elsewhere.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <string>

namespace demo {

class progress {
  public:
    /// `total` steps will be done; about `lines` lines are printed when `out` is no terminal.
    progress(std::FILE* out, int total, int lines) : progress(out, total, lines, isatty(fileno(out)) == 1) {}
    progress(std::FILE* out, int total, int lines, bool in_place)
        : out_(out), total_(total), lines_(lines), in_place_(in_place) {}

    /// After `done` steps; losses in nats per byte, `seconds` since the start. The last call has `last` set.
    void show(int done, double train, double held_out, double seconds, bool last)
    {
        char losses[80];
        std::snprintf(losses, sizeof losses, "loss %.3f, held out %.3f nats/byte", train, held_out);
        show("step", done, losses, seconds, last);
    }

    /// The same of other things than steps, and with other news.
    void show(const char* what, int done, const char* news, double seconds, bool last)
    {
        const double share = static_cast<double>(done) / total_;
        if (!in_place_ && !last && share * lines_ < printed_) { return; }
        ++printed_;
        std::fprintf(out_, "%s  %s %s %*d of %d   %s   %5.1f s%s", in_place_ ? "\r" : "", bar(share).c_str(), what,
                     static_cast<int>(std::to_string(total_).size()), done, total_, news, seconds,
                     in_place_ && !last ? "" : "\n");
        std::fflush(out_);
    }

  private:
    static std::string bar(double share)
    {
        constexpr std::size_t width = 24;
        const auto full = static_cast<std::size_t>(share * width + 0.5);
        return "[" + std::string(full, '=') + std::string(width - full, ' ') + "]";
    }

    std::FILE* out_;
    int total_;
    int lines_;
    bool in_place_;
    int printed_ = 0;
};

}  // namespace demo
