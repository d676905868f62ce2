/* numbers.h -- what begin_x86_64.S knows of src/tm; transactions.cpp asserts it. */
#pragma once

/* bits of a transaction's properties, and of how it goes on */
#define SYNCOPATE_UNINSTRUMENTED_CODE 0x0002
#define SYNCOPATE_HAS_NO_ABORT 0x0008
#define SYNCOPATE_RUN_UNINSTRUMENTED 0x02
#define SYNCOPATE_SAVE_LIVE_VARIABLES 0x04

/* the regime's word: of a thread that may begin quickly */
#define SYNCOPATE_SOLO_QUICK 0x12

/* the transaction: where its parts are, and how far a quick one is */
#define SYNCOPATE_PROGRESS 0
#define SYNCOPATE_DEPTH 0
#define SYNCOPATE_ACTIVE 0x300
#define SYNCOPATE_QUICK_RUNNING 0x10400000001
