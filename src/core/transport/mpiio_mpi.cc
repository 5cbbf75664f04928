// The transports `independent` and `collective` use MPI-IO, for file systems whose MPI-IO driver
// knows more than we do.
//
// Extents are gathered into a buffer of at most `buffer_limit` / 4 bytes and a bounded number of
// pieces. Each filling is one MPI-IO call with an hindexed file view. In the collective form, ranks
// agree on the number of calls.
#include "comm/mpi.h"

#include <mpi.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <string_view>
#include <vector>

#include "comm/agree.h"
#include "method/method.h"
#include "method/method_keys.h"
#include "transport/extent_reader.h"
#include "transport/mpiio.h"

namespace forebay {

namespace {

constexpr std::size_t most_pieces = 1 << 16;
constexpr Offset block = 4096;  // no file system in use has smaller blocks

Error mpi_io_error(int code, Errc fallback, const std::string& path) {
  int error_class = 0;
  MPI_Error_class(code, &error_class);
  Errc errc = fallback;
  if (error_class == MPI_ERR_NO_SPACE) errc = Errc::eno_space;
  if (error_class == MPI_ERR_QUOTA) errc = Errc::equota;
  if (error_class == MPI_ERR_ACCESS) errc = Errc::eaccess;
  if (error_class == MPI_ERR_READ_ONLY) errc = Errc::eperm;
  if (error_class == MPI_ERR_NO_SUCH_FILE) errc = Errc::enoent;
  if (error_class == MPI_ERR_BAD_FILE) errc = Errc::ebad_file;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(code, text, &length);
  return Error(errc,
               "MPI-IO on " + path + ": " + std::string(text, static_cast<std::size_t>(length)));
}

/// A filling: pieces of the file, merged where adjacent, and their extents.
struct Filling {
  std::vector<MPI_Aint> offsets;
  std::vector<int> lengths;
  std::vector<Extent> extents;
  Count bytes = 0;

  bool empty() const { return bytes == 0; }
  void clear() {
    offsets.clear();
    lengths.clear();
    extents.clear();
    bytes = 0;
  }
  void add(const Extent& e) {
    // MPI-IO wants non-overlapping, non-decreasing pieces; a read may name the same bytes twice, so
    // only exact neighbours are merged.
    if (!offsets.empty() && offsets.back() + lengths.back() == e.offset &&
        lengths.back() < (1 << 30)) {
      lengths.back() += static_cast<int>(e.length);
    } else {
      offsets.push_back(e.offset);
      lengths.push_back(static_cast<int>(e.length));
    }
    extents.push_back(e);
    bytes += e.length;
  }
};

class MpiIoTransport : public Transport {
 public:
  MpiIoTransport(const Comm& comm, std::shared_ptr<File> file, const TransportOptions& options,
                 Report& report, bool collective)
      : comm_(comm),
        file_(std::move(file)),
        options_(options),
        report_(report),
        collective_(collective),
        limit_(std::clamp<Count>(options.buffer_limit / 4, 1 << 12, 1 << 28)) {}

  /// Returns MPI-IO's own hints, from any source. Hints that are too long for MPI would end the
  /// program and are left out.
  MPI_Info make_info() const {
    MPI_Info info = MPI_INFO_NULL;
    MPI_Info_create(&info);
    if (options_.method)
      for (const auto& [key, value] : options_.method->passed_on)
        if (is_mpi_io_key(key) && !value.empty() && key.size() < MPI_MAX_INFO_KEY &&
            value.size() < MPI_MAX_INFO_VAL)
          MPI_Info_set(info, key.c_str(), value.c_str());
    // A rank that writes by itself must not write bytes that it read between: they may be old.
    if (file_->has_weak_caches()) MPI_Info_set(info, "romio_ds_write", "disable");
    return info;
  }
  /// Collective.
  void open() {
    const int mode = file_->writable() ? MPI_MODE_RDWR : MPI_MODE_RDONLY;
    MPI_Info info = make_info();
    std::string moved;  // nothing may fail here: others are in MPI_File_open already
    attempt_to([&] { moved = file_->place_now(); });
    const char* const path = moved.empty() ? file_->path().c_str() : moved.c_str();
    const int code = MPI_File_open(mpi_comm(comm_), path, mode, info, &handle_);
    MPI_Info_free(&info);
    std::optional<Error> mine;
    if (code != MPI_SUCCESS) mine = mpi_io_error(code, Errc::eofile, file_->path());
    agree_on_error(comm_, mine);
  }
  ~MpiIoTransport() override {
    // The handle is open here only if an error skipped close(). Freeing it is collective, so it is
    // left to MPI.
  }

