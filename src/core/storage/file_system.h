// Kinds of file systems, as statfs returns them (f_type).
#pragma once

#include <cstdint>

namespace forebay::file_system {

constexpr std::uint32_t nfs = 0x00006969;
constexpr std::uint32_t smb = 0xff534d42, smb2 = 0xfe534d42;  ///< kernel clients; smb2: SMB 3, too
constexpr std::uint32_t plan9 = 0x01021997;
constexpr std::uint32_t afs = 0x5346414f, kernel_afs = 0x6b414653;
constexpr std::uint32_t beegfs = 0x19830326;
constexpr std::uint32_t orangefs = 0x20030528;
constexpr std::uint32_t fuse = 0x65735546;
constexpr std::uint32_t gpfs = 0x47504653;
constexpr std::uint32_t lustre = 0x0bd00bd0;

}  // namespace forebay::file_system
