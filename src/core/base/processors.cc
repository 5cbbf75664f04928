#include "base/processors.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

#include "base/descriptor.h"

namespace forebay {

int idle_processors(std::string_view loadavg, int processors) {
  constexpr int unknown = std::numeric_limits<int>::max() / 2;
  const std::size_t slash = loadavg.find('/');
  if (slash == std::string_view::npos) return unknown;
  const std::size_t begin = loadavg.rfind(' ', slash) + 1;  // 0 if there is no blank
  int running = 0;
  const auto [end, error] =
      std::from_chars(loadavg.data() + begin, loadavg.data() + slash, running);
  if (error != std::errc{} || end != loadavg.data() + slash) return unknown;
  return std::max(0, processors - std::max(1, running));
}

int idle_processors() {
  std::array<char, 128> text{};
  const Descriptor file(::open("/proc/loadavg", O_RDONLY | O_CLOEXEC));
  const auto size = file.get() < 0 ? -1 : ::read(file.get(), text.data(), text.size());
  const std::string_view read(text.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  return idle_processors(read, static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN)));
}

}  // namespace forebay
