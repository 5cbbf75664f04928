#include "hdf5/log/logged_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "base/attempt.h"
#include "base/error.h"
#include "comm/agree.h"
#include "hdf5/format/log_subfile.h"
#include "hdf5/log/file_tails.h"
#include "layout/classic_part.h"
#include "layout/data_files.h"
#include "storage/directory.h"

namespace forebay {
namespace {

std::string directory_of_subfiles(const std::string& master) { return master + ".subfiles"; }
std::string directory_of_pending(const std::string& master) { return master + ".pending"; }

[[noreturn]] void wrong_subfile(const std::string& path) {
  throw Error(Errc::ebadlog, path + " belongs to another file",
              "subfiles must stay in the folder beside the file that they were written with");
}

}  // namespace

std::string subfile_path(const std::string& master, std::uint32_t number) {
  return directory_of_subfiles(master) + "/" + std::to_string(number);
}

LoggedFile::LoggedFile(const Comm& comm, LoggedFileOptions options, logged::BlockSpace* space)
    : comm_(comm),
      options_(std::move(options)),
      space_(space),
      file_(options_.path = absolute_path(options_.path), options_.writable, comm.rank(), report_),
      reader_(
          file_, [this](std::uint32_t number) { return open_to_read(number); },
          options_.method.log_memory, report_) {}

LoggedFile::~LoggedFile() = default;

void LoggedFile::open_index(const logged::MetadataBlock& index) {
  const Comm& node = Topology::of(comm_, options_.method.ranks_per_node).node();
  if (node.size() > 1 && index.bytes <= options_.method.log_memory)
    index_ = NodeMemory::create(node, static_cast<std::size_t>(index.bytes));
  const auto failed = attempt_to([&] {
    if (index_ && node.is_root() &&
        file_.read_at(index.place, std::span(index_.data(), index_.size())) != index_.size())
      throw Error(Errc::etrunc, options_.path + " ends within the index of its log",
                  "it was cut, or is not all there yet");
  });
  // After this step the index is in the node's memory, and no rank writes there any more.
  agree_on_file(comm_, file_, failed);
  const auto wrong = attempt_to([&] {
    if (index_)
      reader_.set_index(index.place, std::span(index_.data(), index_.size()));
    else
      set_index(index);
  });
  std::int64_t large = index.bytes > options_.method.log_memory ? 1 : 0;
  agree_on_error(comm_, wrong, std::span(&large, 1), Reduce::max);
  index_is_dealt_ = comm_.size() > 1 && large != 0;
}

/// Returns the file's path as it was opened or, if its folder was moved, the present one.
std::string LoggedFile::place_of_subfiles() {
  std::error_code unknown;
  const bool there =
      std::filesystem::exists(directory_of_subfiles(options_.path), unknown) || unknown;
  return there ? options_.path : file_.place_now();
}

void LoggedFile::follow_rename() {
  if (options_.method.subfiling == Subfiling::none) return;
  by_root(comm_, [&] {
    if (subfile_) data_files::follow_rename(file_, *subfile_);
  });
}

std::shared_ptr<ByteFile> LoggedFile::open_to_read(std::uint32_t number) {
  const std::string path = subfile_path(place_of_subfiles(), number);
  auto file = std::make_shared<File>(path, false, comm_.rank(), report_);
  std::vector<std::byte> front(logged::subfile_front_bytes);
  try {
    front.resize(file->read_at(0, front));
  } catch (const Error& error) {
    throw Error(error.code(),
                "subfile " + std::to_string(number) + " of " + options_.path +
                    " cannot be read: " + error.message(),
                "it must be " + path + "; move the folder of subfiles along with the file");
  }
  const auto found = logged::parse_subfile_front(front);
  if (found.number != number || found.session != options_.session) wrong_subfile(path);
  return file;
}

/// A subfile has the number of its group of ranks. Groups are ordered by their first ranks.
std::optional<logged::Subfile> LoggedFile::open_subfile() {
  if (options_.method.subfiling == Subfiling::none) return std::nullopt;
  const Topology& groups = Topology::of(
      comm_, options_.method.subfiling == Subfiling::node ? 0 : options_.method.subfile_ranks);
  const auto number = static_cast<std::uint32_t>(groups.my_node());
  logged::Subfile subfile{groups.node(), number + 1, nullptr, 0};
  const std::string path = subfile_path(options_.path, number);
  subfile_ = std::make_shared<File>(path, true, comm_.rank(), report_);
  subfile.file = subfile_;

  const auto prepare = [&] {
    if (subfile.ranks.is_root()) {
      file_.ensure_there();  // the folder must lie beside this file
      const std::string folder = directory_of_subfiles(options_.path);
      directory::make_beside(folder, options_.path);
      struct stat status;
      const logged::SubfileFront front{options_.session, number};
      bool fresh = ::stat(path.c_str(), &status) != 0;
      if (!fresh) {  // it is this file's, or was left by a deleted file of the same name
        std::vector<std::byte> bytes(logged::subfile_front_bytes);
        bytes.resize(subfile_->read_at(0, bytes));
        try {
          fresh = !(logged::parse_subfile_front(bytes) == front);
        } catch (const Error&) {
          fresh = true;
        }
      }
      if (fresh) {
        subfile_->create(false);
        subfile_->write_at(0, std::span<const std::byte>(logged::print_subfile_front(front)));
      }
      subfile.end = subfile_->size();
    }
  };
  agree_on_error(comm_, attempt_to(prepare));
  agree_on_error(comm_, attempt_to([&] { subfile_->ensure_open(); }));
  subfile.ranks.broadcast(&subfile.end, sizeof subfile.end);
  return subfile;
}

void LoggedFile::start_writing() {
  if (writer_) return;
  logged::WriterOptions options{options_.method.buffer_limit, 1};
  agree_on_file(comm_, file_, attempt_to([&] {
                  options.first_epoch = logged::epoch_after(reader_.last_epoch());
                  if (comm_.is_root())
                    logged::FileTails::remove_left(directory_of_pending(options_.path));
                }));
  auto subfile = open_subfile();
  if (comm_.size() > 1)
    tails_ =
        logged::Tails::make(comm_, Topology::of(comm_, options_.method.ranks_per_node),
                            directory_of_pending(options_.path),
                            [this](const std::string& path, logged::Tails::Open how) {
                              auto file = std::make_shared<File>(
                                  path, how != logged::Tails::Open::read, comm_.rank(), report_);
                              if (how == logged::Tails::Open::create) file->create(false);
                              return file;
                            });
  if (tails_) reader_.set_tails(*tails_);
  writer_.emplace(
      comm_, file_, *space_, std::move(subfile), options,
      [this] {
        auto file = make_nameless_file(file_.place_now(), comm_.rank(), report_);
        if (tails_) tails_->set_descriptor(file->descriptor());
        return file;
      },
      tails_.get(), report_);
}

std::optional<logged::MetadataBlock> LoggedFile::flush() {
  if (!writer_) return std::nullopt;
  reader_.expect_block();  // nothing fails after the flush: all ranks know the same blocks
  const auto block = writer_->flush();
  if (block) reader_.add_block(*block);
  return block;
}

bool LoggedFile::index_covers_all() const {
  return std::max(indexed_, static_cast<std::size_t>(reader_.directory().blocks)) ==
         reader_.blocks().size();
}

void LoggedFile::adopt_index(const logged::MetadataBlock& index) {
  indexed_ = reader_.blocks().size();
  index_is_dealt_ = false;  // a rank may go on without it
  attempt_to([&] { set_index(index); });
}

std::optional<logged::WrittenIndex> LoggedFile::finish() {
  if (!writer_) return std::nullopt;
  flush();
  if (index_covers_all()) return std::nullopt;
  return logged::write_index(comm_, file_, *space_, reader_, report_);
}

bool LoggedFile::read(const logged::DatasetShape& dataset, const Placed& wanted,
                      std::span<std::byte> out, std::vector<logged::NumberedEntry>* indexed) {
  return reader_.read(dataset, wanted, out, writer_ ? &*writer_ : nullptr, indexed);
}

void LoggedFile::sync() {
  agree_on_error(comm_, attempt_to([&] {
                   if (comm_.is_root()) file_.sync();
                   if (subfile_) subfile_->sync();
                 }));
}

namespace {

constexpr std::string_view compactings[] = {"never", "close"};

constexpr KeySpec keys[] = {
    word_key({"log_copy", "enable|disable", "enable",
              "Layout log: copy what is written; disable is for programs that leave their buffers "
              "as they are until the next flush.",
              "engine"},
             place_in<&Method::log_copy>, switches)
        .honoured_by(FrontEnd::hdf5),
    word_key({"compact", "never|close", "never",
              "close: an ordinary file instead of a log, which ranks write together.", "engine"},
             place_in<&Method::compact>, compactings)
        .honoured_by(FrontEnd::hdf5),
};

}  // namespace

extern const LayoutEntry log_layout{{"log",
                                     "what each rank writes is appended, for HDF5 programs through "
                                     "the connector (docs/hdf5.md)",
                                     30, keys, FrontEnd::hdf5}};

}  // namespace forebay