  // MPI's close waits for all ranks, whatever they do. So ranks reduce first: if some are in
  // another call, all learn of it, and the file is left to MPI.
  void close() override {
    if (handle_ == MPI_FILE_NULL) return;
    const auto failed = attempt_to([&] { comm_.meet(); });
    if (failed && failed->code() == Errc::emultidefine) throw *failed;
    MPI_File_close(&handle_);
    if (failed) throw *failed;
  }
  void write_all(ExtentStream& extents) override { with_all(extents, true); }
  void read_all(ExtentStream& extents) override { with_all(extents, false); }
  void write(ExtentStream& extents) override { alone(extents, true); }
  void read(ExtentStream& extents) override { alone(extents, false); }
  std::string reasons() const override {
    return collective_ ? "collective: MPI-IO collective calls, as asked for"
                       : "independent: MPI-IO independent calls, as asked for";
  }

 private:
  void with_all(ExtentStream& extents, bool writing) {
    std::optional<Error> mine;
    if (!collective_ || (!writing && is_open_mpi())) {
      return agree_on_error(comm_, attempt_to([&] { alone(extents, writing); }));
    }
    const auto note = [&](const std::optional<Error>& error) {
      if (error && !mine) mine = error;
      return !error;
    };
    Feeder feeder(*this, extents);
    bool more = true, in_doubt = false;
    for (;;) {
      std::array<std::int64_t, 2> any{more, in_doubt};
      comm_.all_reduce(any, Reduce::max);
      // All ranks have made the last call: what they gave is in the file, or lost.
      if (any[1] != 0) note(attempt_to([&] { compare(feeder.filling); }));
      if (any[0] == 0) break;
      // A rank that cannot fill its part takes part with nothing from then on.
      const bool ready = !mine && note(attempt_to([&] {
        more = feeder.fill();
        prepare(feeder.filling, writing);
      }));
      if (!ready) more = false;
      if (!ready) feeder.filling.clear();
      note(attempt_to([&] { transfer(feeder.filling, writing, true); }));
      in_doubt = writing && is_open_mpi() && is_nearly_full(feeder.filling.bytes);
    }
    agree_on_error(comm_, mine);
  }

  void alone(ExtentStream& extents, bool writing) {
    Feeder feeder(*this, extents);
    for (bool more = true; more;) {
      more = feeder.fill();
      if (feeder.filling.empty()) continue;
      prepare(feeder.filling, writing);
      transfer(feeder.filling, writing, false);
    }
  }

  // Open MPI 4's default MPI-IO module (ompio) loses bytes of collective reads that touch the end
  // of the file; the model test finds that within seconds. Values come first: under Open MPI, each
  // rank reads for itself. A collective write to a full device returns no error.
  static bool is_open_mpi() {
    static const bool is = [] {
      char version[MPI_MAX_LIBRARY_VERSION_STRING];
      int length = 0;
      MPI_Get_library_version(version, &length);
      return std::string_view(version, static_cast<std::size_t>(length)).find("Open MPI") !=
             std::string_view::npos;
    }();
    return is;
  }

