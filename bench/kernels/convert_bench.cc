// Speed of byte swapping and conversion, against memcpy of the same bytes. Bytes per second count
// what is read plus what is written. The small size stays in the first-level cache; the large one
// does not fit the caches of one core.
#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "array/convert.h"
#include "base/byteorder.h"

namespace {

using forebay::Type;

constexpr std::int64_t small_bytes = 16 << 10;
constexpr std::int64_t large_bytes = 64 << 20;

std::vector<std::byte> filled(std::int64_t bytes) {
  return std::vector<std::byte>(static_cast<std::size_t>(bytes), std::byte{0});
}

void copy_with_memcpy(benchmark::State& state) {
  const std::int64_t bytes = state.range(0);
  const auto src = filled(bytes);
  auto dst = filled(bytes);
  for (auto _ : state) {
    std::memcpy(dst.data(), src.data(), static_cast<std::size_t>(bytes));
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * bytes * 2);
}

void swap_copy(benchmark::State& state) {
  const std::int64_t bytes = state.range(0);
  const int width = static_cast<int>(state.range(1));
  const auto src = filled(bytes);
  auto dst = filled(bytes);
  for (auto _ : state) {
    forebay::copy_swapped(dst.data(), src.data(), static_cast<std::size_t>(bytes), width);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * bytes * 2);
}

void swap_in_place(benchmark::State& state) {
  const std::int64_t bytes = state.range(0);
  auto data = filled(bytes);
  for (auto _ : state) {
    forebay::copy_swapped(data.data(), data.data(), static_cast<std::size_t>(bytes),
                          static_cast<int>(state.range(1)));
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * bytes * 2);
}

// One element at a time, as a scattered request of single points does it.
void swap_single_elements(benchmark::State& state) {
  const int width = static_cast<int>(state.range(0));
  const auto src = filled(small_bytes);
  auto dst = filled(small_bytes);
  for (auto _ : state) {
    for (std::int64_t at = 0; at < small_bytes; at += width)
      forebay::copy_swapped_range(dst.data() + at, src.data(), at, width, width);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * (small_bytes / width));
}

void convert(benchmark::State& state, Type ext, Type mem, bool writing) {
  const std::int64_t n = state.range(0) / 8;
  const auto src = filled(n * 8);
  auto dst = filled(n * 8);
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        writing ? forebay::to_external(ext, dst.data(), mem, src.data(), n, nullptr)
                : forebay::from_external(ext, src.data(), mem, dst.data(), n, nullptr));
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * n * (forebay::size_of(ext) + forebay::size_of(mem)));
}

void register_conversions() {
  constexpr Type types[] = {Type::byte,  Type::int16,  Type::int32,  Type::float32, Type::float64,
                            Type::uint8, Type::uint16, Type::uint32, Type::int64,   Type::uint64};
  for (const bool writing : {true, false})
    for (const Type ext : types)
      for (const Type mem : types) {
        if (ext == mem) continue;
        const std::string name = writing
                                     ? std::string(name_of(mem)) + "_to_external_" + name_of(ext)
                                     : std::string(name_of(mem)) + "_from_external_" + name_of(ext);
        benchmark::RegisterBenchmark(name.c_str(), convert, ext, mem, writing)
            ->Arg(small_bytes)
            ->Arg(large_bytes);
      }
}

}  // namespace

BENCHMARK(copy_with_memcpy)->Arg(small_bytes)->Arg(large_bytes);
BENCHMARK(swap_copy)->ArgsProduct({{64, small_bytes, large_bytes}, {2, 4, 8}});
BENCHMARK(swap_in_place)->ArgsProduct({{small_bytes, large_bytes}, {2, 4, 8}});
BENCHMARK(swap_single_elements)->Arg(2)->Arg(4)->Arg(8);

int main(int argc, char** argv) {
  register_conversions();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
