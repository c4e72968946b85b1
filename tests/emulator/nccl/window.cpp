#include "window.hpp"

#include "error.hpp"
#include "group.hpp"

#include <sys/mman.h>

#include <algorithm>

namespace emulator::nccl {
namespace {

constexpr std::uint64_t unit = std::uint64_t{1} << 32;  ///< ncclWindow_vidmem::stride4G counts these
constexpr std::uint64_t stride = 4 * unit;
constexpr std::uint64_t page = NCCL_WIN_REQUIRED_ALIGNMENT;

/// Reserves addresses once: for each rank, and for each team those of multicast.
void reserve(clique& all)
{
    flat_space& f = all.flat;
    if (f.base != 0) { return; }
    f.stride = stride;
    const std::size_t teams = all.ranks.size() / static_cast<std::size_t>(all.lsa_size);
    f.bytes = (all.ranks.size() + teams) * f.stride;
    void* base = ::mmap(nullptr, f.bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED) { extension::stop("no addresses left for NCCL windows"); }
    f.base = reinterpret_cast<std::uint64_t>(base);
    f.multicast = f.base + all.ranks.size() * f.stride;
}

/// Addresses for `size` bytes of each rank, with an unused page behind them.
std::uint64_t take_offset(clique& all, std::size_t size)
{
    reserve(all);
    flat_space& f = all.flat;
    const std::uint64_t offset = f.used;
    f.used += (size + page - 1) / page * page + page;
    if (f.used > f.stride) { extension::stop("NCCL windows of more than 16 GiB for each rank are not implemented"); }
    return offset;
}

/// Devices whose ranks see the window of this one.
std::uint64_t devices_of_team(const clique& all, int team)
{
    std::uint64_t mask = 0;
    for (int r = team * all.lsa_size; r < (team + 1) * all.lsa_size; ++r) {
        if (const ncclComm* c = all.ranks[static_cast<std::size_t>(r)]) { mask |= std::uint64_t{1} << c->device; }
    }
    return mask;
}

ncclWindow_vidmem description(const clique& all, int rank, std::uint64_t offset, const void* host)
{
    const int first = rank / all.lsa_size * all.lsa_size;
    ncclWindow_vidmem w{};
    w.winHost = const_cast<void*>(host);
    w.lsaFlatBase = reinterpret_cast<char*>(all.flat.base + static_cast<std::uint64_t>(first) * stride + offset);
    w.lsaRank = rank - first;
    w.worldRank = rank;
    w.stride4G = static_cast<std::uint32_t>(stride / unit);
    w.mcOffset4K = static_cast<std::uint32_t>(offset / 4096);
    return w;
}

/// Writes the rank's windows into its tables again; each has room for 32.
void write_tables(ncclComm& c)
{
    constexpr std::size_t room = std::size(ncclDevCommWindowTable{}.entries);
    const std::size_t needed = std::max<std::size_t>(1, (c.windows.size() + room - 1) / room);
    while (c.tables.size() < needed) {
        c.tables.push_back(
            extension::allocate(c.device, sizeof(ncclDevCommWindowTable), "table of NCCL windows", true));
    }
    for (std::size_t t = 0; t < c.tables.size(); ++t) {
        ncclDevCommWindowTable table{};
        for (std::size_t k = 0; k < room && t * room + k < c.windows.size(); ++k) {
            const window& w = c.windows[t * room + k];
            table.entries[k] = {reinterpret_cast<std::uintptr_t>(w.memory), w.size, w.on_device};
        }
        table.next = t + 1 < c.tables.size() ? static_cast<ncclDevCommWindowTable*>(c.tables[t + 1]) : nullptr;
        extension::initialise(c.tables[t], &table, sizeof table);
    }
}

std::uint64_t multicast_of_team(const clique& all, int team)
{
    return all.flat.multicast + static_cast<std::uint64_t>(team) * stride;
}

/// Multicast memory for the windows of each team, which begin at this offset.
void add_multicast(const clique& all, std::uint64_t offset, std::size_t size)
{
    for (int team = 0; team * all.lsa_size < all.size(); ++team) {
        std::vector<void*> aliases;
        for (int r = team * all.lsa_size; r < (team + 1) * all.lsa_size; ++r) {
            aliases.push_back(reinterpret_cast<void*>(all.flat.base + static_cast<std::uint64_t>(r) * stride + offset));
        }
        extension::add_multicast(reinterpret_cast<void*>(multicast_of_team(all, team) + offset), aliases, size,
                                 devices_of_team(all, team), "multicast memory of NCCL windows");
    }
}

void release(const window& w)
{
    // It ends with the window of the first rank that gives its own back.
    if (w.multicast != nullptr) { extension::remove_multicast(w.multicast); }
    extension::remove_alias(w.alias);
    extension::free(w.on_device);
    if (w.owned) { extension::free(w.memory); }
}

}  // namespace

ncclResult_t make_window(std::vector<window_part>& parts)
{
    clique& all = *parts[0].of->all;
    for (const window_part& p : parts) {
        if (p.size != parts[0].size || p.offset != parts[0].offset) {
            for (const window_part& q : parts) { *q.out = nullptr; }
            return set_error(
                ncclInvalidArgument,
                "ncclCommWindowRegister: ranks give windows of different sizes or offsets in their memory");
        }
    }
    const std::uint64_t offset = take_offset(all, parts[0].size);
    for (window_part& p : parts) {
        ncclComm& c = *p.of;
        auto* alias = reinterpret_cast<void*>(all.flat.base + static_cast<std::uint64_t>(c.rank) * stride + offset);
        extension::add_alias(alias, p.memory, p.size, devices_of_team(all, c.rank / all.lsa_size),
                             "NCCL window of rank " + std::to_string(c.rank));
        const ncclWindow_vidmem w = description(all, c.rank, offset, p.memory);
        auto* on_device =
            static_cast<ncclWindow_t>(extension::allocate(c.device, sizeof w, "handle of an NCCL window", true));
        extension::initialise(on_device, &w, sizeof w);
        *p.out = on_device;
        void* multicast = all.multimem
                              ? reinterpret_cast<void*>(multicast_of_team(all, c.rank / all.lsa_size) + offset)
                              : nullptr;
        c.windows.push_back({on_device, alias, multicast, p.memory, p.size, p.owned});
        write_tables(c);
    }
    if (all.multimem) { add_multicast(all, offset, parts[0].size); }
    return ncclSuccess;
}

void* multicast_base(ncclComm& c)
{
    reserve(*c.all);
    return reinterpret_cast<void*>(multicast_of_team(*c.all, c.rank / c.all->lsa_size));
}

void remove_window(ncclComm& c, ncclWindow_t w)
{
    const auto at = std::find_if(c.windows.begin(), c.windows.end(), [&](const window& k) { return k.on_device == w; });
    if (at == c.windows.end()) { return; }
    release(*at);
    c.windows.erase(at);
    write_tables(c);
}

ncclDevCommWindowTable* window_table(ncclComm& c)
{
    write_tables(c);
    return static_cast<ncclDevCommWindowTable*>(c.tables[0]);
}

void remove_windows(ncclComm& c)
{
    for (const window& w : c.windows) { release(w); }
    for (void* t : c.tables) { extension::free(t); }
    c.windows.clear();
    c.tables.clear();
}

}  // namespace emulator::nccl

