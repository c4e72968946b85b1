#include "meeting.hpp"

#include "../extension/extension.hpp"
#include "error.hpp"
#include "settings.hpp"

#include <chrono>
#include <thread>

namespace emulator::nccl {

bool meeting::come(int rank)
{
    const auto r = static_cast<std::size_t>(rank);
    if (here_[r]) { return false; }
    here_[r] = true;
    ++n_here_;
    return true;
}

std::string meeting::missing() const
{
    std::string text;
    for (std::size_t r = 0; r < here_.size(); ++r) {
        if (!here_[r]) { text += (text.empty() ? "" : ", ") + std::to_string(r); }
    }
    return text;
}

ncclResult_t wait_for(meeting& m, const std::function<bool()>& given_up)
{
    using clock = std::chrono::steady_clock;
    const auto limit = clock::now() + std::chrono::seconds(settings().timeout);
    for (;;) {
        {
            const extension::lock hold;
            if (m.done()) { return m.result(); }
            if (given_up()) { return set_error(ncclInternalError, m.what() + ": the communicator was aborted"); }
            if (clock::now() > limit) {
                const std::string text = m.what() + " waited " + std::to_string(settings().timeout) +
                                         " s for ranks that did not call it: " + m.missing();
                extension::report_deadlock(text);
                m.end(ncclSystemError);
                return set_error(ncclSystemError, text);
            }
        }
        std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
}

}  // namespace emulator::nccl
