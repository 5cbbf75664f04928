#include "format/chunk_index.h"

#include <xxhash.h>

#include <algorithm>
#include <cstring>

#include "base/byteorder.h"
#include "base/error.h"

namespace forebay::chunked {
namespace {

constexpr std::uint64_t root_magic = 0x46424348524f4f54;       // "FBCHROOT"
constexpr std::uint64_t directory_magic = 0x4642434844495231;  // "FBCHDIR1"
constexpr std::uint32_t version = 1;
constexpr std::uint32_t synced_flag = 1;
constexpr Count ref_bytes = 24;
constexpr std::size_t most_reason = 4096;

[[noreturn]] void damaged(const std::string& what) {
  throw Error(Errc::enotnc, "chunk index damaged: " + what,
              "forebay check tells what can still be read");
}

class Writer {
 public:
  template <typename T>
  void put(T value) {
    bytes_.resize(bytes_.size() + sizeof value);
    store_be(bytes_.data() + bytes_.size() - sizeof value, value);
  }
  void put(const BlockRef& ref) {
    put(ref.offset);
    put(ref.bytes);
    put(ref.hash);
  }
  void put_text(const std::string& text) {
    put(static_cast<std::uint32_t>(text.size()));
    for (const char c : text) bytes_.push_back(static_cast<std::byte>(c));
  }
  void put_list(const std::vector<Count>& list) {
    put(static_cast<std::uint32_t>(list.size()));
    for (const Count n : list) put(n);
  }
  std::vector<std::byte>& bytes() { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}
  template <typename T>
  T get() {
    return load_be<T>(take(sizeof(T)).data());
  }
  BlockRef ref() {
    BlockRef r;
    r.offset = get<Offset>();
    r.bytes = get<Count>();
    r.hash = get<std::uint64_t>();
    return r;
  }
  std::span<const std::byte> take(std::size_t n) {
    if (n > bytes_.size()) damaged("it ends too early");
    const auto taken = bytes_.first(n);
    bytes_ = bytes_.subspan(n);
    return taken;
  }
  std::string text() {
    const auto bytes = take(get<std::uint32_t>());
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  std::vector<Count> list() {
    const auto n = get<std::uint32_t>();
    if (n > left() / sizeof(Count)) damaged("a list that is longer than it");
    std::vector<Count> numbers;
    for (std::uint32_t i = 0; i < n; ++i) numbers.push_back(get<Count>());
    return numbers;
  }
  std::size_t left() const { return bytes_.size(); }

 private:
  std::span<const std::byte> bytes_;
};

bool lies_within(Offset offset, Count bytes, Offset end) {
  return offset >= 0 && bytes >= 0 && bytes <= end && offset <= end - bytes;
}

}  // namespace

std::uint64_t hash_of(std::span<const std::byte> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

const Entry& ChunkTable::get(Count id) const {
  static const Entry absent;
  const auto p = static_cast<std::size_t>(id / chunks_per_page);
  if (p >= pages_.size() || !pages_[p]) return absent;
  const auto& entries = pages_[p]->entries;
  const auto i = static_cast<std::size_t>(id % chunks_per_page);
  return i < entries.size() ? entries[i] : absent;
}

Entry& ChunkTable::set(Count id) {
  const auto p = static_cast<std::size_t>(id / chunks_per_page);
  if (p >= pages_.size()) pages_.resize(p + 1);
  if (!pages_[p]) pages_[p] = std::make_unique<Page>();
  pages_[p]->dirty = true;
  auto& entries = pages_[p]->entries;
  const auto i = static_cast<std::size_t>(id % chunks_per_page);
  if (i >= entries.size()) entries.resize(i + 1);
  return entries[i];
}

std::vector<std::byte> print_root(const Root& root) {
  Writer out;
  out.put(root_magic);
  out.put(version);
  out.put(root.synced ? synced_flag : std::uint32_t{0});
  out.put(root.generation);
  out.put(std::uint32_t{0});
  out.put(root.shift);
  out.put(root.directory);
  out.put(hash_of(out.bytes()));
  std::vector<std::byte> slot(slot_bytes);
  for (Count c = 0; c < slot_copies; ++c) {
    std::copy(out.bytes().begin(), out.bytes().end(), slot.begin() + c * copy_stride);
  }
  return slot;
}

namespace {

std::optional<Root> parse_copy(std::span<const std::byte> slot) {
  const std::size_t checked = static_cast<std::size_t>(root_bytes) - 8;
  if (hash_of(slot.first(checked)) != load_be<std::uint64_t>(slot.data() + checked))
    return std::nullopt;
  Reader in(slot);
  if (in.get<std::uint64_t>() != root_magic) return std::nullopt;
  if (const auto v = in.get<std::uint32_t>(); v != version) {
    throw Error(Errc::enotnc, "the chunk index has version " + std::to_string(v),
                "this build reads version 1; use a newer one");
  }
  Root root;
  root.synced = (in.get<std::uint32_t>() & synced_flag) != 0;
  root.generation = in.get<std::uint32_t>();
  in.get<std::uint32_t>();
  root.shift = in.get<Offset>();
  root.directory = in.ref();
  if (root.shift < 0) damaged("it begins before the file does");
  return root;
}

}  // namespace

std::optional<Root> parse_root(std::span<const std::byte> slot) {
  if (slot.size() < static_cast<std::size_t>(slot_bytes)) return std::nullopt;
  for (Count c = 0; c < slot_copies; ++c) {
    if (auto root = parse_copy(slot.subspan(static_cast<std::size_t>(c * copy_stride), root_bytes)))
      return root;
  }
  return std::nullopt;
}

Count printed_bytes(const Page& page) {
  std::size_t used = page.entries.size();
  while (used > 0 && !page.entries[used - 1].present()) --used;
  return static_cast<Count>(used) * entry_bytes;
}

std::vector<std::byte> print_page(const Page& page) {
  const auto used = static_cast<std::size_t>(printed_bytes(page) / entry_bytes);
  std::vector<std::byte> bytes(used * entry_bytes);
  std::byte* at = bytes.data();
  for (std::size_t i = 0; i < used; ++i, at += entry_bytes) {
    const Entry& e = page.entries[i];
    store_be(at, e.offset);
    store_be(at + 8, e.bytes);
    store_be(at + 16, e.hash);
    store_be(at + 24, e.skipped);
    store_be(at + 28, std::uint32_t{0});
  }
  return bytes;
}

void parse_page(std::span<const std::byte> bytes, Page& page) {
  if (bytes.size() % entry_bytes != 0 || bytes.size() > static_cast<std::size_t>(page_bytes))
    damaged("a page of " + std::to_string(bytes.size()) + " bytes");
  const std::byte* at = bytes.data();
  page.entries.assign(bytes.size() / entry_bytes, {});
  for (std::size_t i = 0; i < page.entries.size(); ++i, at += entry_bytes) {
    Entry& e = page.entries[i];
    e.offset = load_be<Offset>(at);
    e.bytes = load_be<Count>(at + 8);
    e.hash = load_be<std::uint64_t>(at + 16);
    e.skipped = load_be<std::uint32_t>(at + 24);
    if (e.offset == -1) continue;
    // Beyond the end of a file that was cut short is that chunk's own misfortune.
    if (!lies_within(e.offset, e.bytes, INT64_MAX))
      damaged("a chunk of " + std::to_string(e.bytes) + " bytes at byte " +
              std::to_string(e.offset));
  }
}

std::vector<std::byte> print_directory(const Directory& directory) {
  Writer out;
  out.put(directory_magic);
  out.put(directory.end);
  out.put(directory.numrecs);
  out.put(static_cast<std::uint32_t>(directory.items.size()));
  for (const Directory::Item& item : directory.items) {
    out.put(static_cast<std::int32_t>(item.var));
    out.put(static_cast<std::int32_t>(item.type));
    out.put_list(item.lengths);
    out.put_text(item.codec);
    out.put_list(item.shape);
    out.put_text(item.reason.substr(0, most_reason));
    out.put(static_cast<Count>(item.pages.size()));
    for (const BlockRef& ref : item.pages) out.put(ref);
  }
  return std::move(out.bytes());
}

Directory parse_directory(std::span<const std::byte> bytes, Offset file_end) {
  Reader in(bytes);
  if (in.get<std::uint64_t>() != directory_magic) damaged("its directory is something else");
  Directory directory;
  directory.end = in.get<Offset>();
  directory.numrecs = in.get<Count>();
  if (directory.end < 0 || directory.numrecs < 0) damaged("it has a negative size");
  const auto items = in.get<std::uint32_t>();
  Count all_pages = 0;
  for (std::uint32_t i = 0; i < items; ++i) {
    Directory::Item item;
    item.var = in.get<std::int32_t>();
    item.type = static_cast<Type>(in.get<std::int32_t>());
    item.lengths = in.list();
    item.codec = in.text();
    item.shape = in.list();
    item.reason = in.text();
    const auto pages = in.get<Count>();
    if (pages < 0 || pages > static_cast<Count>(in.left() / ref_bytes))
      damaged("a directory of too many pages");
    for (Count p = 0; p < pages; ++p) {
      const BlockRef ref = in.ref();
      if (ref.offset != -1 && (ref.bytes <= 0 || ref.bytes > page_bytes ||
                               !lies_within(ref.offset, ref.bytes, file_end)))
        damaged("a page at byte " + std::to_string(ref.offset) + " lies outside the file");
      // What is named must fit in the file all together, so that memory is bounded by its size.
      if (ref.offset != -1 && (all_pages += ref.bytes) > file_end)
        damaged("its pages are larger than the file");
      item.pages.push_back(ref);
    }
    directory.items.push_back(std::move(item));
  }
  return directory;
}

}  // namespace forebay::chunked