  /// Local. Returns whether a write of so many bytes a rank may not have found room. Asks the file
  /// system, maybe a server, again only after an eighth of what was left may have been written.
  bool is_nearly_full(Count bytes) {
    constexpr Count little = 16 << 20, most = 1 << 30;
    if (bytes == 0) return false;
    const Count all = bytes * comm_.size();
    unasked_ -= all;
    if (unasked_ >= 0) return false;
    struct statvfs found {};
    bool is_known = false;
    attempt_to([&] { is_known = ::fstatvfs(file_->descriptor(), &found) == 0; });
    if (!is_known) return false;
    const auto left = static_cast<double>(found.f_bavail) * static_cast<double>(found.f_frsize);
    if (left < static_cast<double>(std::max(little, all))) return true;
    unasked_ = static_cast<Count>(std::min(left / 8, static_cast<double>(most)));
    return false;
  }

  /// Local. Throws if bytes that this rank wrote last are lost, not replaced by another rank's.
  void compare(const Filling& f) {
    file_->refresh();
    std::vector<std::byte> found;
    const std::byte* at = buffer_.data();
    for (std::size_t i = 0; i < f.offsets.size(); ++i) {
      found.resize(static_cast<std::size_t>(f.lengths[i]));
      const std::size_t there = file_->read_at(f.offsets[i], found);
      for (std::size_t k = 0; k < found.size(); ++k) {
        if (k < there && found[k] == at[k]) continue;
        const Offset place = f.offsets[i] + static_cast<Offset>(k);
        if (k >= there || is_hole(place))
          throw mpi_io_error(MPI_ERR_NO_SPACE, Errc::ewrite, file_->path());
        k += static_cast<std::size_t>(block - place % block - 1);
      }
      at += f.lengths[i];
    }
  }

  /// Local. Returns whether the file's block with `place` has nobody's bytes. A file system that
  /// does not know holes calls all of them data. If fewer blocks are allocated than the file is
  /// long, a block of zeros counts as a hole.
  bool is_hole(Offset place) {
    const int fd = file_->descriptor();
    const off_t data = ::lseek(fd, place, SEEK_DATA);
    if (data > place || (data < 0 && errno == ENXIO)) return true;
    struct stat found {};
    if (::fstat(fd, &found) != 0 || found.st_blocks >= (found.st_size + 511) / 512) return false;
    if (const off_t hole = ::lseek(fd, 0, SEEK_HOLE); hole >= 0 && hole < found.st_size)
      return false;  // holes are known, and this is not one
    std::array<std::byte, block> bytes{};
    file_->read_at(place / block * block, bytes);
    return std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; });
  }

  struct Feeder {
    Feeder(MpiIoTransport& owner, ExtentStream& stream) : limit(owner.limit_), stream(stream) {}
    /// Returns whether there may be more.
    bool fill() {
      filling.clear();
      for (;;) {
        if (at == filled) {
          filled = stream.next(batch);
          at = 0;
          if (filled == 0) return false;
        }
        Extent& e = batch[at];
        if (filling.bytes == limit || filling.offsets.size() == most_pieces) return true;
        // A read may ask for bytes that overlap the piece before. They go with the next call.
        if (!filling.offsets.empty() && e.offset < filling.offsets.back() + filling.lengths.back())
          return true;
        Extent part = e;
        part.length = std::min(e.length, limit - filling.bytes);
        filling.add(part);
        e.offset += part.length;
        e.skip += part.length;
        e.length -= part.length;
        if (e.length == 0) ++at;
      }
    }
    Count limit;
    ExtentStream& stream;
    std::array<Extent, 256> batch;
    std::size_t at = 0, filled = 0;
    Filling filling;
  };

  // Local. Prepares the buffer, and fills it for a write.
  void prepare(const Filling& f, bool writing) {
    buffer_.resize(static_cast<std::size_t>(f.bytes));
    // What lies beyond the end of the file is zero. Counts in the status of a read are not
    // reliable.
    if (!writing) {
      std::fill(buffer_.begin(), buffer_.end(), std::byte{0});
      return file_->refresh();
    }
    if (collective_) file_->refresh();  // ranks that aggregate may read what lies between
    StepTimer timer(report_, Step::pack);
    std::byte* to = buffer_.data();
    for (const Extent& e : f.extents) {
      copy_out(to, e);
      to += e.length;
    }
  }

