// Checkpoints of examples/gpt: what is saved comes back, and whatever is damaged is refused.
#include "../../examples/gpt/checkpoint.hpp"

#include <plait/core/philox.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <span>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

/// A folder that goes with the test.
class temporary_folder {
  public:
    temporary_folder()
    {
        std::string name = (fs::temp_directory_path() / "plait-gpt-XXXXXX").string();
        REQUIRE(mkdtemp(name.data()) != nullptr);
        path_ = name;
    }
    temporary_folder(const temporary_folder&) = delete;
    temporary_folder& operator=(const temporary_folder&) = delete;
    ~temporary_folder() { fs::remove_all(path_); }

    std::string file(const char* name) const { return (path_ / name).string(); }
    std::size_t entries() const
    {
        return static_cast<std::size_t>(std::distance(fs::directory_iterator(path_), fs::directory_iterator()));
    }

  private:
    fs::path path_;
};

gpt::checkpoint small_checkpoint()
{
    gpt::training_settings s;
    s.shape = {1, 4, 2, 3};
    s.optimizer = gpt::optimizer_kind::lamb;
    s.seed = 0x1234'5678'9abc'def0U;
    s.batch = 5;
    s.steps = 70;
    s.learning_rate = 0.125;
    gpt::checkpoint result = gpt::first_checkpoint(s);
    result.step = 33;
    for (std::size_t i = 0; i < result.parameters.size(); ++i) {
        result.mean[i] = static_cast<float>(i) - 7.5F;
        result.square[i] = static_cast<float>(i * i);
    }
    result.mean[0] = -0.0F;
    result.square[1] = 1e-42F;
    return result;
}

/// The refusal of these bytes, or "" if they are accepted.
std::string refusal(std::span<const char> bytes)
{
    try {
        gpt::checkpoint_from_bytes(bytes, "'x'");
        return "";
    } catch (const demo::failure& problem) {
        CHECK(problem.status == 1);
        return problem.what();
    }
}

std::string failure_of(const std::function<void()>& f)
{
    try {
        f();
        return "";
    } catch (const demo::failure& problem) {
        return problem.what();
    }
}

bool contains(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

/// With the right checksum, as a buggy or hostile program might write it.
std::vector<char> signed_again(std::vector<char> bytes)
{
    const std::size_t checked = bytes.size() - 8;
    const std::uint64_t sum = gpt::detail::fnv1a(std::span<const char>(bytes).first(checked));
    std::memcpy(bytes.data() + checked, &sum, sizeof sum);
    return bytes;
}

}  // namespace

TEST_CASE("what is saved is loaded, bit for bit, and nothing else is left")
{
    const temporary_folder folder;
    const std::string path = folder.file("run.gpt");
    gpt::checkpoint state = small_checkpoint();
    for (int time = 0; time < 2; ++time, ++state.step) {  // the second replaces the first
        gpt::check_can_save(path);
        gpt::save_checkpoint(state, path);
        CHECK(folder.entries() == 1);
        const gpt::checkpoint back = gpt::load_checkpoint(path);
        CHECK(back == state);
        CHECK(std::signbit(back.mean[0]));
    }
}

TEST_CASE("the checksum is FNV-1a")
{
    CHECK(gpt::detail::fnv1a({}) == 0xcbf29ce484222325U);
    CHECK(gpt::detail::fnv1a(std::string_view("foobar")) == 0x85944171f73967e8U);
}

TEST_CASE("a checkpoint cut anywhere, or with something after it, is refused")
{
    const std::vector<char> bytes = gpt::checkpoint_to_bytes(small_checkpoint());
    CHECK(refusal(bytes).empty());
    for (std::size_t size = 0; size < bytes.size(); size += size < 200 || size + 50 > bytes.size() ? 1 : 37) {
        const std::string why = refusal(std::span(bytes).first(size));
        CHECK(contains(why, size < 8 ? "is no checkpoint" : "is cut short"));
    }
    for (const std::size_t more : {1U, 8U, 1000U}) {
        std::vector<char> longer = bytes;
        longer.resize(bytes.size() + more);
        CHECK(contains(refusal(longer), "checksum"));
    }
}

