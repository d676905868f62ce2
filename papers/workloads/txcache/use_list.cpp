// use_list.cpp -- the least recently used item of each slab class, and all that were used since.
#include "state.h"

namespace workloads::txcache {

void add_newest(item* it) {
  use_list& uses = cache.uses[it->slab_class];
  it->newer = nullptr;
  it->older = uses.newest;
  if (uses.newest != nullptr) uses.newest->newer = it;
  else uses.oldest = it;
  uses.newest = it;
  ++uses.count;
}

void remove_from_uses(item* it) {
  use_list& uses = cache.uses[it->slab_class];
  if (it->newer != nullptr) it->newer->older = it->older;
  else uses.newest = it->older;
  if (it->older != nullptr) it->older->newer = it->newer;
  else uses.oldest = it->newer;
  it->newer = it->older = nullptr;
  --uses.count;
}

}  // namespace workloads::txcache
