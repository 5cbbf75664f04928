#include "hdf5/shared/driver_table.h"

#include <utility>

#include "hdf5/shared/id.h"

namespace forebay {
namespace {

// Of the one HeldBackWrite, since functions of a table get no more than a file.
const void* held_back = nullptr;
Offset place_held_back = -1;
decltype(H5FD_class_t::write) own_write = nullptr;

herr_t write_or_hold(H5FD_t* file, H5FD_mem_t type, hid_t dxpl, haddr_t address, size_t size,
                     const void* buffer) {
  if (buffer == nullptr || buffer != held_back)
    return own_write(file, type, dxpl, address, size, buffer);
  place_held_back = static_cast<Offset>(address);
  return 0;
}

}  // namespace

H5FD_class_t& driver_table(hid_t fapl) {
  H5FD_t* const file = H5FDopen("/dev/null", H5F_ACC_RDONLY, fapl, HADDR_UNDEF);
  if (file == nullptr) throw_hdf5("looking at a file driver");
  auto* const table = const_cast<H5FD_class_t*>(file->cls);
  checked(H5FDclose(file), "closing a file");
  return *table;
}

HeldBackWrite::HeldBackWrite(H5FD_class_t& table, const void* buffer) : table_(table) {
  hold(buffer);
  own_write = std::exchange(table_.write, write_or_hold);
}

void HeldBackWrite::hold(const void* buffer) noexcept {
  held_back = buffer;
  place_held_back = -1;
}

HeldBackWrite::~HeldBackWrite() {
  table_.write = own_write;
  held_back = nullptr;
}

Offset HeldBackWrite::take_place() noexcept { return std::exchange(place_held_back, -1); }

}  // namespace forebay
