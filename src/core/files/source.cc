#include "files/source.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/text_table.h"
#include "base/words.h"
#include "format/classic_header.h"

namespace forebay {
namespace {

class ClassicSource final : public Source {
 public:
  explicit ClassicSource(const std::string& path) : file_(path) {}
  const std::string& path() const override { return file_.path(); }
  std::string format() const override { return "CDF-" + std::to_string(schema().version); }
  const Schema& schema() const override { return file_.schema(); }
  void read(VarId var, const Subarray& selection, void* out) const override {
    file_.read(var, selection, schema().vars[static_cast<std::size_t>(var)].type, out);
  }
  const ClassicFile* classic() const override { return &file_; }
  std::optional<int> classic_version() const override { return schema().version; }
  Count zero_beyond_end() override { return file_.zero_beyond_end(); }
  void each_stored_chunk(VarId var,
                         const std::function<void(const ChunkPlace&)>& visit) const override {
    if (!schema().vars[static_cast<std::size_t>(var)].chunking)
      return Source::each_stored_chunk(var, visit);
    file_.chunks()->each_stored(var, visit);
  }

 private:
  ClassicFile file_;
};

std::string names_of(const Schema& schema) {
  std::string text;
  for (std::size_t v = 0; v < std::min<std::size_t>(schema.vars.size(), 12); ++v)
    text += (v == 0 ? "" : ", ") + printable(schema.vars[v].name);
  if (schema.vars.size() > 12) text += ", ...";
  return text.empty() ? "it has no variables" : "it has: " + text;
}

}  // namespace

Count Source::length(DimId dim) const {
  const Dimension& dimension = schema().dims[static_cast<std::size_t>(dim)];
  return dimension.is_record() ? schema().numrecs : dimension.length;
}

bool Source::unlimited(DimId dim) const {
  return schema().dims[static_cast<std::size_t>(dim)].is_record();
}

const std::vector<SourceGroup>& Source::groups() const {
  static const auto& none = *new std::vector<SourceGroup>;
  return none;
}

const std::vector<LeftOut>& Source::left_out() const {
  static const auto& none = *new std::vector<LeftOut>;
  return none;
}

std::string Source::codec(VarId var) const {
  const auto& chunking = schema().vars[static_cast<std::size_t>(var)].chunking;
  return chunking ? chunking->codec : "none";
}

Count Source::width(VarId var) const {
  return size_of(schema().vars[static_cast<std::size_t>(var)].type);
}

std::vector<std::string> Source::read_strings(VarId var, const Subarray&) const {
  throw Error(Errc::einval, printable(path()) + ": variable " +
                                printable(schema().vars[static_cast<std::size_t>(var)].name) +
                                " has no strings of varying length");
}

const std::vector<StringList>& Source::string_lists() const {
  static const auto& none = *new std::vector<StringList>;
  return none;
}

std::optional<Count> Source::stored_bytes(VarId var) const {
  const auto& chunking = schema().vars[static_cast<std::size_t>(var)].chunking;
  if (!chunking || classic() == nullptr) return std::nullopt;
  return classic()->chunks()->facts(var).stored_bytes;
}

void Source::each_stored_chunk(VarId var, const std::function<void(const ChunkPlace&)>&) const {
  throw Error(Errc::einval,
              printable(path()) + ": variable " +
                  printable(schema().vars[static_cast<std::size_t>(var)].name) + " has no chunks",
              "forebay ls shows which variables have");
}

std::vector<Count> Source::shape(VarId var) const {
  std::vector<Count> shape;
  shape.reserve(schema().vars[static_cast<std::size_t>(var)].dimids.size());
  for (const DimId dim : schema().vars[static_cast<std::size_t>(var)].dimids)
    shape.push_back(length(dim));
  return shape;
}

std::unique_ptr<Source> open_classic(const std::string& path) {
  return std::make_unique<ClassicSource>(path);
}

// The signature is at byte 0, or after a user block at 512, 1024, 2048, ...
bool is_hdf5_file(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return false;
  bool is = false;
  std::array<std::byte, 8> begin{};
  for (off_t at = 0; !is && at < (off_t{1} << 40); at = at == 0 ? 512 : 2 * at) {
    if (::pread(fd, begin.data(), begin.size(), at) != 8) break;
    const auto format = classic::detect(begin);
    is = format == 3;
    // A classic file may hold an HDF5 file as its data.
    if (at == 0 && format) break;
  }
  ::close(fd);
  return is;
}

std::string left_out_text(const Source& source) {
  constexpr std::size_t most = 6;
  const auto& list = source.left_out();
  if (list.empty()) return {};
  std::string text = printable(source.path()) + ": left out: ";
  for (std::size_t i = 0; i < std::min(list.size(), most); ++i)
    text += (i == 0 ? "" : ", ") + printable(list[i].name) + " (" + list[i].what + ")";
  if (list.size() > most) text += " and " + std::to_string(list.size() - most) + " more";
  return text;
}

VarId find_variable(const Schema& schema, const std::string& path, const std::string& name) {
  if (const auto id = schema.find_var(name)) return *id;
  std::vector<std::string_view> names;
  for (const Variable& var : schema.vars) names.push_back(var.name);
  const auto near = nearest_word(name, names);
  throw Error(Errc::enotvar, printable(path) + ": there is no variable \"" + printable(name) + "\"",
              near ? "did you mean \"" + printable(*near) + "\"?" : names_of(schema));
}

Subarray whole(const std::vector<Count>& shape) {
  return {std::vector<Count>(shape.size(), 0), shape, {}};
}

}  // namespace forebay
