#include "allocation.hpp"

#include "../check/shadow.hpp"
#include "../error.hpp"

#include <sys/mman.h>

namespace emulator {
namespace {

constexpr std::uint64_t page = 4096;
constexpr std::uint64_t quarantine_limit = 256u << 20;

std::uint64_t pages(std::uint64_t size) { return (size + page) / page * page; }

bool counts_for_device(const allocation& a) { return a.kind == memory_kind::device && a.device >= 0; }

}  // namespace

allocation::allocation() = default;
allocation::~allocation() = default;

void poison(void* begin, std::uint64_t size)
{
    constexpr std::uint32_t pattern = 0x7ff7'dead;
    auto* bytes = static_cast<std::uint8_t*>(begin);
    for (std::uint64_t i = 0; i < size; ++i) { bytes[i] = static_cast<std::uint8_t>(pattern >> (8 * (i % 4))); }
}

allocation& address_space::allocate(std::uint64_t size, memory_kind kind, int device, const std::string& what)
{
    // Pages of their own, with an unused one after them: a wrong address is then in no other allocation.
    void* memory =
        ::mmap(nullptr, pages(size) + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) { stop("out of memory for " + what); }
    poison(memory, size);
    auto made = std::make_unique<allocation>();
    made->begin = reinterpret_cast<std::uint64_t>(memory);
    made->size = size;
    made->kind = kind;
    made->device = device;
    made->name = what + " #" + std::to_string(next_number_++) + " (" + std::to_string(size) + " bytes" +
                 (device >= 0 ? ", device " + std::to_string(device) : "") + ")";
    made->written = written_map(size);
    update_devices(*made);
    if (counts_for_device(*made)) { used_[device] += size; }
    return *(by_begin_[made->begin] = std::move(made));
}

allocation& address_space::add(void* begin, std::uint64_t size, memory_kind kind, const std::string& what)
{
    auto made = std::make_unique<allocation>();
    made->begin = reinterpret_cast<std::uint64_t>(begin);
    made->size = size;
    made->kind = kind;
    made->name = what + " #" + std::to_string(next_number_++) + " (" + std::to_string(size) + " bytes)";
    auto& place = by_begin_[made->begin];
    if (place) { removed_.push_back(std::move(place)); }
    return *(place = std::move(made));
}

allocation& address_space::add_alias(std::uint64_t begin, std::uint64_t size, allocation& of, std::uint64_t offset,
                                     std::uint64_t devices, const std::string& what)
{
    allocation& made = add(reinterpret_cast<void*>(begin), size, memory_kind::alias, what);
    made.alias_of = &of;
    made.alias_offset = offset;
    made.devices = devices;
    return made;
}

allocation& address_space::add_multicast(std::uint64_t begin, std::uint64_t size, std::vector<allocation*> members,
                                         std::uint64_t devices, const std::string& what)
{
    allocation& made = add(reinterpret_cast<void*>(begin), size, memory_kind::multicast, what);
    made.members = std::move(members);
    made.devices = devices;
    return made;
}

std::uint64_t address_space::real_address(std::uint64_t address)
{
    const allocation* a = find_live(address);
    return a != nullptr && a->alias_of != nullptr ? a->alias_of->begin + a->alias_offset + (address - a->begin)
                                                  : address;
}

void address_space::remove(allocation& a)
{
    a.live = false;
    const auto at = by_begin_.find(a.begin);
    if (at != by_begin_.end() && at->second.get() == &a) {
        removed_.push_back(std::move(at->second));  // instructions may still remember it
        by_begin_.erase(at);
    }
}

allocation* address_space::nearest(std::uint64_t address)
{
    auto at = by_begin_.upper_bound(address);
    return at == by_begin_.begin() ? nullptr : std::prev(at)->second.get();
}

allocation* address_space::find(std::uint64_t address)
{
    allocation* a = nearest(address);
    return a != nullptr && a->holds(address, 1) ? a : nullptr;
}

void address_space::free(allocation& a)
{
    a.live = false;
    if (counts_for_device(a)) { used_[a.device] -= a.size; }
    a.shadow.reset();
    quarantine_.push_back(&a);
    quarantined_ += a.size;
    while (quarantined_ > quarantine_limit) {
        allocation& oldest = *quarantine_.front();
        quarantine_.erase(quarantine_.begin());
        quarantined_ -= oldest.size;
        // The addresses stay reserved, so that they are never given out again.
        ::mmap(reinterpret_cast<void*>(oldest.begin), pages(oldest.size), PROT_NONE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
        oldest.written = written_map();
    }
}

void address_space::update_devices(allocation& a) const
{
    if (a.device < 0 || a.kind == memory_kind::managed) { return; }
    a.devices = 0;
    for (int d = 0; d < 64; ++d) { a.devices |= std::uint64_t{peer(d, a.device)} << d; }
}

void address_space::set_peer(int from, int to, bool enabled)
{
    const std::uint64_t bit = std::uint64_t{1} << to;
    peers_[from] = enabled ? peers_[from] | bit : peers_[from] & ~bit;
    for (auto& [begin, a] : by_begin_) { update_devices(*a); }
}

}  // namespace emulator
