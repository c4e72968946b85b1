// What stand-ins for other CUDA libraries use of the emulator: work in streams that reads and writes memory under the
// checker's eyes, and memory that is seen at a second address.
#pragma once

#include "../schedule/operation.hpp"

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace emulator::extension {

/// Holds the emulator's lock: everything below, and all state of the stand-ins, is used under it.
class lock {
  public:
    lock();
    ~lock();
    lock(const lock&) = delete;
};

/// Work of a device that does this when it begins.
std::shared_ptr<operation> make_operation(int device, std::function<void(operation&)> action);
/// Appends work to a stream of the device (null: the device's default one), or to the graph that the stream captures.
/// `make` is called for each execution of it, in the order in which the host launches them.
cudaError_t submit(int device, cudaStream_t stream, const std::string& what,
                   const std::function<std::shared_ptr<operation>()>& make);
/// Waits for the operation; returns the error of its device. The lock must be held exactly once.
cudaError_t wait(const std::shared_ptr<operation>& o);

// Inside of an action. An access that fails is reported, and makes the operation end with an error.

/// The bytes to read, or null. With `needs_values`, reports those that were never written.
const std::uint8_t* read(operation& o, const void* from, std::size_t bytes, bool needs_values);
bool write(operation& o, void* to, const void* bytes, std::size_t n);
/// Between memory of two operations, or of one. Bytes without a value give none.
bool copy(operation& reader, const void* from, operation& writer, void* to, std::size_t bytes);

/// What happened before `earlier` began is known after `later` has ended.
void learn(operation& later, const operation& earlier);
/// Ends an operation whose action set waits_for.
void complete(const operation& o);

/// Reports a wrong use of a library.
void report_misuse(const std::string& text);
/// Reports a wait that has no end.
void report_deadlock(const std::string& text);
/// Of 0 to n - 1, chosen by the seed.
std::uint32_t choose(std::uint32_t n);
/// Prints why, and ends the program: for what is not implemented.
[[noreturn]] void stop(const std::string& why);

/// Memory of a device; null when it is full. `zero` or poisoned.
void* allocate(int device, std::size_t bytes, const std::string& what, bool zero);
void free(void* memory);
/// Writes memory of a device as the host does it before anything uses it.
void initialise(void* to, const void* from, std::size_t bytes);
/// Where the allocation with this address begins, and its size; null when there is none in use.
struct extent {
    void* begin = nullptr;
    std::size_t bytes = 0;
};
extent allocation_of(const void* address);
/// Shows `bytes` bytes of an allocation at a second address, to the devices of the mask.
void add_alias(void* at, void* of, std::size_t bytes, std::uint64_t devices, const std::string& what);
void remove_alias(void* at);
/// Makes `bytes` bytes at an address, for the devices of the mask, at which multimem instructions reach the same bytes of
/// all these aliases, which begin there.
void add_multicast(void* at, const std::vector<void*>& aliases, std::size_t bytes, std::uint64_t devices,
                   const std::string& what);
void remove_multicast(void* at);

}  // namespace emulator::extension
