// The few lines of a test framework that programs compiled by nvcc need: doctest would cost each of them seconds.
#pragma once

#include "control.h"

#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace check {

inline int n_checks = 0;
inline int n_failed = 0;

inline bool that(bool holds, const char* text, const char* file, int line)
{
    ++n_checks;
    if (!holds && ++n_failed < 20) { std::printf("%s:%d: failed: %s\n", file, line, text); }
    return holds;
}

/// What main returns.
inline int result()
{
    std::printf("checks: %d, failed: %d\n", n_checks, n_failed);
    return n_failed == 0 && n_checks > 0 ? 0 : 1;
}

/// Whether some report begins with the rule and contains the text.
inline bool reported(const std::string& rule, const std::string& text = "")
{
    for (std::size_t i = 0; i < emulator_report_count(); ++i) {
        const std::string r = emulator_report(i);
        if (r.rfind(rule + ":", 0) == 0 && r.find(text) != std::string::npos) { return true; }
    }
    return false;
}

inline void quiet() { emulator_set("print", 0); }

/// Device memory of n elements, freed at the end of the scope.
template <class T>
class device_array {
  public:
    explicit device_array(std::size_t n) : n_{n} { cudaMalloc(reinterpret_cast<void**>(&data_), n * sizeof(T)); }
    explicit device_array(const std::vector<T>& from) : device_array(from.size()) { copy_from(from); }
    ~device_array() { cudaFree(data_); }
    device_array(const device_array&) = delete;
    T* data() const { return data_; }
    operator T*() const { return data_; }
    void copy_from(const std::vector<T>& from)
    {
        cudaMemcpy(data_, from.data(), n_ * sizeof(T), cudaMemcpyHostToDevice);
    }
    std::vector<T> host() const
    {
        std::vector<T> to(n_);
        cudaMemcpy(to.data(), data_, n_ * sizeof(T), cudaMemcpyDeviceToHost);
        return to;
    }

  private:
    T* data_ = nullptr;
    std::size_t n_;
};

}  // namespace check

#define CHECK(...) check::that(static_cast<bool>(__VA_ARGS__), #__VA_ARGS__, __FILE__, __LINE__)
