// What a tuner has decided, and the file that keeps it from run to run.
#pragma once

#include <plait/core/json.hpp>
#include <plait/core/read_file.hpp>
#include <plait/core/write_file.hpp>
#include <plait/fabric/thrown.hpp>
#include <plait/plan/parameters.hpp>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace plait::detail {

/// What was chosen for one size class.
struct decision {
    std::uint64_t schedule = 0;  // hash of the scheduled program
    plait::parameters chosen{};
    double seconds = 0;      // of a run, as measured
    double unscheduled = 0;  // of the unscheduled program
};

/// What a decision depends on.
struct decision_key {
    std::string program;
    std::string hash;  // of the unscheduled program and of all schedules to choose from
    std::string dtypes;
    std::string sizes;  // the class: "N=2^20, H=2^10"
    int ranks = 0;
    std::string fabric;
    std::string device;
    bool operator==(const decision_key&) const = default;
};

inline std::string hex_text(std::uint64_t h)
{
    std::string s(16, '0');
    for (std::size_t i = 0; i < 16; ++i) { s[15 - i] = "0123456789abcdef"[(h >> (4 * i)) & 15U]; }
    return s;
}

/// A file of decisions: JSON, one entry per key. A file that is damaged or of another format counts as empty, and is
/// written anew whole.
class decision_file {
  public:
    explicit decision_file(std::string path) : path_(std::move(path)) {}

    /// The decision for a key, if there is one. `warn(text)` is told of a file or entry that cannot be used.
    template <class Warn>
    std::optional<decision> find(const decision_key& key, Warn&& warn) const
    {
        for (const json::value& entry : entries(warn)) {
            try {
                if (key_of(entry) == key) { return decision_of(entry); }
            } catch (const error&) {
                warn(joined({"tuner cache '", path_, "': an entry is ignored: ", text_of_current_exception()}));
            }
        }
        return std::nullopt;
    }

    /// Adds a decision, in the place of one for the same key. Several processes may do so at once: each takes the file's
    /// lock, and the file is replaced as a whole.
    /// @throws plait::error if it cannot be written.
    template <class Warn>
    void add(const decision_key& key, const decision& d, Warn&& warn) const
    {
        const file_lock lock(path_ + ".lock");
        json::array all;
        for (const json::value& entry : entries(warn)) {
            try {
                if (key_of(entry) != key) { all.push_back(entry); }
            } catch (const error&) {  // a damaged entry is dropped
            }
        }
        all.push_back(entry_of(key, d));
        write_file(path_, json::value(json::object{{"format", format}, {"decisions", std::move(all)}}).text(2) + "\n");
    }

  private:
    static constexpr const char* format = "plait tuner cache 1";

    class file_lock {
      public:
        explicit file_lock(const std::string& path) : file_(::open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0666))
        {
            if (file_ >= 0) { ::flock(file_, LOCK_EX); }
        }
        file_lock(const file_lock&) = delete;
        file_lock& operator=(const file_lock&) = delete;
        ~file_lock()
        {
            if (file_ >= 0) { ::close(file_); }
        }

      private:
        int file_;  // < 0 where locks cannot be had: then the last writer wins
    };

    template <class Warn>
    [[nodiscard]] json::array entries(Warn&& warn) const
    {
        try {
            const std::optional<std::string> text = read_file(path_);
            if (!text) { return {}; }
            const json::value whole = json::parse(*text);
            if (whole.at("format").get<std::string>("format") != format) { throw error("it has another format"); }
            return whole.at("decisions").get<json::array>("decisions");
        } catch (const std::exception&) {
            warn(joined({"tuner cache '", path_, "' is ignored and will be written anew: ", text_of_current_exception()}));
            return {};
        }
    }
    static decision_key key_of(const json::value& e)
    {
        const auto text = [&](const char* name) { return e.at(name).get<std::string>(name); };
        return {text("program"), text("hash"),   text("dtypes"), text("sizes"), static_cast<int>(number(e, "ranks", 1 << 24)),
                text("fabric"),  text("device")};
    }
    static double number(const json::value& e, const char* name, double most)
    {
        const double d = e.at(name).get<double>(name);
        if (!(d >= 0 && d <= most)) { throw error({"\"", name, "\" is out of range"}); }
        return d;
    }
    static decision decision_of(const json::value& e)
    {
        decision d;
        const auto& hash = e.at("schedule_hash").get<std::string>("schedule_hash");
        for (const char c : hash) {
            const std::size_t digit = std::string_view("0123456789abcdef").find(c);
            if (digit == std::string_view::npos || hash.size() != 16) { throw error("\"schedule_hash\" is no hash"); }
            d.schedule = d.schedule * 16 + digit;
        }
        d.chosen.chunks = static_cast<int>(number(e, "chunks", 1 << 20));
        d.chosen.all_reduce = static_cast<all_reduce_algorithm>(number(e, "all_reduce", 2));
        d.chosen.stores = static_cast<peer_stores>(number(e, "stores", 2));
        d.seconds = number(e, "seconds", 1e9);
        d.unscheduled = number(e, "unscheduled_seconds", 1e9);
        return d;
    }
    static json::value entry_of(const decision_key& k, const decision& d)
    {
        return json::object{{"program", k.program},
                            {"hash", k.hash},
                            {"dtypes", k.dtypes},
                            {"sizes", k.sizes},
                            {"ranks", k.ranks},
                            {"fabric", k.fabric},
                            {"device", k.device},
                            {"schedule_hash", hex_text(d.schedule)},
                            {"chunks", d.chosen.chunks},
                            {"all_reduce", static_cast<int>(d.chosen.all_reduce)},
                            {"stores", static_cast<int>(d.chosen.stores)},
                            {"seconds", d.seconds},
                            {"unscheduled_seconds", d.unscheduled}};
    }

    std::string path_;
};

}  // namespace plait::detail
