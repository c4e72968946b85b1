// What host code calls before main: its fat binaries, kernels and variables.
#include "../error.hpp"
#include "../execute/access.hpp"
#include "fatbin.hpp"
#include "state.hpp"

#include <algorithm>
#include <cstring>

namespace emulator {
namespace {

// Modules are parsed when first needed: a program may register some that it never uses.
struct pending_module {
    const void* wrapper;
    module_image* image = nullptr;
};

module_image* load(void** handle)
{
    auto* p = reinterpret_cast<pending_module*>(handle);
    if (p->image == nullptr) {
        try {
            state().modules.push_back(std::make_unique<module_image>(ptx_of_fat_binary(p->wrapper)));
        } catch (const unsupported& e) {
            stop(e.what());
        }
        p->image = state().modules.back().get();
    }
    return p->image;
}

std::map<const void*, void**>& kernel_modules()
{
    static auto* m = new std::map<const void*, void**>;
    return *m;
}

std::map<const void*, void**>& variable_modules()
{
    static auto* m = new std::map<const void*, void**>;
    return *m;
}

/// A __managed__ variable: the host's code reads its address from here.
struct managed_variable {
    void** module;
    std::string name;
    std::size_t size;
    void** host;
};

std::vector<managed_variable>& managed_variables()
{
    static auto* v = new std::vector<managed_variable>;
    return *v;
}

// One memory for host and all devices, placed when either first needs it.
void place_managed(module_image& m)
{
    for (const managed_variable& v : managed_variables()) {
        if (*v.host != nullptr || load(v.module) != &m) { continue; }
        const auto at = std::find_if(m.syntax.variables.begin(), m.syntax.variables.end(),
                                     [&](const ptx::variable& x) { return x.name == v.name; });
        if (at == m.syntax.variables.end() || !at->relocations.empty()) {
            stop("__managed__ variable " + v.name + ": one that is not in the PTX, or holds addresses");
        }
        allocation& a = memory().allocate(v.size, memory_kind::managed, 0, "__managed__ variable " + v.name);
        a.written = written_map();  // the host may write it unseen
        auto* begin = reinterpret_cast<void*>(a.begin);
        std::memset(begin, 0, v.size);
        std::memcpy(begin, at->bytes.data(), std::min<std::size_t>(at->bytes.size(), v.size));
        *v.host = begin;
        state().variables[begin] = {&m, v.name, v.size};
    }
}

/// Where the module's managed variable is, or null.
void* managed_address(module_image& m, const std::string& name)
{
    for (const managed_variable& v : managed_variables()) {
        if (v.name == name && load(v.module) == &m) { return *v.host; }
    }
    return nullptr;
}

}  // namespace

kernel_entry* find_kernel(const void* host)
{
    const auto at = state().kernels.find(host);
    if (at == state().kernels.end()) { return nullptr; }
    kernel_entry& k = *at->second;
    if (k.module == nullptr) { k.module = load(kernel_modules()[host]); }
    if (k.code == nullptr) {
        try {
            k.code = k.module->find(k.name);
        } catch (const unsupported& e) {
            stop(e.what());
        }
    }
    return k.code != nullptr ? &k : nullptr;
}

variable_entry* find_variable(const void* host)
{
    const auto at = state().variables.find(host);
    if (at == state().variables.end()) { return nullptr; }
    if (at->second.module == nullptr) { at->second.module = load(variable_modules()[host]); }
    return &at->second;
}

void place_variables(module_image& m, int device)
{
    if (m.addresses.count(device) != 0) { return; }
    place_managed(m);
    auto& addresses = m.addresses[device];
    for (const ptx::variable& v : m.syntax.variables) {
        if (v.space != space::global && v.space != space::constant) { continue; }
        if (v.external) { continue; }
        if (void* managed = managed_address(m, v.name)) {
            addresses[v.name] = reinterpret_cast<std::uint64_t>(managed);
            continue;
        }
        const memory_kind kind = v.space == space::constant ? memory_kind::constant : memory_kind::variable;
        allocation& a = memory().allocate(std::max<std::uint64_t>(v.size, 1), kind, device, "variable " + v.name);
        std::memset(reinterpret_cast<void*>(a.begin), 0, v.size);
        std::memcpy(reinterpret_cast<void*>(a.begin), v.bytes.data(), std::min<std::uint64_t>(v.bytes.size(), v.size));
        a.written.mark(0, a.size);
        addresses[v.name] = a.begin;
    }
    for (const ptx::variable& v : m.syntax.variables) {
        for (const ptx::relocation& r : v.relocations) {
            const auto at = addresses.find(r.symbol);
            const std::uint64_t value = (at != addresses.end() ? at->second : m.function_address(r.symbol)) +
                                        static_cast<std::uint64_t>(r.addend);
            std::memcpy(reinterpret_cast<void*>(addresses[v.name] + r.offset), &value, sizeof value);
        }
    }
}

}  // namespace emulator

using namespace emulator;

extern "C" {

void** __cudaRegisterFatBinary(void* wrapper)
{
    const entry lock;
    return reinterpret_cast<void**>(new pending_module{wrapper});
}

void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void**) {}

// Called before the host's first access to a __managed__ variable.
char __cudaInitModule(void** handle)
{
    const entry lock;
    place_managed(*load(handle));
    return 1;
}

void __cudaRegisterFunction(void** handle, const char* host, char*, const char* name, int, uint3*, uint3*, dim3*, dim3*,
                            int*)
{
    const entry lock;
    auto made = std::make_unique<kernel_entry>();
    made->name = name;
    state().kernels[host] = std::move(made);
    kernel_modules()[host] = handle;
}

void __cudaRegisterVar(void** handle, char* host, char*, const char* name, int, std::size_t size, int, int)
{
    const entry lock;
    state().variables[host] = {nullptr, name, size};
    variable_modules()[host] = handle;
}

void __cudaRegisterManagedVar(void** handle, void** host, char*, const char* name, int, std::size_t size, int, int)
{
    const entry lock;
    managed_variables().push_back({handle, name, size, host});
}
}
