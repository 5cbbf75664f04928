#include "hdf5/files/regions.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <vector>

namespace forebay {
namespace {

// The format in the file, with little-endian numbers:
//   reference    address of a heap:u64 number of an object:u32
//   heap         "GCOL" version:u8 zeros{3} size:u64 object*
//   object       number:u16 uses:u16 zeros{4} size:u64 bytes, rounded up to 8;
//                number 0 is the free space
//   the bytes    address of the dataset:u64 selection, as H5Sencode prints it
// H5Sencode prints: 1 0 width:u8 length:u32 extents{length} selection
constexpr std::size_t heap_front = 16, object_front = 16, encoded_front = 7, address_bytes = 8;
constexpr std::uint64_t most_heap = std::uint64_t{1} << 30;

std::uint64_t number(const char* at, std::size_t bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes; i-- > 0;) value = value << 8 | static_cast<unsigned char>(at[i]);
  return value;
}

bool read_at(std::ifstream& file, std::uint64_t place, std::vector<char>& bytes) {
  file.seekg(static_cast<std::streamoff>(place));
  return static_cast<bool>(file.read(bytes.data(), static_cast<std::streamsize>(bytes.size())));
}

/// Returns the bytes of an object of a heap; empty if it is not there.
std::vector<char> heap_object(const std::string& path, std::uint64_t place, std::uint64_t wanted) {
  std::ifstream file(path, std::ios::binary);
  std::vector<char> heap(heap_front);
  if (!read_at(file, place, heap) || std::memcmp(heap.data(), "GCOL", 4) != 0) return {};
  const std::uint64_t size = number(&heap[8], 8);
  if (size < heap_front || size > most_heap) return {};
  file.seekg(0, std::ios::end);
  if (static_cast<std::uint64_t>(file.tellg()) < place + size) return {};
  heap.resize(size);
  if (!read_at(file, place, heap)) return {};
  for (std::size_t at = heap_front; heap.size() - at >= object_front;) {
    const std::uint64_t index = number(&heap[at], 2), bytes = number(&heap[at + 8], 8);
    at += object_front;
    if (index == 0 || bytes > heap.size() - at) return {};
    if (index == wanted)
      return {heap.begin() + static_cast<long>(at), heap.begin() + static_cast<long>(at + bytes)};
    at += std::min<std::size_t>((bytes + 7) / 8 * 8, heap.size() - at);
  }
  return {};
}

std::vector<char> encoded(hid_t space) {
#if H5_VERSION_GE(1, 12, 0)
  const auto encode = [&](void* to, std::size_t* n) { return H5Sencode1(space, to, n); };
#else
  const auto encode = [&](void* to, std::size_t* n) { return H5Sencode(space, to, n); };
#endif
  std::size_t n = 0;
  checked(encode(nullptr, &n), "a dataspace");
  std::vector<char> bytes(n);
  checked(encode(bytes.data(), &n), "a dataspace");
  return bytes;
}

}  // namespace

Hdf5Id region_in_space(hid_t file, hid_t space, const char* reference) {
  const Hdf5Id creation = owned(H5Fget_create_plist(file), "how a file was made");
  hsize_t userblock = 0;
  std::size_t address = 0, length = 0;
  checked(H5Pget_userblock(creation, &userblock), "a user block");
  checked(H5Pget_sizes(creation, &address, &length), "the size of addresses");
  const std::uint64_t heap = number(reference, 8);
  if (address != address_bytes || length != 8 || heap > INT64_MAX - userblock - most_heap)
    return {};
  const auto object = heap_object(path_of(file), heap + userblock, number(reference + 8, 4));
  if (object.size() <= address_bytes) return {};
  std::vector<char> bytes = encoded(space);
  bytes.resize(encoded_front + number(&bytes[3], 4));
  bytes.insert(bytes.end(), object.begin() + address_bytes, object.end());
  return Hdf5Id(H5Sdecode(bytes.data()));
}

}  // namespace forebay
