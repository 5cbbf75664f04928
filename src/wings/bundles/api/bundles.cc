// forebay_bundle.h: bundles by number (bundles/open_bundles.h).
#include <forebay_bundle.h>

#include <algorithm>
#include <cstring>

#include "api/pnetcdf/files.h"
#include "base/attempt.h"
#include "base/last_message.h"
#include "bundles/open_bundles.h"
#include "comm/agree.h"
#include "comm/mpi.h"

using namespace forebay;
using namespace forebay::pnetcdf;

namespace {

std::unique_ptr<Dataset> take_file(const Dataset& file) {
  for (const int ncid : open_files())
    if (&dataset(ncid) == &file) return remove_file(ncid);
  throw Error(Errc::ebadid, file.path() + " is not open");
}

}  // namespace

int forebay_bundle_open(MPI_Comm mpi, const char* name, MPI_Info info, int* id) {
  return guard([&] {
    const Comm comm = make_comm(mpi);
    std::string text;
    HintMap hints;
    together(comm, [&] {
      if (id == nullptr) throw Error(Errc::einval, "no place for the bundle's number");
      text = name_argument(name);
      hints = hints_of(info);
    });
    *id = open_bundle(comm, text, hints);
  });
}

int forebay_bundle_add(int id, int ncid) {
  return guard([&] {
    // A rank that knows the file takes part in the other ranks' call, even if its bundle number is
    // wrong.
    Dataset* file = nullptr;
    if (const auto failed = attempt_to([&] { file = &dataset(ncid); })) {
      added_to_bundle(id);  // throws if this number is wrong, too
      throw *failed;
    }
    add_to_bundle(id, *file);
  });
}

int forebay_bundle_wait_all(int id) {
  return guard([&] { wait_for_bundle(id); });
}

int forebay_bundle_flush(int id) {
  return guard([&] { flush_bundle(id); });
}

int forebay_bundle_sync(int id) {
  return guard([&] { sync_bundle(id); });
}

int forebay_bundle_close(int id, int* statuses) {
  return guard([&] {
    const std::size_t files = statuses != nullptr ? added_to_bundle(id) : 0;
    close_bundle(id, take_file, std::span(statuses, files));
  });
}

int64_t forebay_bundle_plan(int id, char* text, int64_t size) {
  int64_t needed = 0;
  const int code = guard([&] {
    const std::string plan = bundle_plan(id);
    needed = static_cast<int64_t>(plan.size()) + 1;
    if (text == nullptr || size <= 0) return;
    const auto bytes = std::min<std::size_t>(plan.size(), static_cast<std::size_t>(size) - 1);
    std::memcpy(text, plan.data(), bytes);
    text[bytes] = '\0';
  });
  return code != 0 ? code : needed;
}
