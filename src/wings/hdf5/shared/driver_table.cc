#include "hdf5/shared/driver_table.h"

#include <span>

#include "base/hdf5_signature.h"
#include "hdf5/shared/id.h"

namespace forebay {
namespace {

using Read = herr_t (*)(H5FD_t*, H5FD_mem_t, hid_t, haddr_t, size_t, void*);

struct Unmasked {
  H5FD_class_t* table = nullptr;
  Read own = nullptr;
  Offset place = 0;
} unmasked;

herr_t read(H5FD_t* file, H5FD_mem_t type, hid_t dxpl, haddr_t address, size_t size, void* buffer) {
  const herr_t result = unmasked.own(file, type, dxpl, address, size, buffer);
  if (result >= 0)
    replace_signature(std::span(static_cast<std::byte*>(buffer), size),
                      static_cast<Offset>(address), unmasked.place, masked_signature,
                      hdf5_signature);
  return result;
}

}  // namespace

H5FD_class_t& driver_table(hid_t fapl) {
  H5FD_t* const file = H5FDopen("/dev/null", H5F_ACC_RDONLY, fapl, HADDR_UNDEF);
  if (file == nullptr) throw_hdf5("looking at a file driver");
  auto* const table = const_cast<H5FD_class_t*>(file->cls);
  checked(H5FDclose(file), "closing a file");
  return *table;
}

UnmaskedReading::UnmaskedReading(hid_t fapl, Offset place) {
  H5FD_class_t& table = driver_table(fapl);
  unmasked = {&table, table.read, place};
  table.read = read;
}

UnmaskedReading::~UnmaskedReading() { unmasked.table->read = unmasked.own; }

}  // namespace forebay
