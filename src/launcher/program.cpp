#include "launcher/program.h"

#include <elf.h>
#include <link.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <algorithm>
#include <climits>
#include <cstdlib>

#include "launcher/file_view.h"

namespace syncopate::launcher {
namespace {

constexpr std::size_t largest_searched = std::size_t{16} << 20;  // bytes; Python takes as long
constexpr int script_depth = 5;             // the kernel follows at most this many interpreters
constexpr std::size_t script_start = 512;   // bytes in which a #! line has to end
constexpr std::string_view blanks = " \t";  // other ones are for the Python command to tell

#if defined(__x86_64__)
constexpr int this_machine = EM_X86_64;
#elif defined(__aarch64__)
constexpr int this_machine = EM_AARCH64;
#else
constexpr int this_machine = EM_NONE;  // no program is plain
#endif

bool is_file(const std::string& path) {
  struct stat found;
  return stat(path.c_str(), &found) == 0 && S_ISREG(found.st_mode);
}

bool is_executable(const std::string& path) {
  return is_file(path) && access(path.c_str(), X_OK) == 0;
}

// The words of a #! line; none where it has characters that are read in more than one way.
std::vector<std::string> words_of(std::string_view line) {
  const bool plain = std::all_of(line.begin(), line.end(),
                                 [](char c) { return (c >= ' ' && c < 0x7f) || c == '\t'; });
  std::vector<std::string> words;
  while (plain && !line.empty()) {
    const std::size_t begin = std::min(line.find_first_not_of(blanks), line.size());
    line.remove_prefix(begin);
    const std::size_t end = std::min(line.find_first_of(blanks), line.size());
    if (end > 0) words.emplace_back(line.substr(0, end));
    line.remove_prefix(end);
  }
  return words;
}

// The program that a script's #! line starts; behind env(1), what env starts. "": not plain.
std::string interpreter_of(std::string_view start, const environment& environment) {
  const std::size_t end = start.find('\n');
  if (end == std::string_view::npos) return {};
  const std::vector<std::string> words = words_of(start.substr(2, end - 2));
  if (words.empty() || !is_file(words[0])) return {};
  if (words[0].substr(words[0].rfind('/') + 1) != "env") return words[0];
  const auto named = std::find_if(words.begin() + 1, words.end(), [](const std::string& word) {
    return !word.starts_with('-') && word.find('=') == std::string::npos;
  });
  return named == words.end() ? words[0] : find_program(*named, environment);
}

// What runs in the end when `path` is started; "": not plain.
std::string binary_of(std::string path, const environment& environment) {
  for (int depth = 0; depth < script_depth && !path.empty(); ++depth) {
    const file_view file(path);
    const std::string_view start = file.text().substr(0, script_start);
    if (!start.starts_with("#!")) return path;
    path = interpreter_of(start, environment);
  }
  return {};
}

// Whether starting it gives more rights than we have: the loader ignores us then.
bool gives_rights(const std::string& path) {
  struct stat found;
  struct statvfs volume;
  if (stat(path.c_str(), &found) != 0 || statvfs(path.c_str(), &volume) != 0) return true;
  if ((volume.f_flag & ST_NOSUID) != 0) return false;
  if ((found.st_mode & (S_ISUID | S_ISGID)) != 0) return true;
  return getuid() != 0 && getxattr(path.c_str(), "security.capability", nullptr, 0) >= 0;
}

// Whether it is a dynamic program of this architecture whose loader is glibc's.
bool suits_loader(const file_view& file) {
  ElfW(Ehdr) header;
  if (!file.read(0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return false;
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB)
    return false;
  if (header.e_machine != this_machine || header.e_phentsize < sizeof(ElfW(Phdr))) return false;
  for (std::size_t i = 0; i < header.e_phnum; ++i) {
    ElfW(Phdr) segment;
    if (!file.read(header.e_phoff + i * header.e_phentsize, segment)) return false;
    if (segment.p_type != PT_INTERP) continue;
    if (segment.p_offset > file.text().size()) return false;
    const std::string_view loader = file.text().substr(segment.p_offset, segment.p_filesz);
    return loader.find("musl") == std::string_view::npos;
  }
  return false;
}

// Whether it may need a sanitizer's library: "san" stands shortly behind "lib".
bool may_name_sanitizer(std::string_view text) {
  constexpr std::size_t near = 16;
  std::string_view rest = text;
  while (const void* const found = memmem(rest.data(), rest.size(), "san", 3)) {
    const auto at = static_cast<std::size_t>(static_cast<const char*>(found) - text.data());
    const std::size_t from = at < near ? 0 : at - near;
    if (text.substr(from, at - from).find("lib") != std::string_view::npos) return true;
    rest = text.substr(at + 1);
  }
  return false;
}

// What is searched for stands nowhere in this program as a whole, which would be found in itself.
bool contains(const file_view& file, std::string_view first, std::string_view second) {
  return file.contains(std::string(first).append(second));
}
bool leak_sanitized(const file_view& file) { return contains(file, "LSAN", "_OPTIONS"); }
// One of our libraries, maybe a modeled machine's.
bool names_ours(const file_view& file) { return contains(file, "libsyncopate", "-"); }

// Whether what is linked in, or is to be loaded first, has to be seen to.
bool wants_more(const file_view& file) {
  return file.text().size() > largest_searched || leak_sanitized(file) || names_ours(file) ||
         may_name_sanitizer(file.text());
}

bool has_plain_parts(std::string_view path) {
  while (!path.empty()) {
    const std::size_t end = path.find('/');
    const std::string_view part = path.substr(0, end);
    if (part.empty() || part == "." || part == "..") return false;
    if (end == std::string_view::npos) return true;
    path.remove_prefix(end + 1);
  }
  return false;
}

}  // namespace

std::string find_program(const std::string& name, const environment& environment) {
  if (name.empty()) return {};
  if (name.find('/') != std::string::npos) return is_executable(name) ? name : std::string{};
  if (!environment.has("PATH")) return {};
  std::string_view folders = environment.get("PATH");
  for (;;) {
    const std::size_t end = folders.find(':');
    std::string path(folders.substr(0, end));
    if (!path.empty() && !path.ends_with('/')) path += '/';
    path += name;
    if (is_executable(path)) return path;
    if (end == std::string_view::npos) return {};
    folders.remove_prefix(end + 1);
  }
}

bool is_plain_program(const std::string& path, const environment& environment) {
  const std::string binary = binary_of(path, environment);
  if (binary.empty() || gives_rights(binary)) return false;
  const file_view file(binary);
  return suits_loader(file) && !wants_more(file);
}

bool may_be_java(const std::string& path) {
  char* const real = realpath(path.c_str(), nullptr);
  if (real == nullptr) return true;
  const std::string found = real;
  std::free(real);
  return found.substr(found.rfind('/') + 1) == "java";
}

std::string plain_path(std::string_view path) {
  if (path.starts_with('/')) return has_plain_parts(path.substr(1)) ? std::string(path) : "";
  char folder[PATH_MAX];
  if (!has_plain_parts(path) || getcwd(folder, sizeof folder) == nullptr) return {};
  std::string result = folder;
  if (!has_plain_parts(result.substr(1))) return {};
  return result.append("/").append(path);
}

}  // namespace syncopate::launcher
