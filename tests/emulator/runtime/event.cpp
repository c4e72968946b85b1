// Events: marks in a stream that others wait for.
#include "../check/order.hpp"
#include "../error.hpp"
#include "state.hpp"

using namespace emulator;

namespace {

event* find_event(cudaEvent_t handle)
{
    auto* e = reinterpret_cast<event*>(handle);
    return state().events.count(e) != 0 ? e : nullptr;
}

cudaError_t record(cudaEvent_t handle, cudaStream_t stream_handle)
{
    if (const cudaError_t e = sticky_error(); e != cudaSuccess) { return e; }
    event* e = find_event(handle);
    stream* s = find_stream(stream_handle);
    if (e == nullptr || s == nullptr || e->device != s->device) { return cudaErrorInvalidResourceHandle; }
    if (s->capture) {
        e->capture = s->capture;
        e->capture_nodes = s->capture_last;
        e->recorded = nullptr;
        return cudaSuccess;
    }
    e->capture = nullptr;
    e->recorded = submit(*s, "cudaEventRecord", [](operation&) {});
    return cudaSuccess;
}

cudaError_t wait(stream& s, event& e)
{
    if (e.capture) {
        // Waiting for an event of a capture makes the stream part of it.
        if (s.capture && s.capture != e.capture) { return cudaErrorStreamCaptureMerge; }
        s.capture = e.capture;
        s.capture_last.insert(s.capture_last.end(), e.capture_nodes.begin(), e.capture_nodes.end());
        return cudaSuccess;
    }
    if (!e.recorded) { return cudaSuccess; }
    if (s.capture) { return cudaErrorStreamCaptureIsolation; }
    const auto recorded = e.recorded;
    const int device = s.device;
    submit(s, "cudaStreamWaitEvent", make_operation([=] {
               auto o = std::make_shared<operation>();
               o->device = device;
               o->after = {recorded};
               return o;
           }));
    return cudaSuccess;
}

}  // namespace

extern "C" {

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* handle, unsigned flags)
{
    const entry lock;
    if (const cudaError_t e = sticky_error(); e != cudaSuccess) { return remember(e); }
    auto* e = new event;
    e->flags = flags;
    e->device = this_host_thread().device;
    state().events.insert(e);
    *handle = reinterpret_cast<cudaEvent_t>(e);
    return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t* handle) { return cudaEventCreateWithFlags(handle, cudaEventDefault); }

cudaError_t cudaEventDestroy(cudaEvent_t handle)
{
    const entry lock;
    auto* e = reinterpret_cast<event*>(handle);
    if (state().events.erase(e) == 0) { return remember(cudaErrorInvalidResourceHandle); }
    delete e;
    return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t e, cudaStream_t s)
{
    const entry lock;
    return remember(record(e, s));
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t e, cudaStream_t s, unsigned flags)
{
    if (flags != cudaEventRecordDefault) { stop("cudaEventRecordWithFlags: only the default flags are implemented"); }
    return cudaEventRecord(e, s);
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream_handle, cudaEvent_t handle, unsigned flags)
{
    const entry lock;
    if (flags != cudaEventWaitDefault) { stop("cudaStreamWaitEvent: only the default flags are implemented"); }
    event* e = find_event(handle);
    stream* s = find_stream(stream_handle);
    if (e == nullptr || s == nullptr) { return remember(cudaErrorInvalidResourceHandle); }
    return remember(wait(*s, *e));
}

cudaError_t cudaEventSynchronize(cudaEvent_t handle)
{
    const entry lock;
    event* e = find_event(handle);
    if (e == nullptr) { return remember(cudaErrorInvalidResourceHandle); }
    return remember(wait_for(e->recorded));
}

cudaError_t cudaEventQuery(cudaEvent_t handle)
{
    const entry lock;
    event* e = find_event(handle);
    if (e == nullptr) { return remember(cudaErrorInvalidResourceHandle); }
    if (e->recorded && !e->recorded->done) { the_engine().advance(16); }
    if (const cudaError_t error = sticky_error(); error != cudaSuccess) { return remember(error); }
    if (e->recorded && !e->recorded->done) { return remember(cudaErrorNotReady); }
    if (e->recorded) { order_host_waited(*e->recorded); }
    return cudaSuccess;
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start_handle, cudaEvent_t end_handle)
{
    const entry lock;
    event* start = find_event(start_handle);
    event* end = find_event(end_handle);
    if (start == nullptr || end == nullptr || !start->recorded || !end->recorded ||
        ((start->flags | end->flags) & cudaEventDisableTiming) != 0) {
        return remember(cudaErrorInvalidResourceHandle);
    }
    if (!start->recorded->done || !end->recorded->done) { return remember(cudaErrorNotReady); }
    *milliseconds =
        static_cast<float>(static_cast<double>(end->recorded->finished_at - start->recorded->finished_at) * 1e-6);
    return cudaSuccess;
}
}
