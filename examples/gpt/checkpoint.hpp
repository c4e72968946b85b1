// A training run in a file: settings, steps done, parameters, and the optimizer's state in the parameters' order, so
// that any number of ranks can go on with it.
#pragma once

#include "../support/failure.hpp"
#include "settings.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace gpt {

struct checkpoint {
    training_settings settings;
    std::uint64_t step = 0;  ///< steps done
    std::vector<float> parameters;
    std::vector<float> mean;    ///< the optimizer's running means of gradients
    std::vector<float> square;  ///< and of their squares

    bool operator==(const checkpoint&) const = default;
};

/// Where a run with these settings starts.
inline checkpoint first_checkpoint(const training_settings& settings)
{
    const parameter_layout layout(settings.shape);
    checkpoint result{settings, 0, {}, {}, {}};
    for (std::vector<float>* numbers : {&result.parameters, &result.mean, &result.square}) {
        numbers->resize(layout.count());
    }
    layout.initialise(std::span(result.parameters), settings.seed);
    return result;
}

// The file, little-endian:
//   0  magic, 8 bytes              12  optimizer, u32                  72  steps done, u64
//   8  version, u32                16  layers, width, heads, context,  80  learning rate, f64
//                                      seed, batch, steps: u64 each    88  n, the number of parameters, u64
//  96  parameters, means, squares: f32[n] each
//      checksum, u64: FNV-1a of all before it
namespace detail {

static_assert(std::endian::native == std::endian::little, "checkpoints are written as they lie in memory");

inline constexpr std::string_view checkpoint_magic = "plaitgpt";
inline constexpr std::uint32_t checkpoint_version = 1;
inline constexpr std::size_t header_bytes = 96;
inline constexpr std::size_t checksum_bytes = 8;

inline std::uint64_t fnv1a(std::span<const char> bytes)
{
    std::uint64_t hash = 0xcbf2'9ce4'8422'2325U;
    for (const char byte : bytes) { hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100'0000'01b3U; }
    return hash;
}

inline std::size_t checkpoint_bytes(std::size_t parameters)
{
    return header_bytes + 3 * sizeof(float) * parameters + checksum_bytes;
}

class byte_writer {
  public:
    explicit byte_writer(std::size_t bytes) { bytes_.reserve(bytes); }

    template <class Number>
    void put(Number number)
    {
        const auto raw = std::bit_cast<std::array<char, sizeof(Number)>>(number);
        bytes_.insert(bytes_.end(), raw.begin(), raw.end());
    }
    void put(std::string_view text) { bytes_.insert(bytes_.end(), text.begin(), text.end()); }
    void put(const std::vector<float>& numbers)
    {
        put(std::string_view(reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(float)));
    }

    const std::vector<char>& bytes() const { return bytes_; }

  private:
    std::vector<char> bytes_;
};

/// The caller has made sure that there are enough bytes.
class byte_reader {
  public:
    explicit byte_reader(std::span<const char> bytes) : rest_(bytes) {}

    template <class Number>
    Number get()
    {
        Number result;
        std::memcpy(&result, take(sizeof result), sizeof result);
        return result;
    }
    std::vector<float> floats(std::size_t n)
    {
        std::vector<float> result(n);
        std::memcpy(result.data(), take(n * sizeof(float)), n * sizeof(float));
        return result;
    }

  private:
    const char* take(std::size_t bytes)
    {
        const char* first = rest_.data();
        rest_ = rest_.subspan(bytes);
        return first;
    }

    std::span<const char> rest_;
};

struct close_file {
    void operator()(std::FILE* file) const { std::fclose(file); }
};
using file_handle = std::unique_ptr<std::FILE, close_file>;

inline std::string last_system_error() { return std::generic_category().message(errno); }

/// The bytes of a regular file. Throws failure where it cannot be read.
inline std::vector<char> read_checkpoint_file(const std::string& path)
{
    std::error_code problem;
    if (!std::filesystem::is_regular_file(path, problem)) {
        throw demo::file_failure("cannot read checkpoint '" + path +
                                 "': " + (problem ? problem.message() : "it is not a regular file"));
    }
    const file_handle in(std::fopen(path.c_str(), "rb"));
    const std::uintmax_t size = std::filesystem::file_size(path, problem);
    if (!in || problem) { throw demo::file_failure("cannot read checkpoint '" + path + "': " + last_system_error()); }
    // A larger file than the largest checkpoint is read far enough to say what is wrong with it.
    std::vector<char> bytes(std::min<std::uintmax_t>(size, checkpoint_bytes(most_parameters) + 1));
    bytes.resize(std::fread(bytes.data(), 1, bytes.size(), in.get()));
    if (std::ferror(in.get()) != 0) {
        throw demo::file_failure("cannot read checkpoint '" + path + "': " + last_system_error());
    }
    return bytes;
}

}  // namespace detail

