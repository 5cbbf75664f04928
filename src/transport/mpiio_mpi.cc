// independent and collective: the extents go through MPI-IO, for file systems whose MPI-IO driver
// knows more than we do.
//
// Extents are gathered into a buffer of at most `buffer_limit` / 4 bytes and a bounded number of
// pieces; each filling is one MPI-IO call with an hindexed file view. The collective form agrees on
// the number of calls.
#include "comm/mpi.h"

#include <mpi.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "comm/agree.h"
#include "transport/extent_reader.h"
#include "transport/mpiio.h"

namespace forebay {

namespace {

constexpr std::size_t most_pieces = 1 << 16;

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

/// A filling: pieces of the file, merged where adjacent, and the extents behind them.
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

  /// Collective.
  void open() {
    const int mode = file_->writable() ? MPI_MODE_RDWR : MPI_MODE_RDONLY;
    // A rank that writes by itself must not write what it read between: it may be old by then.
    MPI_Info info = MPI_INFO_NULL;
    if (file_->has_weak_caches()) {
      MPI_Info_create(&info);
      MPI_Info_set(info, "romio_ds_write", "disable");
    }
    const int code = MPI_File_open(mpi_comm(comm_), file_->path().c_str(), mode, info, &handle_);
    if (info != MPI_INFO_NULL) MPI_Info_free(&info);
    std::optional<Error> mine;
    if (code != MPI_SUCCESS) mine = mpi_io_error(code, Errc::eofile, file_->path());
    agree_on_error(comm_, mine);
  }
  ~MpiIoTransport() override {
    // Reached with an open handle only when an error skipped close(); freeing is collective, so it
    // is left to MPI.
  }

  void close() override {
    if (handle_ != MPI_FILE_NULL) MPI_File_close(&handle_);
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
    if (!collective_ || (!writing && !trusts_collective_reads())) {
      return agree_on_error(comm_, attempt_to([&] { alone(extents, writing); }));
    }
    const auto note = [&](const std::optional<Error>& error) {
      if (error && !mine) mine = error;
      return !error;
    };
    Feeder feeder(*this, extents);
    for (bool more = true; comm_.all_reduce(more, Reduce::max);) {
      // Whoever cannot fill its part takes part with nothing from then on.
      const bool ready = !mine && note(attempt_to([&] {
        more = feeder.fill();
        prepare(feeder.filling, writing);
      }));
      if (!ready) more = false;
      if (!ready) feeder.filling.clear();
      note(attempt_to([&] { transfer(feeder.filling, writing, true); }));
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
  // of the file; the model test finds it within seconds. Values come first: under Open MPI each
  // rank reads for itself.
  static bool trusts_collective_reads() {
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length = 0;
    MPI_Get_library_version(version, &length);
    return std::string_view(version, static_cast<std::size_t>(length)).find("Open MPI") ==
           std::string_view::npos;
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
        // A read may ask for bytes that overlap those of the piece before: those go with the next
        // call.
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

  // Local: the buffer, and what is written from it.
  void prepare(const Filling& f, bool writing) {
    buffer_.resize(static_cast<std::size_t>(f.bytes));
    // What lies beyond the end of the file is zero. Counts in the status of a read are not to be
    // relied on.
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
    if (writing && (collectively || !f.empty())) file_->note_written();  // for others, perhaps
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

  // A view is set collectively; an independent transfer of several pieces goes piece by piece
  // instead.
  int call(Filling& f, MPI_Datatype view, bool writing, bool collectively) {
    const int bytes = static_cast<int>(f.bytes);
    MPI_Status status;
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
      int code = writing
                     ? MPI_File_write_at(handle_, f.offsets[i], at, f.lengths[i], MPI_BYTE, &status)
                     : MPI_File_read_at(handle_, f.offsets[i], at, f.lengths[i], MPI_BYTE, &status);
      if (code != MPI_SUCCESS) return code;
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
};

}  // namespace

std::unique_ptr<Transport> make_mpiio_transport(const Comm& comm, std::shared_ptr<File> file,
                                                const TransportOptions& options, Report& report,
                                                bool collective) {
  std::unique_ptr<MpiIoTransport> made;
  agree_on_error(comm, attempt_to([&] {
                   made = std::make_unique<MpiIoTransport>(comm, std::move(file), options, report,
                                                           collective);
                 }));
  made->open();
  return made;
}

}  // namespace forebay
