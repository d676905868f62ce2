#include "observer.h"
#include "report.h"
namespace syncopate::emulated {
void observe_begin(thread&, place) noexcept {}
void observe_refused(thread&, place) noexcept {}
void observe_commit(thread&) noexcept {}
void observe_abort(thread&) noexcept {}
void observe_fell_back(place) noexcept {}
void observe_thread(const void*, const void*) noexcept {}
void prepare_report() noexcept {}
}
