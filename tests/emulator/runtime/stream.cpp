// Streams and host functions in them.
#include "../check/order.hpp"
#include "../error.hpp"
#include "state.hpp"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

using namespace emulator;

namespace {

cudaError_t create(cudaStream_t* handle, unsigned flags, int priority)
{
    if (const cudaError_t e = sticky_error(); e != cudaSuccess) { return e; }
    if (handle == nullptr || (flags & ~unsigned{cudaStreamNonBlocking}) != 0) { return cudaErrorInvalidValue; }
    auto* s = new stream;
    s->device = this_host_thread().device;
    s->flags = flags;
    s->priority = priority;
    s->id = state().next_id++;
    s->timeline = state().next_timeline++;
    state().streams.insert(s);
    current_device().streams.insert(s);
    *handle = reinterpret_cast<cudaStream_t>(s);
    return cudaSuccess;
}

// Host functions run in threads of their own: one may wait for a thread that itself waits in the runtime. Most end at
// once; waiting for those keeps the order of everything else the same in every run.
void call_host(operation& o, const std::function<void()>& f)
{
    struct progress {
        std::mutex mutex;
        std::condition_variable ended;
        bool over = false;
    };
    const auto p = std::make_shared<progress>();
    std::thread worker([p, f] {
        f();
        {
            const std::lock_guard lock(p->mutex);
            p->over = true;
        }
        p->ended.notify_all();
    });
    the_engine().mutex().unlock();
    bool over = false;
    {
        std::unique_lock lock(p->mutex);
        over = p->ended.wait_for(lock, std::chrono::milliseconds(100), [&] { return p->over; });
    }
    the_engine().mutex().lock();
    if (over) { return worker.join(); }
    o.detached = true;
    std::thread([worker = std::move(worker), &o]() mutable {
        worker.join();
        const entry lock;
        the_engine().complete(o);
    }).detach();
}

}  // namespace

extern "C" {

cudaError_t cudaStreamCreate(cudaStream_t* s)
{
    const entry lock;
    return remember(create(s, cudaStreamDefault, 0));
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* s, unsigned flags)
{
    const entry lock;
    return remember(create(s, flags, 0));
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* s, unsigned flags, int priority)
{
    const entry lock;
    return remember(create(s, flags, priority));
}

// Returns at once; the stream's work goes on.
cudaError_t cudaStreamDestroy(cudaStream_t handle)
{
    const entry lock;
    auto* s = reinterpret_cast<stream*>(handle);
    if (state().streams.erase(s) == 0) { return remember(cudaErrorInvalidResourceHandle); }
    device_state& d = device_at(s->device);
    d.streams.erase(s);
    if (s->last && !s->last->done) {
        // A synchronisation of the device must still wait for it.
        auto rest = std::make_shared<operation>();
        rest->what = "the rest of a destroyed stream";
        rest->device = s->device;
        rest->after = {s->last};
        if (d.legacy->last) { rest->after.push_back(d.legacy->last); }
        rest->timeline = d.legacy->timeline;
        rest->sequence = ++d.legacy->sequence;
        d.legacy->last = rest;
        the_engine().enqueue(rest);
    }
    delete s;
    return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t handle)
{
    const entry lock;
    stream* s = find_stream(handle);
    if (s == nullptr) { return remember(cudaErrorInvalidResourceHandle); }
    if (s->capture) {
        s->capture->broken = true;
        return remember(cudaErrorStreamCaptureUnsupported);
    }
    return remember(wait_for(s->last));
}

cudaError_t cudaStreamQuery(cudaStream_t handle)
{
    const entry lock;
    stream* s = find_stream(handle);
    if (s == nullptr) { return remember(cudaErrorInvalidResourceHandle); }
    if (const cudaError_t e = sticky_error(); e != cudaSuccess) { return remember(e); }
    if (s->last && !s->last->done) { the_engine().advance(16); }
    if (const cudaError_t e = sticky_error(); e != cudaSuccess) { return remember(e); }
    if (s->last && !s->last->done) { return remember(cudaErrorNotReady); }
    if (s->last) { order_host_waited(*s->last); }
    return cudaSuccess;
}

cudaError_t cudaStreamGetFlags(cudaStream_t handle, unsigned* flags)
{
    const entry lock;
    stream* s = find_stream(handle);
    if (s == nullptr) { return remember(cudaErrorInvalidResourceHandle); }
    *flags = s->flags;
    return cudaSuccess;
}

cudaError_t cudaStreamGetPriority(cudaStream_t handle, int* priority)
{
    const entry lock;
    stream* s = find_stream(handle);
    if (s == nullptr) { return remember(cudaErrorInvalidResourceHandle); }
    *priority = s->priority;
    return cudaSuccess;
}

cudaError_t cudaStreamGetId(cudaStream_t handle, unsigned long long* id)
{
    const entry lock;
    stream* s = find_stream(handle);
    if (s == nullptr) { return remember(cudaErrorInvalidResourceHandle); }
    *id = s->id;
    return cudaSuccess;
}

cudaError_t cudaStreamGetDevice(cudaStream_t handle, int* device)
{
    const entry lock;
    stream* s = find_stream(handle);
    if (s == nullptr) { return remember(cudaErrorInvalidResourceHandle); }
    *device = s->device;
    return cudaSuccess;
}

cudaError_t cudaLaunchHostFunc(cudaStream_t handle, cudaHostFn_t f, void* data)
{
    const entry lock;
    stream* s = find_stream(handle);
    if (s == nullptr) { return remember(cudaErrorInvalidResourceHandle); }
    submit(*s, "cudaLaunchHostFunc", [=](operation& o) { call_host(o, [=] { f(data); }); });
    return cudaSuccess;
}

cudaError_t cudaStreamAddCallback(cudaStream_t handle, cudaStreamCallback_t f, void* data, unsigned)
{
    const entry lock;
    stream* s = find_stream(handle);
    if (s == nullptr) { return remember(cudaErrorInvalidResourceHandle); }
    submit(*s, "cudaStreamAddCallback", [=](operation& o) { call_host(o, [=] { f(handle, cudaSuccess, data); }); });
    return cudaSuccess;
}

cudaError_t cudaStreamAttachMemAsync(cudaStream_t, void*, std::size_t, unsigned) { return cudaSuccess; }
}