using namespace emulator;
using namespace emulator::nccl;

namespace {

/// Memory from ncclMemAlloc: other memory cannot be mapped a second time.
std::set<void*>& allocated()
{
    static auto* a = new std::set<void*>;
    return *a;
}

ncclResult_t check_window(const void* memory, std::size_t size, extension::extent& in)
{
    in = extension::allocation_of(memory);
    if (allocated().count(in.begin) == 0) {
        return set_error(ncclUnhandledCudaError, "ncclCommWindowRegister: the memory is not from ncclMemAlloc");
    }
    const auto offset = static_cast<std::size_t>(static_cast<const char*>(memory) - static_cast<char*>(in.begin));
    if (offset % NCCL_WIN_REQUIRED_ALIGNMENT != 0 || offset + size > in.bytes) {
        return set_error(ncclInvalidArgument, "ncclCommWindowRegister: the window must begin at a multiple of " +
                                                  std::to_string(NCCL_WIN_REQUIRED_ALIGNMENT) +
                                                  " bytes in its memory and end in it");
    }
    return ncclSuccess;
}

}  // namespace

extern "C" {

ncclResult_t ncclMemAlloc(void** pointer, size_t size)
{
    const extension::lock hold;
    if (pointer == nullptr) { return ncclInvalidArgument; }
    *pointer = nullptr;
    if (size == 0) { return ncclSuccess; }
    int device = 0;
    cudaGetDevice(&device);
    *pointer = extension::allocate(device, size, "ncclMemAlloc", false);
    if (*pointer == nullptr) { return set_error(ncclUnhandledCudaError, "ncclMemAlloc: out of memory"); }
    allocated().insert(*pointer);
    return ncclSuccess;
}

ncclResult_t ncclMemFree(void* pointer)
{
    {
        const extension::lock hold;
        if (pointer == nullptr) { return ncclSuccess; }
        if (allocated().erase(pointer) == 0) {
            return set_error(ncclInvalidArgument, "ncclMemFree: the memory is not from ncclMemAlloc");
        }
    }
    return cudaFree(pointer) == cudaSuccess ? ncclSuccess : ncclUnhandledCudaError;
}

// Registration makes no difference here, but a wrong range is one.
ncclResult_t ncclCommRegister(const ncclComm_t comm, void* buffer, size_t size, void** handle)
{
    const extension::lock hold;
    const extension::extent in = extension::allocation_of(buffer);
    const auto end = reinterpret_cast<std::uintptr_t>(buffer) + size;
    if (!find(comm) || handle == nullptr || in.begin == nullptr ||
        end > reinterpret_cast<std::uintptr_t>(in.begin) + in.bytes) {
        return set_error(ncclInvalidArgument, "ncclCommRegister: the buffer is not memory of a device");
    }
    *handle = buffer;
    return ncclSuccess;
}

ncclResult_t ncclCommDeregister(const ncclComm_t comm, void* handle)
{
    const extension::lock hold;
    return find(comm) && handle != nullptr ? ncclSuccess
                                           : set_error(ncclInvalidArgument, "ncclCommDeregister: no such handle");
}

ncclResult_t ncclCommWindowRegister(ncclComm_t comm, void* memory, size_t size, ncclWindow_t* out, int)
{
    std::shared_ptr<ncclComm> c;
    std::shared_ptr<meeting> m;
    {
        const extension::lock hold;
        ncclResult_t why = ncclSuccess;
        c = find_usable(comm, "ncclCommWindowRegister", why);
        if (!c) { return refuse(why); }
        if (out == nullptr || memory == nullptr || size == 0) {
            return refuse(set_error(ncclInvalidArgument, "ncclCommWindowRegister: no memory"));
        }
        extension::extent in;
        if (const ncclResult_t r = check_window(memory, size, in); r != ncclSuccess) { return refuse(r); }
        auto* mine = meet<window_part>(*c, "ncclCommWindowRegister", make_window);
        if (mine == nullptr) {
            return refuse(set_error(ncclInvalidUsage, "ncclCommWindowRegister: other ranks call another"));
        }
        m = c->pending;
        const auto offset = static_cast<std::size_t>(static_cast<char*>(memory) - static_cast<char*>(in.begin));
        mine->arrive(c->rank, {c, memory, size, offset, out});
    }
    return take(c, m);
}

ncclResult_t ncclCommWindowDeregister(ncclComm_t comm, ncclWindow_t w)
{
    const extension::lock hold;
    const auto c = find(comm);
    if (!c) { return set_error(ncclInvalidArgument, "ncclCommWindowDeregister: no communicator is there"); }
    if (w != nullptr) { remove_window(*c, w); }
    return ncclSuccess;
}
}
