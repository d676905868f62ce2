// code_names.cpp -- reads symbol tables as code_names.h says. A file is believed in nothing:
// every offset is compared with its size.

#include "preload/log/code_names.h"

#include <cstring>
#include <initializer_list>

#include <elf.h>
#include <link.h>

#include "record/system.h"

namespace syncopate::shim {
namespace {

namespace sys = record::sys;

// A whole file, readable; unmapped at the end.
class mapped_file {
 public:
  explicit mapped_file(const char* path) noexcept {
    const int file = sys::open(path, O_RDONLY);
    if (file < 0) return;
    struct stat about = {};
    if (sys::fstat(file, &about) == 0 && about.st_size > 0) {
      const auto size = static_cast<std::size_t>(about.st_size);
      const long at = sys::call(SYS_mmap, 0, size, PROT_READ, MAP_PRIVATE, file, 0);
      if (at > 0) start_ = reinterpret_cast<const char*>(at), size_ = size;
    }
    sys::close(file);
  }
  ~mapped_file() {
    if (start_ != nullptr) sys::call(SYS_munmap, start_, size_);
  }
  mapped_file(const mapped_file&) = delete;
  mapped_file& operator=(const mapped_file&) = delete;

  // `count` elements at an offset; null where they are not all in the file, or not aligned.
  template <class T>
  [[nodiscard]] const T* at(std::uint64_t offset, std::uint64_t count = 1) const noexcept {
    if (start_ == nullptr || offset > size_ || count > (size_ - offset) / sizeof(T)) return nullptr;
    if (offset % alignof(T) != 0) return nullptr;
    return reinterpret_cast<const T*>(start_ + offset);
  }

 private:
  const char* start_ = nullptr;
  std::size_t size_ = 0;
};

using header = ElfW(Ehdr);
using section = ElfW(Shdr);
using symbol = ElfW(Sym);

// The sections of the file; null when it is no ELF file of our kind.
const section* sections_of(const mapped_file& file, unsigned& count) noexcept {
  const auto* const start = file.at<header>(0);
  if (start == nullptr || std::memcmp(start->e_ident, ELFMAG, SELFMAG) != 0 ||
      start->e_ident[EI_CLASS] != (sizeof(void*) == 8 ? ELFCLASS64 : ELFCLASS32) ||
      start->e_shentsize != sizeof(section))
    return nullptr;
  count = start->e_shnum;
  return file.at<section>(start->e_shoff, count);
}

// The function at `address` by one table; null without.
const char* named_by(const mapped_file& file, const section& table, const section& strings,
                     std::uint64_t address) noexcept {
  const std::uint64_t count = table.sh_size / sizeof(symbol);
  const auto* const symbols = file.at<symbol>(table.sh_offset, count);
  const auto* const texts = file.at<char>(strings.sh_offset, strings.sh_size);
  if (symbols == nullptr || texts == nullptr || strings.sh_size == 0 ||
      texts[strings.sh_size - 1] != '\0')
    return nullptr;
  for (std::uint64_t i = 0; i < count; ++i) {
    const symbol& one = symbols[i];
    // ELF32_ST_TYPE is the same for both classes.
    if (ELF32_ST_TYPE(one.st_info) != STT_FUNC || one.st_shndx == SHN_UNDEF) continue;
    if (address < one.st_value || address - one.st_value >= one.st_size) continue;
    if (one.st_name < strings.sh_size) return texts + one.st_name;
  }
  return nullptr;
}

}  // namespace

bool find_code_name(const char* path, std::uint64_t at, char* name, std::size_t room) noexcept {
  const mapped_file file(path);
  unsigned count = 0;
  const section* const sections = sections_of(file, count);
  if (sections == nullptr) return false;
  // .symtab has all names; a stripped file keeps what it exports.
  for (const std::uint32_t kind : {SHT_SYMTAB, SHT_DYNSYM})
    for (unsigned i = 0; i < count; ++i) {
      if (sections[i].sh_type != kind || sections[i].sh_link >= count) continue;
      const char* const found = named_by(file, sections[i], sections[sections[i].sh_link], at);
      if (found == nullptr) continue;
      copy_readable(found, name, room);
      return true;
    }
  return false;
}

void copy_readable(const char* symbol, char* name, std::size_t room) noexcept {
  std::size_t length = 0;
  const auto add = [&](const char* text, std::size_t bytes) {
    for (std::size_t i = 0; i < bytes && length + 1 < room; ++i) name[length++] = text[i];
  };
  const auto whole = [&] {
    length = 0;
    add(symbol, std::strlen(symbol));
  };
  const char* at = symbol;
  const bool is_cxx = std::strncmp(at, "_Z", 2) == 0;
  if (is_cxx) at += 2;
  const bool is_nested = is_cxx && *at == 'N';
  if (is_nested) ++at;
  while (is_nested && (*at == 'K' || *at == 'V')) ++at;  // const, volatile member functions
  bool is_plain = is_cxx && *at >= '1' && *at <= '9';
  if (is_plain) {
    do {
      std::size_t bytes = 0;
      while (*at >= '0' && *at <= '9' && bytes < 4096)
        bytes = 10 * bytes + static_cast<std::size_t>(*at++ - '0');
      is_plain = std::strlen(at) >= bytes;
      if (!is_plain) break;
      if (length != 0) add("::", 2);
      if (bytes == 12 && std::strncmp(at, "_GLOBAL__N_1", 12) == 0) add("(anonymous)", 11);
      else add(at, bytes);
      at += bytes;
    } while (is_nested && *at >= '1' && *at <= '9');
    if (is_nested ? *at != 'E' : *at == 'I') is_plain = false;  // a template, a constructor ...
  }
  if (!is_plain) whole();
  if (room != 0) name[length] = '\0';
}

}  // namespace syncopate::shim