TEST_CASE("a checkpoint with any byte changed is refused")
{
    const std::vector<char> bytes = gpt::checkpoint_to_bytes(small_checkpoint());
    for (std::size_t i = 0; i < bytes.size(); i += i < 128 || i + 16 > bytes.size() ? 1 : 11) {
        for (const unsigned flip : {0x01U, 0x80U, 0xffU}) {
            std::vector<char> damaged = bytes;
            damaged[i] = static_cast<char>(static_cast<unsigned char>(damaged[i]) ^ flip);
            const std::string why = refusal(damaged);
            if (i < 8) {
                CHECK(contains(why, "is no checkpoint"));
            } else if (i < 12) {
                CHECK(contains(why, "has version"));
            } else {
                CHECK((contains(why, "checksum") || (i >= 88 && i < 96 && contains(why, "cut short"))));
            }
        }
    }
}

TEST_CASE("garbage is refused, also with a right beginning and a right checksum")
{
    const std::vector<char> bytes = gpt::checkpoint_to_bytes(small_checkpoint());
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        std::vector<char> garbage(96 + 8 + plait::philox_u32(seed, 0) % 500);
        for (std::size_t i = 0; i < garbage.size(); ++i) {
            garbage[i] = static_cast<char>(plait::philox_u32(seed, i + 1) & 0xffU);
        }
        CHECK(contains(refusal(garbage), "is no checkpoint"));
        std::memcpy(garbage.data(), bytes.data(), 12);
        CHECK(!refusal(garbage).empty());
        CHECK(contains(refusal(signed_again(garbage)), "makes no sense"));
    }
    for (std::size_t i = 12; i < 96; ++i) {
        if (i >= 48 && i < 88) { continue; }  // seed, batch, steps and the learning rate may be others
        for (const char value : {char{0}, char{1}, char{127}, static_cast<char>(255)}) {
            std::vector<char> changed = bytes;
            if (changed[i] == value) { continue; }
            changed[i] = value;
            const std::string why = refusal(signed_again(changed));
            // Another optimizer, and another number of heads that divides the width, are sensible.
            if (i != 12 && i != 32) { CHECK(contains(why, "makes no sense")); }
        }
    }
    const auto with = [&](std::size_t at, auto number) {
        std::vector<char> changed = bytes;
        std::memcpy(changed.data() + at, &number, sizeof number);
        return refusal(signed_again(changed));
    };
    CHECK(contains(with(56, std::uint64_t{0}), "the batch must be"));
    CHECK(contains(with(64, std::uint64_t{0}), "steps must be"));
    CHECK(contains(with(72, std::uint64_t{71}), "more steps are done than planned"));
    CHECK(contains(with(80, double{NAN}), "learning rate"));
    CHECK(contains(with(80, -1.0), "learning rate"));
    CHECK(contains(with(16, std::uint64_t{UINT64_MAX}), "layers must be"));
    CHECK(contains(with(32, std::uint64_t{3}), "multiple of the heads"));
    CHECK(with(32, std::uint64_t{4}).empty());
}

TEST_CASE("files that are no checkpoints are refused, and a place that cannot be written to is found early")
{
    const temporary_folder folder;
    CHECK(contains(failure_of([&] { gpt::load_checkpoint(folder.file("none")); }), "cannot read checkpoint"));
    CHECK(contains(failure_of([&] { gpt::load_checkpoint(folder.file(".")); }), "not a regular file"));
    CHECK(contains(failure_of([&] { gpt::load_checkpoint("/dev/zero"); }), "not a regular file"));
    std::ofstream(folder.file("empty")).flush();
    CHECK(contains(failure_of([&] { gpt::load_checkpoint(folder.file("empty")); }), "is no checkpoint"));
    std::ofstream(folder.file("text"))
        << "a text that is longer than a checkpoint's header, but is none of course ...............";
    CHECK(contains(failure_of([&] { gpt::load_checkpoint(folder.file("text")); }), "is no checkpoint"));

    const std::string nowhere = folder.file("no/such/folder.gpt");
    CHECK(contains(failure_of([&] { gpt::check_can_save(nowhere); }), "cannot save checkpoint"));
    CHECK(contains(failure_of([&] { gpt::save_checkpoint(small_checkpoint(), nowhere); }), "No such file"));
    CHECK(contains(failure_of([&] { gpt::check_can_save(folder.file(".")); }), "it is a folder"));

    fs::create_directory(folder.file("taken"));  // the rename fails: nothing may be left behind
    const std::size_t entries = folder.entries();
    CHECK(!failure_of([&] { gpt::save_checkpoint(small_checkpoint(), folder.file("taken")); }).empty());
    CHECK(folder.entries() == entries);
}
