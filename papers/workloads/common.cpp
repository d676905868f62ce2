// The locks and barriers that a program chooses by name: compiled once, since there are many.
#include "common.h"

#include <syncopate/barriers/all.h>

namespace workloads {

named_lock::named_lock(const std::string& name) : is_libgomp_(name == "libgomp") {
  if (published_lock::is_name(name)) published_.emplace(name);
  else if (name != "pthread" && !is_libgomp_) ours_.emplace(name);
}

named_lock::~named_lock() = default;

void named_lock::lock() {
  if (ours_) ours_->lock();
  else if (is_libgomp_) libgomp_.lock();
  else if (published_) published_->lock();
  else theirs_.lock();
}

void named_lock::unlock() {
  if (ours_) ours_->unlock();
  else if (is_libgomp_) libgomp_.unlock();
  else if (published_) published_->unlock();
  else theirs_.unlock();
}

bool named_lock::is_name(const std::string& name) {
  return name == "pthread" || name == "libgomp" || published_lock::is_name(name) ||
         syncopate::any_lock::is_name(name);
}

std::unique_ptr<named_lock> make_lock(const options& o, std::string_view option) {
  const std::string& name = o.text(option);
  if (!named_lock::is_name(name)) o.refuse("no lock is called '" + name + "'");
  return std::make_unique<named_lock>(name);
}

std::unique_ptr<any_barrier> make_barrier(std::string_view name, std::uint32_t count) {
  std::unique_ptr<any_barrier> result;
  syncopate::for_each_barrier([&]<class Barrier>(const syncopate::barrier_entry<Barrier>& entry) {
    struct typed final : any_barrier {
      explicit typed(std::uint32_t n) : barrier(n) {}
      void arrive_and_wait(std::uint32_t participant) override {
        barrier.arrive_and_wait(participant);
      }
      Barrier barrier;
    };
    std::string full(entry.name);
    if (!entry.wait.empty()) full += ":" + std::string(entry.wait);
    if (name == full || (entry.is_default && name == entry.name))
      result = std::make_unique<typed>(count);
  });
  return result;
}

}  // namespace workloads
