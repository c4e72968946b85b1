// Graphs made by stream capture: instantiated, launched, and launched again.
#include "../error.hpp"
#include "state.hpp"

using namespace emulator;

namespace {

graph* as_graph(cudaGraph_t g) { return reinterpret_cast<graph*>(g); }
graph_exec* as_exec(cudaGraphExec_t e) { return reinterpret_cast<graph_exec*>(e); }

cudaError_t begin_capture(stream& s)
{
    if (s.legacy) { return cudaErrorStreamCaptureUnsupported; }
    if (s.capture) { return cudaErrorIllegalState; }
    s.capture = std::make_shared<capture_state>();
    s.capture->id = state().next_id++;
    s.capture_origin = true;
    s.capture_last.clear();
    return cudaSuccess;
}

/// Whether the node is before one of these, or one of them.
bool joined(const graph& g, std::size_t node, const std::vector<std::size_t>& ends)
{
    std::vector<bool> seen(g.nodes.size());
    std::vector<std::size_t> left = ends;
    while (!left.empty()) {
        const std::size_t n = left.back();
        left.pop_back();
        if (seen[n]) { continue; }
        seen[n] = true;
        left.insert(left.end(), g.nodes[n].after.begin(), g.nodes[n].after.end());
    }
    return seen[node];
}

cudaError_t end_capture(stream& s, cudaGraph_t* out)
{
    *out = nullptr;
    if (!s.capture) { return cudaErrorIllegalState; }
    if (!s.capture_origin) { return cudaErrorStreamCaptureUnmatched; }
    const std::shared_ptr<capture_state> c = s.capture;
    cudaError_t e = c->broken ? cudaErrorStreamCaptureInvalidated : cudaSuccess;
    for (std::size_t n = 0; n < c->graph->nodes.size(); ++n) {
        if (e == cudaSuccess && !joined(*c->graph, n, s.capture_last)) { e = cudaErrorStreamCaptureUnjoined; }
    }
    for (stream* other : state().streams) {
        if (other->capture == c) {
            other->capture = nullptr;
            other->capture_origin = false;
            other->capture_last.clear();
        }
    }
    if (e == cudaSuccess) { *out = reinterpret_cast<cudaGraph_t>(new graph(*c->graph)); }
    return e;
}

std::shared_ptr<operation> empty_operation(int device, const char* what)
{
    auto o = std::make_shared<operation>();
    o->device = device;
    o->what = what;
    return o;
}

// Each node becomes an operation after the stream's work, and what follows in the stream comes after all of them.
void launch_nodes(graph_exec& e, stream& s)
{
    const auto before =
        submit(s, "cudaGraphLaunch", make_operation([&] { return empty_operation(s.device, "a graph's begin"); }));
    ++e.launches;
    // A graph's launches follow each other, in whatever streams they are.
    if (e.last) { before->after.push_back(e.last); }
    std::vector<std::shared_ptr<operation>> made;
    for (std::size_t n = 0; n < e.work.nodes.size(); ++n) {
        const graph_node& node = e.work.nodes[n];
        auto o = node.make();
        o->what = node.what;
        o->timeline = e.timelines[n];
        o->sequence = e.launches;
        o->after.push_back(before);
        for (const std::size_t k : node.after) { o->after.push_back(made[k]); }
        made.push_back(o);
        the_engine().enqueue(o);
    }
    e.last = submit(s, "the end of cudaGraphLaunch", make_operation([&] {
                        auto o = empty_operation(s.device, "a graph's end");
                        o->after = made;
                        return o;
                    }));
}

}  // namespace

extern "C" {

cudaError_t cudaStreamBeginCapture(cudaStream_t handle, cudaStreamCaptureMode)
{
    const entry lock;
    stream* s = find_stream(handle);
    return remember(s == nullptr ? cudaErrorInvalidResourceHandle : begin_capture(*s));
}

cudaError_t cudaStreamEndCapture(cudaStream_t handle, cudaGraph_t* graph)
{
    const entry lock;
    stream* s = find_stream(handle);
    return remember(s == nullptr ? cudaErrorInvalidResourceHandle : end_capture(*s, graph));
}

cudaError_t cudaStreamIsCapturing(cudaStream_t handle, cudaStreamCaptureStatus* status)
{
    const entry lock;
    stream* s = find_stream(handle);
    if (s == nullptr) { return remember(cudaErrorInvalidResourceHandle); }
    *status = !s->capture          ? cudaStreamCaptureStatusNone
              : s->capture->broken ? cudaStreamCaptureStatusInvalidated
                                   : cudaStreamCaptureStatusActive;
    return cudaSuccess;
}

cudaError_t cudaStreamGetCaptureInfo(cudaStream_t handle, cudaStreamCaptureStatus* status, unsigned long long* id,
                                     cudaGraph_t* graph, const cudaGraphNode_t** dependencies,
                                     const cudaGraphEdgeData**, std::size_t* n)
{
    if (graph != nullptr || dependencies != nullptr || n != nullptr) {
        stop("cudaStreamGetCaptureInfo: a capture's graph is not implemented");
    }
    const entry lock;
    stream* s = find_stream(handle);
    if (s == nullptr) { return remember(cudaErrorInvalidResourceHandle); }
    *status = !s->capture          ? cudaStreamCaptureStatusNone
              : s->capture->broken ? cudaStreamCaptureStatusInvalidated
                                   : cudaStreamCaptureStatusActive;
    if (id != nullptr) { *id = s->capture ? s->capture->id : 0; }
    return cudaSuccess;
}

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode)
{
    std::swap(*mode, this_host_thread().capture_mode);
    return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t g, unsigned long long)
{
    const entry lock;
    if (g == nullptr) { return remember(cudaErrorInvalidValue); }
    auto* made = new graph_exec{*as_graph(g), {}, 0, nullptr};
    for (std::size_t n = 0; n < made->work.nodes.size(); ++n) { made->timelines.push_back(state().next_timeline++); }
    *exec = reinterpret_cast<cudaGraphExec_t>(made);
    return cudaSuccess;
}

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* exec, cudaGraph_t g, unsigned long long flags)
{
    return cudaGraphInstantiate(exec, g, flags);
}

cudaError_t cudaGraphUpload(cudaGraphExec_t, cudaStream_t) { return cudaSuccess; }

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t handle)
{
    const entry lock;
    if (const cudaError_t e = sticky_error(); e != cudaSuccess) { return remember(e); }
    stream* s = find_stream(handle);
    if (s == nullptr || exec == nullptr) { return remember(cudaErrorInvalidValue); }
    if (s->capture) { stop("cudaGraphLaunch during capture is not implemented"); }
    launch_nodes(*as_exec(exec), *s);
    return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec)
{
    const entry lock;
    delete as_exec(exec);
    return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t g)
{
    const entry lock;
    delete as_graph(g);
    return cudaSuccess;
}

cudaError_t cudaGraphGetNodes(cudaGraph_t g, cudaGraphNode_t* nodes, std::size_t* n)
{
    const entry lock;
    if (nodes != nullptr) { stop("cudaGraphGetNodes: only the number of nodes is implemented"); }
    *n = as_graph(g)->nodes.size();
    return cudaSuccess;
}
}
