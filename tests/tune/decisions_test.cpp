#include <plait/tune/decisions.hpp>

#include <doctest/doctest.h>

#include <sys/wait.h>

#include <filesystem>
#include <string>
#include <vector>

namespace fs = std::filesystem;
namespace pl = plait;
using pl::detail::decision;
using pl::detail::decision_file;
using pl::detail::decision_key;

namespace {

struct scratch_file {
    std::string path = (fs::temp_directory_path() / ("plait_decisions_" + std::to_string(::getpid()))).string();
    scratch_file() = default;
    scratch_file(const scratch_file&) = delete;
    scratch_file& operator=(const scratch_file&) = delete;
    ~scratch_file()
    {
        fs::remove(path);
        fs::remove(path + ".lock");
    }
};

decision_key key(int ranks) { return {"adam", "00ff", "f32", "N=2^20", ranks, "threads", "some \"processor\""}; }

}  // namespace

TEST_CASE("decisions are found again by all that they depend on")
{
    const scratch_file file;
    const decision_file f(file.path);
    std::vector<std::string> warnings;
    const auto warn = [&](const std::string& w) { warnings.push_back(w); };
    CHECK(!f.find(key(2), warn));
    decision d{0x0123456789abcdefU, {4, pl::all_reduce_algorithm::one_shot, pl::peer_stores::streaming}, 1.5e-3, 2e-3};
    f.add(key(2), d, warn);
    f.add(key(3), {1, {}, 1, 1}, warn);
    const auto found = f.find(key(2), warn);
    REQUIRE(found);
    CHECK(found->schedule == d.schedule);
    CHECK(found->chosen == d.chosen);
    CHECK(found->seconds == d.seconds);
    CHECK(found->unscheduled == d.unscheduled);
    d.seconds = 7;
    f.add(key(2), d, warn);
    CHECK(f.find(key(2), warn)->seconds == 7);
    CHECK(f.find(key(3), warn)->schedule == 1);
    for (auto change : {+[](decision_key& k) { k.program = "sgd"; }, +[](decision_key& k) { k.hash = "00fe"; },
                        +[](decision_key& k) { k.dtypes = "f16"; }, +[](decision_key& k) { k.sizes = "N=2^19"; },
                        +[](decision_key& k) { k.ranks = 4; }, +[](decision_key& k) { k.fabric = "mpi"; },
                        +[](decision_key& k) { k.device = "other"; }}) {
        decision_key other = key(2);
        change(other);
        CHECK(!f.find(other, warn));
    }
    CHECK(warnings.empty());
}

TEST_CASE("a file that is damaged, foreign or of another format is ignored with a warning, and written anew")
{
    const scratch_file file;
    const decision_file f(file.path);
    for (const std::string text : {"", "{", "[]", "{\"format\": \"plait tuner cache 2\", \"decisions\": []}", "{\"decisions\": []}", "\x7f""ELF",
                                   "{\"format\": \"plait tuner cache 1\"}", "{\"format\": \"plait tuner cache 1\", \"decisions\": 3}"}) {
        pl::write_file(file.path, text);
        CAPTURE(text);
        std::vector<std::string> warnings;
        const auto warn = [&](const std::string& w) { warnings.push_back(w); };
        CHECK(!f.find(key(2), warn));
        REQUIRE(warnings.size() == 1);
        CHECK(warnings[0].starts_with("tuner cache '" + file.path + "' is ignored and will be written anew: "));
        f.add(key(2), {5, {}, 1, 1}, warn);
        warnings.clear();
        CHECK(f.find(key(2), warn)->schedule == 5);
        CHECK(warnings.empty());
    }
}

TEST_CASE("a damaged entry is ignored with a warning, the others are kept")
{
    const scratch_file file;
    const decision_file f(file.path);
    const auto silent = [](const std::string&) {};
    f.add(key(2), {5, {}, 1, 1}, silent);
    f.add(key(3), {6, {}, 1, 1}, silent);
    for (const auto& [from, to] : std::vector<std::pair<std::string, std::string>>{{"\"ranks\": 2", "\"ranks\": -2"},
                                                                                   {"\"chunks\": 0", "\"chunks\": 1e99"},
                                                                                   {"\"seconds\"", "\"second\""},
                                                                                   {"\"schedule_hash\": \"0", "\"schedule_hash\": \"x"}}) {
        std::string text = *pl::read_file(file.path);
        text.replace(text.find(from), from.size(), to);
        const std::string kept = *pl::read_file(file.path);
        pl::write_file(file.path, text);
        int warnings = 0;
        CHECK(!f.find(key(2), [&](const std::string& w) {
            ++warnings;
            CHECK(w.starts_with("tuner cache '" + file.path + "': an entry is ignored: "));
        }));
        CHECK(warnings == 1);
        CHECK(f.find(key(3), silent)->schedule == 6);
        pl::write_file(file.path, kept);
    }
}

TEST_CASE("several processes at once lose nothing")
{
    const scratch_file file;
    constexpr int processes = 4;
    constexpr int each = 25;
    std::vector<pid_t> children;
    for (int p = 0; p < processes; ++p) {
        const pid_t child = ::fork();
        if (child == 0) {
            const decision_file f(file.path);
            int warnings = 0;
            for (int i = 0; i < each; ++i) {
                f.add(key(p * each + i + 1), {static_cast<std::uint64_t>(i), {}, 1, 1}, [&](const std::string&) { ++warnings; });
            }
            ::_exit(warnings == 0 ? 0 : 1);
        }
        REQUIRE(child > 0);
        children.push_back(child);
    }
    for (const pid_t child : children) {
        int status = -1;
        ::waitpid(child, &status, 0);
        CHECK(status == 0);
    }
    int found = 0;
    for (int k = 1; k <= processes * each; ++k) { found += decision_file(file.path).find(key(k), [](const std::string&) {}) ? 1 : 0; }
    CHECK(found == processes * each);
}
