#include "layout/process_group/bp_reader.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>
#include <optional>
#include <unordered_set>

#include "base/attempt.h"
#include "base/error.h"
#include "base/raw_bytes.h"
#include "comm/agree.h"
#include "format/bp_read.h"
#include "method/method_values.h"

namespace forebay::process_group {

namespace {

constexpr std::size_t most_open = 64;
constexpr Count window_bytes = 1 << 20;
// Rows that lie no further apart are read with what is between them, so many bytes at a time.
constexpr Count bridged = 32 << 10, most_at_once = 4 << 20;
// What a selection with strides is read by, box by box.
constexpr Count box_bytes = 8 << 20;

std::string name_of_data(std::uint32_t number) { return "/data." + std::to_string(number); }

bool is_file(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

Count product(const std::vector<Count>& list) {
  return std::accumulate(list.begin(), list.end(), Count{1}, std::multiplies<>());
}

template <typename T>
void put(std::vector<std::byte>& out, T value) {
  const auto bytes = std::as_bytes(std::span(&value, 1));
  out.insert(out.end(), bytes.begin(), bytes.end());
}

template <typename T>
T get(std::span<const std::byte>& from) {
  T value;
  std::memcpy(&value, from.data(), sizeof value);
  from = from.subspan(sizeof value);
  return value;
}

Kind kind_of(const bp::Shape& at) {
  if (at.shape == std::vector<Count>{bp::local_value} && at.count.empty()) return Kind::local_value;
  if (at.count.empty()) return Kind::scalar;
  if (at.shape.empty()) return Kind::local;
  return at.start.empty() ? Kind::joined : Kind::global;
}

using bp::may_be_global;

std::size_t dimensions_of(const bp::Shape& at) {
  return std::max(at.count.size(), at.shape.size());
}

/// Runs of elements that lie one behind the other both in a block and in what is read of it.
class Rows {
 public:
  Rows(const std::vector<Count>& in_block, const std::vector<Count>& in_box,
       const std::vector<Count>& both)
      : both_(both), outer_(both.size()), at_(both.size(), 0) {
    while (outer_ > 0) {
      const std::size_t d = outer_ - 1;
      length_ *= both[d];
      --outer_;
      if (both[d] != in_block[d] || both[d] != in_box[d]) break;
    }
    block_step_ = steps_of(in_block);
    box_step_ = steps_of(in_box);
  }
  Count length() const { return length_; }
  /// f(first element in the block, the same in the box), from the intersection's first ones.
  template <typename F>
  void each(Offset block, Offset box, F&& f) {
    for (;;) {
      f(block, box);
      std::size_t d = outer_;
      for (;;) {
        if (d == 0) return;
        --d;
        block += block_step_[d];
        box += box_step_[d];
        if (++at_[d] < both_[d]) break;
        block -= block_step_[d] * both_[d];
        box -= box_step_[d] * both_[d];
        at_[d] = 0;
      }
    }
  }
  static std::vector<Count> steps_of(const std::vector<Count>& shape) {
    std::vector<Count> steps(shape.size(), 1);
    for (std::size_t d = shape.size(); d-- > 1;) steps[d - 1] = steps[d] * shape[d];
    return steps;
  }

 private:
  const std::vector<Count>& both_;
  std::size_t outer_;
  std::vector<Count> at_;
  Count length_ = 1;
  std::vector<Count> block_step_, box_step_;
};

struct Overlap {
  std::vector<Count> in_block, in_box, count;  // where it begins in each, and how far it goes
  bool any = true;
};

Overlap overlap_of(const bp::Shape& block, const std::vector<Count>& start,
                   const std::vector<Count>& count) {
  Overlap both;
  for (std::size_t d = 0; d < count.size(); ++d) {
    const Count from = std::max(block.start[d], start[d]);
    const Count to = std::min(block.start[d] + block.count[d], start[d] + count[d]);
    both.any = both.any && from < to;
    both.in_block.push_back(from - block.start[d]);
    both.in_box.push_back(from - start[d]);
    both.count.push_back(std::max<Count>(to - from, 0));
  }
  return both;
}

Offset linear(const std::vector<Count>& at, const std::vector<Count>& steps) {
  return std::inner_product(at.begin(), at.end(), steps.begin(), Offset{0});
}

bool disjoint(const Overlap& a, const Overlap& b) {
  for (std::size_t d = 0; d < a.count.size(); ++d)
    if (a.in_box[d] + a.count[d] <= b.in_box[d] || b.in_box[d] + b.count[d] <= a.in_box[d])
      return true;
  return false;
}

bool all_apart(const std::vector<Overlap>& parts) {
  for (std::size_t a = 0; a < parts.size(); ++a)
    for (std::size_t b = 0; b < a; ++b)
      if (!disjoint(parts[a], parts[b])) return false;
  return true;
}

bool has_elements(const bp::Shape& at) {
  return std::find(at.count.begin(), at.count.end(), 0) == at.count.end();
}

}  // namespace

/// A bit for each element of a box: those that have their value.
class BpReader::Marks {
 public:
  explicit Marks(Count elements) : words_(static_cast<std::size_t>((elements + 63) / 64)) {}

