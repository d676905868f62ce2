// report.h -- the statistics that SYNCOPATE_STATS asks for, written when the program ends.
#pragma once

namespace syncopate::emulated {

// At start: turns the observer on when a report is wanted.
void prepare_report() noexcept;

}  // namespace syncopate::emulated
