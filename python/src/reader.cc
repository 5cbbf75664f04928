// Reading: forebay::ClassicFile, kept alive while a thread reads and closed when all have ended.
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <mutex>
#include <optional>

#include "base/attempt.h"
#include "base/error.h"
#include "dataset/probe.h"
#include "files/classic_file.h"
#include "files/references.h"
#include "store/staging_control.h"
#include "support.h"
#if FOREBAY_PYTHON_PATCHES
#include "patches/files/level_source.h"
#include "patches/files/refinement.h"
#endif

namespace forebay::python {
namespace {

/// An open file. All functions may be called by several threads at once.
class Reader {
 public:
  explicit Reader(const std::string& path) : file_(std::make_shared<ClassicFile>(path)) {}

  /// Errc::einval once the file is closed (Python's own classes say so before).
  std::shared_ptr<const ClassicFile> file() const {
    const std::lock_guard lock(mutex_);
    if (!file_) throw Error(Errc::einval, "the file is closed");
    return file_;
  }
  void close() {
    std::shared_ptr<const ClassicFile> last;
    const std::lock_guard lock(mutex_);
    last.swap(file_);
  }
  bool closed() const {
    const std::lock_guard lock(mutex_);
    return !file_;
  }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const ClassicFile> file_;
};

/// Fills `out` with the selection in the variable's own type, native byte order. With `check`: true
/// if the file was written to since it was opened, so that what was read may mix two states of it
/// (or could not be read for that).
bool read(const Reader& self, VarId var, std::vector<Count> start, std::vector<Count> count,
          std::vector<Count> stride, nb::handle out, int threads, bool check, int level) {
  const auto file = self.file();
  const auto& vars = file->schema().vars;
  if (var < 0 || std::cmp_greater_equal(var, vars.size()))
    throw Error(Errc::enotvar, "there is no variable " + std::to_string(var));
  const Variable& variable = vars[static_cast<std::size_t>(var)];
  const Subarray selection = to_subarray(std::move(start), std::move(count), std::move(stride));
  const Buffer memory(out, true);
  check_size(variable, selection.elements(), size_of(variable.type), memory.bytes().size());
  const nb::gil_scoped_release unlocked;
  std::optional<Error> failed;
  try {
    file->read(var, selection, variable.type, memory.bytes().data(), threads, level);
  } catch (const Error& error) {
    failed = error;
  }
  // A chunk that another program has just rewritten looks damaged: that it changed is the cause.
  if (check && file->changed()) return true;
  if (failed) throw *failed;
  return false;
}

/// (JSON text, variables, references, put in, bytes put in, [what was left out and why]).
nb::tuple references(const Reader& self, const std::string& url, Count inline_limit, bool skip) {
  const auto file = self.file();
  References made;
  {
    const nb::gil_scoped_release unlocked;
    made = make_references(*file, {url, inline_limit, skip});
  }
  nb::list left_out;
  for (const std::string& reason : made.left_out) left_out.append(to_text(reason));
  return nb::make_tuple(to_text(made.json), made.variables, made.references, made.inlined,
                        made.inlined_bytes, left_out);
}

/// (rows of ChunkRows, the bytes of all these chunks after decoding). Errc::einval for a variable
/// without chunks.
nb::tuple stored_chunks(const Reader& self, VarId var) {
  const auto file = self.file();
  const Variable& variable = file->schema().vars.at(static_cast<std::size_t>(var));
  if (!variable.chunking)
    throw Error(Errc::einval, file->path() + ": variable " + variable.name + " has no chunks",
                "forebay ls shows which variables have");
  ChunkRows chunks;
  Count raw_bytes = 0;
  {
    const nb::gil_scoped_release unlocked;
    file->chunks()->each_stored(var, [&](const ChunkPlace& one) { chunks.add(one); });
    raw_bytes = file->chunks()->facts(var).raw_bytes;
  }
  return nb::make_tuple(chunks.rows(), raw_bytes);
}

/// (how many coarser levels, [shape of each, from 0 on]).
nb::tuple levels(const Reader& self, VarId var) {
  const auto file = self.file();
  nb::list shapes;
  for (int level = 0; level <= file->levels(var); ++level)
    shapes.append(nb::cast(file->shape(var, level)));
  return nb::make_tuple(file->levels(var), shapes);
}

/// For each level (its largest error, and that of the level taken back to full resolution, patch by
/// patch).
nb::list level_errors(const Reader& self, VarId var) {
  const auto file = self.file();
  std::vector<LevelErrors> errors;
  {
    const nb::gil_scoped_release unlocked;
    errors = file->level_errors(var);
  }
  nb::list all;
  for (const LevelErrors& of : errors) all.append(nb::make_tuple(of.error, of.resolution));
  return all;
}

#if FOREBAY_PYTHON_PATCHES
/// The file at a level: for each variable (which of its own levels that is, [step in each
/// dimension]).
nb::list at_level(const Reader& self, int level) {
  nb::list all;
  for (const CoarseVariable& var : coarse_schema_of(*self.file(), level).vars)
    all.append(nb::make_tuple(var.level, nb::cast(var.step)));
  return all;
}

/// A part of a variable in patches that becomes finer step by step; keeps its file.
class Refining {
 public:
  Refining(const Reader& reader, VarId var, std::vector<Count> start, std::vector<Count> count,
           int threads)
      : file_(reader.file()), var_(file_->schema().vars.at(static_cast<std::size_t>(var))) {
    const auto shape = file_->shape(var);
    const auto rank = static_cast<std::size_t>(var_.ndims());
    if (file_->levels(var) == 0 || start.size() != rank || count.size() != rank)
      throw Error(Errc::einval, "variable " + var_.name + " cannot be refined so");
    for (std::size_t d = 0; d < rank; ++d)
      if (start[d] < 0 || count[d] < 0 || start[d] > shape[d] || count[d] > shape[d] - start[d])
        throw Error(Errc::einvalcoords, "a selection outside of variable " + var_.name);
    const nb::gil_scoped_release unlocked;
    its_.emplace(*file_->chunks(), var, Subarray{std::move(start), std::move(count), {}}, threads);
  }

