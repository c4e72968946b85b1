#include "extension.hpp"

#include "../check/clock.hpp"
#include "../check/order.hpp"
#include "../error.hpp"
#include "../execute/access.hpp"
#include "../runtime/state.hpp"

#include <cstring>

namespace emulator::extension {
namespace {

stream* stream_of(int device, cudaStream_t handle)
{
    const int before = std::exchange(this_host_thread().device, device);
    stream* s = find_stream(handle);
    this_host_thread().device = before;
    return s != nullptr && s->device == device ? s : nullptr;
}

}  // namespace

lock::lock() { the_engine().enter(); }
lock::~lock() { the_engine().leave(); }

std::shared_ptr<operation> make_operation(int device, std::function<void(operation&)> action)
{
    auto o = std::make_shared<operation>();
    o->device = device;
    o->action = std::move(action);
    return o;
}

cudaError_t submit(int device, cudaStream_t handle, const std::string& what,
                   const std::function<std::shared_ptr<operation>()>& make)
{
    if (const int e = device_at(device).sticky; e != 0) { return static_cast<cudaError_t>(e); }
    stream* s = stream_of(device, handle);
    if (s == nullptr) { return cudaErrorInvalidResourceHandle; }
    emulator::submit(*s, what, make);
    return cudaSuccess;
}

cudaError_t wait(const std::shared_ptr<operation>& o)
{
    wait_for(o);
    return static_cast<cudaError_t>(device_at(o->device).sticky);
}

void learn(operation& later, const operation& earlier)
{
    later.end_clock = joined(later.end_clock, earlier.begin_clock);
}

void complete(const operation& o) { the_engine().complete(o); }

void report_misuse(const std::string& text) { make_report(rule::invalid, text); }
void report_deadlock(const std::string& text) { make_report(rule::deadlock, text); }
std::uint32_t choose(std::uint32_t n) { return random_choices().below(n); }
void stop(const std::string& why) { emulator::stop(why); }

void* allocate(int device, std::size_t bytes, const std::string& what, bool zero)
{
    if (memory().bytes_of_device(device) + bytes > settings().device.memory) { return nullptr; }
    allocation& a = memory().allocate(bytes, memory_kind::device, device, what);
    auto* begin = reinterpret_cast<void*>(a.begin);
    if (zero) {
        std::memset(begin, 0, bytes);
        a.written.mark(0, bytes);
    }
    return begin;
}

void free(void* pointer)
{
    if (allocation* a = memory().find_live(reinterpret_cast<std::uint64_t>(pointer))) { memory().free(*a); }
}

void initialise(void* to, const void* from, std::size_t bytes)
{
    const auto address = reinterpret_cast<std::uint64_t>(to);
    allocation* a = memory().find_live(address);
    std::memcpy(to, from, bytes);
    a->written.mark(address - a->begin, bytes);
}

extent allocation_of(const void* address)
{
    const allocation* a = memory().find_live(reinterpret_cast<std::uint64_t>(address));
    return a == nullptr ? extent{} : extent{reinterpret_cast<void*>(a->begin), a->size};
}

void add_alias(void* at, void* of, std::size_t bytes, std::uint64_t devices, const std::string& what)
{
    const auto address = reinterpret_cast<std::uint64_t>(of);
    allocation* a = memory().find_live(address);
    memory().add_alias(reinterpret_cast<std::uint64_t>(at), bytes, *a, address - a->begin, devices, what);
}

void remove_alias(void* at)
{
    if (allocation* a = memory().find_live(reinterpret_cast<std::uint64_t>(at))) { memory().remove(*a); }
}

void add_multicast(void* at, const std::vector<void*>& aliases, std::size_t bytes, std::uint64_t devices,
                   const std::string& what)
{
    std::vector<allocation*> members;
    for (void* a : aliases) { members.push_back(memory().find_live(reinterpret_cast<std::uint64_t>(a))); }
    memory().add_multicast(reinterpret_cast<std::uint64_t>(at), bytes, std::move(members), devices, what);
}

void remove_multicast(void* at) { remove_alias(at); }

}  // namespace emulator::extension
