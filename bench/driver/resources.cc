#include "driver/resources.h"

#include <sys/resource.h>

#include <fstream>
#include <string>

namespace forebay::bench {
namespace {

// A line such as "VmHWM:      5120 kB".
std::int64_t status_bytes(const std::string& key) {
  std::ifstream in("/proc/self/status");
  std::string word;
  while (in >> word) {
    if (word == key) {
      std::int64_t kib = 0;
      in >> kib;
      return kib * 1024;
    }
  }
  return 0;
}

}  // namespace

std::int64_t resident_now() { return status_bytes("VmRSS:"); }

std::int64_t resident_peak() {
  if (const std::int64_t peak = status_bytes("VmHWM:"); peak > 0) return peak;
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::int64_t>(usage.ru_maxrss) * 1024;
}

void reset_peak() {
  // Writing 5 resets the high-water mark and nothing else (proc(5)).
  std::ofstream("/proc/self/clear_refs") << 5;
}

double processor_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

}  // namespace forebay::bench
