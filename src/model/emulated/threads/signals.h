// signals.h -- signals and transactions. As on hardware a signal ends the transaction that it
// interrupts; its handler runs after the roll-back. Faults in a transaction end it and are not
// told: they come again where they are no transaction's.
#pragma once

namespace syncopate::emulated {

// At start: the machine's own handlers of faults and of system calls in transactions.
void take_signals() noexcept;

}  // namespace syncopate::emulated
