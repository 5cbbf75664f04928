#include "format/data_file_front.h"

#include "base/error.h"
#include "base/stale_files.h"

namespace forebay::data_files {

void damaged(const std::string& what) {
  throw Error(Errc::enotnc, what, "forebay check tells what can still be read");
}

std::vector<std::byte> print_front(const Front& front) {
  logged::Printer out;
  out.front(data_file_word);
  out.fixed(front.id);
  out.fixed(front.number);
  return store::print_slot(out.bytes());
}

Front parse_front(std::span<const std::byte> bytes) {
  const auto front = parse_slot(bytes, data_file_word, "its front", [](logged::Parser& in) {
    Front found;
    found.id = in.fixed<std::uint64_t>();
    found.number = in.fixed<std::uint32_t>();
    return found;
  });
  if (!front) damaged("it does not begin as a data file does");
  return *front;
}

}  // namespace forebay::data_files
