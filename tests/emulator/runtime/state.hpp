// What the runtime keeps: devices, streams, events, modules, and each host thread's current device and last error.
#pragma once

#include "../schedule/engine.hpp"

#include <cuda_runtime_api.h>

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace emulator {

using make_operation = std::function<std::shared_ptr<operation>()>;

struct graph_node {
    make_operation make;
    std::vector<std::size_t> after;
    std::string what;
};

/// Work recorded by stream capture; what a cudaGraph_t points to.
struct graph {
    std::vector<graph_node> nodes;
    std::vector<cudaGraphNode_t> handles;
};

struct graph_exec {
    graph work;
    std::vector<std::uint32_t> timelines;
    std::uint32_t launches = 0;
    std::shared_ptr<operation> last;
};

/// One capture, which several streams may have joined.
struct capture_state {
    std::shared_ptr<emulator::graph> graph = std::make_shared<emulator::graph>();
    unsigned long long id = 0;
    bool broken = false;
};

struct stream {
    int device = 0;
    unsigned flags = 0;
    int priority = 0;
    bool legacy = false;
    unsigned long long id = 0;
    std::uint32_t timeline = 0;
    std::uint32_t sequence = 0;
    std::shared_ptr<operation> last;
    std::shared_ptr<capture_state> capture;
    bool capture_origin = false;
    std::vector<std::size_t> capture_last;  ///< nodes that the stream's next one comes after

    bool blocking() const { return !legacy && (flags & cudaStreamNonBlocking) == 0; }
};

struct event {
    unsigned flags = 0;
    int device = 0;
    std::shared_ptr<operation> recorded;
    std::shared_ptr<capture_state> capture;
    std::vector<std::size_t> capture_nodes;
};

struct device_state {
    int sticky = 0;  ///< an error that stays, as the device's context is lost
    unsigned flags = 0;
    std::unique_ptr<stream> legacy;
    std::set<stream*> streams;
    std::map<cudaLimit, std::size_t> limits;
};

/// A kernel known to the host by the address of its stub.
struct kernel_entry {
    module_image* module = nullptr;
    std::string name;
    const function* code = nullptr;  ///< once decoded
    std::map<cudaFuncAttribute, int> attributes;
};

/// A __device__, __constant__ or __managed__ variable known by the address of its shadow.
struct variable_entry {
    module_image* module = nullptr;
    std::string name;
    std::size_t size = 0;
};

struct runtime_state {
    std::vector<device_state> devices;
    std::map<const void*, std::unique_ptr<kernel_entry>> kernels;
    std::map<const void*, variable_entry> variables;
    std::vector<std::unique_ptr<module_image>> modules;
    std::set<stream*> streams;
    std::set<event*> events;
    std::uint32_t next_timeline = 1;
    unsigned long long next_id = 1;
};

runtime_state& state();

struct host_thread {
    int device = 0;
    cudaError_t last = cudaSuccess;
    stream* own_stream[64] = {};  ///< what cudaStreamPerThread means; they outlive the thread
    cudaStreamCaptureMode capture_mode = cudaStreamCaptureModeGlobal;
};

host_thread& this_host_thread();
device_state& current_device();
device_state& device_at(int device);

/// Keeps an error for cudaGetLastError and returns it.
cudaError_t remember(cudaError_t e);
/// The error that the current device is stuck with, or success.
cudaError_t sticky_error();

/// The stream of a handle, the default ones included; null when there is none.
stream* find_stream(cudaStream_t handle);
/// Appends work to the stream, or to the graph that it captures. Returns the operation, or null when captured.
std::shared_ptr<operation> submit(stream& s, const std::string& what, const make_operation& make);
std::shared_ptr<operation> submit(stream& s, const std::string& what, const std::function<void(operation&)>& action);
/// Waits for the operation, then reports the device's error.
cudaError_t wait_for(const std::shared_ptr<operation>& o);
cudaError_t wait_for_device(int device);
/// Puts the module's variables on the device, once.
void place_variables(module_image& m, int device);

}  // namespace emulator
