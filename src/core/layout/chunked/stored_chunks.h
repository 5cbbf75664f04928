// Layout `chunked` over chunks of HDF5 files: another library keeps the index of chunks.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "layout/chunked/chunked.h"
#include "layout/chunked/filtered_chunks.h"

namespace forebay::chunked {

/// Returns how a variable is stored. The result stays valid while the variable does.
using FormOf = std::function<const StoredForm&(VarId var)>;

/// Local. Turns the order of bytes of a request's elements around, if the file's is not netCDF's.
inline void turn_to_file(Request& r, const StoredForm& form) {
  if (r.element_size > 1 && form.little_endian) r.swap = r.swap == 1 ? r.element_size : 1;
}

/// While it lives, requests give and take elements in the order of bytes that the file has.
class InFileOrder {
 public:
  InFileOrder(std::span<Request> requests, const FormOf& form) : requests_(requests), form_(form) {
    turn();
  }
  ~InFileOrder() { turn(); }
  InFileOrder(const InFileOrder&) = delete;
  InFileOrder& operator=(const InFileOrder&) = delete;

 private:
  void turn() {
    for (Request& r : requests_) turn_to_file(r, form_(r.var));
  }
  std::span<Request> requests_;
  const FormOf& form_;
};

class StoredChunks : public ChunkedLayout {
 public:
  StoredChunks(const ClassicSite& site, FormOf form) : ChunkedLayout(site), form_(std::move(form)) {
    store().leave_index_to_others();
  }

  void carry_out(std::span<Request> requests, bool write, bool collective) override {
    const InFileOrder order(requests, form_);
    ChunkedLayout::carry_out(requests, write, collective);
  }
  /// Local, equal on all ranks. Begins with the chunks that the file has; `used` is space that is
  /// taken otherwise.
  void begin(std::vector<ChunkTable> tables, std::vector<FileSpace::Range> used);
  /// Local, equal on all ranks. The schema has more variables.
  void grow(std::size_t variables);
  using ChunkedLayout::renew_codings;
  using ChunkedLayout::store;

 protected:
  VariableCoding make_coding_of(VarId var, int level) const override;
  void turn_request(Request& request) const override { turn_to_file(request, form_(request.var)); }

 private:
  FormOf form_;
};

}  // namespace forebay::chunked
