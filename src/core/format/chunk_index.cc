#include "format/chunk_index.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/byteorder.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/number_bytes.h"

namespace forebay::chunked {
namespace {

constexpr std::uint64_t index_root_magic = 0x46424348524f4f54;       // "FBCHROOT"
constexpr std::uint64_t index_directory_magic = 0x4642434844495231;  // "FBCHDIR1"
constexpr std::uint32_t index_version = 4;  // 3: without boxes of data files
constexpr std::uint32_t synced_flag = 1;
constexpr Count change_bytes = 4 + 8 + entry_bytes;
constexpr std::size_t most_reason = 4096;

[[noreturn]] void damaged_index(const std::string& what) {
  throw Error(Errc::enotnc, "chunk index damaged: " + what,
              "forebay check tells what can still be read");
}

class IndexFieldWriter : public logged::Printer {
 public:
  void ref(const BlockRef& ref) {
    fixed(ref.offset);
    fixed(ref.bytes);
    fixed(ref.hash);
  }
  void text(const std::string& text) {
    fixed(static_cast<std::uint32_t>(text.size()));
    raw(std::as_bytes(std::span(text)));
  }
  void entry(const Entry& e) {
    fixed(e.offset);
    fixed(e.bytes);
    fixed(e.hash);
    fixed(e.skipped);
    fixed(e.file);
  }
  void list(const std::vector<Count>& list) {
    fixed(static_cast<std::uint32_t>(list.size()));
    for (const Count n : list) fixed(n);
  }
};

class IndexFieldReader : public logged::Parser {
 public:
  explicit IndexFieldReader(std::span<const std::byte> bytes) : Parser(bytes, damaged_index) {}
  BlockRef ref() {
    BlockRef r;
    r.offset = fixed<Offset>();
    r.bytes = fixed<Count>();
    r.hash = fixed<std::uint64_t>();
    return r;
  }
  Entry entry() {
    Entry e;
    e.offset = fixed<Offset>();
    e.bytes = fixed<Count>();
    e.hash = fixed<std::uint64_t>();
    e.skipped = fixed<std::uint32_t>();
    e.file = fixed<std::uint32_t>();
    // A chunk may lie beyond the end of a file that was cut short. This harms only that chunk.
    if (e.offset != -1 && !lies_within(e.offset, e.bytes, INT64_MAX))
      damaged_index("a chunk of " + std::to_string(e.bytes) + " bytes at byte " +
                    std::to_string(e.offset));
    return e;
  }
  std::string text() {
    const auto bytes = take(fixed<std::uint32_t>());
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  std::vector<Count> list() {
    const auto n = fixed<std::uint32_t>();
    if (n > left() / sizeof(Count)) damaged_index("a list that is longer than it");
    std::vector<Count> numbers;
    for (std::uint32_t i = 0; i < n; ++i) numbers.push_back(fixed<Count>());
    return numbers;
  }
};

}  // namespace

const Entry& ChunkTable::get(Count id) const {
  static const auto& absent = *new Entry;
  const auto p = static_cast<std::size_t>(id / chunks_per_page);
  const Page* const page = p < pages_.size() ? page_at(p) : nullptr;
  if (page == nullptr) return absent;
  const auto& entries = page->entries;
  const auto i = static_cast<std::size_t>(id % chunks_per_page);
  return i < entries.size() ? entries[i] : absent;
}

Count ChunkTable::bytes() const {
  Count sum = static_cast<Count>(pages_.size()) * ref_bytes;
  for (const auto& page : pages_)
    if (page) sum += static_cast<Count>(page->entries.size()) * entry_bytes;
  return sum;
}

Count ChunkTable::bytes_around(Count id) const {
  const Count refs = static_cast<Count>(pages_.size()) * ref_bytes;
  const auto p = static_cast<std::size_t>(id / chunks_per_page);
  if (p >= pages_.size() || !pages_[p]) return refs;
  return refs + static_cast<Count>(pages_[p]->entries.size()) * entry_bytes;
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
  IndexFieldWriter out;
  out.fixed(index_root_magic);
  out.fixed(index_version);
  out.fixed(root.synced ? synced_flag : std::uint32_t{0});
  out.fixed(root.generation);
  out.fixed(std::uint32_t{0});
  out.fixed(root.shift);
  out.ref(root.directory);
  out.ref(root.journal);
  return store::print_slot(out.bytes(), root_form);
}

namespace {

[[noreturn]] void refuse_version(std::uint32_t version) {
  throw Error(Errc::enotnc, "the chunk index has version " + std::to_string(version),
              "this build reads version " + std::to_string(index_version) + "; use " +
                  (version < index_version ? "the earlier Forebay that wrote it, to convert it"
                                           : "a newer one"));
}

/// Version 1 had its hash elsewhere, so that its roots look damaged.
void refuse_first_version(std::span<const std::byte> slot) {
  constexpr std::size_t hashed = 56;
  if (slot.size() < hashed + 8 || load_be<std::uint64_t>(slot.data()) != index_root_magic) return;
  const bool whole = load_be<std::uint64_t>(slot.data() + hashed) == hash_of(slot.first(hashed));
  if (whole && load_be<std::uint32_t>(slot.data() + 8) == 1) refuse_version(1);
}

}  // namespace

std::optional<Root> parse_root(std::span<const std::byte> slot) {
  const auto contents = store::parse_slot(slot, root_form);
  if (!contents) {
    refuse_first_version(slot);
    return std::nullopt;
  }
  IndexFieldReader in(*contents);
  if (in.fixed<std::uint64_t>() != index_root_magic) return std::nullopt;
  const auto v = in.fixed<std::uint32_t>();
  if (v != index_version) refuse_version(v);
  Root root;
  root.synced = (in.fixed<std::uint32_t>() & synced_flag) != 0;
  root.generation = in.fixed<std::uint32_t>();
  in.fixed<std::uint32_t>();
  root.shift = in.fixed<Offset>();
  root.directory = in.ref();
  root.journal = in.ref();
  if (root.shift < 0) damaged_index("it begins before the file does");
  return root;
}

Count printed_bytes(const Page& page) {
  std::size_t used = page.entries.size();
  while (used > 0 && !page.entries[used - 1].present()) --used;
  return static_cast<Count>(used) * entry_bytes;
}

std::vector<std::byte> print_page(const Page& page) {
  IndexFieldWriter out;
  const auto used = static_cast<std::size_t>(printed_bytes(page) / entry_bytes);
  for (std::size_t i = 0; i < used; ++i) out.entry(page.entries[i]);
  return std::move(out.bytes());
}

void parse_page(std::span<const std::byte> bytes, Page& page) {
  if (bytes.size() % entry_bytes != 0 || bytes.size() > static_cast<std::size_t>(page_bytes))
    damaged_index("a page of " + std::to_string(bytes.size()) + " bytes");
  IndexFieldReader in(bytes);
  page.entries.assign(bytes.size() / entry_bytes, {});
  for (Entry& e : page.entries) e = in.entry();
}

namespace {

void print_item(IndexFieldWriter& out, const Directory::Item& item) {
  out.fixed(static_cast<std::int32_t>(item.var));
  out.fixed(static_cast<std::int32_t>(item.type));
  out.list(item.lengths);
  out.text(item.codec);
  out.list(item.shape);
  out.text(item.reason.substr(0, most_reason));
  out.fixed(static_cast<Count>(item.pages.size()));
  for (const BlockRef& ref : item.pages) out.ref(ref);
  out.fixed(static_cast<std::uint32_t>(item.boxes.size()));
  for (const auto& [file, box] : item.boxes) {
    out.fixed(file);
    for (const Count n : box.first) out.fixed(n);
    for (const Count n : box.last) out.fixed(n);
  }
}

void parse_boxes(IndexFieldReader& in, Directory::Item& item) {
  const FileBoxes grid(item.lengths, item.shape, 1);
  const auto boxes = in.fixed<std::uint32_t>();
  if (boxes > 0 && !grid.has_grid()) damaged_index("boxes of a variable without chunks");
  std::uint32_t before = 0;
  for (std::uint32_t i = 0; i < boxes; ++i) {
    const auto file = in.fixed<std::uint32_t>();
    ChunkBox box;
    for (auto* corner : {&box.first, &box.last})
      for (std::size_t d = 0; d < item.shape.size(); ++d) corner->push_back(in.fixed<Count>());
    if (file <= before || !grid.is_possible(box))
      damaged_index("the box of data file " + std::to_string(static_cast<Count>(file) - 1) +
                    " is impossible");
    before = file;
    item.boxes.emplace_hint(item.boxes.end(), file, std::move(box));
  }
}

/// `all_pages`: bytes of all pages referred to so far.
Directory::Item parse_item(IndexFieldReader& in, Offset file_end, Count& all_pages) {
  Directory::Item item;
  item.var = in.fixed<std::int32_t>();
  item.type = static_cast<Type>(in.fixed<std::int32_t>());
  item.lengths = in.list();
  item.codec = in.text();
  item.shape = in.list();
  if (item.shape.size() > 1024) damaged_index("a variable of more than 1024 dimensions");
  item.reason = in.text();
  const auto pages = in.fixed<Count>();
  if (pages < 0 || pages > static_cast<Count>(in.left() / ref_bytes))
    damaged_index("a directory of too many pages");
  for (Count p = 0; p < pages; ++p) {
    const BlockRef ref = in.ref();
    if (ref.offset != -1 &&
        (ref.bytes <= 0 || ref.bytes > page_bytes || !lies_within(ref.offset, ref.bytes, file_end)))
      damaged_index("a page at byte " + std::to_string(ref.offset) + " lies outside the file");
    // All pages together must fit in the file. So the file's size bounds memory.
    if (ref.offset != -1 && (all_pages += ref.bytes) > file_end)
      damaged_index("its pages are larger than the file");
    item.pages.push_back(ref);
  }
  parse_boxes(in, item);
  return item;
}

}  // namespace

std::vector<std::byte> print_directory(const Directory& directory) {
  IndexFieldWriter out;
  out.fixed(index_directory_magic);
  out.fixed(directory.end);
  out.fixed(directory.numrecs);
  out.fixed(static_cast<std::uint32_t>(directory.items.size()));
  for (const Directory::Item& item : directory.items) print_item(out, item);
  return std::move(out.bytes());
}

Directory parse_directory(std::span<const std::byte> bytes, Offset file_end) {
  IndexFieldReader in(bytes);
  if (in.fixed<std::uint64_t>() != index_directory_magic)
    damaged_index("its directory is something else");
  Directory directory;
  directory.end = in.fixed<Offset>();
  directory.numrecs = in.fixed<Count>();
  if (directory.end < 0 || directory.numrecs < 0) damaged_index("it has a negative size");
  const auto items = in.fixed<std::uint32_t>();
  Count all_pages = 0;
  for (std::uint32_t i = 0; i < items; ++i)
    directory.items.push_back(parse_item(in, file_end, all_pages));
  return directory;
}

namespace {

IndexFieldWriter print_front(const Journal& record) {
  IndexFieldWriter out;
  out.fixed(record.end);
  out.fixed(record.numrecs);
  out.fixed(static_cast<std::uint32_t>(record.items.size()));
  for (const Directory::Item& item : record.items) print_item(out, item);
  out.fixed(static_cast<std::uint32_t>(record.changes.size()));
  return out;
}

}  // namespace

std::vector<std::byte> print_journal(const Journal& record) {
  IndexFieldWriter out = print_front(record);
  for (const Journal::Change& change : record.changes) {
    out.fixed(static_cast<std::int32_t>(change.var));
    out.fixed(change.id);
    out.entry(change.entry);
  }
  return std::move(out.bytes());
}

Count printed_bytes(const Journal& record) {
  return static_cast<Count>(print_front(record).bytes().size()) +
         static_cast<Count>(record.changes.size()) * change_bytes;
}

Journal parse_journal(std::span<const std::byte> bytes) {
  IndexFieldReader in(bytes);
  Journal journal;
  while (in.left() > 0) {
    journal.end = in.fixed<Offset>();
    journal.numrecs = in.fixed<Count>();
    if (journal.end < 0 || journal.numrecs < 0) damaged_index("it has a negative size");
    const auto items = in.fixed<std::uint32_t>();
    Count all_pages = 0;
    for (std::uint32_t i = 0; i < items; ++i) {
      journal.items.push_back(parse_item(in, 0, all_pages));
      if (!journal.items.back().pages.empty()) damaged_index("its journal names pages");
      if (!journal.items.back().boxes.empty()) damaged_index("its journal has boxes");
    }
    const auto changes = in.fixed<std::uint32_t>();
    for (std::uint32_t i = 0; i < changes; ++i) {
      Journal::Change change;
      change.var = in.fixed<std::int32_t>();
      change.id = in.fixed<Count>();
      change.entry = in.entry();
      if (change.id < 0) damaged_index("its journal tells of chunk " + std::to_string(change.id));
      journal.changes.push_back(change);
    }
  }
  return journal;
}

void apply(const Journal& journal, Directory& directory, Offset file_end) {
  directory.end = journal.end;
  directory.numrecs = journal.numrecs;
  std::map<VarId, std::size_t> places;
  Count refs = 0, bytes = 0;  // of all pages
  for (std::size_t i = 0; i < directory.items.size(); ++i) {
    places[directory.items[i].var] = i;
    for (const BlockRef& ref : directory.items[i].pages) refs += ref_bytes, bytes += ref.bytes;
  }
  for (const Directory::Item& item : journal.items) {
    const auto [place, is_new] = places.emplace(item.var, directory.items.size());
    if (is_new) directory.items.emplace_back();
    Directory::Item& at = directory.items[place->second];
    auto pages = std::move(at.pages);
    auto boxes = std::move(at.boxes);
    at = item;
    at.pages = std::move(pages);
    at.boxes = std::move(boxes);
  }
  std::map<std::pair<VarId, Count>, Count> changed;  // pages, with their present sizes
  for (const Journal::Change& change : journal.changes) {
    const auto place = places.find(change.var);
    if (place == places.end()) damaged_index("its journal tells of a variable without a shape");
    auto& pages = directory.items[place->second].pages;
    const Count p = change.id / chunks_per_page;
    const Count more = p - static_cast<Count>(pages.size()) + 1;
    if (more > 0) {
      if (more > (file_end - refs) / ref_bytes) damaged_index("its pages are larger than the file");
      refs += more * ref_bytes;
      pages.resize(static_cast<std::size_t>(p) + 1);
    }
    const auto first =
        changed.emplace(std::pair{change.var, p}, pages[static_cast<std::size_t>(p)].bytes).first;
    const Count needed = (change.id % chunks_per_page + 1) * entry_bytes;
    if (needed <= first->second) continue;
    bytes += needed - first->second;
    first->second = needed;
    if (bytes > file_end) damaged_index("its pages are larger than the file");
  }
}

}  // namespace forebay::chunked
