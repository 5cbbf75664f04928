#include "dataset/probe.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <span>

#include "base/error.h"
#include "format/classic.h"
#include "storage/file.h"

namespace forebay {

std::optional<int> probe_format(const std::string& path) {
  const std::string name = strip_prefix(path);
  Report report;
  File file(name, false, 0, report);
  std::array<std::byte, 8> bytes{};
  const std::size_t got = file.read_at(0, bytes);
  return classic::detect(std::span<const std::byte>(bytes).first(got));
}

void delete_file(const std::string& path) {
  const std::string name = strip_prefix(path);
  if (::unlink(name.c_str()) == 0) return;
  if (errno == EISDIR) throw Error(Errc::eaccess, name + " is a folder");
  throw system_error(errno, Errc::efile, "removing", name);
}

}  // namespace forebay
