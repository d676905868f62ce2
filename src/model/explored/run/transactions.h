// transactions.h -- hardware transactions: what the one that runs does, and how it ends.
//
// A transaction runs where its begin has its turn, to its end, and is then made as one step with
// all its accesses to atomic variables. So what it reads is the newest value; what it writes stands
// last in the modification orders and appears at once. Order among transactions, and with locked
// instructions, is that of x86: docs/decisions/0015-explored-transactions.md has the reasons.
#pragma once

#include "claims.h"
#include "ends.h"
#include "lifetimes.h"
#include "model/explored/memory/memory.h"
#include "model/explored/memory/shadow.h"
#include "model/explored/memory/transaction.h"
#include "model/explored/search/scheduler.h"
#include "model/explored/search/search.h"
#include "thread_table.h"

#include <syncopate/machine/types.h>

#include <cstddef>
#include <memory>

namespace syncopate::explored {

class transactions {
 public:
  using status = syncopate::machine::htm::status;

  transactions(memory& m, shadow& s, search& tried, thread_table& threads, scheduler& turns,
               lifetimes& there, claims& said, ends& end)
      : memory_(m),
        shadow_(s),
        search_(tried),
        threads_(threads),
        scheduler_(turns),
        lifetimes_(there),
        claims_(said),
        ends_(end) {}
  ~transactions();
  transactions(const transactions&) = delete;
  transactions& operator=(const transactions&) = delete;

  void forget() noexcept { now_.depth = 0; }  // an execution begins

  [[nodiscard]] bool runs() const noexcept { return now_.runs(); }
  [[nodiscard]] bool never_commits() const noexcept { return now_.never_commits(); }
  void nest() noexcept { ++now_.depth; }

  // In the step in which it has its turn. Returns a second time after an abort.
  [[gnu::noinline]] status begin(syncopate::machine::htm::mode);
  void commit(place);
  [[noreturn]] void abort(const status& why);

  // Requires: one runs. Accesses in it; read() and write() are atomic ones.
  void access(address, std::size_t bytes, bool writes, place);
  word read(address, unsigned bytes, place);
  void write(address, unsigned bytes, word value, place);

 private:
  [[nodiscard]] std::shared_ptr<const footprint> footprint_of(bool committed) const;
  void note_words_polled(const transaction::word&);
  [[nodiscard]] bool polls_only(address) const;
  void note_access(address, std::size_t bytes, touch, place);
  void record(const transaction::touched&);
  void keep_old(address, std::size_t bytes);
  transaction::word& word_at(address, unsigned bytes, place);

  memory& memory_;
  shadow& shadow_;
  search& search_;
  thread_table& threads_;
  scheduler& scheduler_;
  lifetimes& lifetimes_;
  claims& claims_;
  ends& ends_;
  transaction now_;
};

}  // namespace syncopate::explored