  /// Calls f(first, count) for runs of elements in [first, first + count) without a mark, and marks
  /// them.
  template <typename F>
  void take(Count first, Count count, F&& f) {
    Count run = -1;
    const Count end = first + count;
    for (Count at = first; at < end;) {
      std::uint64_t& word = words_[static_cast<std::size_t>(at / 64)];
      const Count upto = std::min(end, (at / 64 + 1) * 64);
      const std::uint64_t of = bits(at % 64, upto - at);
      if ((word & of) == of || (word & of) == 0) {
        if ((word & of) == 0 && run < 0) run = at;
        if ((word & of) != 0 && run >= 0) f(run, at - run), run = -1;
      } else {
        for (Count bit = at; bit < upto; ++bit) {
          const bool marked = (word >> bit % 64 & 1) != 0;
          if (!marked && run < 0) run = bit;
          if (marked && run >= 0) f(run, bit - run), run = -1;
        }
      }
      word |= of;
      at = upto;
    }
    if (run >= 0) f(run, end - run);
  }

 private:
  static std::uint64_t bits(Count first, Count count) {
    return (count == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1) << first;
  }
  std::vector<std::uint64_t> words_;
};

bool is_bp_directory(const std::string& path) {
  return is_file(path + "/md.idx") && is_file(path + "/md.0");
}

/// Goes through md.idx and md.0 and notes what all ranks are told: of each step and each of its
/// variables the place of the entry; its first bytes, up to the first block, where they say other
/// things than in the step before; attributes whole, once.
class BpReader::Scan {
 public:
  enum Item : std::uint8_t { order, step, variable, again, attribute };

  Scan(const std::string& path, Rank rank, Report& report)
      : index_(path + "/md.idx", false, rank, report),
        metadata_(path + "/md.0", false, rank, report) {}

  std::vector<std::byte> run() {
    naming(index_.path(), [&] { read_head(index_); });
    metadata_bytes_ = metadata_.size();
    std::vector<std::byte> records(static_cast<std::size_t>(bp::record_bytes * 1024));
    for (Offset at = bp::head_bytes; at_ok(at); at += static_cast<Offset>(records.size())) {
      const std::size_t n =
          index_.read_at(at, records) / static_cast<std::size_t>(bp::record_bytes);
      for (std::size_t r = 0; more_ && r < n; ++r) {
        const auto record = std::span<const std::byte>(records)
                                .subspan(r * static_cast<std::size_t>(bp::record_bytes))
                                .first<bp::record_bytes>();
        take(naming(index_.path(), [&] { return bp::parse_record(record, swapped_); }));
      }
      if (n * static_cast<std::size_t>(bp::record_bytes) < records.size()) break;
    }
    return std::move(told_);
  }

 private:
  bool at_ok(Offset at) const { return more_ && at < index_end_; }

