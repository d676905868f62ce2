// stack.cpp -- see stack.h.
#include "stack.h"

#include <string>

namespace net {

namespace {

constexpr std::uint16_t first_free_port = 49152;  // RFC 6335: for who does not care

void add_up(tcp_counters& sum, const tcp_counters& more) {
  sum.sent += more.sent;
  sum.received += more.received;
  sum.time_outs += more.time_outs;
  sum.fast_retransmissions += more.fast_retransmissions;
  sum.duplicates += more.duplicates;
  sum.out_of_order += more.out_of_order;
}

}  // namespace

// ---- the listener ----

std::optional<socket> listener::accept() {
  const section hold(lock_);
  arrived_.wait(lock_, [this] { return closed_ || !waiting_.empty(); });
  if (closed_) return std::nullopt;
  socket result(std::move(waiting_.front()));
  waiting_.pop_front();
  return result;
}

void listener::close() {
  std::deque<std::shared_ptr<control_block>> unanswered;
  {
    const section hold(lock_);
    closed_ = true;
    unanswered.swap(waiting_);
    arrived_.notify_all();
  }
  for (const auto& each : unanswered) each->abort();
}

void listener::add(std::shared_ptr<control_block> block) {
  {
    const section hold(lock_);
    if (!closed_) {
      waiting_.push_back(std::move(block));
      arrived_.notify_all();
      return;
    }
  }
  block->abort();
}

bool listener::has_room() {
  const section hold(lock_);
  return !closed_ && waiting_.size() < backlog;
}

// ---- the application's calls ----

stack::stack(link& packets, const stack_settings& settings)
    : link_(packets), settings_(settings), next_number_(settings.seed) {}

void stack::start() {
  receiver_ = std::thread([this] { receive_packets(); });
  timekeeper_ = std::thread([this] { keep_time(); });
}

stack::~stack() {
  if (!receiver_.joinable()) return;
  close_listeners();
  for (const block_pointer& each : all_blocks()) each->detach();
  const nanoseconds end = syncopate::machine::now() + settings_.linger;
  while (!is_settled() && syncopate::machine::now() < end)
    (void)clock_.sleep(static_cast<std::int64_t>(millisecond));
  clock_.stop();
  link_.stop();
  receiver_.join();
  timekeeper_.join();
}

void stack::close_listeners() {
  std::map<std::uint16_t, std::shared_ptr<listener>> listeners;
  {
    const section hold(table_lock_);
    listeners.swap(listeners_);
  }
  for (const auto& [port, each] : listeners) each->close();
}

std::shared_ptr<listener> stack::listen(std::uint16_t port) {
  auto result = std::make_shared<listener>();
  bool is_new;
  {
    const section hold(table_lock_);
    is_new = listeners_.emplace(port, result).second;
  }
  if (!is_new) throw socket_error("port " + std::to_string(port) + " is taken");
  return result;
}

socket stack::connect(const endpoint& to) {
  block_pointer block;
  {
    const section hold(table_lock_);
    for (int tries = 0; tries <= 65535 - first_free_port && !block; ++tries) {
      const key at{next_port_, to};
      next_port_ = next_port_ == 65535 ? first_free_port : next_port_ + 1;
      if (!blocks_.contains(at)) block = make_block_locked(at, nullptr);
    }
  }
  if (!block) throw socket_error("no port is free");
  block->open();
  return socket(std::move(block));
}

stack_counters stack::counters() {
  stack_counters result;
  std::vector<block_pointer> live;
  {
    const section hold(table_lock_);
    result = finished_;
    for (const auto& [at, block] : blocks_) live.push_back(block);
  }
  for (const block_pointer& each : live) add_up(result.tcp, each->counters());
  return result;
}

// ---- the receiving thread ----

void stack::receive_packets() {
  while (std::optional<packet> next = link_.receive()) {
    arrival what;
    const defect found = read_packet(*next, what);
    if (found == defect::none && what.to.address == settings_.address) arrive(what);
    else count_packet(found);
  }
  // Stopped, or the other end is gone: nobody should wait for it.
  close_listeners();
  for (const block_pointer& each : all_blocks()) each->on_link_down();
}

void stack::arrive(const arrival& what) {
  if (const block_pointer block = find(what)) return block->arrive(what.what);
  refuse(what);
  count_packet(defect::not_tcp);
}

// The connection that the segment is of; a new one where it calls a listener. Null: there is none.
stack::block_pointer stack::find(const arrival& what) {
  const key at{what.to.port, what.from};
  const bool calls = what.what.has(flag::syn) && !what.what.has(flag::ack);
  std::shared_ptr<listener> asked;
  {
    const section hold(table_lock_);
    if (const auto found = blocks_.find(at); found != blocks_.end()) return found->second;
    const auto port = listeners_.find(what.to.port);
    if (!calls || port == listeners_.end()) return nullptr;
    asked = port->second;
  }
  if (!asked->has_room()) return nullptr;
  // Only this thread makes connections that were called.
  const section hold(table_lock_);
  return make_block_locked(at, std::move(asked));
}

stack::block_pointer stack::make_block_locked(const key& at,
                                              std::shared_ptr<listener> announce_to) {
  const auto number = static_cast<std::uint32_t>(++next_number_ * 0x9e3779b97f4a7c15u >> 32);
  const endpoint local{settings_.address, at.first};
  auto block = std::make_shared<control_block>(link_, local, at.second, settings_.tcp, number,
                                               std::move(announce_to));
  return blocks_.emplace(at, std::move(block)).first->second;
}

void stack::refuse(const arrival& what) {
  if (what.what.has(flag::rst)) return;
  packet p(header_bytes);
  write_headers(p, what.to, what.from, refusal(what.what));
  link_.send(std::move(p));
}

void stack::count_packet(defect found) {
  const section hold(table_lock_);
  const bool damaged = found == defect::ip_checksum || found == defect::tcp_checksum;
  ++(damaged ? finished_.damaged : finished_.misplaced);
}

// ---- the timers' thread ----

void stack::keep_time() {
  while (clock_.sleep(static_cast<std::int64_t>(settings_.tick))) {
    const nanoseconds now = syncopate::machine::now();
    for (const block_pointer& each : all_blocks()) {
      each->tick(now);
      if (each->is_closed()) forget(each);
    }
  }
}

void stack::forget(const block_pointer& block) {
  const tcp_counters last = block->counters();
  const section hold(table_lock_);
  if (blocks_.erase({block->local.port, block->remote}) > 0) add_up(finished_.tcp, last);
}

std::vector<stack::block_pointer> stack::all_blocks() {
  std::vector<block_pointer> result;
  const section hold(table_lock_);
  for (const auto& [at, block] : blocks_) result.push_back(block);
  return result;
}

bool stack::is_settled() {
  for (const block_pointer& each : all_blocks())
    if (!each->is_settled()) return false;
  return true;
}

}  // namespace net