  void refine(double error) {
    const nb::gil_scoped_release unlocked;
    const std::lock_guard alone(mutex_);
    if (its_->level() == 0) throw Error(Errc::einval, "there is nothing finer than level 0");
    its_->refine(error);
  }
  void values(nb::handle out) const {
    const Buffer memory(out, true);
    const nb::gil_scoped_release unlocked;
    const std::lock_guard alone(mutex_);
    check_size(var_, its_->selection().elements(), size_of(var_.type), memory.bytes().size());
    its_->values(var_.type, memory.bytes().data());
  }
  /// What f() tells of it.
  template <typename F>
  auto tell(F&& f) const {
    const std::lock_guard alone(mutex_);
    return f(*its_);
  }

 private:
  std::shared_ptr<const ClassicFile> file_;
  const Variable& var_;
  std::optional<Refinement> its_;
  mutable std::mutex mutex_;  // Python's threads may share one, and run while it reads
};
#endif

/// What there is to tell of writes that are staged for a file and that no job will bring in, or
/// None.
nb::object staged_writes(const nb::bytes& path) {
  const std::string name(path.c_str(), path.size());
  std::optional<Error> damaged;
  std::optional<FoundStaging> found;
  {
    const nb::gil_scoped_release unlocked;
    damaged = attempt_to([&] { found = StagingControl::read(StagingControl::path_of(name)); });
  }
  if (damaged) return to_text(damaged->what());
  if (!found || found->begun_only || found->info.closed || found->job == Liveness::alive)
    return nb::none();
  const char* const job =
      found->job == Liveness::dead
          ? "a job ended before all that it wrote was in the file"
          : "a job staged writes, and may have ended before all were in the file";
  return to_text(name + ": " + job + "; bring in the rest with: forebay recover " + name);
}

}  // namespace

void bind_reader(nb::module_& module) {
  nb::class_<Reader> reader(module, "Reader");
  reader.def("__init__", construct<Reader>, nb::arg("path"))
      .def("describe", [](const Reader& r) { return describe(r.file()->schema()); })
      .def(
          "attributes",
          [](const Reader& r, VarId owner) {
            return describe_attributes(r.file()->schema(), owner);
          },
          nb::arg("owner"))
      .def("read", read, nb::arg("var"), nb::arg("start"), nb::arg("count"), nb::arg("stride"),
           nb::arg("out"), nb::arg("threads"), nb::arg("check"), nb::arg("level") = 0)
      .def("levels", levels, nb::arg("var"))
      .def("level_errors", level_errors, nb::arg("var"))
      .def("references", references, nb::arg("url"), nb::arg("inline_limit"), nb::arg("skip"))
      .def("stored_chunks", stored_chunks, nb::arg("var"))
      .def("changed", [](const Reader& r) { return r.file()->changed(); })
      .def("close", &Reader::close)
      .def_prop_ro("closed", &Reader::closed);
#if FOREBAY_PYTHON_PATCHES
  nb::class_<Refining>(module, "Refining")
      .def("refine", &Refining::refine, nb::arg("error"))
      .def("values", &Refining::values, nb::arg("out"))
      .def_prop_ro("level",
                   [](const Refining& r) {
                     return r.tell([](const Refinement& its) { return its.level(); });
                   })
      .def_prop_ro("count",
                   [](const Refining& r) {
                     return r.tell([](const Refinement& its) -> std::vector<Count> {
                       return its.selection().count;
                     });
                   })
      .def_prop_ro("error",
                   [](const Refining& r) {
                     return r.tell([](const Refinement& its) { return its.error(); });
                   })
      .def_prop_ro("bytes_read", [](const Refining& r) {
        return r.tell([](const Refinement& its) { return its.bytes_read(); });
      });
  reader.def("at_level", at_level, nb::arg("level"))
      .def(
          "refining",
          [](const Reader& r, VarId var, std::vector<Count> start, std::vector<Count> count,
             int threads) {
            return std::make_unique<Refining>(r, var, std::move(start), std::move(count), threads);
          },
          nb::arg("var"), nb::arg("start"), nb::arg("count"), nb::arg("threads"));
#endif
  module.def("staged_writes", staged_writes, nb::arg("path"));
  module.def(
      "rename_file",
      [](const nb::bytes& from, const nb::bytes& to) {
        const std::string old(from.c_str(), from.size()), now(to.c_str(), to.size());
        const nb::gil_scoped_release unlocked;
        rename_file(old, now);
      },
      nb::arg("from"), nb::arg("to"), "A file takes another's place, with what lies beside it.");
  module.def(
      "shows_anchors",
      [](const nb::bytes& path) {
        const std::string name(path.c_str(), path.size());
        const nb::gil_scoped_release unlocked;
        return shows_anchors(name);
      },
      nb::arg("path"));
}

}  // namespace forebay::python
