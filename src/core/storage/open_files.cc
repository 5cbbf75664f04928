#include "storage/open_files.h"

#include <sys/resource.h>

namespace forebay {

std::size_t most_open_files() {
  constexpr std::size_t most = 64;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return most;
  return std::clamp<std::size_t>(static_cast<std::size_t>(limit.rlim_cur) / 4, 1, most);
}

}  // namespace forebay
