#include "base/error.h"

#include <cstring>
#include <new>
#include <stdexcept>

#include "base/host_name.h"

namespace forebay {

namespace {

// The texts are short enough to stand inside the string object.
const std::string no_text, out_of_memory = "out of memory";

}  // namespace

Error::Error(Errc code, std::string message, std::string advice) noexcept : code_(code) {
  try {
    std::string both = advice.empty() ? message : message + " (" + advice + ")";
    text_ = std::make_shared<Text>(Text{std::move(message), std::move(advice), std::move(both)});
  } catch (...) {
  }
}

Error::Error(Errc code, const char* message) noexcept : code_(code) {
  try {
    *this = Error(code, std::string(message));
  } catch (...) {
  }
}

const std::string& Error::message() const noexcept {
  if (text_) return text_->message;
  return code_ == Errc::enomem ? out_of_memory : no_text;
}

const std::string& Error::advice() const noexcept { return text_ ? text_->advice : no_text; }

const char* Error::what() const noexcept { return text_ ? text_->both.c_str() : message().c_str(); }

Error Error::reworded(std::string message, std::string advice) const noexcept {
  Error other(code_, std::move(message), std::move(advice));
  if (!other.text_) return *this;
  other.own_matter_ = own_matter_;
  other.of_others_ = of_others_;
  return other;
}

Error Error::at(const std::string& where) const noexcept {
  try {
    return reworded(where + ": " + message(), advice());
  } catch (...) {
    return *this;
  }
}

Error current_error() noexcept {
  try {
    throw;
  } catch (const Error& e) {
    return e;
  } catch (const std::bad_alloc&) {
    return Error(Errc::enomem);
  } catch (const std::length_error&) {
    return Error(Errc::enomem, "an object larger than memory was asked for");
  } catch (const std::exception& e) {
    return Error(Errc::einternal, e.what());
  } catch (...) {
    return Error(Errc::einternal, "unknown exception");
  }
}

Errc code_from_errno(int errnum, Errc fallback) {
  switch (errnum) {
    case ENOSPC:
      return Errc::eno_space;
    case EDQUOT:
      return Errc::equota;
    case ENOENT:
      return Errc::enoent;
    case EEXIST:
      return Errc::eexist;
    case EACCES:
    case EPERM:
      return Errc::eaccess;
    case EROFS:
      return Errc::eperm;
    case ENAMETOOLONG:
      return Errc::ebad_file;
    case ELOOP:
    case EISDIR:
      return Errc::efile;
    case ENOTDIR:
      return Errc::enoent;
    case ENOMEM:
      return Errc::enomem;
    case EMFILE:
    case ENFILE:
      return Errc::enfile;
    default:
      return fallback;
  }
}

namespace {

const char* advice_for(int errnum) {
  switch (errnum) {
    case ENOSPC:
      return "free space on the device or write elsewhere; what was written before is intact";
    case EDQUOT:
      return "the quota is used up; remove files or write elsewhere";
    case ENOENT:
      return "check the path and that its directory exists";
    case EEXIST:
      return "remove the file or create with NC_CLOBBER";
    case EACCES:
    case EPERM:
    case EROFS:
      return "check the permissions of the file and its directory";
    case EMFILE:
    case ENFILE:
      return "too many open files; raise the limit (ulimit -n)";
    default:
      return "";
  }
}

}  // namespace

Error system_error(int errnum, Errc fallback, const std::string& doing, const std::string& path) {
  // A file may exist on one host and not on another.
  const std::string where = fallback == Errc::eofile ? " on " + host_name() : "";
  return Error(code_from_errno(errnum, fallback),
               doing + " " + path + where + ": " + std::strerror(errnum), advice_for(errnum));
}

}  // namespace forebay
