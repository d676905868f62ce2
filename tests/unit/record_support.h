// record_support.h -- for tests of the recorder: a reader of the format, and a child to record in.
//
// The recorder is one per process and starts once, so every test records in a child process of its
// own and looks at the file afterwards.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "record/format.h"
#include "record/recorder.h"

namespace record_test {

namespace record = syncopate::record;

template <class Item>
struct owned {
  std::uint32_t owner;
  Item item;
};

struct contents {
  record::file_header header{};
  std::map<std::uint32_t, record::lock_entry> locks;
  std::map<std::uint32_t, record::thread_entry> threads;
  std::map<std::uint32_t, record::stack_entry> stacks;
  std::vector<owned<record::wait_row>> rows;
  std::vector<owned<record::event>> events;
  std::vector<std::string> maps;

  // The entry of the object at this address; throws when there is none.
  const record::lock_entry& lock_at(const void* object) const {
    for (const auto& [id, e] : locks)
      if (e.address == reinterpret_cast<std::uintptr_t>(object)) return e;
    throw std::runtime_error("no entry for this object");
  }
  std::uint64_t acquisitions() const {
    std::uint64_t sum = 0;
    for (const auto& [id, e] : locks) sum += e.acquisitions;
    return sum;
  }
  std::uint64_t waits(std::uint32_t lock) const {
    std::uint64_t sum = 0;
    for (const auto& r : rows)
      if (r.item.lock == lock && is_wait(r.item)) sum += r.item.waits;
    return sum;
  }
  // Not of a release, nor of a hold: they have rows of their own.
  static bool is_wait(const record::wait_row& row) {
    using enum record::wait_kind;
    for (const record::wait_kind other : {release, holder, outside, away, inside})
      if (row.kind == static_cast<std::uint32_t>(other)) return false;
    return true;
  }
};

template <class Item>
std::vector<Item> items_of(const record::chunk_header& chunk, const std::string& data,
                           std::size_t offset) {
  if (sizeof chunk + std::size_t{chunk.used} * sizeof(Item) > chunk.bytes)
    throw std::runtime_error("a chunk claims more items than it has room for");
  std::vector<Item> items(chunk.used);
  std::memcpy(items.data(), data.data() + offset + sizeof chunk, chunk.used * sizeof(Item));
  return items;
}

// Reads and checks the whole file; throws on anything that the format does not allow.
inline contents read_record(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::runtime_error("no record at " + path);
  const std::string data{std::istreambuf_iterator<char>(in), {}};
  contents c;
  if (data.size() < sizeof c.header) throw std::runtime_error("shorter than its header");
  std::memcpy(&c.header, data.data(), sizeof c.header);
  if (std::memcmp(c.header.magic, record::magic, sizeof record::magic) != 0)
    throw std::runtime_error("not a record");
  if (c.header.bytes_used > data.size()) throw std::runtime_error("truncated");
  for (std::size_t offset = sizeof c.header; offset < c.header.bytes_used;) {
    record::chunk_header chunk;
    std::memcpy(&chunk, data.data() + offset, sizeof chunk);
    if (chunk.bytes < 4096 || chunk.bytes % 4096 != 0) throw std::runtime_error("bad chunk size");
    std::uint32_t id = chunk.first;
    using enum record::chunk_kind;
    switch (static_cast<record::chunk_kind>(chunk.kind)) {
      case locks:
        for (auto& e : items_of<record::lock_entry>(chunk, data, offset)) c.locks[id++] = e;
        break;
      case threads:
        for (auto& e : items_of<record::thread_entry>(chunk, data, offset)) c.threads[id++] = e;
        break;
      case stacks:
        for (auto& e : items_of<record::stack_entry>(chunk, data, offset)) c.stacks[id++] = e;
        break;
      case rows:
        for (auto& r : items_of<record::wait_row>(chunk, data, offset)) c.rows.push_back({id, r});
        break;
      case events:
        for (auto& e : items_of<record::event>(chunk, data, offset)) c.events.push_back({id, e});
        break;
      case maps: c.maps.push_back(data.substr(offset + sizeof chunk, chunk.used)); break;
      default: throw std::runtime_error("unknown kind of chunk");
    }
    offset += chunk.bytes;
  }
  return c;
}

// A directory for one test, removed with what is in it.
class scratch {
 public:
  scratch() {
    std::string name = std::filesystem::temp_directory_path() / "syncopate-record-XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
    path_ = name;
  }
  ~scratch() { std::filesystem::remove_all(path_); }
  scratch(const scratch&) = delete;
  scratch& operator=(const scratch&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::string file(const char* name = "record") const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

// Runs `work` in a child that then ends without exit handlers; returns its wait status.
template <class Work>
int in_child(Work work) {
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    int status = 99;
    try {
      status = work();
    } catch (const std::exception& e) {
      std::fprintf(stderr, "child: %s\n", e.what());
    }
    ::_exit(status);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  return status;
}

// A stand-in for a mutex as the preload library lays one out: the recorder's 32 bits and the count.
struct object {
  std::uint32_t word = 0;
  std::uint32_t count = 0;
  std::uint32_t slot = 0;

  void counted() {
    if (record::is_sampled(++count))
      record::counted(record::object_kind::mutex, 0, this, &slot, &count);
  }
  std::uint32_t id() { return record::identify(record::object_kind::mutex, 0, this, &slot); }
  // What a shim does first in each lock call.
  void wanted() { record::next_section(this); }
  // What a shim does for a lock call that had to wait, and the unlock call after it.
  void contended_round(std::uint32_t holder = 0) {
    record::wait w = record::wait_begin(record::wait_kind::mutex, id(), holder);
    record::wait_end(w, this);
    counted();
    record::released(this, slot, true);
  }
  // ... and for one that had not.
  void uncontended_round() {
    counted();
    unlocked();
  }
  // The unlock call: of a lock that nobody waits for.
  void unlocked() {
    const std::uint64_t ended = record::hold_ends(this, false);
    if (ended != 0) record::released(this, slot, false, ended);
  }
};

}  // namespace record_test
