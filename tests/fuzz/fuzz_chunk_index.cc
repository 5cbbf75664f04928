// Fuzz target over the parsers of the chunk index and of headers with anchors.
//
// The first byte chooses a parser, the others are what it gets. Whatever they are, each returns or
// throws forebay::Error; what it accepts prints to what reads back the same.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/error.h"
#include "format/chunk_index.h"
#include "format/chunk_schema.h"
#include "format/classic_header.h"
#include "must.h"

namespace {

using forebay::Error;
using forebay::Offset;
namespace chunked = forebay::chunked;
using Bytes = std::span<const std::byte>;

void check_directory(Bytes bytes) {
  constexpr Offset file_end = 1 << 20;
  const auto directory = chunked::parse_directory(bytes, file_end);
  const auto printed = chunked::print_directory(directory);
  const auto again = chunked::parse_directory(printed, file_end);
  must(chunked::print_directory(again) == printed, "what is printed is read back");
  forebay::Count pages = 0;
  for (const auto& item : directory.items) {
    for (const auto& ref : item.pages) {
      if (ref.offset == -1) continue;
      must(ref.offset >= 0 && ref.bytes > 0 && ref.offset <= file_end - ref.bytes,
           "a page lies within the file");
      pages += ref.bytes;
    }
  }
  must(pages <= file_end, "pages are not larger than the file");
}

void check_journal(Bytes bytes) {
  constexpr Offset file_end = 1 << 20;
  const auto journal = chunked::parse_journal(bytes);
  if (!bytes.empty()) {
    // All records in one.
    const auto printed = chunked::print_journal(journal);
    must(std::ssize(printed) == chunked::printed_bytes(journal), "a record has its size");
    must(chunked::print_journal(chunked::parse_journal(printed)) == printed,
         "what is printed is read back");
  }
  chunked::Directory directory;
  chunked::apply(journal, directory, file_end);
  forebay::Count pages = 0;
  for (const auto& item : directory.items) pages += std::ssize(item.pages);
  must(pages * chunked::ref_bytes <= file_end, "pages are listed within the file");
}

void check_page(Bytes bytes) {
  const auto page = std::make_unique<chunked::Page>();
  chunked::parse_page(bytes, *page);
  for (const auto& e : page->entries) {
    if (!e.present()) continue;
    Offset end = 0;
    must(e.bytes >= 0 && forebay::add_fits(e.offset, e.bytes, end), "a chunk has an end");
  }
  const auto printed = chunked::print_page(*page);
  const auto again = std::make_unique<chunked::Page>();
  chunked::parse_page(printed, *again);
  must(chunked::print_page(*again) == printed, "what is printed is read back");
}

void check_root(Bytes bytes) {
  const auto root = chunked::parse_root(bytes);
  if (!root) return;
  must(root->shift >= 0, "a file is shifted towards its end");
  const auto again = chunked::parse_root(chunked::print_root(*root));
  must(again && again->generation == root->generation && again->shift == root->shift &&
           again->directory.offset == root->directory.offset,
       "what is printed is read back");
}

void check_header(Bytes bytes) {
  const auto stored = forebay::classic::parse(bytes, std::ssize(bytes));
  if (!stored || !chunked::has_anchors(*stored)) return;
  Offset root = -1;
  const forebay::Schema schema = chunked::from_stored(*stored, root);
  must(root >= 0, "a root has a place");
  must(schema.vars.size() == stored->vars.size(), "no variable is lost");
  const auto printed = chunked::to_stored(schema, root, chunked::files_of(*stored));
  Offset again = -1;
  const forebay::Schema read = chunked::from_stored(printed, again);
  must(again == root, "the root's place is read back");
  for (std::size_t v = 0; v < schema.vars.size(); ++v) {
    must(read.vars[v].chunking == schema.vars[v].chunking &&
             read.vars[v].shape == schema.vars[v].shape,
         "variables are read back");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const Bytes bytes(reinterpret_cast<const std::byte*>(data) + 1, size - 1);
  try {
    switch (data[0] % 5) {
      case 0:
        check_directory(bytes);
        break;
      case 1:
        check_page(bytes);
        break;
      case 2:
        check_root(bytes);
        break;
      case 4:
        check_journal(bytes);
        break;
      default:
        check_header(bytes);
    }
  } catch (const Error& error) {
    must(error.code() != forebay::Errc::ok && !error.message().empty(), "an error says what it is");
  }
  return 0;
}
