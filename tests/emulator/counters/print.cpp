// The counters as JSON and as a table.
#include "log.hpp"

#include <cstdio>

namespace emulator {
namespace {

void field(std::string& out, const char* name, std::uint64_t value, bool last = false)
{
    out += std::string("\"") + name + "\": " + std::to_string(value) + (last ? "" : ", ");
}

void space_fields(std::string& out, const char* name, const space_counters& s)
{
    out += std::string("\"") + name + "\": {";
    field(out, "load_requests", s.load_requests);
    field(out, "store_requests", s.store_requests);
    field(out, "bytes_loaded", s.bytes_loaded);
    field(out, "bytes_stored", s.bytes_stored);
    field(out, "sectors_loaded", s.sectors_loaded);
    field(out, "sectors_stored", s.sectors_stored);
    field(out, "requests_of_16_bytes", s.wide_requests);
    field(out, "bytes_of_16_byte_requests", s.wide_bytes);
    field(out, "atomic_requests", s.atomics, true);
    out += "}, ";
}

std::string line(const char* format, const std::string& kernel, std::uint64_t warps, std::uint64_t threads,
                 const launch_counters& c)
{
    const std::uint64_t requests = c.global.load_requests + c.global.store_requests;
    char text[512];
    std::snprintf(
        text, sizeof text, format, kernel.c_str(), static_cast<unsigned long long>(warps),
        static_cast<unsigned long long>(threads), static_cast<unsigned long long>(c.global.bytes_loaded),
        static_cast<unsigned long long>(c.global.bytes_stored),
        requests != 0
            ? static_cast<double>(c.global.sectors_loaded + c.global.sectors_stored) / static_cast<double>(requests)
            : 0.0,
        requests != 0 ? 100.0 * static_cast<double>(c.global.wide_requests) / static_cast<double>(requests) : 0.0,
        static_cast<unsigned long long>(c.bank_conflicts), static_cast<unsigned long long>(c.barriers));
    return text;
}

}  // namespace

const char* name_of(instruction_class k)
{
    constexpr const char* names[n_instruction_classes] = {
        "integer", "f16",    "f32",     "f64",  "special", "conversion", "move",      "predicate", "control",
        "memory",  "atomic", "barrier", "warp", "matrix",  "warpgroup",  "multicast", "other"};
    return names[static_cast<std::size_t>(k)];
}

std::string as_json(const std::vector<std::shared_ptr<launch_counters>>& launches)
{
    std::string out = "[";
    for (const auto& c : launches) {
        const class_counts classes = by_class(*c);
        out += out.size() > 1 ? ",\n {" : "\n {";
        out += "\"kernel\": \"" + c->kernel + "\", ";
        field(out, "device", static_cast<std::uint64_t>(c->device));
        field(out, "blocks", c->blocks);
        field(out, "threads_per_block", c->threads);
        field(out, "warp_instructions", classes.all_warps());
        field(out, "thread_instructions", classes.all_threads());
        out += "\"thread_instructions_by_class\": {";
        for (std::size_t k = 0; k < n_instruction_classes; ++k) {
            field(out, name_of(static_cast<instruction_class>(k)), classes.threads[k], k + 1 == n_instruction_classes);
        }
        out += "}, ";
        space_fields(out, "global", c->global);
        space_fields(out, "shared", c->shared);
        space_fields(out, "local", c->local);
        field(out, "bank_conflicts", c->bank_conflicts);
        field(out, "barriers", c->barriers, true);
        out += "}";
    }
    return out + "\n]\n";
}

std::string as_table(const std::vector<std::shared_ptr<launch_counters>>& launches)
{
    char head[512];
    std::snprintf(head, sizeof head, "%-40s %12s %14s %12s %12s %10s %8s %9s %8s\n", "kernel", "warp instr",
                  "thread instr", "loaded", "stored", "sect/req", "128-bit", "conflicts", "barriers");
    std::string out = head;
    for (const auto& c : launches) {
        const class_counts classes = by_class(*c);
        out += line("%-40.40s %12llu %14llu %12llu %12llu %10.2f %7.0f%% %9llu %8llu\n", c->kernel, classes.all_warps(),
                    classes.all_threads(), *c);
    }
    return out;
}

}  // namespace emulator
