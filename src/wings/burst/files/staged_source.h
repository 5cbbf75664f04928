// A file with the writes that are staged for it laid over (recover=overlay), for tools and Python.
#pragma once

#include <memory>
#include <string>

#include "files/source.h"
#include "method/method.h"

namespace forebay {

/// Returns recover=overlay or overlay_partial if that is in force for the file, and a job has
/// staged writes for it; else Recover::ignore. `recover`: what a program asks for, as a hint; the
/// environment beats it.
Recover overlay_of(const std::string& path, const std::string& recover = "");

/// Returns whether the environment or the configuration asks for it. Other keys may make no sense.
bool is_overlaid(const std::string& path);

/// Opens a file as recover=overlay (overlay-partial) does, unless the environment says otherwise.
std::unique_ptr<Source> open_overlaid(const std::string& path);
std::unique_ptr<Source> open_overlaid_partially(const std::string& path);

}  // namespace forebay
