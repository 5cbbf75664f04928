// A transport in one file, which no other file of the library knows: each rank writes its own
// extents, one system call for each piece of at most `toy_piece` bytes, and counts them.
#include <atomic>
#include <vector>

#include "base/byteorder.h"
#include "comm/agree.h"
#include "method/method_values.h"
#include "transport/transport.h"

namespace forebay {

std::atomic<Count> toy_writes = 0;  // looked at by the tests

namespace {

class ToyTransport : public Transport {
 public:
  ToyTransport(const Comm& comm, std::shared_ptr<ByteFile> file, const TransportOptions& options)
      : comm_(comm),
        file_(std::move(file)),
        piece_(*parse_size(method_value(*options.method, "toy_piece"))) {}

  void write_all(ExtentStream& extents) override {
    agree_on_error(comm_, attempt_to([&] { write(extents); }));
  }
  void read_all(ExtentStream& extents) override {
    agree_on_error(comm_, attempt_to([&] { read(extents); }));
  }

  void write(ExtentStream& extents) override {
    ByteFile& file = *file_;
    for_each(extents, [&](const Extent& e, std::vector<std::byte>& bytes) {
      for (Count i = 0; i < e.length; ++i) bytes[static_cast<std::size_t>(i)] = *in_memory(e, i);
      for (Count done = 0; done < e.length; done += piece_, ++toy_writes)
        file.write_at(e.offset + done,
                      std::span<const std::byte>(bytes).subspan(
                          static_cast<std::size_t>(done),
                          static_cast<std::size_t>(std::min(piece_, e.length - done))));
    });
  }

  void read(ExtentStream& extents) override {
    for_each(extents, [&](const Extent& e, std::vector<std::byte>& bytes) {
      bytes.resize(file_->read_at(e.offset, bytes));
      bytes.resize(static_cast<std::size_t>(e.length));  // zeros beyond the end
      for (Count i = 0; i < e.length; ++i) *in_memory(e, i) = bytes[static_cast<std::size_t>(i)];
    });
  }

 private:
  /// Where an external byte of an extent is.
  static std::byte* in_memory(const Extent& e, Count byte) {
    const Count at = e.skip + byte;
    return e.memory + (native_is_big_endian ? at : at ^ (e.swap - 1));
  }

  template <typename F>
  static void for_each(ExtentStream& extents, F&& f) {
    Extent e;
    std::vector<std::byte> bytes;
    while (extents.next({&e, 1}) > 0) {
      bytes.assign(static_cast<std::size_t>(e.length), std::byte{0});
      f(e, bytes);
    }
  }

  const Comm& comm_;
  std::shared_ptr<ByteFile> file_;
  Count piece_;
};

// A key that only this transport knows.
constexpr KeySpec keys[] = {size_key({"toy_piece", "bytes, at least 1", "64",
                                      "Transport toy: bytes of a system call at most.", "engine"},
                                     nullptr, 1)};

}  // namespace

extern const TransportEntry toy_transport{
    {"toy", "each rank its own, in pieces of toy_piece bytes", 900, keys},
    [](const Comm& comm, std::shared_ptr<ByteFile> file, const TransportOptions& options,
       Report&) -> std::unique_ptr<Transport> {
      return std::make_unique<ToyTransport>(comm, std::move(file), options);
    }};

namespace {
// Leave this out in src, whose entries the build lists.
const AddedPart added(toy_transport);
}  // namespace

}  // namespace forebay
