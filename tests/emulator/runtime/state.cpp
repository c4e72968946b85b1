#include "state.hpp"

#include "../check/order.hpp"
#include "../counters/launch_counters.hpp"
#include "../counters/log.hpp"
#include "../error.hpp"
#include "../execute/access.hpp"

namespace emulator {
namespace {

void kernel_ended(operation& o)
{
    launch& k = *o.kernel;
    if (k.error != 0) { device_at(k.device).sticky = k.error; }
    if (k.parameter_memory != nullptr) { memory().remove(*k.parameter_memory); }
    if (k.workspace != nullptr) { memory().free(*k.workspace); }
    log_launch(k);
}

}  // namespace

runtime_state& state()
{
    static auto* s = [] {
        auto* made = new runtime_state;
        made->devices.resize(static_cast<std::size_t>(settings().device.devices));
        for (std::size_t d = 0; d < made->devices.size(); ++d) {
            auto legacy = std::make_unique<stream>();
            legacy->device = static_cast<int>(d);
            legacy->legacy = true;
            legacy->timeline = made->next_timeline++;
            made->devices[d].legacy = std::move(legacy);
        }
        the_engine().on_kernel_end = kernel_ended;
        the_engine().on_failure = [](operation& o) { device_at(o.device).sticky = o.error; };
        return made;
    }();
    return *s;
}

host_thread& this_host_thread()
{
    thread_local host_thread t;
    return t;
}

device_state& device_at(int device) { return state().devices.at(static_cast<std::size_t>(device)); }
device_state& current_device() { return device_at(this_host_thread().device); }

cudaError_t remember(cudaError_t e)
{
    if (e != cudaSuccess) { this_host_thread().last = e; }
    return e;
}

cudaError_t sticky_error() { return static_cast<cudaError_t>(current_device().sticky); }

stream* find_stream(cudaStream_t handle)
{
    if (handle == nullptr || handle == cudaStreamLegacy) { return current_device().legacy.get(); }
    if (handle == cudaStreamPerThread) {
        host_thread& t = this_host_thread();
        stream*& own = t.own_stream[t.device];
        if (!own) {
            own = new stream;
            own->device = t.device;
            own->timeline = state().next_timeline++;
            current_device().streams.insert(own);
        }
        return own;
    }
    auto* s = reinterpret_cast<stream*>(handle);
    return state().streams.count(s) != 0 ? s : nullptr;
}

std::shared_ptr<operation> submit(stream& s, const std::string& what, const make_operation& make)
{
    if (s.capture) {
        graph& g = *s.capture->graph;
        g.nodes.push_back({make, s.capture_last, what});
        s.capture_last = {g.nodes.size() - 1};
        return nullptr;
    }
    std::shared_ptr<operation> o = make();
    o->what = what;
    o->timeline = s.timeline;
    o->sequence = ++s.sequence;
    device_state& d = device_at(s.device);
    const auto wait_for_stream = [&](const stream& other) {
        if (other.last) { o->after.push_back(other.last); }
    };
    // The legacy default stream and the device's blocking streams wait for each other.
    if (s.legacy) {
        for (const stream* other : d.streams) {
            if (other->blocking()) { wait_for_stream(*other); }
        }
    } else if (s.blocking()) {
        wait_for_stream(*d.legacy);
    }
    if (s.last) { o->after.push_back(s.last); }
    s.last = o;
    the_engine().enqueue(o);
    return o;
}

std::shared_ptr<operation> submit(stream& s, const std::string& what, const std::function<void(operation&)>& action)
{
    const int device = s.device;
    return submit(s, what, make_operation([=] {
                      auto o = std::make_shared<operation>();
                      o->device = device;
                      o->action = action;
                      return o;
                  }));
}

cudaError_t wait_for(const std::shared_ptr<operation>& o)
{
    if (o) {
        try {
            the_engine().run_until([&] { return o->done; });
        } catch (const unsupported& e) {
            stop(e.what());
        }
        order_host_waited(*o);
    }
    return sticky_error();
}

cudaError_t wait_for_device(int device)
{
    device_state& d = device_at(device);
    cudaError_t e = wait_for(d.legacy->last);
    const std::set<stream*> streams = d.streams;
    for (stream* s : streams) {
        if (d.streams.count(s) != 0 && s->last) { e = wait_for(s->last); }
    }
    return e;
}

}  // namespace emulator
