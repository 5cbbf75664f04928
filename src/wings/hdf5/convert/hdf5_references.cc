#include "hdf5/convert/hdf5_references.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "hdf5/files/regions.h"

namespace forebay::tools {
namespace {

// Calls f(type, offset, count) for the parts of a compound or array type.
template <typename F>
void each_part(hid_t type, F&& f) {
  if (H5Tget_class(type) == H5T_COMPOUND) {
    const int members = checked(H5Tget_nmembers(type), "a compound type");
    for (unsigned i = 0; i < static_cast<unsigned>(members); ++i)
      f(owned(H5Tget_member_type(type, i), "a member"), H5Tget_member_offset(type, i),
        std::size_t{1});
  } else if (H5Tget_class(type) == H5T_ARRAY) {
    Hdf5Id element = owned(H5Tget_super(type), "an array type");
    const std::size_t n = H5Tget_size(type) / std::max<std::size_t>(H5Tget_size(element), 1);
    f(std::move(element), std::size_t{0}, n);
  }
}

bool is_null(const char* at, std::size_t size) {
  return std::all_of(at, at + size, [](char c) { return c == 0; });
}

}  // namespace

void ReferenceTranslator::translate(hid_t type, void* elements, std::size_t n) const {
  const std::size_t width = H5Tget_size(type);
  auto* at = static_cast<char*>(elements);
  for (std::size_t i = 0; i < n; ++i, at += width) element(type, at);
}

void ReferenceTranslator::element(hid_t type, char* at) const {
  const H5T_class_t kind = H5Tget_class(type);
  if (kind == H5T_REFERENCE) {
    reference(type, at);
  } else if (kind == H5T_VLEN) {
    hvl_t list;
    std::memcpy(&list, at, sizeof list);
    const Hdf5Id inner = owned(H5Tget_super(type), "a list type");
    if (list.p != nullptr && has_references(inner)) translate(inner, list.p, list.len);
  } else {
    each_part(type, [&](const Hdf5Id& part, std::size_t offset, std::size_t n) {
      if (has_references(part)) translate(part, at + offset, n);
    });
  }
}

void ReferenceTranslator::reference(hid_t type, char* at) const {
  const bool object = H5Tequal(type, H5T_STD_REF_OBJ) > 0;
  if (!object && H5Tequal(type, H5T_STD_REF_DSETREG) <= 0)
    throw Error(Errc::enotsupport, "references of HDF5 1.12's kind cannot be copied",
                "copy the file as a whole, with cp or h5repack");
  const std::size_t size = object ? sizeof(hobj_ref_t) : sizeof(hdset_reg_ref_t);
  if (is_null(at, size)) return;
  const H5R_type_t kind = object ? H5R_OBJECT : H5R_DATASET_REGION;
  const Hdf5Id target(H5Rdereference2(from_, H5P_DEFAULT, kind, at));
  const auto path = target.valid() ? path_of_(object_of(target).address) : std::nullopt;
  if (!path) {  // it leads nowhere, or to something that was not copied
    H5Eclear2(H5E_DEFAULT);
    std::memset(at, 0, size);
    return;
  }
  Hdf5Id region;
  if (!object) {
    region = Hdf5Id(H5Rget_region(from_, kind, at));
    if (!region.valid()) {  // the dataset is in a log, and its stand-in has no dimensions
      H5Eclear2(H5E_DEFAULT);
      region = region_in_space(from_, space_of_(target), at);
    }
    if (!region.valid())
      throw Error(Errc::ehdferr, "a reference to a region of " + *path + " leads nowhere");
  }
  checked(H5Rcreate(at, to_, path->c_str(), kind, region), "a reference to " + *path);
}

}  // namespace forebay::tools