  // Throws nothing before MPI's call is over.
  void transfer(Filling& f, bool writing, bool collectively) {
    MPI_Datatype view = MPI_BYTE;
    if (!f.empty()) {
      MPI_Type_create_hindexed(static_cast<int>(f.offsets.size()), f.lengths.data(),
                               f.offsets.data(), MPI_BYTE, &view);
      MPI_Type_commit(&view);
    }
    int code = MPI_SUCCESS;
    {
      StepTimer timer(report_, writing ? Step::write : Step::read);
      code = call(f, view, writing, collectively);
    }
    if (view != MPI_BYTE) MPI_Type_free(&view);
    if (writing && (collectively || !f.empty())) file_->note_written();  // perhaps of others
    if (code != MPI_SUCCESS)
      throw mpi_io_error(code, writing ? Errc::ewrite : Errc::eread, file_->path());
    report_[writing ? Counter::bytes_written : Counter::bytes_read] += f.bytes;
    ++report_[writing ? Counter::write_calls : Counter::read_calls];
    if (writing) return;
    StepTimer timer(report_, Step::unpack);
    const std::byte* from = buffer_.data();
    for (const Extent& e : f.extents) {
      copy_in(e, from);
      from += e.length;
    }
  }

  // Setting a view is collective, so an independent transfer of several pieces goes piece by piece.
  int call(Filling& f, MPI_Datatype view, bool writing, bool collectively) {
    const int bytes = static_cast<int>(f.bytes);
    MPI_Status status{};
    if (collectively) {
      int code = MPI_File_set_view(handle_, 0, MPI_BYTE, view, "native", MPI_INFO_NULL);
      if (code != MPI_SUCCESS) return code;
      code = writing ? MPI_File_write_at_all(handle_, 0, buffer_.data(), bytes, MPI_BYTE, &status)
                     : MPI_File_read_at_all(handle_, 0, buffer_.data(), bytes, MPI_BYTE, &status);
      const int back = MPI_File_set_view(handle_, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
      return code == MPI_SUCCESS ? back : code;
    }
    std::byte* at = buffer_.data();
    for (std::size_t i = 0; i < f.offsets.size(); ++i) {
      const int code =
          writing ? MPI_File_write_at(handle_, f.offsets[i], at, f.lengths[i], MPI_BYTE, &status)
                  : MPI_File_read_at(handle_, f.offsets[i], at, f.lengths[i], MPI_BYTE, &status);
      if (code != MPI_SUCCESS) return code;
      int count = 0;
      MPI_Get_count(&status, MPI_BYTE, &count);
      if (writing && count < f.lengths[i]) return MPI_ERR_NO_SPACE;  // ompio gives no other sign
      at += f.lengths[i];
    }
    return MPI_SUCCESS;
  }

  const Comm& comm_;
  std::shared_ptr<File> file_;
  TransportOptions options_;
  Report& report_;
  bool collective_;
  Count limit_;
  MPI_File handle_ = MPI_FILE_NULL;
  std::vector<std::byte> buffer_;
  Count unasked_ = 0;  // bytes that may be written before is_nearly_full() asks
};

}  // namespace

std::unique_ptr<Transport> make_mpiio_transport(const Comm& comm, std::shared_ptr<File> file,
                                                const TransportOptions& options, Report& report,
                                                bool collective) {
  std::unique_ptr<MpiIoTransport> made;
  // If MPI cannot open the file on some ranks, the others may wait for ever. So all ranks must be
  // able to open it, and find the same file, before MPI tries.
  agree_on_error(comm, attempt_to([&] {
                   file->ensure_open();
                   made = std::make_unique<MpiIoTransport>(comm, std::move(file), options, report,
                                                           collective);
                 }));
  made->open();
  return made;
}

}  // namespace forebay
