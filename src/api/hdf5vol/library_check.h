// Whether the HDF5 that loads the connector is the one that the connector calls.
//
// A plug-in brings the HDF5 that it was linked with, unless a library of the same name is there
// already. A program with an HDF5 under another name (that of a Python wheel), of another version,
// or in itself (static) then has two, which know nothing of each other's identifiers: an error at
// once is better than what comes of that.
#pragma once

#include <string>

namespace forebay::vol {

/// `caller`: an address in the HDF5 that called. What is wrong, and what to do; empty if nothing
/// is.
std::string other_library(const void* caller);

/// Puts a text on the error stack of the HDF5 that `caller` lies in; nothing where it shows no
/// H5E*.
void push_on_stack_of(const void* caller, const std::string& text) noexcept;

}  // namespace forebay::vol
