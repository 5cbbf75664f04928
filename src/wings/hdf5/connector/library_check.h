// Checks that the HDF5 that loads the connector is the one that the connector calls.
//
// A plug-in loads the HDF5 with which it was linked, unless a library of the same name is loaded
// already. If the program's HDF5 has another name (in a Python wheel) or version, or is static, the
// process has two. They do not know each other's identifiers, so it is best to fail at once.
#pragma once

#include <string>

namespace forebay::vol {

/// `caller` is an address in the HDF5 that called. Returns what is wrong and what to do; empty if
/// nothing is wrong.
std::string other_library(const void* caller);

/// Puts a text on the error stack of the HDF5 that contains `caller`. Does nothing if that exports
/// no H5E*.
void push_on_stack_of(const void* caller, const std::string& text) noexcept;

}  // namespace forebay::vol