  void read_head(File& file) {
    std::array<std::byte, bp::head_bytes> head{};
    if (file.read_at(0, head) < head.size())
      throw Error(Errc::ebad_file, "it ends within its first 64 bytes",
                  "its first step was never ended");
    swapped_ = bp::parse_head(head);
    put(told_, order);
    put(told_, static_cast<std::uint8_t>(swapped_));
    index_end_ = file.size();
  }

  // What did not reach its files in whole, as the machine went down, is no step, nor what follows
  // it. Indexes lie one behind the other, so that what is told is no more than md.0 holds.
  void take(const bp::StepRecord& record) {
    if (record.end > metadata_bytes_ || record.groups < metadata_end_ ||
        record.step <= last_step_) {
      more_ = false;
      return;
    }
    metadata_end_ = record.end;
    last_step_ = record.step;
    naming(metadata_.path() + ", step " + std::to_string(record.step), [&] {
      put(told_, step);
      const bool column_major = bp::parse_column_major(
          bytes(record.groups, std::min(record.variables - record.groups, bp::column_major_bytes),
                record.variables),
          swapped_);
      put(told_, static_cast<std::uint8_t>(column_major));
      each_entry(record.variables, record.attributes, [&](Offset at, Count n) {
        const auto entry = bytes(at, std::min(n, bp::longest_first_block), record.attributes);
        bp::VariableEntry parsed(entry, swapped_, column_major);
        bp::Block block;
        if (!parsed.next(block)) return;
        const auto number = static_cast<std::uint32_t>(
            numbers_.emplace(parsed.variable().name, numbers_.size()).first->second);
        if (number == last_.size()) last_.emplace_back();
        Said said{parsed.variable().type, std::move(block.at), std::move(block.operation),
                  block.text.size()};
        if (said == last_[number]) {
          put(told_, again);
          put(told_, number);
        } else {
          last_[number] = std::move(said);
          put(told_, variable);
          put_bytes(entry.first(parsed.at()));
        }
        put(told_, at);
        put(told_, n);
      });
      each_entry(record.attributes, record.end, [&](Offset at, Count n) {
        const auto entry = bytes(at, n, record.end);
        // The first one stays, as for adios2.
        if (!attributes_.insert(bp::parse_attribute(entry, swapped_).name).second) return;
        attribute_bytes_ += n;
        if (attribute_bytes_ > most_attributes)
          throw Error(Errc::ebad_file, "its attributes take more than 256 MiB",
                      "write what is so large as variables");
        put(told_, attribute);
        put_bytes(entry);
      });
    });
  }

  template <typename F>
  void each_entry(Offset from, Offset to, F&& f) {
    const Count all = bp::parse_elements_head(bytes(from, bp::elements_head_bytes, to), swapped_);
    from += bp::elements_head_bytes;
    // adios2 counts its own length among the bytes of attributes, or does not.
    if (all > to - from + bp::elements_head_bytes)
      throw Error(Errc::ebad_file, "damaged: its index is longer than the step's", "");
    for (const Offset end = std::min(from + all, to); from + 4 <= end;) {
      const Count n = bp::parse_entry_bytes(bytes(from, 4, end), swapped_);
      if (n > end - from)
        throw Error(Errc::ebad_file, "damaged: an entry is longer than the step's index", "");
      f(from, n);
      from += n;
    }
  }

  void put_bytes(std::span<const std::byte> some) {
    put(told_, static_cast<std::uint64_t>(some.size()));
    told_.insert(told_.end(), some.begin(), some.end());
  }

  // Of md.0, which has them before `end`; until the next call.
  std::span<const std::byte> bytes(Offset at, Count n, Offset end) {
    if (n > end - at)
      throw Error(Errc::ebad_file, "damaged: the index of a step ends too early", "");
    if (at < window_at_ || at + n > window_at_ + static_cast<Count>(window_.size())) {
      window_.resize(
          static_cast<std::size_t>(std::min(std::max(n, window_bytes), metadata_bytes_ - at)));
      window_at_ = at;
      const std::size_t got = metadata_.read_at(at, window_);
      if (static_cast<Count>(got) < n) throw Error(Errc::ebad_file, "it has become shorter", "");
      window_.resize(got);
    }
    return std::span<const std::byte>(window_)
        .subspan(static_cast<std::size_t>(at - window_at_))
        .first(static_cast<std::size_t>(n));
  }

