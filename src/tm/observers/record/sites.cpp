#include "tm/observers/record/sites.h"

#include "record/stacks.h"
#include "record/threads.h"
#include "record/transaction_format.h"
#include "tm/observers/record/last_writers.h"

namespace syncopate::tm::observer {
namespace {

constexpr u32 most_sites = 1u << last_writers::site_bits;

constinit record::table<record::site_entry, record::chunk_kind::sites, 64, most_sites> sites;
constinit record::tiny_lock insertion;

u32 find(address return_address) noexcept {
  for (u32 id = 1; id < sites.count(); ++id)
    if (sites.at(id)->address == return_address) return id;
  return 0;
}

}  // namespace

u32 take_stack() noexcept {
  record::thread_state* const thread = record::this_thread();
  if (thread == nullptr) return 0;
  return record::capture_stack(*thread, record::capture_reason::creation, machine::ticks());
}

u32 site_of(address return_address) noexcept {
  if (const u32 id = find(return_address); id != 0) return id;
  const u32 stack = take_stack();
  record::holding lock(insertion);
  if (!lock) return 0;
  if (sites.count() == 0 && sites.reserve() != nullptr) sites.append();  // id 0: no room
  if (const u32 id = find(return_address); id != 0) return id;
  record::site_entry* const entry = sites.reserve();
  if (entry == nullptr) return 0;
  entry->address = return_address;
  entry->first_stack = stack;
  return sites.append();
}

void forget_sites() noexcept {
  sites.reset();
  insertion.reset();
}

}  // namespace syncopate::tm::observer
