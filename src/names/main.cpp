// main.cpp -- syncopate-names [PATH]: what programs and libraries say of their addresses, for
// reports. PATH: look_for_debug_files_in().
//
// Reads questions, each ended by a zero byte; answers each with a line on standard output, its
// fields separated by tabs, which is empty where nothing is known. Numbers are hexadecimal, a
// source's LINE is decimal; addresses are those of the link.
//
//   h             "syncopate-names 4": who answers, and the number of this list, changed with it
//   o PATH        what follows is asked of this file:  BUILD_ID MACHINE, then OFFSET ADDRESS BYTES
//                 FLAGS of each segment; empty for what is no ELF file
//   b BUILD_ID    the file with the debug information of a build
//   g             the separate file with its debug information
//   l             what the file calls that separate file, there or not
//   s             the first file with split debug information (.dwo) that is missing
//   a ADDRESS     FUNCTION FILE LINE of the code there, innermost inlined function first
//   f ADDRESS     START NAME of the function that a symbol says is there
//   d ADDRESS     the same of a variable
//   u ADDRESS     START of the function that the unwind tables say is there
//   F, D          START BYTES NAME of all functions, of all variables
//   v ADDRESS BYTES                    the member of at most so many bytes of the variable that is
//                                      there: MEMBERS FILE LINE, as members.h has them
//   p FUNCTION NUMBER OFFSET BYTES     the same of what the NUMBER-th parameter points to
//   q ADDRESS OFFSET BYTES             POINTER MEMBERS FILE LINE SIZE: what lies OFFSET bytes
//                                      behind what the pointer there points to (members.h)
#include <sys/resource.h>
#include <unistd.h>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "names/file.h"

namespace syncopate::names {
namespace {

constexpr std::size_t most_offsets = 8;  // of pointers one behind the other

class answer {
 public:
  // A line must stay one, and its fields apart, whatever a file calls things.
  answer& text(std::string field) {
    for (char& letter : field)
      if (static_cast<unsigned char>(letter) < 0x20) letter = '?';
    line_ += (is_first_ ? "" : "\t") + field;
    is_first_ = false;
    return *this;
  }
  answer& number(std::uint64_t value) {
    char digits[20];
    std::snprintf(digits, sizeof digits, "%llx", static_cast<unsigned long long>(value));
    return text(digits);
  }
  void send() {
    line_ += '\n';
    std::fwrite(line_.data(), 1, line_.size(), stdout);
  }

 private:
  std::string line_;
  bool is_first_ = true;
};

void tell(answer& to, const std::optional<symbol>& found) {
  if (found) to.number(found->start).text(found->name);
}

void tell(answer& to, const std::vector<symbol>& found) {
  for (const symbol& each : found) to.number(each.start).number(each.size).text(each.name);
}

void tell(answer& to, const std::optional<place>& found) {
  if (found) to.text(found->members).text(found->file).text(std::to_string(found->line));
}

void tell(answer& to, const std::optional<target>& found) {
  if (!found) return;
  tell(to.text(found->pointer), std::optional(found->inner));
  to.number(found->element);
}

void tell_identity(answer& to, file& of) {
  to.text(of.build_id()).number(static_cast<unsigned>(of.machine()));
  for (const segment& each : of.segments())
    to.number(each.offset).number(each.address).number(each.bytes).number(each.flags);
}

void reply(const std::string& question, file& of, answer& to) {
  const char* const rest = question.c_str() + 1;
  char* end;
  const std::uint64_t address = std::strtoull(rest, &end, 16);
  switch (question[0]) {
    case 'g': to.text(of.debug_file()); break;
    case 'l': to.text(of.debug_link()); break;
    case 's': to.text(of.missing_split()); break;
    case 'a':
      for (const frame& each : of.frames(address))
        to.text(each.function).text(each.file).text(std::to_string(each.line));
      break;
    case 'f': tell(to, of.function(address)); break;
    case 'd': tell(to, of.variable(address)); break;
    case 'u': to.number(of.function_start(address)); break;
    case 'F': tell(to, of.functions()); break;
    case 'D': tell(to, of.variables()); break;
    case 'v': tell(to, of.parts().variable(address, std::strtoull(end, &end, 16))); break;
    case 'q': {
      const std::uint64_t offset = std::strtoull(end, &end, 16);
      tell(to, of.parts().pointed(address, offset, std::strtoull(end, &end, 16)));
      break;
    }
    case 'p': {
      const auto number = static_cast<unsigned>(std::strtoul(end, &end, 10));
      const std::uint64_t bytes = std::strtoull(end, &end, 16);
      std::vector<std::uint64_t> offsets;
      while (*end != '\0' && offsets.size() < most_offsets)
        offsets.push_back(std::strtoull(end, &end, 16));
      tell(to, of.parts().parameter(address, number, bytes, offsets));
      break;
    }
    default: break;
  }
}

// Nobody vouches for the files: what is damaged may ask for more than there is.
void limit_memory() {
  rlimit memory;
  getrlimit(RLIMIT_AS, &memory);
  memory.rlim_cur = std::min(memory.rlim_max, rlim_t{8} << 30);
  setrlimit(RLIMIT_AS, &memory);
  const rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
}

// The files that were asked for, and of which of them the next questions are.
class conversation {
 public:
  void hear(const std::string& question) {
    answer to;
    if (question == "h") to.text("syncopate-names 4");
    else if (question.starts_with("o ")) open(question.substr(2), to);
    else if (question.starts_with("b ")) to.text(debug_file_of(question.substr(2)));
    else if (current_) reply(question, *current_, to);
    to.send();
  }

 private:
  void open(const std::string& path, answer& to) {
    current_ = &files_.try_emplace(path, path.c_str()).first->second;
    if (current_->is_elf()) tell_identity(to, *current_);
    else current_ = nullptr;
  }

  std::map<std::string, file> files_;
  file* current_ = nullptr;
};

}  // namespace
}  // namespace syncopate::names

int main(int count, char** given) {
  if (count > 1) syncopate::names::look_for_debug_files_in(given[1]);
  syncopate::names::limit_memory();
  syncopate::names::conversation conversation;
  std::string heard;
  char some[1 << 16];
  ssize_t length;
  while ((length = read(STDIN_FILENO, some, sizeof some)) > 0) {
    heard.append(some, static_cast<std::size_t>(length));
    std::size_t begin = 0, end;
    for (; (end = heard.find('\0', begin)) != std::string::npos; begin = end + 1)
      conversation.hear(heard.substr(begin, end - begin));
    heard.erase(0, begin);
    if (std::fflush(stdout) != 0) return 1;  // nobody gets the answers
  }
  return length == 0 ? 0 : 1;
}
