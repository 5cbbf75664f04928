// Going through objects of the connector below. All functions throw Errc::ehdferr where it refuses.
#pragma once

#include <functional>
#include <set>
#include <vector>

#include "api/hdf5vol/hid.h"
#include "api/hdf5vol/under.h"

namespace forebay::vol {

/// "The n-th link, by name, of this group."
H5VL_loc_params_t index_location(hsize_t n);
OwnedUnder open_child(const UnderObject& at, const H5VL_loc_params_t& location);
/// Basic fields and the number of attributes.
H5O_info2_t info_of(const UnderObject& object);
Hid type_of(const UnderObject& dataset);
Hid space_of(const UnderObject& dataset);
void remove_attribute(const UnderObject& object, const char* name);

/// Tokens of objects that a walk has seen.
using SeenObjects = std::set<std::vector<std::byte>>;
/// Calls `use` for an object and every one below it, once each, however it is linked.
void for_each_object(const UnderObject& object, SeenObjects& seen,
                     const std::function<void(const UnderObject&)>& use);

}  // namespace forebay::vol
