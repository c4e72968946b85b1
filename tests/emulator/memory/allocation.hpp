// Memory that kernels may use: what was allocated, where, and which of its bytes hold a value.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace emulator {

class shadow_memory;

/// One bit for each byte: whether it was ever written.
class written_map {
  public:
    written_map() = default;
    explicit written_map(std::uint64_t bytes) : words_((bytes + 63) / 64 + 1), missing_{bytes}, size_{bytes} {}

    bool complete() const { return missing_ == 0; }
    bool covers(std::uint64_t at, std::uint64_t n) const
    {
        if (missing_ == 0) { return true; }
        for (std::uint64_t i = at; i < at + n;) {
            const std::uint64_t bits = std::min<std::uint64_t>(64 - i % 64, at + n - i);
            const std::uint64_t mask = ones(bits) << (i % 64);
            if ((words_[i / 64] & mask) != mask) { return false; }
            i += bits;
        }
        return true;
    }
    void mark(std::uint64_t at, std::uint64_t n)
    {
        if (missing_ == 0) { return; }
        for (std::uint64_t i = at; i < at + n;) {
            const std::uint64_t bits = std::min<std::uint64_t>(64 - i % 64, at + n - i);
            const std::uint64_t mask = ones(bits) << (i % 64);
            missing_ -= static_cast<std::uint64_t>(__builtin_popcountll(mask & ~words_[i / 64]));
            words_[i / 64] |= mask;
            i += bits;
        }
    }
    /// Takes over what another map says of n bytes: a copy of bytes without a value gives none.
    void copy(std::uint64_t to, const written_map& other, std::uint64_t from, std::uint64_t n)
    {
        if (other.complete()) { return mark(to, n); }
        for (std::uint64_t i = 0; i < n; ++i) {
            if (other.covers(from + i, 1)) { mark(to + i, 1); }
        }
    }

  private:
    static std::uint64_t ones(std::uint64_t n) { return n == 64 ? ~0ull : (1ull << n) - 1; }

    std::vector<std::uint64_t> words_;
    std::uint64_t missing_ = 0;
    std::uint64_t size_ = 0;
};

enum class memory_kind : std::uint8_t { device, host, managed, variable, constant, parameters, alias, multicast };

struct allocation {
    std::uint64_t begin = 0;
    std::uint64_t size = 0;
    std::string name;  ///< such as `cudaMalloc #3 (1024 bytes, device 0)`
    memory_kind kind = memory_kind::device;
    int device = -1;  ///< -1: of the host
    bool live = true;
    std::uint64_t devices = ~0ull;  ///< bit d: device d may access it
    allocation* alias_of = nullptr;  ///< its bytes are this one's: memory seen at a second address
    std::uint64_t alias_offset = 0;
    std::vector<allocation*> members;  ///< of multicast memory: the memory of each rank, as aliases
    written_map written;
    std::unique_ptr<shadow_memory> shadow;  ///< what the race checker knows of it

    allocation();
    ~allocation();
    bool holds(std::uint64_t address, std::uint64_t bytes) const
    {
        return address >= begin && bytes <= size && address - begin <= size - bytes;
    }
};

class address_space {
  public:
    /// Poisoned memory of this size; never null. Its address is unique until the end of the program.
    allocation& allocate(std::uint64_t size, memory_kind kind, int device, const std::string& what);
    /// The allocation whose bytes include the address, freed ones as well, or null.
    allocation* find(std::uint64_t address);
    allocation* find_live(std::uint64_t address)
    {
        allocation* a = find(address);
        return a != nullptr && a->live ? a : nullptr;
    }
    /// The live or freed allocation nearest below the address.
    allocation* nearest(std::uint64_t address);
    void free(allocation& a);
    /// Tells the map of memory of the program itself, such as registered host memory.
    allocation& add(void* begin, std::uint64_t size, memory_kind kind, const std::string& what);
    void remove(allocation& a);
    /// Makes `size` bytes of `of`, from `offset` on, seen at a second address, by the devices of the mask.
    allocation& add_alias(std::uint64_t begin, std::uint64_t size, allocation& of, std::uint64_t offset,
                          std::uint64_t devices, const std::string& what);
    /// Makes addresses at which multimem instructions reach the bytes of all members, aliases of as many bytes.
    allocation& add_multicast(std::uint64_t begin, std::uint64_t size, std::vector<allocation*> members,
                              std::uint64_t devices, const std::string& what);
    /// Where the bytes at an address of an alias really are; any other address as it is.
    std::uint64_t real_address(std::uint64_t address);
    std::uint64_t bytes_of_device(int device) const { return used_[device]; }
    void set_peer(int from, int to, bool enabled);
    bool peer(int from, int to) const { return from == to || (peers_[from] >> to & 1) != 0; }

  private:
    void update_devices(allocation& a) const;

    std::map<std::uint64_t, std::unique_ptr<allocation>> by_begin_;
    std::vector<std::unique_ptr<allocation>> removed_;
    std::vector<allocation*> quarantine_;  ///< freed, their memory kept for a while
    std::uint64_t quarantined_ = 0;
    unsigned next_number_ = 1;
    std::uint64_t peers_[64] = {};
    std::uint64_t used_[64] = {};  ///< bytes by device
};

/// Fills memory with a pattern that is no sensible number: as f32, f64 and bf16 a NaN, as integers large.
void poison(void* begin, std::uint64_t size);

}  // namespace emulator
