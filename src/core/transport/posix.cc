// posix: every rank reads and writes its own extents with pread and pwrite.

#include "comm/agree.h"
#include "transport/direct_io.h"
#include "transport/transport.h"

namespace forebay {

namespace {

class PosixTransport : public Transport {
 public:
  PosixTransport(const Comm& comm, std::shared_ptr<ByteFile> file, const TransportOptions& options,
                 Report& report)
      : comm_(comm), file_(std::move(file)), options_(options), report_(report) {}

  void write_all(ExtentStream& extents) override {
    with_all([&] { write(extents); });
  }
  void read_all(ExtentStream& extents) override {
    with_all([&] { read(extents); });
  }
  void write(ExtentStream& extents) override {
    write_directly(*file_, extents, report_, options_.buffer_limit);
  }
  void read(ExtentStream& extents) override {
    read_directly(*file_, extents, options_.hole_threshold, report_);
  }
  bool ready_beside_mpi() override {
    file_->ensure_open();
    return true;
  }
  void write_beside(ExtentStream& extents, Report& report) override {
    write_directly(*file_, extents, report, options_.buffer_limit);
  }
  std::string reasons() const override {
    return "posix: each rank makes its own system calls, as asked for";
  }

 private:
  template <typename F>
  void with_all(F&& f) {
    const auto mine = attempt_to(f);
    StepTimer timer(report_, Step::wait);
    agree_on_error(comm_, mine);
  }

  const Comm& comm_;
  std::shared_ptr<ByteFile> file_;
  TransportOptions options_;
  Report& report_;
};

std::unique_ptr<Transport> make_posix(const Comm& comm, std::shared_ptr<ByteFile> file,
                                      const TransportOptions& options, Report& report) {
  return std::make_unique<PosixTransport>(comm, std::move(file), options, report);
}

}  // namespace

extern const TransportEntry posix_transport{
    {"posix", "each rank its own", 10, {}, netcdf_files | bp_files},
    make_posix,
    nullptr,
    false,
    true};

}  // namespace forebay