inline std::vector<char> checkpoint_to_bytes(const checkpoint& state)
{
    const training_settings& s = state.settings;
    detail::byte_writer out(detail::checkpoint_bytes(state.parameters.size()));
    out.put(detail::checkpoint_magic);
    out.put(detail::checkpoint_version);
    out.put(s.optimizer);
    for (const std::uint64_t number :
         {std::uint64_t{s.shape.layers}, std::uint64_t{s.shape.width}, std::uint64_t{s.shape.heads},
          std::uint64_t{s.shape.context}, s.seed, s.batch, s.steps, state.step}) {
        out.put(number);
    }
    out.put(s.learning_rate);
    out.put(std::uint64_t{state.parameters.size()});
    out.put(state.parameters);
    out.put(state.mean);
    out.put(state.square);
    out.put(detail::fnv1a(out.bytes()));
    return out.bytes();
}

/// Throws failure, status 1, unless the bytes are exactly one checkpoint; `what` names them.
inline checkpoint checkpoint_from_bytes(std::span<const char> bytes, const std::string& what)
{
    using detail::checksum_bytes;
    using detail::header_bytes;
    const auto refuse = [&](const std::string& why) { return demo::file_failure("checkpoint " + what + " " + why); };
    const std::string_view magic = detail::checkpoint_magic;
    if (std::string_view(bytes.data(), bytes.size()).substr(0, magic.size()) != magic) {
        throw refuse("is no checkpoint of train_gpt");
    }
    const std::string cut = "is cut short: it has " + std::to_string(bytes.size()) + " bytes";
    if (bytes.size() < magic.size() + sizeof(std::uint32_t)) { throw refuse(cut); }
    detail::byte_reader in(bytes.subspan(magic.size()));
    if (const auto version = in.get<std::uint32_t>(); version != detail::checkpoint_version) {
        throw refuse("has version " + std::to_string(version) + "; this program reads version " +
                     std::to_string(detail::checkpoint_version));
    }
    if (bytes.size() < header_bytes + checksum_bytes) { throw refuse(cut); }

    checkpoint result;
    training_settings& s = result.settings;
    s.optimizer = static_cast<optimizer_kind>(in.get<std::uint32_t>());
    for (std::size_t* number : {&s.shape.layers, &s.shape.width, &s.shape.heads, &s.shape.context}) {
        *number = in.get<std::uint64_t>();
    }
    for (std::uint64_t* number : {&s.seed, &s.batch, &s.steps, &result.step}) { *number = in.get<std::uint64_t>(); }
    s.learning_rate = in.get<double>();
    const std::uint64_t n = in.get<std::uint64_t>();

    const std::size_t checked = bytes.size() - checksum_bytes;
    if (detail::byte_reader(bytes.subspan(checked)).get<std::uint64_t>() != detail::fnv1a(bytes.first(checked))) {
        if (n <= most_parameters && bytes.size() < detail::checkpoint_bytes(n)) {
            throw refuse(cut + " of " + std::to_string(detail::checkpoint_bytes(n)));
        }
        throw refuse("is damaged: its checksum is wrong");
    }
    // What follows can only be wrong in a file that another program wrote.
    if (const std::optional<std::string> problem = problem_of(s)) { throw refuse("makes no sense: " + *problem); }
    if (result.step > s.steps) { throw refuse("makes no sense: more steps are done than planned"); }
    if (n != parameter_layout(s.shape).count() || bytes.size() != detail::checkpoint_bytes(n)) {
        throw refuse("makes no sense: its size does not fit its model");
    }
    for (std::vector<float>* numbers : {&result.parameters, &result.mean, &result.square}) { *numbers = in.floats(n); }
    return result;
}

/// Throws failure, status 1, for whatever is not a whole and undamaged checkpoint.
inline checkpoint load_checkpoint(const std::string& path)
{
    return checkpoint_from_bytes(detail::read_checkpoint_file(path), "'" + path + "'");
}

/// Writes the file, or leaves an earlier one as it is and throws failure, status 1: the bytes go to PATH.partial, which
/// is renamed when they are safely on the disk.
inline void save_checkpoint(const checkpoint& state, const std::string& path)
{
    const std::vector<char> bytes = checkpoint_to_bytes(state);
    const std::string partial = path + ".partial";
    const auto refuse = [&](const std::string& why) {
        return demo::file_failure("cannot save checkpoint '" + path + "': " + why);
    };
    detail::file_handle out(std::fopen(partial.c_str(), "wb"));
    if (!out) { throw refuse(detail::last_system_error()); }
    const bool written = std::fwrite(bytes.data(), 1, bytes.size(), out.get()) == bytes.size() &&
                         std::fflush(out.get()) == 0 && fsync(fileno(out.get())) == 0;
    std::string problem = written ? "" : detail::last_system_error();
    if (std::fclose(out.release()) != 0 && problem.empty()) { problem = detail::last_system_error(); }
    if (problem.empty() && std::rename(partial.c_str(), path.c_str()) != 0) { problem = detail::last_system_error(); }
    if (!problem.empty()) {
        std::remove(partial.c_str());
        throw refuse(problem);
    }
}

/// Throws failure, status 1, if a checkpoint could not be saved there: better before the training than after it.
inline void check_can_save(const std::string& path)
{
    const std::string partial = path + ".partial";
    std::error_code ignored;
    const bool folder = std::filesystem::is_directory(path, ignored);
    if (folder || !detail::file_handle(std::fopen(partial.c_str(), "wb"))) {
        throw demo::file_failure("cannot save checkpoint '" + path +
                                 "': " + (folder ? "it is a folder" : detail::last_system_error()));
    }
    std::remove(partial.c_str());
}

}  // namespace gpt
