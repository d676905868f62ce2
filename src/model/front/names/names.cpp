// names.cpp -- puts names together from debug information, the heap's blocks and the threads.
#include "names.h"

#include "debug_info.h"
#include "names_blocks.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <map>
#include <string_view>

namespace syncopate::instrument {

namespace {

std::string hexadecimal(std::uintptr_t address) {
  char text[24];
  std::snprintf(text, sizeof text, "%#" PRIxPTR, address);
  return text;
}

std::string last_component(const std::string& path) {
  return path.substr(path.rfind('/') + 1);  // npos + 1 is 0
}

bool starts_with_any(std::string_view text, std::initializer_list<std::string_view> starts) {
  for (const std::string_view start : starts) {
    if (text.starts_with(start)) return true;
  }
  return false;
}

// Frames that only lead to what the program meant.
bool is_plumbing(const source_position& frame) {
  return starts_with_any(frame.function,
                         {"std::", "__gnu_cxx::", "syncopate::machine::", "syncopate::elide::",
                          "syncopate::instrument::", "operator new", "__gthread"}) ||
         starts_with_any(frame.file, {"/usr/include/", "/usr/lib/"});
}

const source_position& telling_frame(const std::vector<source_position>& frames) {
  for (const source_position& frame : frames) {
    if (!is_plumbing(frame)) return frame;
  }
  return frames.front();
}

std::string with_offset(const std::string& name, std::size_t offset) {
  return offset == 0 ? name : name + "+" + std::to_string(offset);
}

std::string describe(const heap_block& block) {
  std::string text = block.live ? "block of " : "freed block of ";
  text += std::to_string(block.bytes) + " bytes";
  if (block.allocated != nullptr) {
    const source_position where = position_of(block.allocated);
    text += " allocated in " + where.text();
  }
  return text;
}

data_position from_variable(const variable& found, region where) {
  data_position result;
  result.where = where;
  result.object = found.name;
  result.member = found.member;
  result.offset = found.offset;
  result.start = found.start;
  result.bytes = found.bytes;
  return result;
}

data_position in_thread(std::uintptr_t address, const thread_memory& owner) {
  const std::string thread = "thread " + std::to_string(owner.thread);
  if (owner.on_stack(address)) {
    data_position result;
    result.where = region::stack;
    result.object = "stack of " + thread;
    result.start = owner.stack_low;
    result.bytes = owner.stack_high - owner.stack_low;
    return result;  // no offset: it depends on the compiler's frame layout and helps nobody
  }
  data_position result = from_variable(thread_local_at(address, owner.tls_high), region::tls);
  if (result.object.empty()) {
    result.object = "thread-local storage of " + thread;
  } else {
    result.object += " of " + thread;
  }
  return result;
}

}  // namespace

std::string source_position::text() const {
  return file.empty() ? function
                      : function + " at " + last_component(file) + ":" + std::to_string(line);
}

std::vector<source_position> code_frames(const void* place) {
  // The call ends where the return address begins, maybe in another line or inlined function.
  const auto pc = reinterpret_cast<std::uintptr_t>(place);
  if (pc == 0) return {{"?", "", 0}};
  std::vector<source_position> frames = frames_at(pc - 1);
  if (frames.empty()) frames.push_back({hexadecimal(pc), "", 0});
  return frames;
}

source_position position_of(const void* place) {
  static auto& known = *new std::map<const void*, source_position>;
  if (const auto at = known.find(place); at != known.end()) return at->second;
  return known[place] = telling_frame(code_frames(place));
}

std::vector<source_position> known_frames(const void* const* places, std::size_t count,
                                          std::size_t most) {
  std::vector<source_position> known;
  for (std::size_t i = 0; i < count && known.size() < most; ++i) {
    for (source_position& frame : code_frames(places[i])) {
      if (!is_plumbing(frame) && known.size() < most) known.push_back(std::move(frame));
    }
  }
  if (known.empty() && count != 0) known.push_back(position_of(places[0]));
  return known;
}

std::string code_name(const void* place) { return position_of(place).text(); }

std::string place_name(const void* place) {
  const source_position where = position_of(place);
  if (where.file.empty()) return where.function;
  return last_component(where.file) + ":" + std::to_string(where.line);
}

std::string function_name(const void* entry) {
  if (std::string callable = callable_name(entry); !callable.empty()) return callable;
  return code_name(static_cast<const char*>(entry) + 1);
}

std::string data_position::text() const {
  const std::string name = object + member;
  return where == region::unknown ? name : with_offset(name, offset);
}

data_position data_position_of(std::uintptr_t address) {
  if (const heap_block block = block_of(address); block.start != 0) {
    data_position result;
    result.where = block.live ? region::heap : region::freed;
    result.object = describe(block);
    result.offset = address - block.start;
    result.start = block.start;
    result.bytes = block.bytes;
    return result;
  }
  if (const thread_memory* owner = thread_with(address); owner != nullptr) {
    return in_thread(address, *owner);
  }
  if (const variable found = variable_at(address); !found.name.empty()) {
    return from_variable(found, region::variable);
  }
  data_position result;
  result.object = hexadecimal(address);
  result.start = address;
  return result;
}

std::string data_name(std::uintptr_t address) { return data_position_of(address).text(); }

std::string range_name(std::uintptr_t low, std::size_t bytes, std::size_t most) {
  std::vector<std::string> names;
  std::uintptr_t last_start = 0;
  bool rest_of_range_start = false;
  std::uintptr_t next = low;
  for (std::uintptr_t at = low; at < low + bytes; at = (next + 3) & ~std::uintptr_t{3}) {
    next = at + 1;
    const data_position here = data_position_of(at);
    const bool is_same = !names.empty() && here.start == last_start;
    // The rest of a member that began earlier, or padding. A range that begins so is named after it
    // unless more of the same variable follows.
    const bool is_rest = here.where == region::variable && here.offset != 0;
    if (here.where == region::unknown || (is_rest && (is_same || at != low))) continue;
    // Whole objects are named once, and members of the same variable by what is after its name.
    if (here.member.empty() && !is_rest) next = std::max(next, here.start + here.bytes);
    if (is_same && names.size() == 1 && rest_of_range_start) {
      names.clear();
    }
    std::string name = is_same && !names.empty() ? here.member : here.text();
    if (!names.empty() && names.back() == name) continue;  // two blocks of one place
    if (names.size() == most) {
      names.emplace_back("...");
      break;
    }
    names.push_back(std::move(name));
    rest_of_range_start = is_rest;
    last_start = here.start;
  }
  if (names.empty()) return data_name(low);
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

}  // namespace syncopate::instrument