  /// What entries of a variable say alike in most steps.
  struct Said {
    bp::Type type = bp::Type::string_array;  // that of no variable
    bp::Shape at;
    std::string operation;
    std::size_t text = 0;
    bool operator==(const Said&) const = default;
  };
  static constexpr Count most_attributes = Count{256} << 20;

  File index_, metadata_;
  std::unordered_map<std::string, std::size_t> numbers_;  // of variables, as they come
  std::vector<Said> last_;                                // of each
  std::unordered_set<std::string> attributes_;
  Count attribute_bytes_ = 0;
  Offset index_end_ = 0, metadata_bytes_ = 0, metadata_end_ = bp::head_bytes, window_at_ = 0;
  std::uint64_t last_step_ = 0;
  RawBytes window_;
  bool swapped_ = false, more_ = true;
  std::vector<std::byte> told_;
};

BpReader::BpReader(const Comm& comm, const std::string& path, Report& report)
    : path_(strip_prefix(path)), rank_(comm.rank()), report_(report) {
  while (path_.size() > 1 && path_.back() == '/') path_.pop_back();
  std::vector<std::byte> told;
  by_root(comm, [&] {
    if (is_file(path_ + "/mmd.0"))
      throw Error(Errc::enotsupport, path_ + " is a BP5 file, which is not read",
                  "write it with adios2's engine BP4, or with groups of this library");
    if (is_file(path_))
      throw Error(Errc::enotsupport, path_ + " is one file, and BP4 is a directory",
                  "what is in one file is BP3, which is not read: write it with adios2's BP4");
    told = Scan(path_, rank_, report).run();
  });
  comm.broadcast(told);
  agree_on_error(comm, attempt_to([&] {
                   take(told);
                   metadata_ = std::make_unique<File>(path_ + "/md.0", false, rank_, report);
                   metadata_->ensure_open();
                 }));
}

void BpReader::take(std::span<const std::byte> told) {
  const auto entry = [&] {
    const auto n = static_cast<std::size_t>(get<std::uint64_t>(told));
    const auto bytes = told.first(n);
    told = told.subspan(n);
    return bytes;
  };
  const auto add_entry = [&](StoredVariable& variable) {
    const auto step = static_cast<std::uint32_t>(column_major_.size() - 1);
    const auto place = get<Offset>(told);
    const auto bytes = get<Count>(told);
    if (!variable.steps.empty() && variable.steps.back() == step)
      fail(Errc::ebad_file, variable.variable.name, "it is twice in the index of a step", "");
    variable.steps.push_back(step);
    variable.entries.push_back({place, bytes});
  };
  while (!told.empty()) {
    switch (get<Scan::Item>(told)) {
      case Scan::order:
        swapped_ = get<std::uint8_t>(told) != 0;
        break;
      case Scan::step:
        column_major_.push_back(get<std::uint8_t>(told) != 0);
        break;
      case Scan::attribute:
        attributes_.push_back(bp::parse_attribute(entry(), swapped_));
        break;
      case Scan::again:
        add_entry(variables_[get<std::uint32_t>(told)]);
        break;
      case Scan::variable: {
        bp::VariableEntry parsed(entry(), swapped_, column_major_.back());
        bp::Block block;
        parsed.next(block);
        add_entry(learn(parsed.variable(), block));
        break;
      }
    }
  }
}

// What the first block of a step says.
StoredVariable& BpReader::learn(const bp::Variable& said, const bp::Block& block) {
  const auto [found, is_new] = places_.emplace(said.name, variables_.size());
  const Kind kind = kind_of(block.at);
  const bool without_extents = may_be_global(block.at);
  if (is_new) {
    StoredVariable made;
    made.variable = said;
    made.kind = kind;
    made.dimensions = dimensions_of(block.at);
    made.without_extents = without_extents;
    variables_.push_back(std::move(made));
  }
  StoredVariable& variable = variables_[found->second];
  if (variable.without_extents && !without_extents) {
    variable.kind = kind;
    variable.without_extents = false;
    variable.varies = true;
  }
  const bool fits = kind == variable.kind || (without_extents && variable.kind == Kind::global);
  if (variable.variable.type != said.type || !fits ||
      variable.dimensions != dimensions_of(block.at))
    variable.fault = "its type or shape differs between steps";
  if (kind == Kind::global && variable.shape.empty()) variable.shape = block.at.shape;
  variable.varies |= variable.kind == Kind::global && variable.shape != block.at.shape;
  if (variable.operation.empty()) variable.operation = block.operation;
  variable.longest_text = std::max(variable.longest_text, block.text.size());
  return variable;
}

void BpReader::fail(Errc code, const std::string& about, const std::string& why,
                    const std::string& advice) const {
  throw Error(code, path_ + ": variable " + about + ": " + why, advice);
}

std::size_t BpReader::find(std::string_view name) const {
  const auto found = places_.find(std::string(name));
  if (found != places_.end()) return found->second;
  std::vector<std::string_view> names;
  for (const StoredVariable& variable : variables_) names.push_back(variable.variable.name);
  const auto meant = nearest_word(name, names);
  throw Error(Errc::enotvar, path_ + ": there is no variable \"" + std::string(name) + "\"",
              meant ? "did you mean \"" + *meant + "\"?" : "forebay ls shows what there is");
}

std::size_t BpReader::entry_of(const StoredVariable& variable, std::size_t step) const {
  const auto found = std::lower_bound(variable.steps.begin(), variable.steps.end(), step);
  if (found == variable.steps.end() || *found != step) {
    if (step >= steps())
      throw Error(Errc::einvalcoords,
                  path_ + ": there is no step " + std::to_string(step) + " among " +
                      std::to_string(steps()),
                  "steps count from 0");
    fail(Errc::einvalcoords, variable.variable.name,
         "step " + std::to_string(step) + " does not have it", "it was not written then");
  }
  return static_cast<std::size_t>(found - variable.steps.begin());
}

std::vector<bp::Block> BpReader::blocks(std::size_t v, std::size_t step) const {
  std::vector<bp::Block> all;
  each_block(v, step, [&](bp::Block& block) { all.push_back(std::move(block)); });
  return all;
}

void BpReader::each_block(std::size_t v, std::size_t step,
                          const std::function<void(bp::Block& block)>& f) const {
  const StoredVariable& variable = variables_.at(v);
  if (!variable.fault.empty())
    fail(Errc::ebad_file, variable.variable.name, variable.fault,
         "read it with the program that wrote it");
  const StoredVariable::Entry& at = variable.entries[entry_of(variable, step)];
  RawBytes entry(static_cast<std::size_t>(at.bytes));
  naming(metadata_->path() + ", step " + std::to_string(step) + ", " + variable.variable.name, [&] {
    if (metadata_->read_at(at.place, entry) < entry.size())
      throw Error(Errc::ebad_file, "it has become shorter since it was opened", "");
    bp::VariableEntry parsed(entry, swapped_, column_major_[step]);
    if (parsed.variable() != variable.variable)
      throw Error(Errc::ebad_file, "it is not what it was when the file was opened",
                  "open it again");
    for (bp::Block block; parsed.next(block);) {
      if (variable.kind == Kind::global && may_be_global(block.at))
        block.at.shape = block.at.start = block.at.count;
      if (kind_of(block.at) != variable.kind || dimensions_of(block.at) != variable.dimensions)
        throw Error(Errc::ebad_file, "its blocks are of several kinds", "");
      f(block);
    }
  });
}

const StoredArray& BpReader::array(std::size_t v, std::size_t step) const {
  if (array_of_ == std::pair(v, step)) return array_;
  array_of_ = {-1, -1};
  const StoredVariable& variable = variables_.at(v);
  array_ = {{}, blocks(v, step)};
  std::vector<Count>& shape = array_.shape;
  Count along = 0;
  switch (variable.kind) {
    case Kind::global:
      for (const bp::Block& block : array_.blocks) {
        if (!shape.empty() && shape != block.at.shape)
          fail(Errc::ebad_file, variable.variable.name, "its blocks say different shapes",
               "read it block by block");
        shape = block.at.shape;
      }
      break;
    case Kind::local_value:
      shape = {static_cast<Count>(array_.blocks.size())};
      for (bp::Block& block : array_.blocks) block.at = {shape, {along++}, {1}};
      break;
    case Kind::joined:
    case Kind::local: {
      const auto joint = [&](const bp::Shape& at) {
        return std::find(at.shape.begin(), at.shape.end(), bp::joined) - at.shape.begin();
      };
      const auto d = static_cast<std::size_t>(
          variable.kind == Kind::joined ? joint(array_.blocks.at(0).at) : 0);
      for (const bp::Block& block : array_.blocks) {
        if (!has_elements(block.at)) continue;
        if (shape.empty()) {
          shape = block.at.count;
          shape[d] = 0;
        }
        std::vector<Count> own = block.at.count;
        own[d] = shape[d];
        if (own != shape || __builtin_add_overflow(shape[d], block.at.count[d], &shape[d]))
          fail(variable.kind == Kind::joined ? Errc::ebad_file : Errc::enotsupport,
               variable.variable.name, "its blocks do not follow one another along one dimension",
               "read it block by block");
      }
      if (shape.empty()) shape = array_.blocks.at(0).at.count;
      for (bp::Block& block : array_.blocks) {
        block.at.shape = shape;
        block.at.start.assign(shape.size(), 0);
        block.at.start[d] = along;
        if (has_elements(block.at)) along += block.at.count[d];
      }
      break;
    }
    default:
      break;
  }
  array_of_ = {v, step};
  return array_;
}

void BpReader::check_numbers(const StoredVariable& variable) const {
  if (variable.variable.type == bp::Type::string)
    fail(Errc::echar, variable.variable.name, "it is a string", "read it as text");
}

void BpReader::check_plain(const StoredVariable& variable, const bp::Block& block) const {
  if (!block.operation.empty())
    fail(Errc::enotsupport, variable.variable.name,
         "its values lie behind adios2's operator " + block.operation,
         "write it without an operator, or read it with adios2");
  if ((variable.kind == Kind::scalar || variable.kind == Kind::local_value) && !block.has_value)
    fail(Errc::ebad_file, variable.variable.name, "the index does not have its value", "");
}

File& BpReader::data(std::uint32_t number) const {
  const auto found = std::find_if(open_.begin(), open_.end(),
                                  [&](const auto& one) { return one.first == number; });
  if (found != open_.end()) {
    open_.splice(open_.begin(), open_, found);
  } else {
    auto file = std::make_unique<File>(path_ + name_of_data(number), false, rank_, report_);
    file->ensure_open();
    if (open_.size() >= most_open) open_.pop_back();
    open_.emplace_front(number, std::move(file));
  }
  return *open_.front().second;
}

namespace {

void read_whole(File& file, Offset at, std::span<std::byte> into) {
  if (file.read_at(at, into) < into.size())
    throw Error(Errc::etrunc,
                file.path() + " ends before byte " +
                    std::to_string(at + static_cast<Offset>(into.size())) +
                    ", where the index has values",
                "copy the file again, with all that is in its folder");
}

}  // namespace

// Runs are gathered while they lie close to each other, and read at once.
void BpReader::copy_from(const bp::Block& block, const bp::Type type,
                         const std::vector<Count>& start, const std::vector<Count>& count,
                         std::byte* out, Marks* read) const {
  const Overlap both = overlap_of(block.at, start, count);
  File& file = data(block.file);
  const Count size = bp::size_of(type);
  struct Run {
    Offset from, at;  // bytes in the block, in `out`
    Count bytes;
    Offset end() const { return from + bytes; }
  };
  std::vector<Run> near;
  RawBytes buffer;
  const auto flush = [&] {
    if (near.empty()) return;
    const Offset first = near.front().from;
    const auto to = [&](const Run& run) {
      return std::span(out + run.at, static_cast<std::size_t>(run.bytes));
    };
    if (near.size() == 1) {
      read_whole(file, block.payload + first, to(near[0]));
    } else {
      buffer.resize(static_cast<std::size_t>(near.back().end() - first));
      read_whole(file, block.payload + first, buffer);
      for (const Run& run : near)
        std::memcpy(out + run.at, buffer.data() + (run.from - first),
                    static_cast<std::size_t>(run.bytes));
    }
    if (swapped_)
      for (const Run& run : near) bp::swap_values(type, to(run));
    near.clear();
  };
  const auto add = [&](Offset from, Offset at, Count elements) {
    const Run run{from * size, at * size, elements * size};
    if (!near.empty() &&
        (run.from - near.back().end() > bridged || run.end() - near.front().from > most_at_once))
      flush();
    near.push_back(run);
  };
  Rows rows(block.at.count, count, both.count);
  rows.each(linear(both.in_block, Rows::steps_of(block.at.count)),
            linear(both.in_box, Rows::steps_of(count)), [&](Offset from, Offset at) {
              if (!read) return add(from, at, rows.length());
              read->take(at, rows.length(), [&](Offset first, Count elements) {
                add(from + (first - at), first, elements);
              });
            });
  flush();
}

// Of blocks that overlap the last one wins: they are gone through from the last on, and each gives
// what no later one has, so that no byte is read twice.
void BpReader::read_box(const StoredVariable& variable, const StoredArray& array,
                        const std::vector<Count>& start, const std::vector<Count>& count,
                        std::byte* out, std::span<const std::byte> fill) const {
  const bp::Type type = variable.variable.type;
  const auto size = static_cast<std::size_t>(bp::size_of(type));
  const Count elements = product(count);
  if (elements == 0) return;
  std::vector<Overlap> parts;
  std::vector<const bp::Block*> from;
  bool whole = false;
  Count sum = 0;
  for (const bp::Block& block : array.blocks) {
    Overlap both = overlap_of(block.at, start, count);
    if (!both.any) continue;
    const Count own = product(both.count);
    whole |= own == elements;
    if (__builtin_add_overflow(sum, own, &sum)) sum = std::numeric_limits<Count>::max();
    parts.push_back(std::move(both));
    from.push_back(&block);
  }
  const auto nobody_wrote = [&](Offset first, Count many) {
    if (fill.empty())
      fail(Errc::enodata, variable.variable.name, "some of these elements were written by no rank",
           "forebay_inq_block tells where there are values");
    for (Count n = first; n < first + many; ++n)
      std::copy(fill.begin(), fill.end(), out + n * static_cast<Count>(size));
  };
  constexpr std::size_t few = 64;
  const bool apart =
      variable.kind == Kind::local_value || (parts.size() <= few && all_apart(parts));
  std::optional<Marks> read;
  if (apart ? sum < elements : !whole && sum < elements && fill.empty()) nobody_wrote(0, elements);
  if (!apart) read.emplace(elements);
  for (std::size_t n = from.size(); n-- > 0;) {
    check_plain(variable, *from[n]);
    if (variable.kind == Kind::local_value)
      std::memcpy(out + static_cast<std::size_t>(parts[n].in_box[0]) * size, from[n]->min.data(),
                  size);
    else
      copy_from(*from[n], type, start, count, out, read ? &*read : nullptr);
  }
  if (read) read->take(0, elements, nobody_wrote);
}

void BpReader::read(std::size_t v, std::size_t step, const Subarray& selection, std::byte* out,
                    std::span<const std::byte> fill) const {
  const StoredVariable& variable = variables_.at(v);
  check_numbers(variable);
  const StoredArray& all = array(v, step);
  const auto size = static_cast<std::size_t>(bp::size_of(variable.variable.type));
  if (all.shape.empty()) {
    check_plain(variable, all.blocks.at(0));
    std::memcpy(out, all.blocks[0].min.data(), size);
    return;
  }
  const std::size_t n = all.shape.size();
  if (selection.start.size() != n || selection.count.size() != n ||
      (!selection.stride.empty() && selection.stride.size() != n))
    fail(Errc::einval, variable.variable.name, "it has " + std::to_string(n) + " dimensions",
         "give as many numbers");
  bool strided = false;
  std::vector<Count> extent(n);  // with what strides leave out
  for (std::size_t d = 0; d < n; ++d) {
    const Count stride = selection.stride.empty() ? 1 : selection.stride[d];
    const Count start = selection.start[d], count = selection.count[d];
    const auto wrong = [&](Errc code, const char* what) {
      fail(code, variable.variable.name,
           "dimension " + std::to_string(d) + ", of " + std::to_string(all.shape[d]) +
               " elements: " + what,
           "forebay_inq_shape tells how many there are");
    };
    if (stride < 1) wrong(Errc::estride, "a stride below 1");
    if (count < 0) wrong(Errc::enegativecnt, "a negative count");
    if (start < 0 || start > all.shape[d]) wrong(Errc::einvalcoords, "the start is outside");
    if (count > 0 && (count - 1 > (all.shape[d] - 1 - start) / stride || start == all.shape[d]))
      wrong(Errc::eedge, "the selection reaches beyond the end");
    extent[d] = count == 0 ? 0 : (count - 1) * stride + 1;
    strided |= stride > 1 && count > 1;
  }
  Count wanted = static_cast<Count>(size);
  for (const Count count : selection.count)
    if (__builtin_mul_overflow(wanted, count, &wanted))
      fail(Errc::eintoverflow, variable.variable.name, "the selection has more than 2^63 bytes",
           "read it in parts");
  if (!strided) return read_box(variable, all, selection.start, selection.count, out, fill);
  Count bytes = static_cast<Count>(size);
  for (const Count e : extent)
    if (__builtin_mul_overflow(bytes, e, &bytes)) bytes = box_bytes + 1;
  if (bytes > box_bytes && selection.elements() > 1) {
    const auto [first, second] = halves_of(selection);
    read(v, step, first, out, fill);
    return read(v, step, second, out + static_cast<std::size_t>(first.elements()) * size, fill);
  }
  RawBytes box(static_cast<std::size_t>(bytes));
  read_box(variable, all, selection.start, extent, box.data(), fill);
  std::vector<Count> steps = Rows::steps_of(extent);
  for (std::size_t d = 0; d < n; ++d) steps[d] *= selection.stride[d];
  std::vector<Count> at(n, 0);
  for (Count i = 0, last = selection.elements(); i < last; ++i) {
    std::memcpy(out + static_cast<std::size_t>(i) * size,
                box.data() + static_cast<std::size_t>(linear(at, steps)) * size, size);
    for (std::size_t d = n; d-- > 0 && ++at[d] == selection.count[d];) at[d] = 0;
  }
}

void BpReader::read_block(std::size_t v, const bp::Block& block, std::byte* out) const {
  if (block.bytes > 0)
    read_block(v, block, 0, std::span(out, static_cast<std::size_t>(block.bytes)));
}

void BpReader::read_block(std::size_t v, const bp::Block& block, Offset from,
                          std::span<std::byte> out) const {
  const StoredVariable& variable = variables_.at(v);
  check_numbers(variable);
  check_plain(variable, block);
  if (block.has_value) {
    std::memcpy(out.data(), block.min.data(), out.size());
    return;
  }
  read_whole(data(block.file), block.payload + from, out);
  if (swapped_) bp::swap_values(variable.variable.type, out);
}

std::string BpReader::text(std::size_t v, std::size_t step) const {
  const StoredVariable& variable = variables_.at(v);
  if (variable.variable.type != bp::Type::string)
    fail(Errc::echar, variable.variable.name, "it is no string", "read it as numbers");
  if (variable.kind != Kind::scalar)
    fail(Errc::enotsupport, variable.variable.name, "each rank has a string of its own",
         "read it with adios2");
  const bp::Block& block = array(v, step).blocks.at(0);
  check_plain(variable, block);
  return block.text;
}

}  // namespace forebay::process_group
